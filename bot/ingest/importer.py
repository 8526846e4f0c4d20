"""Import runs from a repository's store into the database; each log is read once."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from bot.artifacts.line_index import LineIndexCache
from bot.artifacts.sources import open_store
from bot.artifacts.store import ArtifactStore
from bot.config import RunSource
from bot.domain.run import FoundRun
from bot.errors import InternalError, UserError
from bot.ingest import collect
from bot.ingest.collect import ImportQuery
from bot.policy.gate import Permissions
from bot.storage import repositories, runs
from bot.storage.database import Database

NEWEST_PER_CASE = 30
"""Runs of a branch that are read per case and variant: the 30 of the noise history."""

CONCURRENT_READS = 2
"""Logs read at once: reading keeps a core busy, and the other cores serve people."""

LOG = logging.getLogger(__name__)


class RunImporter(Struct, kw_only=True):
    """Finds and reads runs, on threads, where the operator's policy allows it."""

    database: Database
    permissions: Permissions
    now: Callable[[], float]
    shelf: LineIndexCache = field(default_factory=LineIndexCache)
    _readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CONCURRENT_READS))

    async def import_runs(self, repository: str, source: RunSource, queries: Sequence[ImportQuery]) -> None:
        """Read every run that is new or has grown; raises `UserError` if the store cannot be listed,
        `NotGranted` if it may not be read."""
        store = open_store(source.source, await self.permissions.source_guard(repository, source.source))
        origin = await self.database.read(repositories.first_name, repository)
        manifests = collect.ManifestReader(store)
        for one in queries:
            found = await asyncio.to_thread(collect.find_runs, store, source.pattern, one)
            listed = {collect.found_run_id(store, origin, run): run for run in newest_per_case(found)}
            known = await self.database.read(runs.measured_generations, list(listed))
            fresh = [run for name, run in listed.items() if known.get(name) != collect.logs_generation(run)]
            await asyncio.gather(*(self._read(store, repository, run, manifests, origin) for run in fresh))

    async def _read(
        self,
        store: ArtifactStore,
        repository: str,
        found: FoundRun,
        manifests: collect.ManifestReader,
        origin: str,
    ) -> None:
        async with self._readers:
            try:
                collected = await asyncio.to_thread(
                    collect.read_run, store, repository, found, manifests, first_name=origin, shelf=self.shelf
                )
            except (UserError, InternalError) as error:
                LOG.warning("a run in %s could not be read: %s", found.folder, error)
                return
        await self.database.write(runs.save, collected.record, now=self.now(), measured=collected.measured)


def newest_per_case(found: Sequence[FoundRun]) -> list[FoundRun]:
    """The newest runs of each case and variant; `found` is newest first."""
    counts: dict[tuple[str, str], int] = {}
    chosen = []
    for run in found:
        key = (run.case, run.variant)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= NEWEST_PER_CASE:
            chosen.append(run)
    return chosen
