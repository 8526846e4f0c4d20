"""What a connection may cost: each attack succeeds on uvicorn's own protocol, and is refused by ours."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import ip_network
from typing import cast

import pytest
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.server import connections
from bot.server.connections import ConnectionTable, LimitedProtocol
from tests.end_to_end.floods import Connection, Stranger, count_open

LARGE = 16 << 20
"""Bytes of an answer that no socket buffer holds."""

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


class Application:
    """Answers at once, with what it read, or with more than a client takes."""

    def __init__(self) -> None:
        self.asked = 0
        self.read: list[int] = []
        self.held = asyncio.Event()

    async def short(self, _request: Request) -> Response:
        """A short answer."""
        self.asked += 1
        return PlainTextResponse("short")

    async def large(self, _request: Request) -> Response:
        """A long answer."""
        return Response(b"x" * LARGE)

    async def refusing(self, _request: Request) -> Response:
        """An answer before the body is read."""
        return PlainTextResponse("no", status_code=401, headers={"connection": "close"})

    async def reading(self, request: Request) -> Response:
        """An answer after the body is read."""
        body = await request.body()
        self.read.append(len(body))
        return PlainTextResponse(str(len(body)))

    async def holding(self, _request: Request) -> Response:
        """An answer that comes when the test wants it."""
        self.asked += 1
        await self.held.wait()
        return PlainTextResponse("held")


@asynccontextmanager
async def serving(table: ConnectionTable | None = None) -> AsyncIterator[tuple[Application, Stranger]]:
    """A server with our protocol, and a stranger to it."""
    made = Application()
    routes = [
        Route("/", made.short),
        Route("/large", made.large),
        Route("/refusing", made.refusing, methods=["POST"]),
        Route("/reading", made.reading, methods=["POST"]),
        Route("/holding", made.holding),
    ]
    protocol = partial(LimitedProtocol, table=table or ConnectionTable())
    config = uvicorn.Config(
        Starlette(routes=routes),
        port=0,
        http=cast("type[asyncio.Protocol]", protocol),
        ws="none",
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    port = server.servers[0].sockets[0].getsockname()[1]
    stranger = Stranger(port=port)
    try:
        yield made, stranger
    finally:
        stranger.leave()
        made.held.set()
        await server.shutdown()


Attack = Callable[[Application, Stranger], Awaitable[None]]


def run(attack: Attack, table: ConnectionTable | None = None) -> None:
    """Serve, and attack, on the loop that the real server uses."""

    async def scene() -> None:
        async with serving(table) as (made, stranger):
            await attack(made, stranger)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scene())
    gc.collect()


async def said(connection: Connection, seconds: float = 3.0) -> tuple[int, bytes]:
    """Status and end of the one answer on a connection that the server closes."""
    text = await connection.answer(seconds)
    return (int(text.split(b" ")[1]) if text else 0), text


def test_half_a_header_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, half a header, or a header byte by byte: 408 at the deadline, and the connection ends."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.4)

    async def attack(made: Application, stranger: Stranger) -> None:
        for first in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\nX-A: ", b"\r\n\r\n"):
            assert 408 == (await said(await stranger.connect(first)))[0]
        slow = await stranger.connect(b"GET / HTTP/1.1\r\nX-A: ")
        for _ in range(20):
            await asyncio.sleep(0.1)
            if not await slow.send(b"a"):
                break
        assert await slow.is_closed(1)
        assert made.asked == 0

    run(attack)


def test_a_second_request_has_the_same_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept connection that begins another request, and goes no further, ends too."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.4)

    async def attack(made: Application, stranger: Stranger) -> None:
        kept = await stranger.connect(GET)
        assert b"short" in await kept.answer(0.2)
        await kept.send(b"GET")
        assert 408 == (await said(kept))[0]
        assert made.asked == 1

    run(attack)


def test_a_slow_body_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that stops, or comes by a byte at a time, is told 408; one that progresses is read."""
    monkeypatch.setattr(connections, "BODY_WINDOW_SECONDS", 0.4)
    monkeypatch.setattr(connections, "BODY_WINDOW_BYTES", 1000)

    async def attack(made: Application, stranger: Stranger) -> None:
        head = b"POST /reading HTTP/1.1\r\nHost: a\r\nContent-Length: 30000\r\n\r\n"
        assert 408 == (await said(await stranger.connect(head + b"x")))[0]
        steady = await stranger.connect(head)
        for _ in range(10):
            await asyncio.sleep(0.1)
            await steady.send(b"x" * 3000)
        assert b"30000" in await steady.answer(0.5)
        assert made.read == [30000]

    run(attack)


def test_a_refused_body_is_not_read_and_its_sender_learns_why() -> None:
    """The answer comes before the body; a little of the body is taken so that it arrives, then it is over."""

    async def attack(_made: Application, stranger: Stranger) -> None:
        head = b"POST /refusing HTTP/1.1\r\nHost: a\r\nContent-Length: 25000000\r\n\r\n"
        assert 401 == (await said(await stranger.connect(head)))[0]
        assert 401 == (await said(await stranger.connect(head + b"x" * 100_000)))[0]
        flood = await stranger.connect(head)
        sent = 0
        while sent < 25_000_000 and await flood.send(b"x" * 65536):
            sent += 65536
        assert sent < 16_000_000  # what the sockets' buffers hold
        assert await flood.is_closed(1)

    run(attack)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nX-A: " + b"a" * 300_000, 431),
        (b"GET /" + b"a" * 300_000, 414),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (b"GET / HTTP/0.9\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"POST /reading HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /reading HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 40, 400),
        (b"POST /reading HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"a" * 200_000, 431),
        (b"POST /reading HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * 101, 431),
        (b"POST /reading HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + b"b" * 200_000, 431),
    ],
)
def test_a_request_that_is_broken_or_too_large_is_refused(request_bytes: bytes, status: int) -> None:
    """Targets, headers, versions, chunks, trailers: refused with a status, and the connection ends."""

    async def attack(made: Application, stranger: Stranger) -> None:
        found, text = await said(await stranger.connect(request_bytes))
        assert (found, made.asked, made.read) == (status, 0, []), text

    run(attack)


def test_a_body_in_tiny_chunks_is_read() -> None:
    """Chunks of one byte are allowed, and cost what they cost."""

    async def attack(made: Application, stranger: Stranger) -> None:
        head = b"POST /reading HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        sent = await stranger.connect(head + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n")
        assert b"20000" in await sent.answer(1)
        assert made.read == [20000]

    run(attack)


