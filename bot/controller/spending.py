"""The budgets of a repository's configuration as what stands between a plan and a launch.

In:  a run about to be launched, and later its end.
Out: `Admitted` or `Waits`; what was spent is written down.

The limits are read from the default branch each time, so that a higher one lets in what waits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from bot.config import Budget, Suite
from bot.controller.admission import Admitted, Waits
from bot.controller.suites import Suites
from bot.intake.pull import Repository
from bot.runs.budget import FILE, RAISED_SECONDS, Limits
from bot.runs.clusters.port import Job
from bot.runs.price import chip_hours as cost_of
from bot.runs.price import chips_of
from bot.runs.records import RunRecord
from bot.runs.standing import pace_at
from bot.storage import pulls, spend
from bot.storage.database import Database

HERE = "this machine"

NO_SUITE = f"the default branch has no valid {FILE}, which would say what may be spent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """Admits runs while the budgets of their repository last."""

    database: Database
    suites: Suites
    now: Callable[[], float]

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Waits:
        """As `bot.controller.admission.Admission.admit`."""
        suite = await self._suite(run.repository)
        if suite is None:
            return Waits(until=self.now() + RAISED_SECONDS, why=NO_SUITE)
        again = await self.database.read(spend.is_set_aside, run.id, run.attempt)
        held = await self.database.write(
            spend.admit,
            spend.Wish(run=run.id, attempt=run.attempt, place=place_of(job), shown=HERE, most=most(job)),
            limits(suite.budget),
            now=self.now(),
        )
        return Admitted(again=again) if held is None else Waits(until=held.until, why=held.why)

    async def settle(
        self, run: RunRecord, job: Job, *, chip_hours: float | None, ran_seconds: float | None
    ) -> None:
        """As `bot.controller.admission.Admission.settle`."""
        spent = taken(job, chip_hours=chip_hours, ran_seconds=ran_seconds)
        await self.database.write(spend.settle, run.id, run.attempt, chip_hours=spent, now=self.now())

    async def _suite(self, repository: str) -> Suite | None:
        row = await self.database.read(pulls.repository, repository)
        if row is None:
            return None
        known = Repository(
            full_name=row.full_name, installation=row.installation, default_branch=row.default_branch
        )
        return (await self.suites.read(known)).suite


def limits(budget: Budget) -> Limits:
    """The configuration's budget as the limits that launches are held to."""
    return Limits(
        concurrent_runs=budget.concurrent_runs,
        chip_hours_per_day=budget.chip_hours_per_day,
        chip_hours_per_person_per_day=budget.chip_hours_per_person_per_day,
        chip_hours_per_pull_request=budget.chip_hours_per_pull_request,
    )


def place_of(job: Job) -> str:
    """What limits count by: the cluster's name, empty for this machine."""
    return job.place.name if job.place else ""


def chips(job: Job) -> int | None:
    """The chips that a job holds; this machine counts as one."""
    return chips_of(job.place.device_type, job.place.slices) if job.place else 1


def most(job: Job) -> float | None:
    """The chip-hours that an attempt can take: all its chips until we end it, which is some time after it
    should have ended itself. None where nobody knows its chips."""
    held = chips(job)
    return None if held is None else cost_of(held, job.timeout_seconds + pace_at(job.place).overdue)


def taken(job: Job, *, chip_hours: float | None, ran_seconds: float | None) -> float | None:
    """The chip-hours that an attempt took: the more of what its log and the cluster say, since a log begins
    late and may be cut. Nothing where the cluster never ran it; None where nobody can say.

    Never more than an attempt can take: a log is the change's own word, and while nobody looked a job that
    ended long ago seems to run on."""
    if ran_seconds is None:
        return min(chip_hours or 0.0, inf if (bound := most(job)) is None else bound)
    held, bound = chips(job), most(job)
    if held is None or bound is None:
        return chip_hours
    return min(max(chip_hours or 0.0, cost_of(held, ran_seconds)), bound)
