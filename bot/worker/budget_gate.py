"""Whether a run may start now: limits and budgets between a planned run and its launch.

Limits are read from the default branch at each launch, so a raised limit takes effect at once.
"""

from collections.abc import Callable
from math import inf
from typing import Protocol

from msgspec import Struct

from bot.clusters.interface import Job
from bot.config import Budget, Suite
from bot.config.loader import SuiteLoader
from bot.domain.repository import Repository
from bot.domain.run import RunRecord
from bot.planning.budget import CONFIG_FILE, LIMIT_RETRY_SECONDS, BudgetLimits
from bot.planning.devices import chip_count
from bot.planning.price import chip_hours as cost_of
from bot.policy.gate import Permissions
from bot.runs.run_status import timeouts_for
from bot.storage import repositories, spend
from bot.storage.database import Database


class Admitted(Struct, frozen=True):
    """Start it: its cost is reserved. `again` if an earlier call reserved it; that call may have started the
    job."""

    again: bool = False


class Deferred(Struct, frozen=True, kw_only=True):
    """Try again at `until` (Unix seconds); `why` is one clause for people: `4 of 4 runs on the cluster`."""

    until: float
    why: str


class Admission(Protocol):
    """Reserves the cost of an attempt of a run; `run.attempt` is the attempt.

    Both calls are repeated after a crash, so both are idempotent by `run.id` and `run.attempt`: an admitted
    attempt is admitted again without a second reservation, a settled one stays settled.
    """

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Deferred:
        """Call right before each launch; several processes may call at once."""
        ...

    async def settle(
        self, run: RunRecord, job: Job, *, chip_hours: float | None, ran_seconds: float | None
    ) -> None:
        """The attempt is over, whatever its end; it may never have been admitted.

        `chip_hours` are from its log, None if the log does not say. `ran_seconds` is how long the cluster
        was seen running it, None if it never was: then nothing was spent.
        """
        ...


class NoLimits(Struct, frozen=True):
    """Admits every run."""

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Deferred:  # noqa: ARG002 - as the Protocol
        """As `Admission.admit`."""
        return Admitted()

    async def settle(
        self, run: RunRecord, job: Job, *, chip_hours: float | None, ran_seconds: float | None
    ) -> None:
        """As `Admission.settle`."""


LOCAL_NAME = "this machine"

NO_VALID_CONFIGURATION = f"the default branch has no valid {CONFIG_FILE}, which would say what may be spent"


class BudgetGate(Struct, frozen=True, kw_only=True):
    """Admits runs while the budgets of their repository last, and the operator's."""

    database: Database
    suites: SuiteLoader
    permissions: Permissions
    now: Callable[[], float]

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Deferred:
        """See `Admission.admit`."""
        suite = await self._suite(run.repository)
        if suite is None:
            return Deferred(until=self.now() + LIMIT_RETRY_SECONDS, why=NO_VALID_CONFIGURATION)
        again = await self.database.read(spend.is_reserved, run.id, run.attempt)
        hold = await self.database.write(
            spend.admit,
            spend.AdmissionRequest(
                run=run.id,
                attempt=run.attempt,
                place=place_name(job),
                shown=LOCAL_NAME,
                most=most_chip_hours(job),
            ),
            limits_of(suite.budget),
            now=self.now(),
            operator=await self.permissions.limits(run.repository),
        )
        return Admitted(again=again) if hold is None else Deferred(until=hold.until, why=str(hold.reason))

    async def settle(
        self, run: RunRecord, job: Job, *, chip_hours: float | None, ran_seconds: float | None
    ) -> None:
        """See `Admission.settle`."""
        spent = chip_hours_taken(job, chip_hours=chip_hours, ran_seconds=ran_seconds)
        await self.database.write(spend.settle, run.id, run.attempt, chip_hours=spent, now=self.now())

    async def _suite(self, repository: str) -> Suite | None:
        row = await self.database.read(repositories.find_repository, repository)
        if row is None:
            return None
        known_repository = Repository(
            full_name=row.full_name, installation=row.installation, default_branch=row.default_branch
        )
        return (await self.suites.read(known_repository)).suite


def limits_of(budget: Budget) -> BudgetLimits:
    """The configuration's budget as limits."""
    return BudgetLimits(
        concurrent_runs=budget.concurrent_runs,
        chip_hours_per_day=budget.chip_hours_per_day,
        chip_hours_per_person_per_day=budget.chip_hours_per_person_per_day,
        chip_hours_per_pull_request=budget.chip_hours_per_pull_request,
    )


def place_name(job: Job) -> str:
    """What limits count by: the cluster's name, empty for this machine."""
    return job.place.name if job.place else ""


def chips_held(job: Job) -> int | None:
    """The chips that a job holds; this machine counts as one."""
    return chip_count(job.place.device_type, job.place.slices) if job.place else 1


def most_chip_hours(job: Job) -> float | None:
    """The chip-hours that an attempt can take: all its chips until we end it, which is some time after it
    should have ended itself. None where nobody knows its chips."""
    hold = chips_held(job)
    return (
        None if hold is None else cost_of(hold, job.timeout_seconds + timeouts_for(job.place).overrun_seconds)
    )


def chip_hours_taken(job: Job, *, chip_hours: float | None, ran_seconds: float | None) -> float | None:
    """The chip-hours that an attempt took: the more of what its log and the cluster say, since a log begins
    late and may be cut. Nothing where the cluster never ran it; None where nobody can say.

    Never more than an attempt can take: a log is the change's own word, and while nobody looked a job that
    ended long ago seems to run on."""
    if ran_seconds is None:
        return min(chip_hours or 0.0, inf if (bound := most_chip_hours(job)) is None else bound)
    hold, bound = chips_held(job), most_chip_hours(job)
    if hold is None or bound is None:
        return chip_hours
    return min(max(chip_hours or 0.0, cost_of(hold, ran_seconds)), bound)
