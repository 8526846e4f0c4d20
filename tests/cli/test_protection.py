"""The secrets of a running server, as other processes of its user look for them."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bot.settings import SETTINGS
from tests.peers.keys import private_key

ROOT = Path(__file__).parents[2]

PATIENCE = 60.0

SECRETS = {
    "GITHUB_PRIVATE_KEY": private_key().strip(),
    "GITHUB_WEBHOOK_SECRET": "c0ffee-webhook-secret",
    "GITHUB_CLIENT_ID": "Iv1.0123456789abcdef",
    "GITHUB_CLIENT_SECRET": "c0ffee-client-secret",
    "SESSION_SECRET": "c0ffee-session-secret",
    "METRICS_TOKEN": "c0ffee-metrics-token",
}

SERVE = [sys.executable, "-m", "bot", "serve"]

# Starts the server, and another program of the same user beside it once a line arrives.
BESIDE = """
import subprocess, sys
server = subprocess.Popen([sys.executable, "-m", "bot", "serve"], stderr=subprocess.DEVNULL)
needles = sys.stdin.readline().split()
looked = subprocess.run([sys.executable, "-c", sys.argv[1], str(server.pid), *needles], env={})
server.kill()
server.wait()
sys.exit(looked.returncode)
"""

LOOK = """
import os, sys
process, needles = sys.argv[1], [needle.encode()[::-1] for needle in sys.argv[2:]]
with open(f"/proc/{process}/task/{process}/children") as children:
    [pages] = children.read().split()
for name in ("mem", "fd/0"):
    try:
        open(f"/proc/{pages}/{name}", "rb").close()
        print("pages", name, "opened")
    except OSError:
        print("pages", name, "refused")
for name in ("environ", "mem", "fd", "maps", "cmdline"):
    path = f"/proc/{process}/{name}"
    try:
        if name == "fd":
            print(name, [os.readlink(f"{path}/{number}") for number in os.listdir(path)] and "read")
        else:
            with open(path, "rb") as file:
                text = file.read() if name != "mem" else b""
            print(name, "secret" if any(needle in text for needle in needles) else "read")
    except OSError:
        print(name, "refused")
print("user", os.getuid() == 0)
"""


@contextmanager
def _server(folder: Path, command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """What starts a real server that has its secrets in its environment, once the server answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    settings = {
        "GITHUB_APP_ID": "4242",
        "GITHUB_API_URL": "http://127.0.0.1:9",
        "PORT": str(port),
        "DATA_DIR": str(folder / "data"),
        "DATABASE_URL": f"sqlite:///{folder}/c0ffee-database",
        "PYTHONPATH": str(ROOT),
    }
    with subprocess.Popen(
        command,
        env={**kept, **SECRETS, **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as server:
        try:
            limit = time.monotonic() + PATIENCE
            # The second is answered by the process of the pages.
            while not all(_answers(f"http://127.0.0.1:{port}{path}") for path in ("/readyz", "/")):
                assert server.poll() is None
                assert time.monotonic() < limit
                time.sleep(0.1)
            yield server
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own server
            return bool(answer.status == 200)
    except OSError:
        return False


def test_no_secret_is_left_in_the_environment(tmp_path: Path) -> None:
    """Not in the kernel's copy of it either, which other processes of this user could read."""
    with _server(tmp_path, SERVE) as server:
        process = server.pid
        if os.getuid() != 0:
            with pytest.raises(PermissionError):
                Path(f"/proc/{process}/environ").read_bytes()
            return
        shown = Path(f"/proc/{process}/environ").read_bytes().decode()
        core = Path(f"/proc/{process}/limits").read_text(encoding="ascii")
    assert "GITHUB_APP_ID=4242" in shown
    assert "c0ffee" not in shown
    assert "PRIVATE KEY-----" not in shown
    assert next(line.split()[4:6] for line in core.splitlines() if "core file" in line) == ["0", "0"]


def test_another_process_of_the_same_user_reads_nothing(tmp_path: Path) -> None:
    """Environment, memory, open files and mappings are closed to it; root alone may read them."""
    needles = " ".join("".join(secret.split())[::-1] for secret in SECRETS.values())
    with _server(tmp_path, [*_as_an_ordinary_user(), sys.executable, "-c", BESIDE, LOOK]) as beside:
        said, _ = beside.communicate(f"{needles}\n", timeout=PATIENCE)
    assert said.splitlines() == [
        "pages mem refused",
        "pages fd/0 refused",
        "environ refused",
        "mem refused",
        "fd refused",
        "maps refused",
        "cmdline read",
        "user False",
    ]


def _as_an_ordinary_user() -> list[str]:
    """What makes a program run without root's rights, and as the same user for all files."""
    if os.getuid() != 0:
        return []
    unshare = shutil.which("unshare")
    words = [str(unshare), "--user", "--map-user=1000", "--map-group=1000", "--"]
    if unshare is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("root reads everything, and there is no way here to be somebody else")
    return words


def test_every_secret_setting_is_known_as_one() -> None:
    """What is named a secret or a key is erased once it is read."""
    secret = {setting.name for setting in SETTINGS if setting.secret}
    assert secret == {*SECRETS, "DATABASE_URL"} - {"GITHUB_CLIENT_ID"}
    named = {s.name for s in SETTINGS if s.name.endswith(("SECRET", "KEY", "TOKEN", "PASSWORD"))}
    assert named <= secret
