"""The loop: claim what is due, run its step, retry failures later.

A row's lease is renewed while its step runs. A failing row is retried with exponential back-off and never
holds
up the others. When a process dies, its leases end and another process goes on.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence

from msgspec import Struct

from bot.errors import InternalError, Outage, TransientError, UserError
from bot.storage import queue
from bot.storage.database import Database, DatabaseUnavailable
from bot.storage.queue import Claim, Table

LEASE_SECONDS = 30.0
"""How long a dead process can hold a row; renewed three times within."""

POLL_SECONDS = 0.5
"""How soon work that another process, or the clock, made due is noticed."""

FIRST_DELAY, LONGEST_DELAY = 2.0, 600.0
"""Back-off of a failing row, doubling: soon after a hiccup, still every ten minutes after an outage."""

LOG = logging.getLogger(__name__)

Step = Callable[[Claim], Awaitable[None]]


class WorkQueue(Struct, frozen=True, kw_only=True):
    """One kind of row: where it stands, what is done with it, and how many at once."""

    table: Table
    step: Step
    at_once: int = 1


class Worker:
    """Runs every kind of work until it is stopped."""

    def __init__(
        self, database: Database, works: Sequence[WorkQueue], *, owner: str, now: Callable[[], float]
    ) -> None:
        self._database = database
        self._works = works
        self._owner = owner
        self._now = now
        self._woken = asyncio.Event()
        self._stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin; returns at once."""
        for work in self._works:
            self._keep(self._work(work))

    def _keep(self, going: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Hold the task until it is done: the event loop alone would let it be collected."""
        task = asyncio.create_task(going)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def wake(self) -> None:
        """Look for work now instead of at the next poll."""
        self._woken.set()

    async def stop(self, patience: float) -> None:
        """Take no more; give what runs `patience` seconds, then let go of it for another process."""
        self._stopping = True
        self.wake()
        clock = asyncio.get_running_loop()
        end = clock.time() + patience
        while self._tasks and (left := end - clock.time()) > 0:
            await asyncio.wait(set(self._tasks), timeout=left)
        running = set(self._tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for work in self._works:
            await self._database.write(queue.release_all, work.table, owner=self._owner)

    async def _work(self, work: WorkQueue) -> None:
        """Claim row after row; each is moved by a task of its own, `at_once` of them at the most."""
        places = asyncio.Semaphore(work.at_once)
        while not self._stopping:
            await places.acquire()
            held = None if self._stopping else await self._claim(work)
            if held is None:
                places.release()
                await self._rest()
            else:
                self._keep(self._move(work, held)).add_done_callback(lambda _: places.release())

    async def _claim(self, work: WorkQueue) -> Claim | None:
        try:
            return await self._database.write(
                queue.claim, work.table, owner=self._owner, now=self._now(), lease=LEASE_SECONDS
            )
        except DatabaseUnavailable as problem:
            LOG.warning("no work can be claimed: %s", problem)
            return None

    async def _rest(self) -> None:
        """Sleep until woken or for one poll, each process and kind of work at its own moment."""
        try:
            await asyncio.wait_for(self._woken.wait(), POLL_SECONDS * random.uniform(0.7, 1.3))  # noqa: S311
        except TimeoutError:
            return
        await asyncio.sleep(0)
        self._woken.clear()

    async def _move(self, work: WorkQueue, held: Claim) -> None:
        renewal = asyncio.create_task(self._renew(held))
        try:
            await work.step(held)
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001 - one failing row must not stop the others
            await self._postpone(work, held, problem)
        finally:
            renewal.cancel()

    async def _renew(self, held: Claim) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            try:
                await self._database.write(queue.extend_lease, held, until=self._now() + LEASE_SECONDS)
            except DatabaseUnavailable as problem:
                LOG.warning("a lease could not be renewed: %s", problem)

    async def _postpone(self, work: WorkQueue, held: Claim, problem: Exception) -> None:
        delay = retry_delay(held.row["attempts"], problem, jitter=random.uniform(0.8, 1.2))  # noqa: S311
        facts: dict[str, object] = {
            "table": work.table.name,
            "row": _row_name(held),
            "delay": round(delay, 1),
        }
        if isinstance(problem, InternalError | UserError):
            facts["problem"] = str(problem)
            LOG.warning("put off %(table)s %(row)s for %(delay)s s: %(problem)s", facts)
        else:
            LOG.error("failed at %(table)s %(row)s, again in %(delay)s s", facts, exc_info=problem)
        try:
            text = f"{type(problem).__name__}: {problem}"
            await self._database.write(queue.postpone, held, due=self._now() + delay, error=text)
        except DatabaseUnavailable as away:
            LOG.warning("a failure could not be written down, its lease will end: %s", away)


def retry_delay(attempts: int, problem: Exception, *, jitter: float) -> float:
    """Seconds to wait after the failure that follows `attempts` others."""
    if isinstance(problem, Outage):
        return problem.after + FIRST_DELAY * jitter
    delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(attempts, 20)) * jitter
    return max(delay, problem.after) if isinstance(problem, TransientError) else delay


def _row_name(held: Claim) -> str:
    return "/".join(str(held.row[column.name]) for column in held.table.primary_key.columns)
