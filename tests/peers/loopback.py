"""A web server on loopback whose every answer a test decides, broken connections included.

In:  a function from request to answer. Out: its address, while it serves.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What to send; with `cut`, the connection ends after so many bytes of the announced body."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: int | None = None
    announce_length: str = "yes"


@contextmanager
def serve(answer: Callable[[Request], Answer]) -> Iterator[str]:
    """The address of a server that answers as `answer` says."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _reply(self, answer)

        def do_HEAD(self) -> None:
            _reply(self, answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing: the test shows what matters."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _reply(handler: BaseHTTPRequestHandler, answer: Callable[[Request], Answer]) -> None:
    parts = urlsplit(handler.path)
    reply = answer(
        Request(
            method=handler.command,
            path=unquote(parts.path),
            query=dict(parse_qsl(parts.query)),
            headers={name.lower(): value for name, value in handler.headers.items()},
        )
    )
    handler.send_response(reply.status)
    for name, value in reply.headers.items():
        handler.send_header(name, value)
    if reply.announce_length == "yes":
        handler.send_header("content-length", str(len(reply.body)))
    handler.send_header("connection", "close")
    handler.end_headers()
    handler.close_connection = True
    if handler.command != "HEAD":
        handler.wfile.write(reply.body[: reply.cut])
