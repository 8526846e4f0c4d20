"""The operator's settings, read from environment variables.

`read_settings` returns `Settings` or raises one `UserError` that lists every problem. Secrets never appear in
`repr`, and a problem with the private key never repeats any of it.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from bot.clusters.local.limits import JobLimits, default_limits
from bot.clusters.local.sandbox import DEFAULT_VIEW, SandboxView, default_view, is_below
from bot.errors import UserError

GITHUB_API = "https://api.github.com"

RETENTION_LIMITS = (1.0, 3_650.0)

MIN_SECRET_LENGTH = 16
"""Of a token that a person makes: shorter ones are guessed."""

POLL_LIMITS = (0.1, 86_400.0)
"""Seconds: more often is never needed, and less than once a day is as good as never."""


def read_pem(text: str) -> tuple[str, str]:
    """The App's private key as PEM text with a line end, and its problem as a clause, empty if there is none.

    `text` is PEM, with real or escaped line ends, or all of that in base64.
    """
    pem = text.strip().replace("\\n", "\n")
    if "PRIVATE KEY" not in pem:
        pem = _decode_base64(pem)
    if "PRIVATE KEY" not in pem:
        return "", "holds no private key: give PEM text, or that text in base64"
    if not _is_rsa_key(pem):
        return "", "holds a private key that is cut or not GitHub's: give the whole file from GitHub"
    return f"{pem}\n", ""


def _decode_base64(text: str) -> str:
    joined = "".join(text.split())  # GNU's base64 breaks its lines
    try:
        return base64.b64decode(joined, validate=True).decode("ascii").strip()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _is_rsa_key(pem: str) -> bool:
    """Whether it is a whole RSA key: GitHub makes those, and accepts no other signatures."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - only a server needs these
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        return isinstance(load_pem_private_key(pem.encode(), password=None), RSAPrivateKey)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it wants a password
        return False


