"""Delete orphaned jobs, and wake runs that a wrong clock put to sleep.

Deletes a job only if our database knows its name, and while the run's row is held, so nobody starts it at
that
moment. Jobs of other installations on the same cluster are left alone, and clusters that the operator's
policy does not name are asked nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from msgspec import Struct

from bot.clusters.interface import ClusterPlace
from bot.clusters.registry import ClusterRegistry
from bot.errors import InternalError, UserError
from bot.policy.gate import Permissions
from bot.runs.naming import key_of_job
from bot.runs.run_status import TERMINAL_STATES, RunStatus
from bot.runs.state_machine import orphaned_jobs
from bot.storage import launched_runs, queue
from bot.storage.database import Database
from bot.storage.tables import RUN

INTERVAL_SECONDS = 300.0
"""How often: an orphan costs chips, a listing costs the cluster a request."""

GRACE_SECONDS = 300.0
"""How long a job is kept after its run is over: people look at what has just ended, and a running step
finishes first."""

LEASE_SECONDS = 300.0
"""For one deletion: longer than any call to a cluster takes."""

ASLEEP_SECONDS = 900.0
"""No step postpones a run for longer, except for a budget that resets later, and that may be checked
earlier."""

REMEMBERED_SECONDS = 7 * 86_400.0
"""Clusters without a run for a week are no longer asked."""

LOCAL_NAME = "this machine"

LOG = logging.getLogger(__name__)


class OrphanCleanup(Struct, frozen=True, kw_only=True):
    """Cleans up every cluster of the policy that has or had runs."""

    database: Database
    clusters: ClusterRegistry
    permissions: Permissions
    now: Callable[[], float]
    owner: str

    async def run_forever(self) -> None:
        """Clean up now and every few minutes, until cancelled."""
        while True:
            try:
                await self.run_once()
            except Exception as error:
                LOG.warning("could not sweep: %s", error, exc_info=not isinstance(error, InternalError))
            await asyncio.sleep(INTERVAL_SECONDS)

    async def run_once(self) -> frozenset[str]:
        """Clean up every cluster once; the names of the deleted jobs."""
        now = self.now()
        rescheduled = await self.database.write(
            launched_runs.reschedule_stuck, now=now, later=now + ASLEEP_SECONDS
        )
        released = await self.database.write(launched_runs.release_reservations, now=now)
        if rescheduled or released:
            LOG.info("%s runs are looked at again, %s places are free again", rescheduled, released)
        deleted: set[str] = set()
        for place in await self.database.read(launched_runs.active_places, since=now - REMEMBERED_SECONDS):
            if not self.permissions.knows(place):
                continue
            try:
                deleted |= await self._clean_up(place)
            except (InternalError, UserError) as error:
                LOG.warning("could not sweep %s: %s", place.name if place else LOCAL_NAME, error)
        return frozenset(deleted)

    async def _clean_up(self, place: ClusterPlace | None) -> set[str]:
        cluster = self.clusters.at(place)
        names = await cluster.names()
        keys = {key for name in names if (key := key_of_job(name))}
        known = await self.database.read(launched_runs.statuses_by_key, keys)
        deleted = set()
        for name in sorted(orphaned_jobs(names, known.values())):
            run = run_of_job(name, known)
            if run is None or not is_attempt_over(known[run], name, self.now()):
                continue
            claim = await self.database.write(
                queue.claim_row, RUN, key={"id": run}, owner=self.owner, now=self.now(), lease=LEASE_SECONDS
            )
            if claim is None:
                continue
            try:
                if is_attempt_over(launched_runs.run_status(claim.row), name, self.now()):
                    await cluster.delete(name)
                    deleted.add(name)
                    LOG.info("deleted the job %s, which no run stands for", name)
            finally:
                await self.database.write(queue.return_claim, claim)
        return deleted


def run_of_job(name: str, known: Mapping[str, RunStatus]) -> str | None:
    """The id of the run that has an attempt of this name."""
    return next((run for run, standing in known.items() if name in standing.names), None)


def is_attempt_over(run: RunStatus, name: str, now: float) -> bool:
    """Whether the attempt of this name has been over for a while."""
    if name == run.name:
        since = run.since if run.state in TERMINAL_STATES else None
    else:
        since = next((one.ended for one in run.past if one.name == name), None)
    # A moment in the future comes from a clock that was wrong: then it has been a while.
    return since is not None and not 0 <= now - since < GRACE_SECONDS
