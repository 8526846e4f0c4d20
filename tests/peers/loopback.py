"""Servers on loopback: free ports, an ASGI application in a thread, and a server whose answers a test
scripts."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import uvicorn
from starlette.applications import Starlette

# Where Linux says from which port on it hands them to outgoing connections by itself (ip(7)).
EPHEMERAL_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

LOWEST_PORT = 10_000

USUAL_EPHEMERAL_START = 32_768


def _ephemeral_start() -> int:
    return (
        int(EPHEMERAL_PORT_RANGE.read_text().split()[0])
        if EPHEMERAL_PORT_RANGE.exists()
        else USUAL_EPHEMERAL_START
    )


def _candidate_ports() -> Iterator[int]:
    """Every port of this process, once each: of N test workers, one has each N-th."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    mine = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % workers
    highest = _ephemeral_start() if _ephemeral_start() > LOWEST_PORT + 1000 else 65_536
    ports = range(LOWEST_PORT + mine, highest, workers)
    begin = os.getpid() % len(ports)  # another test session on this machine begins elsewhere
    yield from (*ports[begin:], *ports[:begin])


_PORTS = _candidate_ports()


def free_port() -> int:
    """A port that nobody listens on and nobody else is given while these tests run.

    One that the system picks (port 0) may be handed to any outgoing connection before the server, or its next
    life after a kill, listens there.
    """
    return next(port for port in _PORTS if _is_free_port(port))


def _is_free_port(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def asgi_server(application: Starlette) -> Iterator[str]:
    """The address of the served application."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    config = uvicorn.Config(application, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server, loop = uvicorn.Server(config), asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(server.serve(sockets=[listener])))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        loop.close()
        listener.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """What was asked; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What to send; with `cut`, the connection ends after so many bytes of the announced body."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: int | None = None
    announce_length: str = "yes"


@contextmanager
def scripted_server(answer: Callable[[HttpRequest], HttpAnswer]) -> Iterator[str]:
    """The address of a server that answers as `answer` says."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _send_answer(self, answer)

        def do_HEAD(self) -> None:
            _send_answer(self, answer)

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


def _send_answer(handler: BaseHTTPRequestHandler, answer: Callable[[HttpRequest], HttpAnswer]) -> None:
    parts = urlsplit(handler.path)
    reply = answer(
        HttpRequest(
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