@dataclass(frozen=True, slots=True, kw_only=True)  # no Struct: those show every field in their repr
class Settings:
    """A complete, checked set of settings; `artifacts_url` and `database_url` are always full addresses.

    `policy` is the operator's file, None where nothing is granted; no repository may name `secret_files`.
    `pulls_only`: no webhook arrives, so deliveries are read from GitHub's own list.
    """

    app_id: int
    private_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)
    client_id: str
    client_secret: str = field(repr=False)
    session_secret: str = field(repr=False)
    api_url: str
    public_url: str
    database_url: str = field(repr=False)
    artifacts_url: str
    host: str
    port: int
    data_dir: Path
    log_format: str
    poll_seconds: float
    policy: Path | None = None
    secret_files: tuple[Path, ...] = ()
    pulls_only: bool = False
    link_keys: bool = True
    metrics_address: tuple[str, int] | None = None
    metrics_token: str = field(default="", repr=False)
    retention_days: float = 30.0
    xpk_command: tuple[str, ...] = ("xpk",)
    job_limits: JobLimits = field(default_factory=default_limits)
    job_view: SandboxView = DEFAULT_VIEW
    trusted_proxies: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether nobody but this machine can reach the server."""
        hosts = {self.host, urlsplit(self.public_url).hostname or ""}
        return hosts <= {"127.0.0.1", "::1", "localhost"}


class Setting(Struct, frozen=True, kw_only=True):
    """One environment variable: what it is for, its default in words, whether `serve` needs it, and whether
    it is erased once it is read."""

    name: str
    meaning: str
    default: str = ""
    required: bool = False
    secret: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting(name="GITHUB_APP_ID", meaning="the App's number, from its settings page", required=True),
    Setting(
        name="GITHUB_PRIVATE_KEY",
        meaning="the App's private key: PEM text, or that text in base64",
        default="or GITHUB_PRIVATE_KEY_PATH",
        required=True,
        secret=True,
    ),
    Setting(name="GITHUB_PRIVATE_KEY_PATH", meaning="a file that holds the private key"),
    Setting(
        name="GITHUB_WEBHOOK_SECRET", meaning="the secret of the App's webhook", required=True, secret=True
    ),
    Setting(
        name="GITHUB_CLIENT_ID",
        meaning="the App's client ID: with its secret, people can sign in to see private repositories",
        default="nobody can sign in",
    ),
    Setting(name="GITHUB_CLIENT_SECRET", meaning="a client secret of the App", secret=True),
    Setting(
        name="SESSION_SECRET",
        meaning="what sessions are sealed with; a new one signs everybody out",
        default="derived from the App's private key",
        secret=True,
    ),
    Setting(
        name="LINK_KEYS",
        meaning="off: links in comments of private repositories carry no key, so that people must sign in",
        default="on",
    ),
    Setting(
        name="GITHUB_API_URL",
        meaning="GitHub's API; of an Enterprise Server, https://HOST/api/v3",
        default=GITHUB_API,
    ),
    Setting(
        name="PUBLIC_URL",
        meaning="where people reach these pages; the comment links there",
        default="http://HOST:PORT",
    ),
    Setting(
        name="DATABASE_URL",
        meaning="sqlite:///file or postgresql://…",
        default="a SQLite file in DATA_DIR",
        secret=True,
    ),
    Setting(
        name="ARTIFACTS_URL",
        meaning="where the logs of all runs are stored: file:… or gs://bucket/prefix",
        default="the folder artifacts in DATA_DIR",
    ),
    Setting(
        name="POLICY",
        meaning="a YAML file that says what each repository may make the server do (maxview policy --help)",
        default="nothing is read and nothing launched",
    ),
    Setting(name="HOST", meaning="the address to listen on", default="127.0.0.1"),
    Setting(name="PORT", meaning="the port to listen on", default="8000"),
    Setting(name="DATA_DIR", meaning="a folder that survives restarts", default=".data"),
    Setting(name="LOG_FORMAT", meaning="text or json", default="text"),
    Setting(
        name="METRICS_ADDRESS",
        meaning="HOST:PORT on which /metrics is served, apart from the pages",
        default="with the pages, if nobody else can reach them",
    ),
    Setting(
        name="METRICS_TOKEN",
        meaning="a secret: with Authorization: Bearer of it, /metrics is served with the pages",
        secret=True,
    ),
    Setting(
        name="RETENTION",
        meaning="days after which everything of a repository is removed that the App was uninstalled on",
        default="30",
    ),
    Setting(
        name="POLL_SECONDS",
        meaning="how often an unfinished pull request is looked at without a webhook",
        default="60",
    ),
    Setting(
        name="TRUSTED_PROXIES",
        meaning="addresses or networks of proxies in front, with commas between: their X-Forwarded-For is "
        "believed, and limits count the clients behind them",
        default="none",
    ),
    Setting(
        name="XPK_COMMAND",
        meaning="how xpk is called, where repositories have runs launched on XPK clusters",
        default="xpk",
    ),
    Setting(
        name="JOB_MEMORY",
        meaning="the most memory of a job on this machine, such as 16G",
        default="three quarters of it",
    ),
    Setting(
        name="JOB_PROCESSES",
        meaning="the most processes and threads of a job on this machine",
        default="4096",
    ),
    Setting(
        name="JOB_DISK",
        meaning="the most that the files of a job on this machine take: its commit's and its own",
        default="20G",
    ),
    Setting(
        name="JOB_LOG",
        meaning="the most that a job on this machine prints; its log is cut there, and it is ended",
        default="100M",
    ),
    Setting(
        name="JOB_TIME",
        meaning="the longest that a job on this machine runs, whatever time limit its repository gives",
        default="24h",
    ),
    Setting(
        name="JOB_PATHS",
        meaning="what a sandboxed job sees besides the system and Python, separated by colons; devices too",
    ),
)


class _SettingsReader:
    """Reads variables one by one and collects their problems."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[str] = []

    def text(self, name: str, default: str = "") -> str:
        return self._environ.get(name, "").strip() or default

    def switch(self, name: str, *, default: bool) -> bool:
        value = self.text(name).lower()
        if value not in {"", "on", "off"}:
            self.problems.append(f"{name} is {value!r}: give on or off")
        return default if not value else value == "on"

    def secret(self, name: str) -> str:
        value = self.text(name)
        if value and len(value) < MIN_SECRET_LENGTH:
            self.problems.append(f"{name} is too short: give {MIN_SECRET_LENGTH} characters or more")
        return value

    def address(self, name: str) -> tuple[str, int] | None:
        value = self.text(name)
        host, _, port = value.rpartition(":")
        if value and not (host and port.isdecimal() and 0 < int(port) < 65_536):
            self.problems.append(f"{name} is {value!r}: give HOST:PORT")
            return None
        return (host.strip("[]"), int(port)) if value else None

    def required(self, name: str) -> str:
        value = self.text(name)
        if not value:
            self.problems.append(f"{name} is missing: {_meaning_of(name)}")
        return value

    def pair(self, first: str, second: str) -> tuple[str, str]:
        """Two settings that are only useful together."""
        values = self.text(first), self.text(second)
        if any(values) and not all(values):
            missing, given = (first, second) if values[1] else (second, first)
            self.problems.append(f"{missing} is missing: {_meaning_of(missing)}; or leave {given} out")
        return values

    def number(
        self, name: str, read: Callable[[str], float], limits: tuple[float, float], wanted: str
    ) -> float:
        low, high = limits
        value = self.text(name, _default_of(name))
        try:
            number = read(value)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            self.problems.append(f"{name} is {value!r}: give {wanted}")
            return low
        return number

    def url(self, name: str, default: str, schemes: tuple[str, ...]) -> str:
        value = self.text(name, default)
        if urlsplit(value).scheme not in schemes:
            wanted = " or ".join(f"{scheme}:…" for scheme in schemes)
            self.problems.append(f"{name} does not look like {wanted}")
        return value.rstrip("/")

    def scaled(self, name: str, default: int, units: Mapping[str, int]) -> int:
        """A whole number with a unit, such as `16G`."""
        value = self.text(name)
        if not value:
            return default
        found = re.fullmatch(r"([1-9][0-9]{0,8})([A-Za-z])", value)
        if found is None or found[2] not in units:
            self.problems.append(
                f"{name} is {value!r}: give a number and {' or '.join(units)}, such as {_example(units)}"
            )
            return default
        return int(found[1]) * units[found[2]]

    def job_limits(self) -> JobLimits:
        """What a job on this machine may use."""
        usual = default_limits()
        return JobLimits(
            memory_bytes=self.scaled("JOB_MEMORY", usual.memory_bytes, _SIZES),
            processes=int(self.number("JOB_PROCESSES", int, (16, 10**6), "a number between 16 and 1000000")),
            disk_bytes=self.scaled("JOB_DISK", usual.disk_bytes, _SIZES),
            log_bytes=self.scaled("JOB_LOG", usual.log_bytes, _SIZES),
            seconds=self.scaled("JOB_TIME", int(usual.seconds), _TIMES),
        )

    def job_view(self, hidden: Sequence[Path]) -> SandboxView:
        """What a sandboxed job sees, which is never what we keep for ourselves."""
        view = default_view(*hidden)
        paths = [Path(path) for path in self.text("JOB_PATHS").split(os.pathsep) if path]
        for path in paths:
            if not path.is_absolute() or not path.exists():
                self.problems.append(f"JOB_PATHS: {path} does not exist; give whole paths")
            elif any(is_below(path, one) for one in hidden):
                self.problems.append(f"JOB_PATHS: {path} belongs to the server itself; no job may see it")
        return SandboxView(visible=(*view.visible, *map(str, paths)), hidden=view.hidden)

    def words(self, name: str) -> tuple[str, ...]:
        value = self.text(name, _default_of(name))
        try:
            return tuple(shlex.split(value))
        except ValueError:
            self.problems.append(f"{name} is {value!r}: a quote is not closed")
            return ()

    def networks(self, name: str) -> tuple[str, ...]:
        """Addresses and networks with commas or blanks between them."""
        texts = self.text(name).replace(",", " ").split()
        try:
            return tuple(str(ip_network(text)) for text in texts)
        except ValueError as problem:
            self.problems.append(f"{name}: {problem}: give addresses or networks such as 10.0.0.0/8")
            return ()

    def paths(self, *names: str) -> tuple[Path, ...]:
        return tuple(Path(value).absolute() for name in names if (value := self.text(name)))

    def private_key(self) -> str:
        text, path = self.text("GITHUB_PRIVATE_KEY"), self.text("GITHUB_PRIVATE_KEY_PATH")
        if text:
            return self._pem(text, "GITHUB_PRIVATE_KEY")
        if not path:
            self.problems.append(
                "GITHUB_PRIVATE_KEY is missing: give the App's private key (PEM text or base64), "
                "or its file in GITHUB_PRIVATE_KEY_PATH"
            )
            return ""
        try:
            return self._pem(Path(path).read_text(encoding="utf-8"), "GITHUB_PRIVATE_KEY_PATH")
        except (OSError, UnicodeDecodeError) as problem:
            reason = getattr(problem, "strerror", None) or "not text"
            self.problems.append(f"GITHUB_PRIVATE_KEY_PATH: {path} cannot be read: {reason}")
            return ""

    def _pem(self, text: str, name: str) -> str:
        pem, problem = read_pem(text)
        if problem:
            self.problems.append(f"{name} {problem}")
        return pem


