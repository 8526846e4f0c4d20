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

FIRST_DELAY, MAX_DELAY = 2.0, 600.0
"""Back-off of a failing row, doubling: soon after a hiccup, still every ten minutes after an outage."""

LOG = logging.getLogger(__name__)

Step = Callable[[Claim], Awaitable[None]]


class WorkQueue(Struct, frozen=True, kw_only=True):
    """One kind of row: its table, its step, and how many at once."""

    table: Table
    step: Step
    at_once: int = 1


class Worker:
    """Works on every queue until it is stopped."""

    def __init__(
        self, database: Database, queues: Sequence[WorkQueue], *, owner: str, now: Callable[[], float]
    ) -> None:
        self._database = database
        self._queues = queues
        self._owner = owner
        self._now = now
        self._wake_event = asyncio.Event()
        self._stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start; returns at once."""
        for work_queue in self._queues:
            self._start_task(self._run(work_queue))

    def _start_task(self, coroutine: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Hold a reference to the task until it is done: the event loop holds only a weak one."""
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def wake(self) -> None:
        """Look for work now instead of at the next poll."""
        self._wake_event.set()

    async def stop(self, seconds: float) -> None:
        """Claim no more rows, give running steps some seconds, then release all rows for other processes."""
        self._stopping = True
        self.wake()
        clock = asyncio.get_running_loop()
        end = clock.time() + seconds
        while self._tasks and (left := end - clock.time()) > 0:
            await asyncio.wait(set(self._tasks), timeout=left)
        running = set(self._tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for work_queue in self._queues:
            await self._database.write(queue.release_all, work_queue.table, owner=self._owner)

    async def _run(self, work_queue: WorkQueue) -> None:
        """Claim row after row; each step is a task of its own, `at_once` of them at most."""
        slots = asyncio.Semaphore(work_queue.at_once)
        while not self._stopping:
            await slots.acquire()
            claim = None if self._stopping else await self._claim(work_queue)
            if claim is None:
                slots.release()
                await self._sleep()
            else:
                self._start_task(self._step(work_queue, claim)).add_done_callback(lambda _: slots.release())

    async def _claim(self, work_queue: WorkQueue) -> Claim | None:
        try:
            return await self._database.write(
                queue.claim, work_queue.table, owner=self._owner, now=self._now(), lease=LEASE_SECONDS
            )
        except DatabaseUnavailable as error:
            LOG.warning("no work can be claimed: %s", error)
            return None

    async def _sleep(self) -> None:
        """Sleep until woken, or for one poll with jitter."""
        try:
            await asyncio.wait_for(self._wake_event.wait(), POLL_SECONDS * random.uniform(0.7, 1.3))  # noqa: S311
        except TimeoutError:
            return
        await asyncio.sleep(0)
        self._wake_event.clear()

    async def _step(self, work_queue: WorkQueue, claim: Claim) -> None:
        renewal = asyncio.create_task(self._renew(claim))
        try:
            await work_queue.step(claim)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - one failing row must not stop the others
            await self._postpone(work_queue, claim, error)
        finally:
            renewal.cancel()

    async def _renew(self, claim: Claim) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            try:
                await self._database.write(queue.extend_lease, claim, until=self._now() + LEASE_SECONDS)
            except DatabaseUnavailable as error:
                LOG.warning("a lease could not be renewed: %s", error)

    async def _postpone(self, work_queue: WorkQueue, claim: Claim, error: Exception) -> None:
        delay = retry_delay(claim.row["attempts"], error, jitter=random.uniform(0.8, 1.2))  # noqa: S311
        facts: dict[str, object] = {
            "table": work_queue.table.name,
            "row": _row_name(claim),
            "delay": round(delay, 1),
        }
        if isinstance(error, InternalError | UserError):
            facts["problem"] = str(error)
            LOG.warning("put off %(table)s %(row)s for %(delay)s s: %(problem)s", facts)
        else:
            LOG.error("failed at %(table)s %(row)s, again in %(delay)s s", facts, exc_info=error)
        try:
            text = f"{type(error).__name__}: {error}"
            await self._database.write(queue.postpone, claim, due=self._now() + delay, error=text)
        except DatabaseUnavailable as unavailable:
            LOG.warning("a failure could not be written down, its lease will end: %s", unavailable)


def retry_delay(attempts: int, error: Exception, *, jitter: float) -> float:
    """Seconds to wait after a failure that follows `attempts` others."""
    if isinstance(error, Outage):
        return error.after + FIRST_DELAY * jitter
    delay = min(MAX_DELAY, FIRST_DELAY * 2.0 ** min(attempts, 20)) * jitter
    return max(delay, error.after) if isinstance(error, TransientError) else delay


def _row_name(claim: Claim) -> str:
    return "/".join(str(claim.row[column.name]) for column in claim.table.primary_key.columns)
