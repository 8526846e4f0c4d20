"""Ask the database, right before a write to the outside, whether this process still holds the row."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from bot.errors import InternalError
from bot.storage import queue
from bot.storage.database import Database
from bot.storage.queue import Claim

HELD_SECONDS = 30.0
"""A request to GitHub ends, well or not, within 20 s; until then nobody else may take the row."""

Fence = Callable[[], Awaitable[None]]


class LeaseLost(InternalError):
    """Another process has claimed the row: this one writes nothing more."""


class LeaseFence(Struct, frozen=True, kw_only=True):
    """Extends the lease, or raises `LeaseLost`."""

    database: Database
    claim: Claim
    now: Callable[[], float]

    async def __call__(self) -> None:
        """Return if the row is ours for `HELD_SECONDS` more."""
        if not await self.database.write(queue.extend_lease, self.claim, until=self.now() + HELD_SECONDS):
            raise LeaseLost("another process took this over; nothing more is written here")
