"""Run periodic tasks, each in one process at a time."""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from bot.storage import queue
from bot.storage.database import Database
from bot.storage.queue import Claim

DELIVERY_BACKFILL, RECONCILIATION = "catch up", "reconcile"


class TaskResult(Struct, frozen=True, kw_only=True):
    """What to remember, and in how many seconds to do it again."""

    mark: str | None
    again: float


Task = Callable[[str | None], Awaitable[TaskResult]]
"""Does it, given what the last time remembered; may be repeated and may die anywhere."""


class TaskStep(Struct, frozen=True, kw_only=True):
    """What the controller does with a chore."""

    database: Database
    chores: Mapping[str, Task]
    now: Callable[[], float]

    async def __call__(self, held: Claim) -> None:
        """Do it; a name that an older or newer program knew is left for that one."""
        chore = self.chores.get(held.row["name"])
        if chore is None:
            await self.database.write(queue.release, held, due=None)
            return
        done = await chore(held.row["mark"])
        await self.database.write(
            queue.release, held, due=self.now() + done.again, values={"mark": done.mark}
        )