_SIZES = {"M": 10**6, "G": 10**9, "T": 10**12}

_TIMES = {"s": 1, "m": 60, "h": 3600}


def _example(units: Mapping[str, int]) -> str:
    return f"16{list(units)[1]}"


def _own_paths(data_dir: Path, database_url: str, artifacts_url: str, files: Iterable[str]) -> list[Path]:
    """The files and folders that are the server's own: no job may see them."""
    own = [data_dir, *(Path(file).absolute() for file in files if file)]
    if database_url.startswith("sqlite:///"):
        own.append(Path(database_url.removeprefix("sqlite:///")).absolute())
    if artifacts_url.startswith("file:"):
        own.append(Path("/" + artifacts_url.removeprefix("file:").lstrip("/")))
    return own


def _derived_session_secret(private_key: str) -> str:
    """A secret of this installation, the same after a restart and in all its processes."""
    return hmac.new(private_key.encode(), b"maxview session secret 1", hashlib.sha256).hexdigest()


def _meaning_of(name: str) -> str:
    return next(setting.meaning for setting in SETTINGS if setting.name == name)


def _default_of(name: str) -> str:
    return next(setting.default for setting in SETTINGS if setting.name == name)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read and check every setting; raises `UserError` with one line for each problem."""
    reader = _SettingsReader(environ)
    app_id = reader.required("GITHUB_APP_ID")
    if app_id and not app_id.isdigit():
        reader.problems.append(f"GITHUB_APP_ID is {app_id!r}: give the App's number")
    host = reader.text("HOST", "127.0.0.1")
    port = int(reader.number("PORT", int, (1, 65535), "a port between 1 and 65535"))
    data_dir = Path(reader.text("DATA_DIR", ".data")).absolute()
    log_format = reader.text("LOG_FORMAT", "text")
    if log_format not in {"text", "json"}:
        reader.problems.append(f"LOG_FORMAT is {log_format!r}: give text or json")
    private_key = reader.private_key()
    policy = reader.paths("POLICY")
    client_id, client_secret = reader.pair("GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET")
    database_url = reader.url(
        "DATABASE_URL", f"sqlite:///{data_dir / 'maxview.sqlite'}", ("sqlite", "postgresql", "postgres")
    )
    artifacts_url = reader.url("ARTIFACTS_URL", f"file:{data_dir / 'artifacts'}", ("file", "gs"))
    own_files = ("GITHUB_PRIVATE_KEY_PATH", "GOOGLE_APPLICATION_CREDENTIALS", "POLICY")
    key_files = [reader.text(name) for name in own_files]
    settings = Settings(
        app_id=int(app_id) if app_id.isdigit() else 0,
        private_key=private_key,
        webhook_secret=reader.required("GITHUB_WEBHOOK_SECRET"),
        client_id=client_id,
        client_secret=client_secret,
        session_secret=reader.text("SESSION_SECRET") or _derived_session_secret(private_key),
        api_url=reader.url("GITHUB_API_URL", GITHUB_API, ("https", "http")),
        public_url=reader.url("PUBLIC_URL", f"http://{host}:{port}", ("https", "http")),
        database_url=database_url,
        artifacts_url=artifacts_url,
        host=host,
        port=port,
        data_dir=data_dir,
        log_format=log_format,
        policy=policy[0] if policy else None,
        secret_files=reader.paths("GITHUB_PRIVATE_KEY_PATH", "GOOGLE_APPLICATION_CREDENTIALS"),
        xpk_command=reader.words("XPK_COMMAND"),
        job_limits=reader.job_limits(),
        job_view=reader.job_view(_own_paths(data_dir, database_url, artifacts_url, key_files)),
        trusted_proxies=reader.networks("TRUSTED_PROXIES"),
        metrics_address=reader.address("METRICS_ADDRESS"),
        metrics_token=reader.secret("METRICS_TOKEN"),
        retention_days=reader.number("RETENTION", float, RETENTION_LIMITS, "a number of days from 1 to 3650"),
        link_keys=reader.switch("LINK_KEYS", default=True),
        poll_seconds=reader.number("POLL_SECONDS", float, POLL_LIMITS, "a number of seconds above 0"),
    )
    if reader.problems:
        raise UserError(
            "settings are missing or wrong:\n" + "\n".join(f"  {line}" for line in reader.problems)
        )
    return settings
