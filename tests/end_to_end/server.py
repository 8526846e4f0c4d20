"""The real server as its own process: start it, query it, end it, kill it, always at the same address.

It is forked from a process that has already imported the program: a start costs a tenth of a new
interpreter's.
"""

import hashlib
import hmac
import json
import os
import runpy
import signal
import sqlite3
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

import httpx

from tests.peers.loopback import free_port

PRELOADED_MODULES = ["bot.cli.serve", "bot.app"]


@cache
def _forkserver_context() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED_MODULES)
    return context


def start_forked(
    module: Sequence[str], *, folder: Path, environ: Mapping[str, str], output: Path
) -> ForkServerProcess:
    """Start `python -m MODULE ARGUMENT…` in `folder`, with exactly this environment."""
    process = _forkserver_context().Process(
        target=_run_module, args=(tuple(module), str(folder), dict(environ), str(output)), daemon=True
    )
    process.start()
    return process


def _run_module(module: tuple[str, ...], folder: str, environ: dict[str, str], output: str) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    for number, path, how in ((0, os.devnull, os.O_RDONLY), (1, output, os.O_WRONLY | os.O_APPEND)):
        os.dup2(os.open(path, how | os.O_CREAT), number)
    os.dup2(1, 2)
    sys.argv = list(module)
    runpy.run_module(module[0], run_name="__main__", alter_sys=True)


ROOT = Path(__file__).parents[2]

# What takes a second on a quiet machine may take long on one that runs other tests.
TIMEOUT_SECONDS, LONGEST_SECONDS = 40.0, 160.0

POLL_SECONDS = 0.05

# Without one, httpx reads every root certificate for each call, though nothing here is encrypted.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

T = TypeVar("T")

POLICY = """\
version: 1
repositories:
  - match: acme/*
    sources: %s
    launch:
      xpk:
        - {project: my-project, zone: us-east5-b, cluster: v6e-bench, device-types: [v6e-32],
           images: [gcr.io/my-project/]}
      local: unsandboxed
"""
"""What the tests' operator grants: the scene's folders or bucket, jobs on this machine and on one cluster."""


def ask(url: str) -> httpx.Response:
    """GET, over a connection of its own."""
    return httpx.get(url, timeout=TIMEOUT_SECONDS, verify=NO_TLS)


@dataclass(slots=True, kw_only=True)
class Server:
    """`maxview serve` with `options` on a loopback port; `settings` are the rest of its environment.

    Where they name no policy, acme's repositories may read `sources` and launch; an empty one is none."""

    folder: Path
    secret: str
    settings: dict[str, str]
    port: int = field(default_factory=free_port)
    options: tuple[str, ...] = ()
    sources: tuple[str, ...] = ("file:/*",)
    process: BaseProcess | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Its output so far, over all restarts."""
        path = self.folder / "server.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def start(self) -> "Server":
        """Start it, and wait until it answers."""
        self.start_module("bot", "serve", *self.options)
        self.wait_until(self._answers, "the server answers")
        return self

    def start_module(self, *module: str) -> None:
        """Start a module in place of the server, and do not wait."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
        own = {
            "PUBLIC_URL": self.url,
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "DATA_DIR": str(self.folder / "data"),
            "GITHUB_WEBHOOK_SECRET": self.secret,
            "PYTHONPATH": str(ROOT),
        }
        policy = self.folder / "policy.yml"
        if "POLICY" not in self.settings:
            policy.write_text(POLICY % json.dumps(self.sources), encoding="utf-8")
            own["POLICY"] = str(policy)
        self.process = start_forked(
            module,
            folder=self.folder,
            environ={**environ, **own, **self.settings},
            output=self.folder / "server.log",
        )

    def wait_for_death(self) -> None:
        """Wait until it has killed itself."""
        assert self.process is not None
        self.process.join(TIMEOUT_SECONDS)
        status = self.process.exitcode
        assert status == -signal.SIGKILL, f"it ended otherwise, with {status}:\n{self.log[-4000:]}"
        self.process = None

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        assert self.process is not None
        self.process.kill()
        self.process.join()
        self.process = None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process is not None
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def expire_leases(self) -> None:
        """End every lease, as if enough time had passed since a process died (SQLite)."""
        with closing(sqlite3.connect(self.folder / "data" / "maxview.sqlite")) as file, file:
            for table in ("delivery", "pull_request", "run", "merge_group"):
                file.execute(f"UPDATE {table} SET lease_until = 0")  # noqa: S608 - names of our own

    def stop(self) -> tuple[int, float]:
        """End it as an operator does; its exit status and how long that took."""
        assert self.process is not None
        begun = time.monotonic()
        self.process.terminate()
        self.process.join(TIMEOUT_SECONDS)
        status = self.process.exitcode
        assert status is not None, "it did not end"
        self.process = None
        return status, time.monotonic() - begun

    def status(self, path: str) -> int:
        """The status of one page."""
        url = path if path.startswith("http") else self.url + path
        return ask(url).status_code

    def deliver(
        self, event: str, payload: Mapping[str, object] | bytes, *, name: str, secret: str | None = None
    ) -> httpx.Response:
        """Send one delivery of our own, signed as GitHub signs."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        digest = hmac.new((secret or self.secret).encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": name,
            "X-Hub-Signature-256": f"sha256={digest}",
        }
        return httpx.post(
            f"{self.url}/webhook", content=body, headers=headers, timeout=TIMEOUT_SECONDS, verify=NO_TLS
        )

    def wait_until(self, found: Callable[[], T | None], what: str) -> T:
        """Wait until something is found (not None, not False, not empty), and return it; while the server's
        log grows it is at work, and is given longer."""
        begun, length = time.monotonic(), len(self.log)
        deadline = begun + TIMEOUT_SECONDS
        while not (seen := found()):
            if len(self.log) > length:
                length = len(self.log)
                deadline = min(time.monotonic() + TIMEOUT_SECONDS, begun + LONGEST_SECONDS)
            alive = self.process is None or self.process.is_alive()
            assert alive, f"the server ended while waiting until {what}:\n{self.log[-4000:]}"
            assert time.monotonic() < deadline, f"not in time: {what}:\n{self.log[-4000:]}"
            time.sleep(POLL_SECONDS)
        return seen

    def wait_until_idle(self) -> None:
        """Wait until every delivery is done."""
        self.wait_until(lambda: self._waiting() == 0, "nothing waits")

    def _waiting(self) -> float:
        text = ask(f"{self.url}/metrics").text
        lines = [line for line in text.splitlines() if 'state="received"' in line]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def _answers(self) -> bool:
        try:
            return ask(f"{self.url}/healthz").is_success
        except httpx.TransportError:
            return False


@contextmanager
def polled_often(server: Server) -> Iterator[None]:
    """Have the server check its runs twice a second instead of four times a minute."""
    ended, path = threading.Event(), server.folder / "data" / "maxview.sqlite"

    def make_due() -> None:
        while not ended.wait(0.5):
            with closing(sqlite3.connect(path, timeout=20)) as file, file:
                file.execute("UPDATE run SET due = 0 WHERE due IS NOT NULL")

    thread = threading.Thread(target=make_due)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
