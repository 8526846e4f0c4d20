"""The real limits, on a real database, for the world of runs.

In:  attempts to admit and to settle. Out: what `bot.storage.spend` decides.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace
from sqlalchemy import Connection, Engine, create_engine, func, select, update
from sqlalchemy.pool import StaticPool

from bot.clusters.interface import Job
from bot.domain.run import RunRecord
from bot.planning.budget import BudgetLimits
from bot.storage import runs, spend
from bot.storage.tables import METADATA, RUN, SPEND
from bot.worker.budget_gate import Admitted, Deferred
from tests.worker.model.ledger import LIMIT, Ledger, YieldOnce
from tests.worker.model.world import RUNS

# ruff: noqa: ARG002 - the arguments are those of the real calls

PRICE = 2.0

TIGHT_LIMITS = (
    BudgetLimits(concurrent_runs=LIMIT, chip_hours_per_day=5.0, chip_hours_per_pull_request=40.0),
    BudgetLimits(concurrent_runs=LIMIT, chip_hours_per_day=80.0, chip_hours_per_pull_request=5.0),
    BudgetLimits(concurrent_runs=LIMIT, chip_hours_per_day=80.0),
)
"""One limit is reached in each."""


def _engine() -> Engine:
    """Tables in memory, with one connection that all calls share."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    METADATA.create_all(engine)
    return engine


@dataclass(slots=True, kw_only=True)
class SqlBudget:
    """An `Admission` whose books on money are real; where runs stand it is told by the other books."""

    ledger: Ledger
    engine: Engine = field(default_factory=_engine)
    limits: BudgetLimits
    held_by: set[str]

    def __post_init__(self) -> None:
        planned = [replace(one, price=PRICE, charged_to="alice") for one in RUNS]
        with self.engine.begin() as connection:
            runs.plan_runs(connection, planned, repository="acme/maxtext", number=7, now=self.ledger.clock())

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Deferred:
        """As `Admission.admit`, and never above a limit."""
        await YieldOnce()
        now = self.ledger.clock()
        with self.engine.begin() as connection:
            self._know(connection)
            wish = spend.AdmissionRequest(
                run=run.id, attempt=run.attempt, place=job.place.name if job.place else ""
            )
            again = spend.is_reserved(connection, run.id, run.attempt)
            held = spend.admit(connection, wish, self.limits, now=now)
            if held is None:
                self._check(connection, now)
        if held is None:
            self.ledger.under_way.add((run.id, run.attempt))
            return Admitted(again=again)
        self.held_by.add(held.reason.limit.value)
        return Deferred(until=held.until, why=str(held.reason))

    async def settle(
        self, run: RunRecord, job: Job, *, chip_hours: float | None, ran_seconds: float | None
    ) -> None:
        """As `Admission.settle`: an attempt that ran took half of what was set aside."""
        with self.engine.begin() as connection:
            self._know(connection)
            spent = 0.0 if ran_seconds is None else PRICE / 2
            spend.settle(connection, run.id, run.attempt, chip_hours=spent, now=self.ledger.clock())
        self.ledger.settle(run, job)

    def _know(self, connection: Connection) -> None:
        for name, row in self.ledger.rows.items():
            known = {"state": row["state"], "attempt": row["attempt"]}
            connection.execute(update(RUN).where(RUN.c.id == name).values(**known))

    def _check(self, connection: Connection, now: float) -> None:
        assert spend.day_chip_hours(connection, "acme/maxtext", now) <= self.limits.chip_hours_per_day
        most = self.limits.chip_hours_per_pull_request
        assert most is None or spend.pull_chip_hours(connection, "acme/maxtext", 7) <= most
        open_rows = select(func.count()).select_from(SPEND).where(SPEND.c.ended.is_(None))
        assert connection.execute(open_rows).scalar_one() <= LIMIT
