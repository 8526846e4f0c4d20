"""The database and the limits as plain values, as far as a run's life needs them.

In:  the calls that `bot.worker` makes. Out: what the real ones would answer.

Every call lets others go first, and may be the last that its process makes. What is written is what the real
functions write; `tests/storage` and `tests/worker` hold those against both databases.
"""

# ruff: noqa: ARG002 - the arguments are those of the real calls

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bot.clusters.interface import ClusterPlace, Job
from bot.domain.run import RunRecord, RunState
from bot.planning.plan import PlannedRun
from bot.runs.run_status import TERMINAL_STATES, RunStatus
from bot.runs.state_machine import Demand
from bot.storage import launched_runs, queue
from bot.storage.launched_runs import RunChange
from bot.storage.queue import Claim
from bot.storage.tables import RUN
from bot.verdict.judgement import MeasuredRun
from bot.worker.budget_gate import Admitted, Deferred

LEASE = 30.0

LIMIT = 2

_RECORD = RunRecord.__struct_fields__


class YieldOnce:
    """Awaited where others may go first."""

    def __await__(self) -> Generator[None, None, None]:
        """Give way once."""
        yield


def row_of(one: PlannedRun, due: float) -> dict[str, Any]:
    """The row of a run that is to be started."""
    values: dict[str, Any] = {name: getattr(one.record, name) for name in _RECORD}
    return {
        **values,
        "job": msgspec.json.encode(one.job).decode(),
        "status": None,
        "operator_action": None,
        "due": due,
        "lease_until": 0.0,
        "token": 0,
        "attempts": 0,
    }


