"""Limits of connections: how many, how long each part of a request may take, and how large it may be.

uvicorn has no deadline for half a request header, no bound on its size, and answers every pipelined request.
`LimitedProtocol` adds these. A connection beyond the limits replaces the one that has waited longest for its
client, so that connections that send nothing lock nobody out.
"""

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum
from http import HTTPStatus
from typing import Any

import httptools
from msgspec import Struct
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from bot.server.clients import Network, client_key, in_networks

MAX_CONNECTIONS, MAX_PER_CLIENT = 512, 128
"""Connections in all, and of one client; each takes some 20 kB while it waits."""

HEADER_SECONDS = 10.0
"""From the first byte of a request, or from the connection, to the end of its header."""

BODY_WINDOW_SECONDS, BODY_WINDOW_BYTES = 5.0, 20_000
"""A body must progress by so many bytes in each such time."""

ANSWER_WINDOW_SECONDS, ANSWER_WINDOW_BYTES = 10.0, 40_000
"""A client must take so many bytes of an answer that waits for it in each such time."""

LINGER_SECONDS, LINGER_BYTES = 2.0, 256 << 10
"""After an answer that closes, this much of an unread body is taken, so that the client sees the answer."""

MAX_URL_BYTES, MAX_HEADER_BYTES, MAX_HEADERS = 8 << 10, 32 << 10, 100

MAX_OVERHEAD = 8
"""Bytes of chunk headers for each byte of a body: a body in chunks of one byte has five."""

HTTP_VERSIONS = frozenset({"1.0", "1.1"})


class ConnectionPhase(Enum):
    """What a connection waits for: a request's header, its body, or our answer."""

    HEADER = "header"
    BODY = "body"
    ANSWER = "answer"


class _Group:
    """Connections in the order in which they began to wait."""

    def __init__(self) -> None:
        self.phases: dict[ConnectionPhase, dict[LimitedProtocol, None]] = {
            phase: {} for phase in ConnectionPhase
        }

    def count(self) -> int:
        return sum(map(len, self.phases.values()))

    def longest_waiting(self) -> "LimitedProtocol | None":
        """Whoever has waited longest for its client; a header is awaited before a body."""
        for phase in (ConnectionPhase.HEADER, ConnectionPhase.BODY):
            for connection in self.phases[phase]:
                return connection
        return None


class ConnectionTable:
    """Every open connection, in all and by client. Those of `proxies` count in all only."""

    def __init__(self, proxies: Sequence[Network] = ()) -> None:
        self._proxies = tuple(proxies)
        self._all = _Group()
        self._clients: dict[str, _Group] = {}

    def add(self, connection: "LimitedProtocol") -> None:
        """Count a connection in its place, and close another where there are too many."""
        address = connection.client[0] if connection.client else ""
        groups = [self._all]
        if not in_networks(address, self._proxies):
            groups.append(self._clients.setdefault(client_key(address), _Group()))
        for group, most in zip(groups, (MAX_CONNECTIONS, MAX_PER_CLIENT), strict=False):
            if group.count() >= most:
                (group.longest_waiting() or connection).abort()
        connection.groups = groups
        self.move(connection, ConnectionPhase.HEADER)

    def move(self, connection: "LimitedProtocol", phase: ConnectionPhase) -> None:
        """Put a connection at the end of those that wait for this."""
        for group in connection.groups:
            group.phases[connection.phase].pop(connection, None)
            group.phases[phase][connection] = None
        connection.phase = phase

    def count(self) -> int:
        """How many there are."""
        return self._all.count()

    def discard(self, connection: "LimitedProtocol") -> None:
        """Forget a connection that ended."""
        for group in connection.groups:
            group.phases[connection.phase].pop(connection, None)
        connection.groups = []
        address = connection.client[0] if connection.client else ""
        key = client_key(address)
        if key in self._clients and not self._clients[key].count():
            del self._clients[key]


