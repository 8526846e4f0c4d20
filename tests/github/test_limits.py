"""Limits are kept before GitHub has to speak of them, and an outage costs one request at a time."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo.github.stand_in import StandInGitHub
from bot.domain.repository import Repository
from bot.errors import Outage, TransientError
from bot.github.client import GitHubClient
from bot.github.errors import RateLimited
from bot.github.limits import (
    FAILURES_TO_OPEN,
    FIRST_PAUSE_SECONDS,
    MAX_PAUSE_SECONDS,
    POINTS_PER_MINUTE,
    PROBE_SECONDS,
    SLOT_SECONDS,
    WRITES_PER_HOUR,
    WRITES_PER_MINUTE,
    CircuitBreaker,
    RateLimiter,
)
from bot.storage.database import Database
from bot.storage.rate_limit import SharedRequestCount, exchange_counts
from bot.worker.loop import FIRST_DELAY, retry_delay
from tests.github.conftest import Clock
from tests.github.plain_history import PlainHistory
from tests.peers.keys import private_key

MAXTEXT = Repository(full_name="acme/maxtext", installation=1)


def _paced(clock: Clock, requests: list[str]) -> int:
    """How many of these requests go through at once."""
    limiter, sent = RateLimiter(clock), 0
    for method in requests:
        try:
            limiter.count(1, method)
        except RateLimited:
            break
        sent += 1
    return sent


def test_writes_are_limited_per_minute_and_hour() -> None:
    """A refused write says when it may be sent, and then it may."""
    clock = Clock()
    limiter = RateLimiter(clock)
    for _ in range(WRITES_PER_MINUTE):
        limiter.count(1, "POST")
    with pytest.raises(RateLimited) as limited:
        limiter.count(1, "PATCH")
    assert 60.0 == limited.value.after
    limiter.count(1, "GET")
    limiter.count(2, "POST")
    clock.time += limited.value.after
    limiter.count(1, "PATCH")


def test_reads_are_limited_by_points() -> None:
    """Writes cost five times as much."""
    assert POINTS_PER_MINUTE == _paced(Clock(), ["GET"] * 2000)
    assert WRITES_PER_MINUTE == _paced(Clock(), ["POST"] * 2000)


@given(st.lists(st.tuples(st.sampled_from(["GET", "POST"]), st.floats(0, 30)), max_size=700))
def test_no_window_ever_exceeds_a_limit(requests: list[tuple[str, float]]) -> None:
    """Every minute and every hour keeps its limits, whatever comes when."""
    clock = Clock()
    limiter, writes, waits = RateLimiter(clock), list[float](), list[float]()
    for method, later in requests:
        clock.time += later / 100
        try:
            limiter.count(1, method)
        except RateLimited as limited:
            waits.append(limited.after)
        else:
            writes += [clock.time] if method == "POST" else []
    assert all(0 < wait <= 3600 for wait in waits)
    assert all(
        sum(begun <= at < begun + window for at in writes) <= most
        for begun in writes
        for window, most in ((60.0, WRITES_PER_MINUTE), (3600.0, WRITES_PER_HOUR))
    )


def test_processes_share_the_limits_of_an_installation(database: Database) -> None:
    """Two that tell each other once a second send no more than GitHub allows; a process that begins anew
    counts what the one before it sent."""
    clock, sent = Clock(), 0
    limiters = {name: (RateLimiter(clock), SharedRequestCount(database, name)) for name in ("one", "other")}

    async def scene() -> None:
        nonlocal sent
        for turn in range(4 * WRITES_PER_MINUTE):
            clock.time += 1 / 6
            one, ledger = limiters["one" if turn % 2 else "other"]
            if turn % 6 < 2:
                await one.exchange(1, ledger)
            with suppress(RateLimited):
                one.count(1, "POST")
                sent += 1
        one, ledger = RateLimiter(clock), SharedRequestCount(database, "again")
        await one.exchange(1, ledger)
        with pytest.raises(RateLimited):
            one.count(1, "POST")
        assert one.used_share(1) == sent / WRITES_PER_HOUR
        one.count(2, "POST")
        clock.time += 60 + SLOT_SECONDS
        one.count(1, "POST")

    asyncio.run(scene())
    assert WRITES_PER_MINUTE <= sent <= 80


def test_the_hourly_limit_is_shared_and_older_usage_is_dropped(database: Database) -> None:
    """Also where nothing is heard for a while; a clock that is an hour ahead holds up nobody."""
    clock = Clock()
    one, other = RateLimiter(clock), RateLimiter(clock)

    async def scene() -> None:
        for _ in range(WRITES_PER_HOUR):
            clock.time += 1
            one.count(1, "POST")
        await one.exchange(1, SharedRequestCount(database, "one"))
        await other.exchange(1, SharedRequestCount(database, "other"))
        with pytest.raises(RateLimited) as limited:
            other.count(1, "POST")
        clock.time += limited.value.after
        other.count(1, "POST")
        clock.time += 3600 + SLOT_SECONDS
        await other.exchange(1, SharedRequestCount(database, "other"))
        assert [] == database.write_now(exchange_counts, 1, process="none", sent=(), since=0)[1:]
        ahead = int(clock.time // SLOT_SECONDS) + 360
        database.write_now(exchange_counts, 1, process="ahead", sent=[(ahead, WRITES_PER_HOUR, 0)], since=0)
        await other.exchange(1, SharedRequestCount(database, "other"))
        other.count(1, "POST")

    asyncio.run(scene())


def test_without_the_database_each_process_counts_alone(database: Database) -> None:
    """Usage received before still counts."""
    clock = Clock()
    one = RateLimiter(clock)

    async def away(*_: object) -> None:
        """Nothing can be had."""

    async def scene() -> None:
        database.write_now(exchange_counts, 1, process="other", sent=[(int(clock() // 10), 76, 0)], since=0)
        await one.exchange(1, SharedRequestCount(database, "one"))
        await one.exchange(1, away)
        with pytest.raises(RateLimited):
            one.count(1, "POST")

    asyncio.run(scene())


def test_usage_during_a_database_outage_is_reported_afterwards(database: Database) -> None:
    """GitHub counted it too."""
    clock = Clock()
    one, other = RateLimiter(clock), RateLimiter(clock)

    async def away(*_: object) -> None:
        """Nothing can be had."""

    async def scene() -> None:
        await one.exchange(1, SharedRequestCount(database, "one"))
        for _ in range(3):
            clock.time += SLOT_SECONDS
            one.count(1, "POST")
            await one.exchange(1, away)
        clock.time += SLOT_SECONDS
        await one.exchange(1, SharedRequestCount(database, "one"))
        await other.exchange(1, SharedRequestCount(database, "other"))

    asyncio.run(scene())
    assert one.used_share(1) == other.used_share(1) == 3 / WRITES_PER_HOUR


def test_the_circuit_opens_probes_and_closes() -> None:
    """Five failures open it; one request probes; a failure doubles the pause, an answer ends it."""
    clock = Clock()
    circuit = CircuitBreaker(clock)
    for _ in range(FAILURES_TO_OPEN):
        circuit.before_request()
        circuit.record_failure()
    pauses = []
    for _ in range(6):
        with pytest.raises(Outage) as outage:
            circuit.check()
        pauses.append(outage.value.after)
        clock.time += outage.value.after
        circuit.before_request()
        with pytest.raises(Outage):
            circuit.before_request()
        circuit.record_failure()
    assert [FIRST_PAUSE_SECONDS, 10.0, 20.0, 40.0, MAX_PAUSE_SECONDS, MAX_PAUSE_SECONDS] == pauses
    clock.time += MAX_PAUSE_SECONDS
    circuit.before_request()
    circuit.record_success()
    circuit.before_request()
    circuit.before_request()


def test_another_probe_follows_one_that_never_ends() -> None:
    """A probing process may die: another one may probe after the longest time of a request."""
    clock = Clock()
    circuit = CircuitBreaker(clock)
    for _ in range(FAILURES_TO_OPEN):
        circuit.record_failure()
    clock.time += FIRST_PAUSE_SECONDS
    circuit.before_request()
    clock.time += PROBE_SECONDS
    circuit.before_request()


def test_waiting_for_an_outage_does_not_grow_the_backoff() -> None:
    """A row is tried right after the next probe, however often it met the outage."""
    assert 5.0 + FIRST_DELAY == retry_delay(12, Outage("away", after=5.0), jitter=1.0)


class FailingConnection(httpx.AsyncBaseTransport):
    """A connection to the stand-in GitHub that fails until `fail` is taken away."""

    def __init__(self, fail: Callable[[httpx.Request], httpx.Response]) -> None:
        self.fail: Callable[[httpx.Request], httpx.Response] | None = fail
        self.sent = 0
        stand_in = StandInGitHub(PlainHistory(), MAXTEXT.full_name, None, "a secret", 42)
        self.github = httpx.ASGITransport(stand_in.application)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Fail, or pass the request on."""
        self.sent += 1
        return await self.github.handle_async_request(request) if self.fail is None else self.fail(request)


def _refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def _bad_gateway(_: httpx.Request) -> httpx.Response:
    return httpx.Response(502, text="bad gateway")


@pytest.mark.parametrize("fail", [_refuse, _bad_gateway])
def test_an_outage_is_probed_and_ends_by_itself(
    fail: Callable[[httpx.Request], httpx.Response],
) -> None:
    """A hundred calls during an outage send a handful of requests; the first good answer lets all through,
    with a token that ended meanwhile too."""
    clock, connection = Clock(), FailingConnection(fail)
    github = GitHubClient(
        app_id=42, private_key=private_key(), api_url="http://g.test", transport=connection, now=clock
    )

    async def ask() -> str:
        try:
            await github.comment(MAXTEXT, 5)
        except TransientError as later:
            return type(later).__name__
        return "answered"

    async def scene() -> list[str]:
        during = [await ask() for _ in range(100)]
        assert FAILURES_TO_OPEN == connection.sent
        connection.fail = None
        clock.time += FIRST_PAUSE_SECONDS
        after = [await ask() for _ in range(3)]
        await github.aclose()
        return [*during[:1], *during[-1:], *after]

    assert ["TransientError", "Outage", *["answered"] * 3] == asyncio.run(scene())
