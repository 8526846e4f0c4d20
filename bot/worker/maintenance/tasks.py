"""Run periodic tasks, each in one process at a time."""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from bot.storage import queue
from bot.storage.database import Database
from bot.storage.queue import Claim

DELIVERY_BACKFILL, RECONCILIATION, VISIBILITY, FORGETTING = "catch up", "reconcile", "visibility", "forget"


class TaskResult(Struct, frozen=True, kw_only=True):
    """What to store, and in how many seconds to run again."""

    position: str | None
    repeat_after: float


Task = Callable[[str | None], Awaitable[TaskResult]]
"""Runs, given what it stored the last time; may be repeated and may die anywhere."""


class TaskStep(Struct, frozen=True, kw_only=True):
    """The worker's step for a periodic task."""

    database: Database
    tasks: Mapping[str, Task]
    now: Callable[[], float]

    async def __call__(self, claim: Claim) -> None:
        """Run it; a name that only another version of the program knows is left for that version."""
        task = self.tasks.get(claim.row["name"])
        if task is None:
            await self.database.write(queue.release, claim, due=None)
            return
        result = await task(claim.row["position"])
        await self.database.write(
            queue.release, claim, due=self.now() + result.repeat_after, values={"position": result.position}
        )
