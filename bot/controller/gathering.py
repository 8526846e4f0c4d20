"""Bring what a repository's store holds into the database, each log read once.

In:  a suite, the branches to look for.
Out: nothing; runs and measurements are kept, and what could not be read is told.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.config import Runs
from bot.errors import Broken, Told
from bot.runs import collect
from bot.runs.collect import Sought
from bot.runs.records import FoundRun
from bot.storage import repositories, runs
from bot.storage.artifacts import RunStore, open_store
from bot.storage.database import Database
from bot.storage.line_index import IndexShelf

NEWEST_PER_CASE = 30
"""Runs of a branch read per case and variant: the 30 of the noise history."""

READERS = 2
"""Logs read at once: reading is work for a core, and the others serve people."""

LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Gatherer:
    """Finds and reads runs on threads."""

    database: Database
    now: Callable[[], float]
    shelf: IndexShelf = field(default_factory=IndexShelf)
    _stores: dict[str, RunStore] = field(default_factory=dict)
    _readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READERS))

    async def gather(self, repository: str, source: Runs, sought: Sequence[Sought]) -> None:
        """Read every run that is new or has grown; raises `Told` where the store cannot be listed."""
        store = self._store(source.source)
        origin = await self.database.read(repositories.first_name, repository)
        manifests = collect.Manifests(store)
        for one in sought:
            found = await asyncio.to_thread(collect.find_runs, store, source.pattern, one)
            listed = {collect.run_id(store, origin, run): run for run in newest(found)}
            known = await self.database.read(runs.generations, list(listed))
            fresh = [run for name, run in listed.items() if known.get(name) != collect.generation(run)]
            await asyncio.gather(*(self._read(store, repository, run, manifests, origin) for run in fresh))

    async def _read(
        self, store: RunStore, repository: str, found: FoundRun, manifests: collect.Manifests, origin: str
    ) -> None:
        async with self._readers:
            try:
                collected = await asyncio.to_thread(
                    collect.read_run, store, repository, found, manifests, first_name=origin, shelf=self.shelf
                )
            except (Told, Broken) as problem:
                LOG.warning("a run in %s could not be read: %s", found.folder, problem)
                return
        await self.database.write(runs.save, collected.record, now=self.now(), measured=collected.measured)

    def _store(self, url: str) -> RunStore:
        if url not in self._stores:
            self._stores[url] = open_store(url)
        return self._stores[url]


def newest(found: Sequence[FoundRun]) -> list[FoundRun]:
    """The newest runs of each case and variant; `found` is newest first."""
    kept: dict[tuple[str, str], int] = {}
    chosen = []
    for run in found:
        key = (run.case, run.variant)
        kept[key] = kept.get(key, 0) + 1
        if kept[key] <= NEWEST_PER_CASE:
            chosen.append(run)
    return chosen
