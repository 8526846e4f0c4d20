"""The pages in a process of their own: started, restarted, asked.

In:  requests of pages, as ASGI. Out: the answers of the child, passed on as they come.

Whatever a page computes, the process that receives webhooks computes none of it. A child that does not answer
is killed, and a new one takes its place. It is reached through a socket in a folder that only this user can
open; it ends with the server, since its standard input does.
"""

import asyncio
import logging
import os
import shutil
import socket
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from bot.server.clients import client_key, is_internal

MAX_OPEN, MAX_OPEN_PER_CLIENT = 128, 32
"""Pages that are open at a time, downloads included."""

MAX_FORM_BYTES = 64 << 10
"""Bytes of a request's body: pages take short forms at most."""

ANSWER_SECONDS = 60.0
"""The child answers every page before, if only with 503: it is stuck if it does not."""

BACKLOG = 4096
"""Connections that wait for a child to take them, those of readers who left among them. Where there is no
room for one more, anyio tries without a pause, and logs an error when it is told to stop."""

CONNECT_SECONDS = 2.0
"""A connection is made at once, unless as many wait already."""

START_SECONDS = 300.0
"""A child that has answered nothing may still be starting, which takes long where processors are scarce."""

IDLE_SECONDS = 5.0
"""A connection to the child is used again within this time: the child must keep it open for longer."""

RESTART_SECONDS = 0.5

STOP_SECONDS = 3.0

FIRST_FILE = 3
"""The number of the first open file behind the three standard ones."""

OWN_HEADERS = frozenset(
    {b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"expect"}
)
"""Headers of one connection, not of a request or answer (RFC 9110, 7.6.1)."""

FORWARDED_HEADERS = frozenset({b"x-forwarded-for", b"x-forwarded-proto", b"forwarded"})

REQUEST_BEGINS = "http11.send_request_headers.started"
"""httpcore's name of the moment when it has a connection."""

LOG = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]

Message = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[Message]]

Send = Callable[[Message], Awaitable[None]]


MAX_SOCKET_PATH = 100
"""Bytes of a socket's path: the kernel takes 107, and refuses more."""


def _socket_folder() -> Path:
    """A folder that only this user can enter; in the system's own where the usual one's path is too long."""
    folder = Path(tempfile.mkdtemp(prefix="maxview-pages-"))
    if len(os.fsencode(folder / "socket")) <= MAX_SOCKET_PATH:
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="maxview-pages-", dir="/tmp"))