@dataclass(slots=True, kw_only=True)
class Ledger:
    """`rows` by id, `wants`: which pull requests want which run, `told`: what they were told of
    runs, `under_way` and `settled`: attempts, `lives`: whether the cluster has a job of this name that is
    not over."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    wants: set[tuple[int, str]] = field(default_factory=set)
    told: list[tuple[int, RunState]] = field(default_factory=list)
    measured: set[str] = field(default_factory=set)
    under_way: set[tuple[str, int]] = field(default_factory=set)
    settled: set[tuple[str, int]] = field(default_factory=set)
    clock: Callable[[], float]
    lives: Callable[[str], bool]

    async def read(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """As `Database.read`."""
        await YieldOnce()
        return getattr(self, f"_{function.__name__}")(*args, **more)

    write = read

    def settle(self, run: RunRecord, job: Job) -> None:
        """What was set aside is free for others from here on, so the job must have ended."""
        assert not self.lives(job.name), f"{job.name} is settled, and lives"
        self.under_way.discard((run.id, run.attempt))
        self.settled.add((run.id, run.attempt))

    def claim(self, now: float) -> Claim | None:
        """As `queue.claim`."""
        due = [row for row in self.rows.values() if row["due"] is not None and row["due"] <= now]
        free = [row for row in due if row["lease_until"] <= now]
        return self._held(min(free, key=lambda row: row["due"]), now, LEASE) if free else None

    def renew(self, held: Claim, now: float) -> None:
        """As the loop does while a process lives."""
        if self.is_held(held):
            self.rows[held.row["id"]]["lease_until"] = now + LEASE

    def postpone(self, held: Claim, now: float) -> None:
        """As `queue.postpone`."""
        if self.is_held(held):
            row = self.rows[held.row["id"]]
            row.update(due=now + 2.0, lease_until=0.0, attempts=row["attempts"] + 1)

    def is_held(self, held: Claim) -> bool:
        """Whether nobody took the row since."""
        return bool(self.rows[held.row["id"]]["token"] == held.token)

    def standing(self, run: str) -> RunStatus:
        """How a run stands."""
        return launched_runs.run_status(self.rows[run])

    def _held(self, row: dict[str, Any], now: float, lease: float) -> Claim:
        row.update(token=row["token"] + 1, lease_until=now + lease)
        return Claim(table=RUN, token=row["token"], lease_until=now + lease, row=dict(row))

    def _extend_lease(self, held: Claim, *, until: float) -> bool:
        if self.is_held(held):
            self.rows[held.row["id"]]["lease_until"] = until
        return self.is_held(held)

    def _claim_row(
        self, _table: object, *, key: dict[str, str], owner: str, now: float, lease: float
    ) -> Claim | None:
        row = self.rows[key["id"]]
        return self._held(row, now, lease) if row["lease_until"] <= now else None

    def _return_claim(self, held: Claim) -> None:
        if self.is_held(held):
            self.rows[held.row["id"]]["lease_until"] = 0.0

    def _run_demand(self, run: str) -> Demand:
        word = self.rows[run]["operator_action"]
        wanted = word == "run" or (word != "cancel" and any(name == run for _, name in self.wants))
        return Demand.WANTED if wanted else Demand.UNWANTED

    def _release_run(
        self,
        held: Claim,
        record: RunRecord,
        after: RunStatus,
        *,
        due: float | None,
        now: float,
        news: RunChange,
        measured: MeasuredRun | None,
        text: str | None,
    ) -> bool:
        if not self.is_held(held):
            return False
        row = self.rows[record.id]
        row.update({name: getattr(record, name) for name in _RECORD})
        row.update(status=msgspec.json.encode(after).decode(), due=due, lease_until=0.0, attempts=0)
        if record.state in TERMINAL_STATES and row["operator_action"] == "run":
            row["operator_action"] = None
        assert (text is not None) or (measured is None)
        if measured is not None:
            self.measured.add(record.id)
        if news is RunChange.STATE:
            self.told += [(number, record.state) for number, name in self.wants if name == record.id]
        return True

    def _active_places(self, *, since: float) -> tuple[ClusterPlace | None, ...]:
        return tuple({msgspec.json.decode(row["job"], type=Job).place for row in self.rows.values()})

    def _statuses_by_key(self, keys: set[str]) -> dict[str, RunStatus]:
        return {name: self.standing(name) for name, row in self.rows.items() if row["key"] in keys}

    def _reschedule_stuck(self, *, now: float, later: float) -> int:
        for row in self.rows.values():
            if RunState(row["state"]) not in TERMINAL_STATES and (row["due"] is None or row["due"] > later):
                row["due"] = now
            if row["lease_until"] > later:
                row["lease_until"] = 0.0
        return 0

    def _release_reservations(self, *, now: float) -> int:
        for run, attempt in list(self.under_way):
            row = self.rows[run]
            if RunState(row["state"]) in TERMINAL_STATES or row["attempt"] > attempt:
                self.under_way.discard((run, attempt))
        return 0


@dataclass(slots=True, kw_only=True)
class LedgerGate:
    """At most `LIMIT` attempts are admitted and not settled."""

    ledger: Ledger

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Deferred:
        """As `Admission.admit`."""
        await YieldOnce()
        again = (run.id, run.attempt) in self.ledger.under_way
        if not again and len(self.ledger.under_way) >= LIMIT:
            return Deferred(until=self.ledger.clock() + 20.0, why=f"{LIMIT} of {LIMIT} runs")
        self.ledger.under_way.add((run.id, run.attempt))
        return Admitted(again=again)

    async def settle(
        self, run: RunRecord, job: Job, *, chip_hours: float | None, ran_seconds: float | None
    ) -> None:
        """As `Admission.settle`; the fence stands right before it, so nobody else goes first."""
        self.ledger.settle(run, job)


KNOWN = (
    queue.extend_lease,
    queue.claim_row,
    queue.return_claim,
    launched_runs.run_demand,
    launched_runs.release_run,
    launched_runs.active_places,
    launched_runs.statuses_by_key,
    launched_runs.reschedule_stuck,
    launched_runs.release_reservations,
)
"""What `Books` stands in for, by name."""