class LimitedProtocol(HttpToolsProtocol):
    """One connection within its limits."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        table: ConnectionTable,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.groups: list[_Group] = []
        self.phase = ConnectionPhase.HEADER
        self._table = table
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._problem: HTTPStatus | None = None
        self._request = _RequestSize()
        self._ignored: int | None = None
        """Bytes that were received and ignored; None while requests are read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it, and wait for a header."""
        super().connection_made(transport)
        self._table.add(self)
        self._wait(HEADER_SECONDS, self._header_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._table.discard(self)
        self._stop_waiting()
        if self._write_timer is not None:
            self._write_timer.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def abort(self) -> None:
        """End it at once: nothing more is sent."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read what came, and end a connection whose request is broken or too large."""
        if self._ignored is not None:
            self._ignored += len(data)
            if self._ignored > LINGER_BYTES:
                self.abort()
            return
        self._unset_keepalive_if_required()
        if self.phase is ConnectionPhase.HEADER and self._timer is None:
            self._wait(HEADER_SECONDS, self._header_is_late)
        self._request.received += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # There is nothing to upgrade to. What follows such a header is no HTTP/1.1.
            self._read_no_more()
        except httptools.HttpParserError:
            self._refuse(self._problem or HTTPStatus.BAD_REQUEST)
        else:
            if self._request.is_too_large:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_message_begin(self) -> None:
        """A request begins. Its predecessor must have been answered: pipelined requests are not read."""
        if self.phase is ConnectionPhase.ANSWER:
            raise _RefusedError
        self._request.restart()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the target."""
        super().on_url(url)
        if len(self.url) > MAX_URL_BYTES:
            self._reject(HTTPStatus.REQUEST_URI_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or trailer."""
        self._request.headers += 1
        self._request.header_bytes += len(name) + len(value)
        if self._request.headers > MAX_HEADERS or self._request.header_bytes > MAX_HEADER_BYTES:
            self._reject(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if self.phase is ConnectionPhase.HEADER:  # a trailer has no reader
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The application takes over; a body is awaited."""
        if self.parser.get_http_version() not in HTTP_VERSIONS:
            self._reject(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
        super().on_headers_complete()
        self.cycle.transport = _AnswerTransport(self)  # type: ignore[assignment]
        self._table.move(self, ConnectionPhase.BODY)
        self._await_body(0)

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._request.body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The whole request is here."""
        super().on_message_complete()
        self._stop_waiting()
        self._table.move(self, ConnectionPhase.ANSWER)

    def on_response_complete(self) -> None:
        """Wait for the next request, or close if this one was answered before all of it came."""
        super().on_response_complete()
        if self._ignored is not None:
            self._unset_keepalive_if_required()
        elif self.phase is ConnectionPhase.BODY:
            self.finish()
        else:
            self._table.move(self, ConnectionPhase.HEADER)

    def finish(self) -> None:
        """Send what is written and close; take a little more of the request, so that it is not reset."""
        if self.transport.is_closing():
            return
        self._stop_waiting()
        self._unset_keepalive_if_required()
        if self.phase is ConnectionPhase.BODY or self._ignored is not None:
            self._ignored = self._ignored or 0
            self.flow.resume_reading()
            self.transport.write_eof()
            self._wait(LINGER_SECONDS, self.abort)
        else:
            self.transport.close()
        self._watch_reader()

    def timeout_keep_alive_handler(self) -> None:
        """No further request came."""
        self.finish()

    def pause_writing(self) -> None:
        """The client takes less than is written: see that it takes something."""
        super().pause_writing()
        self._watch_reader()

    def _watch_reader(self) -> None:
        if self._write_timer is None and self.transport.get_write_buffer_size():
            size = self.transport.get_write_buffer_size()
            self._write_timer = self.loop.call_later(ANSWER_WINDOW_SECONDS, self._check_reader, size)

    def _check_reader(self, before: int) -> None:
        self._write_timer = None
        left = self.transport.get_write_buffer_size()
        if left and left > before - ANSWER_WINDOW_BYTES and (self.flow.write_paused or self._is_last):
            self.abort()
        else:
            self._watch_reader()

    @property
    def _is_last(self) -> bool:
        """Whether nothing more will be written."""
        return self.transport.is_closing() or self._ignored is not None

    def _await_body(self, before: int) -> None:
        self._wait(BODY_WINDOW_SECONDS, self._check_body, before)

    def _check_body(self, before: int) -> None:
        """End a body that comes too slowly; while the application does not take what came, it need not."""
        body = self._request.body
        if body - before >= BODY_WINDOW_BYTES or self.flow.read_paused:
            self._await_body(body)
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _header_is_late(self) -> None:
        self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _wait(self, seconds: float, then: Callable[..., None], *values: object) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, then, *values)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _reject(self, status: HTTPStatus) -> None:
        """Leave the parser from one of its callbacks."""
        self._problem = status
        raise _RefusedError

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer a request that will not be read to its end, unless another answer is on its way."""
        if self.phase is ConnectionPhase.ANSWER:
            self._read_no_more()
            return
        cycle = self.cycle if self.phase is ConnectionPhase.BODY else None
        if cycle is not None:
            begun, cycle.disconnected = cycle.response_started, True
            cycle.message_event.set()
            if begun:
                self.abort()
                return
        text = status.phrase.encode()
        lines = (b"HTTP/1.1 %d %s" % (status, text), b"content-type: text/plain", b"connection: close")
        self.transport.write(b"\r\n".join((*lines, b"content-length: %d" % len(text), b"", text)))
        self._ignored = 0
        self.finish()

    def _read_no_more(self) -> None:
        """Give the answer that is due, and then close."""
        self.cycle.keep_alive = False
        self._ignored = 0


class _RequestSize(Struct):
    """What came of one request: bytes in all, of its body, and of its headers, and how many headers."""

    received: int = 0
    body: int = 0
    header_bytes: int = 0
    headers: int = 0

    def restart(self) -> None:
        """A new request begins; its first bytes came with the last ones."""
        self.received = self.body = self.header_bytes = self.headers = 0

    @property
    def is_too_large(self) -> bool:
        """Whether there is more around the body than a header and chunks explain."""
        around = self.received - self.body
        return around > MAX_URL_BYTES + MAX_HEADER_BYTES + MAX_OVERHEAD * self.body


class _RefusedError(Exception):
    """A callback of the parser wants no more."""


class _AnswerTransport:
    """The connection as an answer writes to it: closing it is up to the protocol."""

    def __init__(self, protocol: LimitedProtocol) -> None:
        self._protocol = protocol

    def write(self, data: bytes) -> None:
        """Send."""
        self._protocol.transport.write(data)

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._protocol.transport.is_closing()

    def close(self) -> None:
        """End the connection after what was written."""
        self._protocol.finish()
