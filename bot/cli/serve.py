"""`maxview serve`: run the server until it is stopped.

Settings come from the environment. Exit status: 0 stopped by a signal, 2 wrong settings, 3 our failure.
"""

import argparse
import asyncio
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_network
from typing import TYPE_CHECKING, cast

import msgspec

from bot.cli.protection import protect_process
from bot.errors import UserError
from bot.settings import SETTINGS, Settings, read_settings

if TYPE_CHECKING:
    import uvicorn

SHUTDOWN_SECONDS = 2
"""Open requests get this long at SIGTERM; log streams are cut then."""

_STANDARD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One option, and a list of the settings: the environment configures a server."""
    parser.add_argument(
        "--pull",
        action="store_true",
        help="read deliveries from GitHub every few seconds: nothing need be able to reach this machine",
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    width = max(len(setting.name) for setting in SETTINGS)
    lines = [
        f"  {setting.name:<{width}}  {setting.meaning}"
        + (f" [{setting.default}]" if setting.default else "")
        + (" (required)" if setting.required else "")
        for setting in SETTINGS
    ]
    parser.epilog = "settings, from the environment:\n" + "\n".join(lines)


def main(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C."""
    settings = replace(read_settings(os.environ), pulls_only=arguments.pull)
    protect_process({setting.name for setting in SETTINGS if setting.secret})
    set_up_logging(settings.log_format)
    serve(settings)
    return 0


def serve(settings: Settings) -> None:
    """Build the application, then run the server on this thread."""
    import uvicorn  # noqa: PLC0415 - only a server needs it

    from bot.app import make_app  # noqa: PLC0415 - the other commands start faster without it
    from bot.server.page_process import PageProcess  # noqa: PLC0415 - as above

    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise UserError(f"DATA_DIR: {settings.data_dir} cannot be made: {problem.strerror}") from problem
    if not os.access(settings.data_dir, os.W_OK | os.X_OK):
        reason = f"cannot be written to by user {os.getuid()}; let it, or give another folder"
        raise UserError(f"DATA_DIR: {settings.data_dir} {reason}")
    # uvicorn shuts down and then raises the signal again, which would look like a failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit_zero)
    with _listen(settings.host, settings.port) as server_socket:
        pages = PageProcess(
            (sys.executable, "-m", "bot.cli.page_server"), encode_for_pages(settings), _other_variables()
        )
        config = server_config(settings, make_app(settings, pages))
        uvicorn.Server(config).run(sockets=[server_socket])


def server_config(settings: Settings, application: "Callable[..., Awaitable[None]]") -> "uvicorn.Config":
    """How the server runs: connections within limits, and proxies that the operator named believed."""
    import uvicorn  # noqa: PLC0415 - only a server needs it

    from bot.server.connections import ConnectionTable, LimitedProtocol  # noqa: PLC0415 - as above

    table = ConnectionTable([ip_network(text) for text in settings.trusted_proxies])
    return uvicorn.Config(
        application,
        http=cast("type[asyncio.Protocol]", partial(LimitedProtocol, table=table)),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        server_header=False,
    )


def encode_for_pages(settings: Settings) -> bytes:
    """The settings as the process of the pages reads them, without the App's private key."""
    return msgspec.json.encode(replace(settings, private_key="", metrics_token=""), enc_hook=str)


def _other_variables() -> dict[str, str]:
    """The environment without our settings: a process shows its environment to others of the same user."""
    names = {setting.name for setting in SETTINGS}
    return {name: value for name, value in os.environ.items() if name not in names}


def _listen(host: str, port: int) -> socket.socket:
    """A socket at this address. It opens first, so that a wrong address gives one clear line."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as problem:
        # Python appends the address, which the message has already.
        reason = str(problem.strerror or problem).partition(" (while ")[0]
        raise UserError(f"HOST {host}, PORT {port}: cannot listen there ({reason}); give others") from problem


def _exit_zero(_number: int, _frame: object) -> None:
    raise SystemExit(0)


def set_up_logging(log_format: str) -> None:
    """Log to standard error, one line per event, as text or as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if log_format == "json" else _TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for chatty in ("httpx", "httpx2", "alembic", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _extra_fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD_FIELDS}


class _TextFormatter(logging.Formatter):
    """`2026-01-01T00:00:00Z INFO delivery taken delivery=… event=…`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_one_line(value)}" for name, value in _extra_fields(record).items())
        text = (
            f"{_timestamp(record)} {record.levelname} {_one_line(record.getMessage(), spaces=True)}{fields}"
        )
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {"time": _timestamp(record), "level": record.levelname, "message": record.getMessage()}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps({**entry, **_extra_fields(record)}, default=str)


def _one_line(value: object, *, spaces: bool = False) -> str:
    """The value on one line: text from outside cannot start a new line."""
    text = str(value)
    plain = text.isprintable() and (spaces or " " not in text)
    return text if plain else json.dumps(text)


def _timestamp(record: logging.LogRecord) -> str:
    return (
        datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