class PageProcess:
    """An ASGI application that a child answers; `command` starts it, in this environment; `configuration` is
    its input.

    The command gets one more argument: the number of the listening socket.
    """

    def __init__(self, command: Sequence[str], configuration: bytes, environ: Mapping[str, str]) -> None:
        self._command = tuple(command)
        self._configuration = configuration
        self._environ = dict(environ)
        self.folder = _socket_folder()
        self._path = self.folder / "socket"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen(BACKLOG)
        self._child: Process | None = None
        self._started = time.monotonic()
        self._answering_since: float | None = None
        self._open: Counter[str] = Counter()
        self._warned = False
        self._client = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(
                uds=str(self._path),
                limits=httpx.Limits(
                    max_connections=None, max_keepalive_connections=16, keepalive_expiry=IDLE_SECONDS
                ),
            ),
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS, read=ANSWER_SECONDS),
            trust_env=False,
        )

    async def run_forever(self) -> None:
        """Keep a child running until this is cancelled."""
        while True:
            self._child = await self._start()
            status = await self._child.wait()
            LOG.warning("the process of the pages ended with %s; another takes its place", status)
            await asyncio.sleep(RESTART_SECONDS)

    async def _start(self) -> Process:
        number = self._listener.fileno()
        self._started, self._answering_since = time.monotonic(), None
        child = await asyncio.create_subprocess_exec(
            *self._command,
            str(number),
            stdin=PIPE,
            env=self._environ,
            pass_fds=(number,),
            start_new_session=True,
        )
        if child.stdin is not None:
            child.stdin.write(self._configuration + b"\n")
            with suppress(OSError):
                await child.stdin.drain()
        return child

    async def aclose(self) -> None:
        """End the child, and remove the socket."""
        if self._child is not None and self._child.returncode is None:
            self._child.terminate()
            try:
                await asyncio.wait_for(self._child.wait(), STOP_SECONDS)
            except TimeoutError:
                self._child.kill()
                await self._child.wait()
        await self._client.aclose()
        self._listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, and its answer back; a client that leaves ends both."""
        if scope["type"] != "http":
            return
        client = scope["client"][0] if scope["client"] else ""
        key = client_key(client)
        if self._open[key] >= MAX_OPEN_PER_CLIENT:
            await _say(send, 429, "Too many pages at once: close some, then try again.")
            return
        if self._open.total() >= MAX_OPEN:
            await _say(send, 503, "Too many readers at once: try again in a moment.")
            return
        self._warn_of_proxy(scope, client)
        self._open[key] += 1
        try:
            await self._pass_on(scope, receive, send, client)
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, client: str) -> None:
        body = await _read_form(receive)
        if body is None:
            await _say(send, 413, "This address takes no such body.")
            return
        began, connected = False, asyncio.Event()

        async def answer() -> None:
            nonlocal began
            async with self._asked(scope, body, client, connected) as response:
                began = True
                headers = [
                    (name, value) for name, value in response.headers.raw if name.lower() not in OWN_HEADERS
                ]
                status = response.status_code
                await send({"type": "http.response.start", "status": status, "headers": headers})
                async for piece in response.aiter_raw():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})

        answering = asyncio.create_task(answer())
        leaving = asyncio.create_task(_wait_for_leave(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                await answering
            else:  # uvloop logs an error for a connection that is given up while it is made
                await _first_of(answering, asyncio.create_task(connected.wait()))
        except httpx.HTTPError as problem:
            if isinstance(problem, httpx.ReadTimeout):
                self._end_if_stuck()
            if began:
                raise
            await _say(send, 503, "The pages are being restarted: try again in a moment.")
        finally:
            leaving.cancel()
            answering.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)

    @asynccontextmanager
    async def _asked(
        self, scope: Scope, body: bytes, client: str, connected: asyncio.Event
    ) -> AsyncIterator[httpx.Response]:
        """The child's answer to this request, whose body is still to be read."""

        async def trace(event: str, _info: object) -> None:
            if event == REQUEST_BEGINS:
                connected.set()

        headers = [
            (name, value)
            for name, value in scope["headers"]
            if name not in OWN_HEADERS and name not in FORWARDED_HEADERS and name != b"content-length"
        ]
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        request = httpx.Request(
            scope["method"],
            httpx.URL("http://pages"),
            headers=[*headers, (b"x-forwarded-for", client.encode())],
            content=body or None,
            extensions={"target": target, "timeout": self._client.timeout.as_dict(), "trace": trace},
        )
        response = await self._client.send(request, stream=True)
        if self._answering_since is None:
            self._answering_since = time.monotonic()
        try:
            yield response
        finally:
            await response.aclose()

    def _warn_of_proxy(self, scope: Scope, client: str) -> None:
        """Say once that a proxy may be in front which nobody told us of: all its visitors count as one."""
        if self._warned or not is_internal(client):
            return
        if any(name in FORWARDED_HEADERS for name, _ in scope["headers"]):
            self._warned = True
            LOG.warning("%s sends X-Forwarded-For: if it is your proxy, name it in TRUSTED_PROXIES", client)

    def _end_if_stuck(self) -> None:
        """End a child that left a request without an answer, unless it was not there all the time."""
        since, patience = self._answering_since, ANSWER_SECONDS
        if since is None:
            since, patience = self._started, START_SECONDS
        if time.monotonic() - since < patience:
            return
        LOG.warning("the process of the pages gave no answer within %.0f s and is ended", ANSWER_SECONDS)
        if self._child is not None:
            with suppress(ProcessLookupError):
                self._child.kill()


async def _first_of(answering: "asyncio.Task[None]", other: "asyncio.Task[bool]") -> None:
    try:
        await asyncio.wait({answering, other}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        other.cancel()


async def _read_form(receive: Receive) -> bytes | None:
    """The body of a request; None if it is longer than a form."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_FORM_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _wait_for_leave(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _say(send: Send, status: int, text: str) -> None:
    """A short answer of our own."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    if status in {429, 503}:
        headers.append((b"retry-after", b"2"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})
