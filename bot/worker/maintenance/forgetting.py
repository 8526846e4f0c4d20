"""Forget repositories: remove every row, stored log and job folder of them.

An operator says so by `maxview forget`, or the App was uninstalled from one `RETENTION` days ago. A mark
keeps running servers from saving it meanwhile; when the mark ends, what they had under way is removed too.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from msgspec import Struct

from bot.artifacts.store import ArtifactStore
from bot.clusters.registry import ClusterRegistry
from bot.errors import InternalError, UserError
from bot.policy.gate import Permissions
from bot.storage import forgetting
from bot.storage.database import Database
from bot.storage.forgetting import DeliveryKey, ForgottenName, RunTrace
from bot.storage.repositories import RepositoryRow
from bot.worker.maintenance.tasks import TaskResult
from bot.worker.maintenance.visibility import VisibilityCheck, is_gone

INTERVAL_SECONDS = 300.0

MARK_SECONDS = 900.0
"""How long a repository stays marked: longer than any step holds a row."""

FORMER_INDEXES = "line-index"
"""Where older versions kept the line indexes of every log; nothing reads them any more."""

LOG = logging.getLogger(__name__)


class JobFolders(Protocol):
    """The jobs of this machine."""

    async def forget(self, names: Collection[str], shas: Collection[str]) -> None:
        """End these jobs, delete their logs, and the checkouts of these commits that no other job needs."""
        ...


class RepositoryRemoval(Struct, frozen=True, kw_only=True):
    """Removes what there is of a repository; may die anywhere and be repeated."""

    database: Database
    artifacts: ArtifactStore
    jobs: JobFolders
    now: Callable[[], float]

    async def forget(self, target: ForgottenName) -> int:
        """Mark the repository and remove it; how many files were deleted."""
        await self.database.write(forgetting.mark, target, until=self.now() + MARK_SECONDS)
        return await self._remove(target)

    async def finish(self, target: ForgottenName) -> None:
        """Remove what was under way when the repository was marked, and let it be saved anew."""
        await self._remove(target)
        await self.database.write(forgetting.drop_mark, target)

    async def _remove(self, target: ForgottenName) -> int:
        traces = await self.database.read(forgetting.traces, target)
        marked = await self.database.read(forgetting.marked_runs, target)
        names = [name for run in traces if run.place is None for name in run.jobs]
        await self.jobs.forget(names, {run.sha for run in traces if run.sha is not None})
        await self.database.write(forgetting.remove, target)
        files = await asyncio.to_thread(self._delete_files, {*marked, *(run.id for run in traces)})
        await self._empty_deliveries(target)
        return files

    def _delete_files(self, runs: Collection[str]) -> int:
        self.artifacts.delete_below(FORMER_INDEXES)
        return sum(self.artifacts.delete_below(f"runs/{run}") for run in sorted(runs))

    async def _empty_deliveries(self, target: ForgottenName) -> None:
        after: DeliveryKey | None = DeliveryKey()
        while after is not None:
            _, after = await self.database.write(forgetting.empty_deliveries, target, after)


class ForgetTask(Struct, frozen=True, kw_only=True):
    """Ends what `maxview forget` began, and forgets repositories that were uninstalled long ago."""

    removal: RepositoryRemoval
    clusters: ClusterRegistry
    permissions: Permissions
    visibility: VisibilityCheck
    retention_seconds: float

    async def __call__(self, _position: str | None) -> TaskResult:
        """Do what is to be done by now."""
        database = self.removal.database
        for target in await database.read(forgetting.ended_marks, self.removal.now()):
            await self.removal.finish(target)
            LOG.info("everything of a repository was removed", extra={"repository": target.full_name})
        if await self._uninstalled():
            # It may have come back while no server ran: GitHub is asked before anything is removed.
            listed = await self.visibility.refresh()
            for row in await self._uninstalled():
                found = await database.read(forgetting.find_forgettable, row.full_name)
                if found is not None and is_gone(row, listed):
                    await self._forget(found)
        return TaskResult(position=None, repeat_after=INTERVAL_SECONDS)

    async def _uninstalled(self) -> Sequence[RepositoryRow]:
        before = self.removal.now() - self.retention_seconds
        return await self.removal.database.read(forgetting.uninstalled_before, before)

    async def _forget(self, target: ForgottenName) -> None:
        try:
            for run in await self.removal.database.read(forgetting.traces, target):
                await self._end(run)
            await self.removal.forget(target)
        except (InternalError, UserError) as error:
            LOG.warning("%s is not forgotten yet: %s", target.full_name, error)

    async def _end(self, run: RunTrace) -> None:
        """End the jobs of a run that may still go on on a cluster."""
        if run.open and run.place is not None and self.permissions.knows(run.place):
            for name in run.jobs:
                await self.clusters.at(run.place).delete(name)
