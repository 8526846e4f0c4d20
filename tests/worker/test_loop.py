"""Rows are moved whatever happens to some of them, and a process ends in good order."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from bot.domain.delivery import Delivery
from bot.errors import InternalError, TransientError, UserError
from bot.storage import deliveries, queue
from bot.storage.database import Database, DatabaseUnavailable
from bot.storage.queue import Claim, count_rows
from bot.storage.tables import DELIVERY
from bot.worker import loop
from bot.worker.loop import FIRST_DELAY, MAX_DELAY, Worker, WorkQueue, retry_delay

Step = Callable[[Claim], Awaitable[None]]


def _record(database: Database, *names: str) -> None:
    received = [Delivery(id=name, event="push", payload=b"{}", received=time.time() - 1) for name in names]
    database.write_now(deliveries.record, received)


def _finisher(database: Database, done: list[str]) -> Step:
    async def step(held: Claim) -> None:
        done.append(held.row["id"])
        await database.write(queue.release, held, due=None, values={"state": "done"})

    return step


async def _until(found: Callable[[], bool]) -> None:
    for _ in range(1000):
        if found():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("not within ten seconds")


def _run(
    database: Database,
    step: Step,
    until: Callable[[], bool],
    *,
    at_once: int = 2,
    patience: float = 1.0,
    now: Callable[[], float] = time.time,
) -> None:
    """Run a worker until something is so, then stop it."""

    async def scene() -> None:
        queues = [WorkQueue(table=DELIVERY, step=step, at_once=at_once)]
        worker = Worker(database, queues, owner="me", now=now)
        worker.start()
        await _until(until)
        await worker.stop(patience)

    asyncio.run(scene())


@given(attempts=st.integers(0, 10_000), jitter=st.floats(0.8, 1.2))
def test_a_failing_row_waits_longer_each_time_and_never_for_ever(attempts: int, jitter: float) -> None:
    """Doubling from 2 s, and at most ten minutes and the jitter."""
    delay = retry_delay(attempts, ValueError(), jitter=jitter)
    assert FIRST_DELAY * 0.8 <= delay <= MAX_DELAY * 1.2
    assert delay <= retry_delay(attempts + 1, ValueError(), jitter=jitter)


def test_the_first_waits_double() -> None:
    """2, 4, 8, 16 s without jitter."""
    assert [retry_delay(n, ValueError(), jitter=1.0) for n in range(4)] == [2.0, 4.0, 8.0, 16.0]


def test_what_the_outside_asks_for_is_waited() -> None:
    """A rate limit that names its end is respected, even past the longest wait of our own."""
    assert retry_delay(0, TransientError("limit", after=3000.0), jitter=1.0) == 3000.0
    assert retry_delay(5, TransientError("soon", after=1.0), jitter=1.0) == 64.0


def test_every_due_row_is_moved_once(database: Database) -> None:
    """Several tasks share the rows, and none is done twice."""
    names = [f"d{n}" for n in range(20)]
    _record(database, *names)
    done: list[str] = []
    _run(database, _finisher(database, done), lambda: len(done) >= 20)
    assert sorted(done) == sorted(names)
    assert database.write_now(count_rows).deliveries == {"done": 20}


@pytest.mark.parametrize(
    "problem", [ValueError("a fault"), UserError("of a person"), InternalError("of ours")]
)
def test_one_failing_row_does_not_stop_the_others(database: Database, problem: Exception) -> None:
    """The failure is written down with its reason, and everything else goes on."""
    _record(database, "bad", "good")
    done: list[str] = []
    finish = _finisher(database, done)

    async def step(held: Claim) -> None:
        if held.row["id"] == "bad":
            raise problem
        await finish(held)

    _run(
        database,
        step,
        lambda: done == ["good"] and database.write_now(count_rows).failing["delivery"] == 1,
        at_once=1,
    )

    later = database.write_now(queue.claim, DELIVERY, owner="x", now=time.time() + 60, lease=1.0)
    assert later is not None
    assert later.row["attempts"] == 1
    assert later.row["error"] == f"{type(problem).__name__}: {problem}"


def test_a_lease_is_renewed_while_the_work_goes_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that takes longer than a lease is not given to another process meanwhile; the clock is handed in,
    so that a slow machine changes nothing."""
    lease, clock = 0.06, [time.time()]
    monkeypatch.setattr(loop, "LEASE_SECONDS", lease)
    _record(database, "long")
    stolen: list[Claim] = []
    done: list[str] = []
    finish = _finisher(database, done)

    def held_until() -> float:
        return float(
            database.write_now(lambda rows: rows.execute(select(DELIVERY.c.lease_until)).scalar_one())
        )

    async def step(held: Claim) -> None:
        for _ in range(10):
            clock[0] += lease / 2
            other = await database.write(queue.claim, DELIVERY, owner="thief", now=clock[0], lease=30.0)
            stolen.extend([other] if other else [])
            await _until(lambda: held_until() >= clock[0] + lease)
        await finish(held)

    _run(database, step, lambda: done == ["long"], at_once=1, now=lambda: clock[0])
    assert stolen == []


def test_work_that_finishes_in_time_is_not_cut_off(database: Database) -> None:
    """At the end what runs is given some patience."""
    _record(database, "slow")
    begun, done = [False], list[str]()
    finish = _finisher(database, done)

    async def step(held: Claim) -> None:
        begun[0] = True
        await asyncio.sleep(0.3)
        await finish(held)

    _run(database, step, lambda: begun[0], patience=5.0)
    assert done == ["slow"]


def test_what_does_not_finish_is_handed_back(database: Database) -> None:
    """After the patience the row is free for another process, without waiting for the lease."""
    _record(database, "endless")
    begun = [False]

    async def step(_held: Claim) -> None:
        begun[0] = True
        await asyncio.sleep(60)

    _run(database, step, lambda: begun[0], patience=0.05)
    again = database.write_now(queue.claim, DELIVERY, owner="other", now=time.time(), lease=1.0)
    assert again is not None
    assert (again.row["id"], again.row["attempts"]) == ("endless", 0)


def test_a_database_that_is_away_does_not_end_the_worker(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claiming is tried again until the database is back."""
    monkeypatch.setattr(loop, "POLL_SECONDS", 0.02)
    _record(database, "kept")
    done: list[str] = []
    away = [True] * 3
    claim = queue.claim

    def unsure(*args: object, **kwargs: object) -> object:
        if away:
            away.pop()
            raise DatabaseUnavailable("the database: gone")
        return claim(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(queue, "claim", unsure)
    _run(database, _finisher(database, done), lambda: done == ["kept"], at_once=1)


def test_a_wake_is_not_waited_for(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that is announced starts at once, however rare the polls."""
    monkeypatch.setattr(loop, "POLL_SECONDS", 60.0)
    done: list[str] = []

    async def scene() -> float:
        queues = [WorkQueue(table=DELIVERY, step=_finisher(database, done), at_once=3)]
        worker = Worker(database, queues, owner="me", now=time.time)
        worker.start()
        await asyncio.sleep(0.1)
        for name in ("a", "b"):
            _record(database, name)
            begun = time.monotonic()
            worker.wake()
            await _until(lambda: name in done)  # noqa: B023 - asked before the name changes
        await worker.stop(1.0)
        return time.monotonic() - begun

    assert asyncio.run(scene()) < 5.0
