"""Do what the clock asks for, one process at a time.

In:  a claimed row of `chore`. Out: the chore done, what it remembers, and when it is due next.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bot.storage import queue
from bot.storage.database import Database
from bot.storage.queue import Claim

CATCH_UP, RECONCILE = "catch up", "reconcile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What to remember, and in how many seconds to do it again."""

    mark: str | None
    again: float


Chore = Callable[[str | None], Awaitable[Done]]
"""Does it, given what the last time remembered; may be repeated and may die anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoreStep:
    """What the controller does with a chore."""

    database: Database
    chores: Mapping[str, Chore]
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