def test_pipelined_requests_are_not_answered() -> None:
    """Thousands of requests in one packet cost one answer, and the connection."""

    async def attack(made: Application, stranger: Stranger) -> None:
        _status, text = await said(await stranger.connect(GET * 3000))
        assert (text.count(b"HTTP/1.1 200"), made.asked) == (1, 1)

    run(attack)


def test_an_upgrade_is_answered_as_plain_http_and_ends() -> None:
    """Clients that offer HTTP/2 or WebSocket get their page by HTTP/1.1."""

    async def attack(_made: Application, stranger: Stranger) -> None:
        offer = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
        status, text = await said(await stranger.connect(offer))
        assert (status, b"short" in text) == (200, True)

    run(attack)


def test_requests_one_after_the_other_share_a_connection() -> None:
    """Keep-alive works as before, with and without bodies."""

    async def attack(made: Application, stranger: Stranger) -> None:
        kept = await stranger.connect()
        post = b"POST /reading HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        for request_bytes, expected in ((GET, b"short"), (post, b"3"), (GET, b"short"), (post, b"3")):
            await kept.send(request_bytes)
            assert (await kept.answer(0.2)).endswith(expected)
        assert (made.asked, made.read) == (2, [3, 3])

    run(attack)


def test_who_takes_no_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that nobody reads is kept for a while only; who reads it slowly but surely gets all."""
    monkeypatch.setattr(connections, "ANSWER_WINDOW_SECONDS", 0.4)

    async def attack(_made: Application, stranger: Stranger) -> None:
        for close in (b"", b"Connection: close\r\n"):
            asks = b"GET /large HTTP/1.1\r\nHost: a\r\n" + close + b"\r\n"
            await stranger.connect(asks)
            reads = await stranger.connect(asks)
            got = 0
            while got < LARGE:
                piece = await reads.reader.read(1 << 20)
                assert piece, f"cut after {got} bytes"
                got += len(piece)
                await asyncio.sleep(0.02)
            silent = stranger.opened[-2]
            await asyncio.sleep(1)
            left = 0
            while piece := await _read(silent):
                left += len(piece)
            assert left < LARGE

    run(attack)


async def _read(connection: Connection) -> bytes:
    try:
        return await connection.reader.read(1 << 20)
    except OSError:
        return b""


def test_a_connection_too_many_replaces_the_one_that_waited_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 60 half headers the newest 20 stay, and a complete request is answered at once nevertheless."""
    monkeypatch.setattr(connections, "MAX_PER_CLIENT", 20)

    async def attack(_made: Application, stranger: Stranger) -> None:
        half = await stranger.connect_many(60, b"GET / HTTP/1.1\r\n")
        await asyncio.sleep(0.1)
        assert (await stranger.get("/", 2)).status == 200
        assert await count_open(half, 0.3) <= 20

    run(attack)


def test_all_clients_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections from many addresses lock nobody out either."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 20)

    async def attack(made: Application, stranger: Stranger) -> None:
        many = [Stranger(port=stranger.port, address=f"127.0.0.{n}") for n in range(2, 42)]
        half = [(await one.connect_many(1, b"GET / HTTP/1.1\r\n"))[0] for one in many]
        assert (await stranger.get("/", 2)).status == 200
        assert await count_open(half, 0.3) <= 20
        assert made.asked == 1
        for one in many:
            one.leave()

    run(attack)


def test_connections_of_a_proxy_are_not_counted_by_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """All visitors come from the proxy's address; there the limit is the one of all."""
    monkeypatch.setattr(connections, "MAX_PER_CLIENT", 5)

    async def attack(_made: Application, stranger: Stranger) -> None:
        half = await stranger.connect_many(30, b"GET / HTTP/1.1\r\n")
        assert 30 == await count_open(half, 0.3)

    run(attack, ConnectionTable([ip_network("127.0.0.0/8")]))


def test_who_is_answered_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that are complete keep their connection; where there is nothing else, the new one goes."""
    monkeypatch.setattr(connections, "MAX_PER_CLIENT", 3)

    async def attack(made: Application, stranger: Stranger) -> None:
        asks = b"GET /holding HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        held = await stranger.connect_many(3, asks)
        await asyncio.sleep(0.1)
        assert (await stranger.get("/", 1)).status == 0
        made.held.set()
        assert [200] * 3 == [(await said(one))[0] for one in held]

    run(attack)


def test_nothing_is_left_of_ended_connections() -> None:
    """The table is empty when everybody has gone."""
    table = ConnectionTable()

    async def attack(_made: Application, stranger: Stranger) -> None:
        await stranger.connect_many(10, GET)
        await stranger.connect_many(10, b"POST /reading HTTP/1.1\r\nContent-Length: 5\r\n\r\n")
        await asyncio.sleep(0.1)
        assert table.count() == 20
        stranger.leave()
        await asyncio.sleep(0.2)
        assert table.count() == 0

    run(attack, table)
