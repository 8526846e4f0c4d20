"""Readers get turns and allowances; pages that nobody waits for end."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import copy_context

import pytest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message

from bot.logs.reader import read_log
from bot.verdict.measure import measure
from bot.web import throttle
from bot.web.auth.visitor import PermissionCache, Visitor
from bot.web.throttle import (
    ALLOWANCE_SECONDS,
    AT_ONCE,
    COSTLY_SECONDS,
    REFILL_PER_SECOND,
    AbandonedError,
    ReaderRefusedError,
    ReaderThrottle,
    ThrottleMiddleware,
    check_abandoned,
    reader_of,
)
from tests.log_writers.maxtext import maxtext_log
from tests.web.site_under_test import PUBLIC, SiteUnderTest


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


@asynccontextmanager
async def turn_of(limits: ReaderThrottle, reader: str, least: float = 0.0) -> AsyncIterator[None]:
    """A turn, from its beginning to its end."""
    turn = await limits.take_turn(reader, least)
    try:
        yield
    finally:
        turn.end()


async def spend(limits: ReaderThrottle, clock: Clock, reader: str, seconds: float) -> None:
    """A page of this reader that takes so long."""
    async with turn_of(limits, reader):
        clock.now += seconds


def test_a_reader_who_used_the_allowance_waits_until_there_is_some() -> None:
    """429 with the seconds until the next page; others are not touched."""
    clock = Clock()
    limits = ReaderThrottle(now=clock)

    async def scene() -> None:
        await spend(limits, clock, "a", ALLOWANCE_SECONDS + 5)
        with pytest.raises(ReaderRefusedError) as refused:
            await spend(limits, clock, "a", 1)
        assert (refused.value.status, refused.value.seconds) == (
            429,
            round((5 + COSTLY_SECONDS) / REFILL_PER_SECOND + 0.4),
        )
        await spend(limits, clock, "b", 0)
        clock.now += refused.value.seconds
        await spend(limits, clock, "a", 0)

    asyncio.run(scene())


def test_a_costly_page_is_charged_a_least_amount() -> None:
    """A hundred quick searches are the allowance too."""
    clock = Clock()
    limits = ReaderThrottle(now=clock)

    async def scene() -> int:
        for n in range(1000):
            try:
                async with turn_of(limits, "a", COSTLY_SECONDS):
                    pass
            except ReaderRefusedError:
                return n
        return 1000

    assert asyncio.run(scene()) == pytest.approx(ALLOWANCE_SECONDS / COSTLY_SECONDS, abs=1)


def test_readers_take_turns() -> None:
    """Who asks for one page waits for one page of somebody who asks for ten, not for ten."""
    limits = ReaderThrottle()
    order: list[str] = []

    async def page(reader: str) -> None:
        async with turn_of(limits, reader):
            order.append(reader)
            await asyncio.sleep(0.01)

    async def scene() -> None:
        greedy = [asyncio.create_task(page("greedy")) for _ in range(AT_ONCE + 10)]
        await asyncio.sleep(0)
        modest = [asyncio.create_task(page(name)) for name in ("b", "c")]
        await asyncio.gather(*greedy, *modest)

    asyncio.run(scene())
    assert max(order.index("b"), order.index("c")) <= AT_ONCE + 2


def test_who_stops_waiting_keeps_nobody_waiting() -> None:
    """A request that is given up in the queue leaves it; its turn goes to the next."""
    limits = ReaderThrottle()

    async def scene() -> None:
        ends = asyncio.Event()

        async def hold() -> None:
            async with turn_of(limits, "holder"):
                await ends.wait()

        async def wait() -> str:
            async with turn_of(limits, "waiter"):
                return "had a turn"

        holders = [asyncio.create_task(hold()) for _ in range(AT_ONCE)]
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(wait()) for _ in range(5)]
        await asyncio.sleep(0)
        for task in waiting[:4]:
            task.cancel()
        ends.set()
        assert await waiting[4] == "had a turn"
        await asyncio.gather(*holders, *waiting[:4], return_exceptions=True)
        async with asyncio.timeout(1):
            await asyncio.gather(*(spend(limits, Clock(), "later", 0) for _ in range(AT_ONCE)))

    asyncio.run(scene())


def test_a_queue_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """One reader may wait with so many requests, all with so many, and nobody longer than a while."""
    monkeypatch.setattr(throttle, "MAX_WAITING", 6)
    monkeypatch.setattr(throttle, "MAX_WAITING_PER_READER", 4)
    monkeypatch.setattr(throttle, "TURN_SECONDS", 0.3)
    limits = ReaderThrottle()

    async def scene() -> list[int]:
        async def page(reader: str) -> int:
            try:
                async with turn_of(limits, reader):
                    await asyncio.sleep(0.5)
            except ReaderRefusedError as refused:
                return refused.status
            return 200

        return await asyncio.gather(*(page(one) for one in "h" * AT_ONCE + "aaaaa" + "bbb"))

    statuses = asyncio.run(scene())
    assert statuses == [200] * AT_ONCE + [503] * 4 + [429] + [503] * 3


class Site:
    """A site of a few pages behind the middleware."""

    def __init__(self) -> None:
        self.stuck: list[str] = []
        self.ended = threading.Event()
        self.release = threading.Event()
        routes = [Route("/quick", self.quick), Route("/loop", self.loop), Route("/hang", self.hang)]
        routes += [Route("/stream", self.stream), Route("/fails", self.fails)]
        middleware = Middleware(
            ThrottleMiddleware, throttle=ReaderThrottle(), problem=_problem, stuck=self.stuck.append
        )
        self.app = Starlette(routes=routes, middleware=[middleware])

    async def quick(self, _request: Request) -> Response:
        """At once."""
        return PlainTextResponse("quick")

    async def stream(self, _request: Request) -> Response:
        """An answer that outlasts its turn."""

        async def pieces() -> object:
            for _ in range(30):
                await asyncio.sleep(0.02)
                yield b"x"

        return StreamingResponse(pieces())  # type: ignore[arg-type]

    async def fails(self, _request: Request) -> Response:
        """A fault of the program."""
        raise LookupError("a fault")

    async def loop(self, _request: Request) -> Response:
        """Work in a thread that looks whether anybody waits for it."""

        def work() -> None:
            try:
                while not self.release.is_set():
                    check_abandoned()
                    time.sleep(0.005)
            except AbandonedError:
                self.ended.set()
                raise

        await run_in_threadpool(work)
        return PlainTextResponse("loop")

    async def hang(self, _request: Request) -> Response:
        """Work in a thread that does not look."""
        await run_in_threadpool(self.release.wait, 5)
        return PlainTextResponse("hang")

    async def get(self, path: str, leaves_after: float | None = None) -> tuple[int, dict[str, str], bytes]:
        """The answer to a reader, who may leave before it comes: then status 0."""
        sent: list[Message] = []
        asked = False

        async def receive() -> Message:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await asyncio.sleep(60 if leaves_after is None else leaves_after)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": []}
        scope |= {"query_string": b"", "client": ("192.0.2.7", 1), "server": ("a", 80), "http_version": "1.1"}
        await self.app({**scope, "scheme": "http", "root_path": ""}, receive, send)
        if not sent:
            return 0, {}, b""
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:])


def _problem(_request: Request, status: int, what: str, why: str) -> Response:
    return PlainTextResponse(f"{what}: {why}", status_code=status)


def run(scene: Callable[[Site], Awaitable[None]]) -> None:
    """Play a scene on a site."""

    async def played() -> None:
        site = Site()
        try:
            await scene(site)
        finally:
            site.release.set()

    asyncio.run(played())


def test_work_ends_when_its_reader_leaves() -> None:
    """The loop in the thread ends soon after."""

    async def scene(site: Site) -> None:
        assert (await site.get("/loop", leaves_after=0.1))[0] == 0
        assert await asyncio.to_thread(site.ended.wait, 2)
        assert (await site.get("/quick"))[0] == 200

    run(scene)


@pytest.mark.parametrize(
    "path", ["/runs/a/log/search?q=step", f"/{PUBLIC}/compare-logs?base=a&head=b"], ids=["search", "compare"]
)
def test_search_and_comparison_end_when_nobody_waits(site: SiteUnderTest, path: str) -> None:
    """The dearest pages look after each piece of their work."""
    text = maxtext_log().encode()
    (log,) = read_log([text], "file:a.log")
    for name in ("a", "b"):
        site.add_run(name, text, measured=measure(log))
    assert site.get(path).status_code == 200

    def ask() -> None:
        throttle._ABANDONED.set(lambda: True)
        site.get(path)

    with pytest.raises(AbandonedError):
        copy_context().run(ask)


def test_a_page_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """503 with when to try again, and its work ends."""
    monkeypatch.setattr(throttle, "PAGE_SECONDS", 0.1)

    async def scene(site: Site) -> None:
        status, headers, body = await site.get("/loop")
        assert (status, headers["retry-after"]) == (503, "30")
        assert b"takes too long" in body
        assert await asyncio.to_thread(site.ended.wait, 2)

    run(scene)


def test_a_thread_that_does_not_end_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its process can be ended, by who started it."""
    monkeypatch.setattr(throttle, "PAGE_SECONDS", 0.1)
    monkeypatch.setattr(throttle, "STUCK_SECONDS", 0.1)

    async def scene(site: Site) -> None:
        assert (await site.get("/hang"))[0] == 503
        await asyncio.sleep(0.3)
        assert site.stuck == ["/hang"]
        site.release.set()

    run(scene)


