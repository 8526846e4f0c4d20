"""Move one stored log one step: its redacted form, a text that an older version did not store, former forms.

Of one repository a few logs are worked on at once, so that others come soon. The threads are our own: the
database and the clusters are not kept waiting.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct, field

from bot.ingest.log_keeper import LogKeeper
from bot.storage import kept_logs, queue, runs
from bot.storage.database import Database
from bot.storage.queue import Claim

AT_ONCE = 4
"""Logs that are worked on; they take turns at the processor."""

OF_ONE_REPOSITORY = 2

AGAIN_SECONDS = 1.0


class KeptLogStep(Struct, frozen=True, kw_only=True):
    """The worker's step for a stored log."""

    database: Database
    keeper: LogKeeper
    now: Callable[[], float]
    _busy: Counter[str] = field(default_factory=Counter)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(AT_ONCE, thread_name_prefix="keep-log")
    )

    async def __call__(self, claim: Claim) -> None:
        """Do what is to be done, and save what became of it."""
        log = kept_logs.kept_log(claim.row)
        record = await self.database.read(runs.by_id, log.run)
        repository = record.repository if record else ""
        if self._busy[repository] >= OF_ONE_REPOSITORY:
            await self.database.write(queue.release, claim, due=self.now() + AGAIN_SECONDS)
            return
        self._busy[repository] += 1
        try:
            loop = asyncio.get_running_loop()
            kept = await loop.run_in_executor(self._threads, self.keeper.work, log)
        finally:
            self._busy[repository] -= 1
        await self.database.write(queue.release, claim, due=kept.due, values=kept_logs.values_of(kept.log))
