"""Import runs from a repository's store into the database; each log is read once, and its text stored.

Logs are read on threads of our own. One repository has a few of them at most, and they take fair turns at the
processor: a repository with large logs does not keep the others waiting.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct, field

from bot.artifacts.sources import open_store
from bot.artifacts.store import ArtifactStore
from bot.config import RunSource
from bot.domain.run import FoundRun
from bot.errors import InternalError, UserError
from bot.ingest import collect
from bot.ingest.collect import ImportedRun, ImportQuery
from bot.ingest.read_log import text_name
from bot.ingest.turns import Turns
from bot.policy.gate import Permissions
from bot.storage import kept_logs, repositories, runs
from bot.storage.database import Connection, Database

NEWEST_PER_CASE = 30
"""Runs of a branch that are read per case and variant: the 30 of the noise history."""

READS_OF_ONE_REPOSITORY = 2
"""Logs of one repository that are open at once: while a store is slow, the others' are read."""

READ_THREADS = 16
"""Logs that are open at once: most of them wait for their stores, or for a turn."""

LOG = logging.getLogger(__name__)


class RunImporter(Struct, kw_only=True):
    """Finds and reads runs, on threads, where the operator's policy allows it."""

    database: Database
    permissions: Permissions
    now: Callable[[], float]
    artifacts: ArtifactStore
    turns: Turns = field(default_factory=Turns)
    _readers: defaultdict[str, asyncio.Semaphore] = field(
        default_factory=lambda: defaultdict(lambda: asyncio.Semaphore(READS_OF_ONE_REPOSITORY))
    )
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(READ_THREADS, thread_name_prefix="read-log")
    )

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
        def read() -> tuple[ImportedRun, str | None]:
            taker = self.turns.of(repository)
            imported = collect.read_run(store, repository, found, manifests, first_name=origin, taker=taker)
            return imported, self._store_text(imported)

        async with self._readers[repository]:
            try:
                imported, text = await asyncio.get_running_loop().run_in_executor(self._threads, read)
            except (UserError, InternalError) as error:
                LOG.warning("a run in %s could not be read: %s", found.folder, error)
                return
        await self.database.write(save_imported, imported, text, now=self.now())

    def _store_text(self, imported: ImportedRun) -> str | None:
        """The name of the stored text; None where our artifacts cannot be written: it is made later."""
        name = text_name(imported.record.id, imported.record.generation or "")
        try:
            imported.text.keep(self.artifacts, name)
        except (UserError, InternalError) as error:
            LOG.warning("the log of run %s could not be stored: %s", imported.record.id, error)
            return None
        return name


def save_imported(connection: Connection, imported: ImportedRun, text: str | None, *, now: float) -> None:
    """Save a run, its measurement, and where its text is stored."""
    runs.save(connection, imported.record, now=now, measured=imported.measured)
    kept_logs.save_text(connection, imported.record.id, text, now=now)


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
