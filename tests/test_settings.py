"""Settings: everything wrong is said at once, and no secret is ever shown."""

import base64
import json
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bot.cli.serve import serve, set_up_logging
from bot.errors import UserError
from bot.settings import SETTINGS, read_settings
from tests.peers.keys import private_key

PEM = private_key().strip()

ELLIPTIC = (
    generate_private_key(SECP256R1())
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    .decode()
)

COMPLETE = {
    "GITHUB_APP_ID": "4242",
    "GITHUB_PRIVATE_KEY": PEM,
    "GITHUB_WEBHOOK_SECRET": "the webhook's secret",
}


def _problem(**changed: str) -> str:
    environ = {name: value for name, value in {**COMPLETE, **changed}.items() if value}
    with pytest.raises(UserError) as caught:
        read_settings(environ)
    return caught.value.text


def test_defaults_make_a_complete_installation(tmp_path: Path) -> None:
    """Everything optional has a default that works on one machine."""
    settings = read_settings({**COMPLETE, "DATA_DIR": str(tmp_path)})
    assert (settings.app_id, settings.host, settings.port, settings.log_format) == (
        4242,
        "127.0.0.1",
        8000,
        "text",
    )
    assert settings.database_url == f"sqlite:///{tmp_path}/maxview.sqlite"
    assert settings.artifacts_url == f"file:{tmp_path}/artifacts"
    assert (settings.api_url, settings.public_url) == ("https://api.github.com", "http://127.0.0.1:8000")
    assert settings.poll_seconds == 60.0


def test_all_missing_settings_are_reported_at_once() -> None:
    """Each has its own line, with its meaning."""
    with pytest.raises(UserError) as caught:
        read_settings({})
    lines = caught.value.text.splitlines()
    assert lines[0] == "settings are missing or wrong:"
    assert [line.split()[0] for line in lines[1:]] == [
        "GITHUB_APP_ID",
        "GITHUB_PRIVATE_KEY",
        "GITHUB_WEBHOOK_SECRET",
    ]
    assert "the App's number, from its settings page" in lines[1]


def test_all_wrong_settings_are_reported_at_once() -> None:
    """Each with what to give instead."""
    text = _problem(
        GITHUB_APP_ID="maxview",
        GITHUB_PRIVATE_KEY="not a key",
        GITHUB_WEBHOOK_SECRET="",
        PORT="0",
        LOG_FORMAT="xml",
        DATABASE_URL="mysql://x",
        ARTIFACTS_URL="/var/runs",
        PUBLIC_URL="maxview.example",
        POLL_SECONDS="often",
    )
    assert len(text.splitlines()) == 10
    for name in (
        "GITHUB_APP_ID is 'maxview': give the App's number",
        "GITHUB_PRIVATE_KEY holds no private key: give PEM text, or that text in base64",
        "GITHUB_WEBHOOK_SECRET is missing",
        "PORT is '0': give a port between 1 and 65535",
        "LOG_FORMAT is 'xml': give text or json",
        "DATABASE_URL does not look like sqlite:… or postgresql:…",
        "ARTIFACTS_URL does not look like file:… or gs:…",
        "PUBLIC_URL does not look like https:… or http:…",
        "POLL_SECONDS is 'often': give a number of seconds above 0",
    ):
        assert f"  {name}" in text


@pytest.mark.parametrize("port", ["0", "65536", "-1", "80.5"])
def test_an_impossible_port_is_refused(port: str) -> None:
    """Ports are between 1 and 65535."""
    assert f"PORT is {port!r}: give a port between 1 and 65535" in _problem(PORT=port)


@pytest.mark.parametrize("seconds", ["0", "-5", "nan", "inf"])
def test_an_impossible_poll_interval_is_refused(seconds: str) -> None:
    """A server can poll neither every 0 s nor never."""
    assert f"POLL_SECONDS is {seconds!r}" in _problem(POLL_SECONDS=seconds)


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        PEM.replace("\n", "\\n"),
        base64.b64encode(PEM.encode()).decode(),
        base64.encodebytes(PEM.encode()).decode(),
        f"\n  {PEM}\n\n",
    ],
    ids=["lines", "escaped", "base64", "base64 in lines", "padded"],
)
def test_a_key_is_read_in_every_form_people_paste(text: str) -> None:
    """PEM text, with real or escaped line ends, or all of it in base64, gives the same key."""
    assert read_settings({**COMPLETE, "GITHUB_PRIVATE_KEY": text}).private_key == PEM + "\n"