def test_an_answer_that_began_is_sent_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is for its beginning: a download may take long."""
    monkeypatch.setattr(throttle, "PAGE_SECONDS", 0.2)

    async def scene(site: Site) -> None:
        status, _headers, body = await site.get("/stream")
        assert (status, len(body)) == (200, 30)

    run(scene)


def test_a_fault_is_passed_on() -> None:
    """The site's own handler answers it, and the server's log has it."""

    async def scene(site: Site) -> None:
        with pytest.raises(LookupError):
            await site.get("/fails")

    run(scene)


class _Nobody:
    async def may_read(self, token: str, repository: str, number: int | None) -> bool:
        """Nobody reads anything."""
        raise NotImplementedError((token, repository))


@pytest.mark.parametrize(
    ("login", "client", "expected"),
    [
        ("alice", "192.0.2.7", "@alice"),
        (None, "192.0.2.7", "192.0.2.7"),
        (None, "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
    ],
)
def test_a_reader_is_a_person_or_an_address(login: str | None, client: str, expected: str) -> None:
    """Who signed in is counted as such. A token alone is no person: anybody can make up another."""
    permissions = PermissionCache(source=_Nobody(), now=time.time)
    visitor = Visitor(permissions=permissions, token="ghp_" + "x" * 20, login=login)
    scope = {"type": "http", "headers": [], "client": (client, 1), "state": {"visitor": visitor}}
    assert reader_of(Request(scope)) == expected
