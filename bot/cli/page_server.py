"""The process of the pages, which `maxview serve` starts: no command for people.

In:  the settings as a line of JSON on standard input, without the App's private key; the number of a
listening socket as the only argument. Out: pages, until standard input ends.
"""

import os
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

from bot.cli.protection import protect_process

NICENESS = 5
"""Pages wait for webhooks where processors are scarce."""

OOM_SCORE = 500
"""Where memory ends, Linux ends this process before the one that receives webhooks."""

if __name__ == "__main__":
    # Before the secrets on standard input can be read: what follows takes a second to import.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(f"{OOM_SCORE}\n", encoding="ascii")
    protect_process(())

import msgspec  # noqa: E402 - as above
import uvicorn  # noqa: E402 - as above

from bot.app import make_pages  # noqa: E402 - as above
from bot.cli.serve import SHUTDOWN_SECONDS, set_up_logging  # noqa: E402 - as above
from bot.server.page_process import IDLE_SECONDS  # noqa: E402 - as above
from bot.settings import Settings  # noqa: E402 - as above

STUCK_STATUS = 70

KEEP_ALIVE_SECONDS = 20 * IDLE_SECONDS
"""The server gives idle connections up before this process does: no request comes on one that is closing."""


def main() -> None:
    """Serve pages."""
    line = sys.stdin.buffer.readline()
    if not line:  # the server ended meanwhile
        return
    settings = _SETTINGS.decode(line)
    set_up_logging(settings.log_format)
    os.nice(NICENESS)
    config = uvicorn.Config(
        make_pages(settings, _end_at_once),
        log_config=None,
        access_log=False,
        forwarded_allow_ips="*",  # who connects is the server itself
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_keep_alive=int(KEEP_ALIVE_SECONDS),
        server_header=False,
        date_header=False,
        ws="none",
    )
    server = uvicorn.Server(config)
    threading.Thread(target=_stop_at_end_of_input, args=(server,), daemon=True).start()
    server.run(sockets=[socket.socket(fileno=int(sys.argv[1]))])


def _read_value(kind: type, value: object) -> object:
    return kind(value)


_SETTINGS = msgspec.json.Decoder(Settings, dec_hook=_read_value)


def _stop_at_end_of_input(server: uvicorn.Server) -> None:
    """The server that started this process ended, however that came."""
    sys.stdin.buffer.read()
    server.should_exit = True


def _end_at_once(_path: str) -> None:
    """A thread does not end: only its process can."""
    os._exit(STUCK_STATUS)


if __name__ == "__main__":
    main()