def test_a_key_is_read_from_a_file(tmp_path: Path) -> None:
    """GITHUB_PRIVATE_KEY_PATH names a file that holds it."""
    path = tmp_path / "key.pem"
    path.write_text(PEM + "\n")
    environ = {**COMPLETE, "GITHUB_PRIVATE_KEY": "", "GITHUB_PRIVATE_KEY_PATH": str(path)}
    assert read_settings(environ).private_key == PEM + "\n"


def test_a_key_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The message says which file and why."""
    text = _problem(GITHUB_PRIVATE_KEY="", GITHUB_PRIVATE_KEY_PATH=str(tmp_path / "none.pem"))
    assert f"GITHUB_PRIVATE_KEY_PATH: {tmp_path / 'none.pem'} cannot be read: No such file" in text


def test_a_key_file_that_holds_no_key_is_named_and_not_shown(tmp_path: Path) -> None:
    """What the file holds does not appear in the message."""
    path = tmp_path / "key.pem"
    path.write_bytes(b"hunter2 \xff")
    assert "hunter2" not in _problem(GITHUB_PRIVATE_KEY="", GITHUB_PRIVATE_KEY_PATH=str(path))


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(PEM.splitlines()[:8]),
        PEM.replace(PEM.splitlines()[3], ""),
        "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
        ELLIPTIC,
    ],
    ids=["cut", "a line is missing", "no key", "another kind"],
)
def test_a_key_that_cannot_sign_is_refused_at_the_start(text: str) -> None:
    """A paste that lost a line is reported before GitHub gets it, and not repeated."""
    said = _problem(GITHUB_PRIVATE_KEY=text)
    assert "GITHUB_PRIVATE_KEY holds a private key that is cut or not GitHub's" in said
    assert text.splitlines()[1] not in said


def test_secrets_are_not_in_the_representation() -> None:
    """Neither the key, nor the webhook's secret, nor the database's password is printed."""
    settings = read_settings({**COMPLETE, "DATABASE_URL": "postgresql://bot:hunter2@db/maxview"})
    for secret in (settings.webhook_secret, PEM.splitlines()[1], "hunter2"):
        assert secret not in repr(settings)
        assert secret not in str(settings)


def test_secrets_are_not_in_messages() -> None:
    """Whatever else is wrong, and even where the secrets are in the wrong place, they are not repeated."""
    text = _problem(
        GITHUB_PRIVATE_KEY="aHVudGVyMg== hunter2",
        DATABASE_URL="hunter2://bot:hunter2@db",
        GITHUB_WEBHOOK_SECRET="hunter2",
        PORT="0",
    )
    assert "hunter2" not in text


def test_addresses_lose_their_trailing_slash() -> None:
    """PUBLIC_URL and GITHUB_API_URL are joined with paths that begin with one."""
    settings = read_settings(
        {**COMPLETE, "PUBLIC_URL": "https://maxview.example/", "GITHUB_API_URL": "https://ghe/api/v3/"}
    )
    assert (settings.public_url, settings.api_url) == ("https://maxview.example", "https://ghe/api/v3")


def test_help_names_every_setting() -> None:
    """`maxview serve --help` lists each variable with its meaning and default."""
    shown = subprocess.run(
        [sys.executable, "-m", "bot", "serve", "--help"], capture_output=True, text=True, check=True
    )
    for setting in SETTINGS:
        assert setting.name in shown.stdout
        assert setting.meaning in shown.stdout


def test_serve_without_settings_ends_with_2_and_lists_them(tmp_path: Path) -> None:
    """Bad use ends with status 2, one message on standard error, no traceback, and nothing made."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    ended = subprocess.run(
        [sys.executable, "-m", "bot", "serve"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    for name in ("GITHUB_APP_ID", "GITHUB_PRIVATE_KEY", "GITHUB_WEBHOOK_SECRET"):
        assert f"{name} is missing" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


def _serve(tmp_path: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "bot", "serve"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **COMPLETE, "DATA_DIR": str(tmp_path), **settings},
    )


def test_an_unwritable_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting, the folder and the user are in one line; root may write anywhere, so the check itself is
    tested."""
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != tmp_path)
    with pytest.raises(UserError) as told:
        serve(read_settings({**COMPLETE, "DATA_DIR": str(tmp_path)}))
    assert told.value.text.startswith(f"DATA_DIR: {tmp_path} cannot be written to by user {os.getuid()}")


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    """With what to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = _serve(tmp_path, PORT=str(port))
    assert ended.returncode == 2
    assert ended.stderr == (
        f"maxview: HOST 127.0.0.1, PORT {port}: cannot listen there (Address already in use); give others\n"
    )


