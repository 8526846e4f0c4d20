"""A cluster of plain values, and a process that steps runs on it, for the tests of the worker.

In:  jobs. Out: observations; what was started, how often, and what lives.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from msgspec.structs import replace

from bot.artifacts.store import ArtifactStore
from bot.clusters.interface import ClusterFault, ClusterPlace, Job, JobState, Observation
from bot.clusters.registry import ClusterRegistry
from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.errors import NotFound
from bot.planning.plan import PlannedRun
from bot.runs.run_status import RunStatus, RunTimeouts
from bot.storage import launched_runs, queue, runs
from bot.storage.database import Database
from bot.storage.tables import RUN
from bot.worker.budget_gate import Admission, Admitted, Deferred, NoLimits
from bot.worker.runs import RunStep
from tests.log_writers.maxtext import maxtext_log
from tests.policy.open_policy import OpenPolicy

PACE = RunTimeouts(
    poll_seconds=10,
    missing_seconds=60,
    queue_seconds=3600,
    overrun_seconds=100,
    min_looks=3,
    fault_seconds=50,
    max_attempts=3,
    retry_seconds=20,
)

PLACE = ClusterPlace(project="p", zone="z", cluster="c", device_type="v6e-32", priority="low")

LOG = maxtext_log(steps=10)


class Killed(BaseException):
    """The process dies here."""


@dataclass(slots=True, kw_only=True)
class FakeCluster:
    """A cluster: `jobs` is what it knows, `asked` what it was asked to start; `logs` outlive nothing.

    `before` and `after` are called with the name of every call and its job, and may raise.
    """

    jobs: dict[str, Observation] = field(default_factory=dict)
    asked: list[Job] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)
    before: Callable[[str, str], None] = lambda _call, _name: None
    after: Callable[[str, str], None] = lambda _call, _name: None

    async def aclose(self) -> None:
        """As `Cluster.aclose`."""

    async def launch(self, job: Job) -> None:
        """Queue the job unless its name is known."""
        self.before("launch", job.name)
        self.asked.append(job)
        self.jobs.setdefault(job.name, Observation(state=JobState.QUEUED))
        self.after("launch", job.name)

    async def observe(self, name: str) -> Observation:
        """How the job stands."""
        self.before("observe", name)
        return self.jobs.get(name, Observation(state=JobState.ABSENT))

    async def delete(self, name: str) -> None:
        """Forget the job and its log."""
        self.before("delete", name)
        self.deleted.append(name)
        self.jobs.pop(name, None)
        self.logs.pop(name, None)
        self.after("delete", name)

    async def names(self) -> frozenset[str]:
        """Every job."""
        return frozenset(self.jobs)

    def open_log(self, name: str) -> AbstractContextManager[Iterator[bytes]]:
        """The job's log."""
        return self._opened(name)

    @contextmanager
    def _opened(self, name: str) -> Iterator[Iterator[bytes]]:
        self.before("open_log", name)
        if name not in self.logs:
            raise NotFound(f"{name} has no log")
        yield iter([self.logs[name].encode()])

    @property
    def launches(self) -> list[str]:
        """The names of the jobs that were asked for."""
        return [job.name for job in self.asked]

    def runs_on(self, name: str, **seen: object) -> None:
        """The job's turn has come."""
        self.jobs[name] = replace(Observation(state=JobState.RUNNING), **seen)

    def ends(self, name: str, exit_code: int = 0, log: str = LOG) -> None:
        """The job ended by itself and left a log."""
        self.jobs[name] = Observation(state=JobState.ENDED, exit_code=exit_code, log_uri="somewhere")
        self.logs[name] = log

    def fails(self, name: str, fault: ClusterFault, note: str = "") -> None:
        """The cluster fails the job."""
        self.jobs[name] = Observation(state=JobState.ENDED, exit_code=143, fault=fault, note=note)


@dataclass(slots=True, kw_only=True)
class FakeAdmission:
    """An `Admission` that answers what it is told to, and remembers what was settled."""

    answer: Admitted | Deferred = Admitted()  # noqa: RUF009 - a value
    settled: list[tuple[str, int, float | None, float | None]] = field(default_factory=list)

    async def admit(self, run: RunRecord, job: Job) -> Admitted | Deferred:  # noqa: ARG002 - as the Protocol
        """The answer."""
        return self.answer

    async def settle(
        self,
        run: RunRecord,
        job: Job,  # noqa: ARG002 - as the Protocol
        *,
        chip_hours: float | None,
        ran_seconds: float | None,
    ) -> None:
        """Remember."""
        self.settled.append((run.id, run.attempt, chip_hours, ran_seconds))


@dataclass(slots=True, kw_only=True)
class RunProcess:
    """A bot process: `step` claims what is due and moves it; `clock` is everybody's."""

    database: Database
    cluster: FakeCluster
    artifacts: ArtifactStore
    clock: list[float]
    admission: Admission = NoLimits()  # noqa: RUF009 - a value
    permissions: OpenPolicy = field(default_factory=OpenPolicy)
    woken: int = 0

    def step(self, times: int = 1, owner: str = "me") -> int:
        """Move what is due, `times` rows at most; how many were moved."""
        moved = 0
        for _ in range(times):
            held = self.database.write_now(queue.claim, RUN, owner=owner, now=self.clock[0], lease=30.0)
            if held is None:
                break
            asyncio.run(self.stepper()(held))
            moved += 1
        return moved

    def stepper(self) -> RunStep:
        """The worker's step for a run."""
        return RunStep(
            database=self.database,
            clusters=ClusterRegistry(local=self.cluster, open_place=lambda _: self.cluster),
            artifacts=self.artifacts,
            permissions=self.permissions,
            now=lambda: self.clock[0],
            wake=self._wake,
            admission=self.admission,
            timeouts=lambda _: PACE,
        )

    def later(self, seconds: float = 20.0) -> None:
        """Time passes, and what is due is moved."""
        self.clock[0] += seconds
        self.step(20)

    def record(self, run: str) -> RunRecord:
        """The run as it is kept."""
        found = self.database.write_now(runs.by_id, run)
        assert found is not None
        return found

    def standing(self, run: str) -> RunStatus:
        """How the run stands."""
        return self.database.write_now(launched_runs.run_statuses, [run])[run]

    def _wake(self) -> None:
        self.woken += 1


def planned_run(
    key: str = "0123456789abcdef", case: str = "04_int8", place: ClusterPlace | None = PLACE
) -> PlannedRun:
    """A run of a case that is to be launched."""
    record = RunRecord(
        id=key,
        repository="acme/maxtext",
        case=case,
        variant="linen",
        branch="feat_x",
        sha="a" * 40,
        origin=RunOrigin.LAUNCHED,
        state=RunState.PLANNED,
        key=key,
        place=place.name if place else None,
    )
    job = Job(
        name=f"mv-{case.replace('_', '-')}-{key}",
        repository="/code",
        sha="a" * 40,
        case=case,
        variant="linen",
        command="python3 train.py run_name={run_name}",
        run_name=f"linen_feat_x_{key}_{case}",
        timeout_seconds=600.0,
        place=place,
    )
    return PlannedRun(record=record, job=job)