@pytest.fixture
def _quiet_root() -> object:
    """Give the root logger back as it was."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = before, level


@pytest.mark.usefixtures("_quiet_root")
def test_log_lines_cannot_be_forged(capfd: pytest.CaptureFixture[str]) -> None:
    """A text from outside with line ends stays on the one line of its event, in both formats."""
    forged = "x\n2026-01-01T00:00:00Z ERROR all is lost"
    for log_format in ("text", "json"):
        set_up_logging(log_format)
        logging.getLogger("test").warning("taken", extra={"branch": forged})
    text, line = capfd.readouterr().err.splitlines()
    assert text.endswith(f" WARNING taken branch={json.dumps(forged)}")
    entry = json.loads(line)
    assert (entry["level"], entry["message"], entry["branch"]) == ("WARNING", "taken", forged)


def test_limits_of_jobs_are_numbers_with_units(tmp_path: Path) -> None:
    """Each has a default; what is given is read as it is written elsewhere."""
    usual = read_settings({**COMPLETE, "DATA_DIR": str(tmp_path)}).job_limits
    given = {"JOB_MEMORY": "16G", "JOB_PROCESSES": "99", "JOB_DISK": "1T", "JOB_LOG": "5M", "JOB_TIME": "90m"}
    limits = read_settings({**COMPLETE, "DATA_DIR": str(tmp_path), **given}).job_limits
    assert (usual.processes, usual.disk_bytes, usual.log_bytes, usual.seconds) == (4096, 20e9, 100e6, 86_400)
    assert (limits.memory_bytes, limits.processes, limits.disk_bytes) == (16 * 10**9, 99, 10**12)
    assert (limits.log_bytes, limits.seconds) == (5 * 10**6, 5400)


@pytest.mark.parametrize(
    ("name", "value"),
    [("JOB_MEMORY", "16"), ("JOB_MEMORY", "0G"), ("JOB_DISK", "-1G"), ("JOB_LOG", "5K"), ("JOB_TIME", "1d"),
     ("JOB_PROCESSES", "many"), ("JOB_PROCESSES", "1")],
)  # fmt: skip
def test_a_limit_that_cannot_be_is_told(name: str, value: str) -> None:
    """With the value and what to give."""
    assert f"{name} is {value!r}: give " in _problem(**{name: value})


def test_no_job_is_shown_what_is_the_servers(tmp_path: Path) -> None:
    """Data, key, policy, database and artifacts stay out of sight, and cannot be asked for by mistake."""
    (tmp_path / "data" / "x").mkdir(parents=True)
    (tmp_path / "key.pem").write_text(PEM)
    (tmp_path / "tools").mkdir()
    environ = {
        "DATA_DIR": str(tmp_path / "data"),
        "GITHUB_PRIVATE_KEY_PATH": str(tmp_path / "key.pem"),
        "DATABASE_URL": f"sqlite:///{tmp_path}/other/maxview.sqlite",
        "ARTIFACTS_URL": f"file:{tmp_path}/kept",
        "JOB_PATHS": f"{tmp_path}/tools:/dev/null",
    }
    view = read_settings({**COMPLETE, **environ}).job_view
    assert view.visible[-2:] == (f"{tmp_path}/tools", "/dev/null")
    own = {"data", "key.pem", "other/maxview.sqlite", "kept"}
    assert {f"{tmp_path}/{name}" for name in own} <= set(view.hidden)
    for path in (tmp_path / "data" / "x", tmp_path / "key.pem", tmp_path / "tools" / ".." / "data"):
        assert "belongs to the server itself" in _problem(**{**environ, "JOB_PATHS": str(path)})
    assert "does not exist" in _problem(**{**environ, "JOB_PATHS": "tools"})


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"METRICS_ADDRESS": "9464"}, "METRICS_ADDRESS is '9464': give HOST:PORT"),
        ({"METRICS_ADDRESS": "127.0.0.1:0"}, "METRICS_ADDRESS is '127.0.0.1:0': give HOST:PORT"),
        ({"METRICS_TOKEN": "short"}, "METRICS_TOKEN is too short: give 16 characters or more"),
        ({"RETENTION": "0"}, "RETENTION is '0': give a number of days from 1 to 3650"),
        ({"LINK_KEYS": "no"}, "LINK_KEYS is 'no': give on or off"),
    ],
)
def test_what_guards_private_data_is_checked(changed: dict[str, str], wanted: str) -> None:
    """A typing error opens nothing; and a token is not repeated."""
    assert wanted in _problem(**changed)
