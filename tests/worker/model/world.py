"""A world of runs: processes that die, sleep and race, a cluster that fails jobs, clocks that jump.

In:  events, each with a number that says which of its kinds. Out: nothing; every event checks what must hold.

The processes execute the real `RunStep` and `Sweeper`, one call to the outside at a time, in any order.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from bot.artifacts.store import ArtifactStore
from bot.clusters.interface import ClusterFault, JobState, Observation
from bot.clusters.registry import ClusterRegistry
from bot.domain.run import RunState
from bot.errors import InternalError
from bot.runs.run_status import TERMINAL_STATES, RunStatus, RunTimeouts
from bot.runs.state_machine import next_attempt
from bot.storage.database import Database
from bot.storage.queue import Claim
from bot.worker.budget_gate import Admission
from bot.worker.maintenance.orphan_cleanup import GRACE_SECONDS, OrphanCleanup
from bot.worker.runs import RunStep
from tests.policy.open_policy import OPEN
from tests.worker.fake_cluster import planned_run
from tests.worker.model.cluster import LogStore, ModelCluster, TrueJob
from tests.worker.model.ledger import LIMIT, Ledger, LedgerGate, row_of

PACE = RunTimeouts(
    poll_seconds=10,
    missing_seconds=60,
    queue_seconds=1e5,
    overrun_seconds=100,
    min_looks=3,
    fault_seconds=50,
    max_gap_seconds=60,
    max_attempts=3,
    retry_seconds=20,
)

STEPS = 10

HANGING = 5  # one of so many worlds ends with a job that hangs

PROCESSES = 3

RUNS = tuple(planned_run(key=f"{n:016x}", case=f"case_{n}") for n in range(1, 4))

LIVE = {JobState.QUEUED, JobState.RUNNING}


@dataclass(slots=True, kw_only=True)
class Process:
    """One process of the bot: what it is in the middle of, and whether it sleeps."""

    going: Coroutine[Any, Any, Any] | None = None
    held: Claim | None = None
    asleep: bool = False


class World:
    """Three runs that pull request 1 wants; `events` counts what happened, `calls` each call of a process."""

    def __init__(self, purse: Callable[[Ledger], Admission] | None = None) -> None:
        self.now, self.jumps, self.retries, self.calls = 1e9, 0, 0, 0
        self.ledger = Ledger(clock=lambda: self.now, lives=self._lives)
        self.model_cluster = ModelCluster(may_start=self._not_seen_yet)
        self.processes = [Process() for _ in range(PROCESSES)]
        self.causes = {one.record.id: 0 for one in RUNS}
        self.vanished: set[str] = set()
        self.ran = {one.record.id: 0.0 for one in RUNS}
        for place, one in enumerate(RUNS):
            self.ledger.rows[one.record.id] = row_of(one, self.now + place)
            self.ledger.wants.add((1, one.record.id))
        self.step = RunStep(
            database=cast(Database, self.ledger),
            clusters=ClusterRegistry(local=self.model_cluster, open_place=lambda _: self.model_cluster),
            permissions=OPEN,
            artifacts=cast(ArtifactStore, LogStore()),
            now=lambda: self.now,
            wake=lambda: None,
            admission=purse(self.ledger) if purse else LedgerGate(ledger=self.ledger),
            timeouts=lambda _: PACE,
        )

    def _lives(self, name: str) -> bool:
        return name in self.model_cluster.jobs and self.model_cluster.jobs[name].seen.state in LIVE

    def _not_seen_yet(self, name: str) -> bool:
        return self.ledger.standing(_run_of(name)).state in {RunState.PLANNED, RunState.LAUNCHED}

    def do(self, event: str, number: int) -> None:
        """Let one thing happen, and check everything."""
        EVENTS[event](self, number)
        self.check()

    def advance(self, number: int) -> None:
        """A process makes its next call, or takes up new work."""
        process = self.processes[number % PROCESSES]
        if process.asleep:
            return
        if process.going is None and not self._take_up(process, number):
            return
        assert process.going is not None
        self.calls += 1
        try:
            process.going.send(None)
        except StopIteration:
            self._idle(process)
        except InternalError:
            if process.held is not None:
                self.ledger.postpone(process.held, self.now)
            self._idle(process)

    def _take_up(self, process: Process, number: int) -> bool:
        if number % 50 == 0:
            cleanup = OrphanCleanup(
                database=cast(Database, self.ledger),
                clusters=ClusterRegistry(local=self.model_cluster, open_place=lambda _: self.model_cluster),
                permissions=OPEN,
                now=lambda: self.now,
                owner="sweeper",
            )
            process.going, process.held = cleanup.run_once(), None
            return True
        process.held = self.ledger.claim(self.now)
        process.going = self.step(process.held) if process.held else None
        return process.going is not None

    def _idle(self, process: Process) -> None:
        process.going, process.held = None, None

    def crash(self, number: int) -> None:
        """A process dies between two calls; another one starts in its place."""
        process = self.processes[number % PROCESSES]
        if process.going is not None:
            process.going.close()
        self._idle(process)
        process.asleep = False

    def sleep(self, number: int) -> None:
        """A process is stopped in the middle of something, or goes on."""
        process = self.processes[number % PROCESSES]
        process.asleep = not process.asleep

    def passing(self, number: int) -> None:
        """Time passes; who is awake holds its row on."""
        seconds = float(number % 40)
        self.now += seconds
        for name, job in self.model_cluster.jobs.items():
            if job.seen.state is JobState.RUNNING:
                job.ran += seconds
                self.ran[_run_of(name)] = max(self.ran[_run_of(name)], job.ran)
        for process in self.processes:
            if process.held is not None and not process.asleep:
                self.ledger.renew(process.held, self.now)

    def jump(self, number: int) -> None:
        """The clock is put right, or wrong."""
        self.now += (number - 500) * 1000.0
        self.jumps += 1

    def cluster(self, number: int) -> None:
        """Something happens to a job that lives: its turn comes, it goes on, ends, or is failed."""
        living = [name for name, job in self.model_cluster.jobs.items() if job.seen.state in LIVE]
        if living:
            self._happen(living[number % len(living)], number // 7)

    def _happen(self, name: str, number: int) -> None:
        job, run = self.model_cluster.jobs[name], _run_of(name)
        kind = number % 12
        if job.seen.state is JobState.QUEUED and kind < 7:
            job.seen = Observation(
                state=JobState.RUNNING, last_step=0, expected_steps=STEPS, last_output=self.now
            )
            self.model_cluster.logs.add(name)
        elif kind < 7:
            step = min(STEPS - 1, (job.seen.last_step or 0) + 1)
            job.seen = replace(job.seen, last_step=step, last_output=self.now, fault=None)
        elif kind < 9 and job.seen.state is JobState.RUNNING:
            code = (0, 1, 137)[number // 12 % 3]
            job.seen = Observation(state=JobState.ENDED, exit_code=code, log_uri="there")
        elif kind == 9:
            self.causes[run] += 1
            fault = list(ClusterFault)[number // 12 % len(ClusterFault)]
            job.seen = Observation(state=JobState.ENDED, exit_code=143, fault=fault, note="the cluster")
        elif kind == 10:
            self.causes[run] += 1
            self._trouble(job, number // 12)
        elif number // 12 % 5 == 0:
            self.vanished.add(name)
            self.causes[run] += 1
            del self.model_cluster.jobs[name]
        elif name not in self.model_cluster.blind and self.ledger.standing(run).missing_looks == 0:
            self.model_cluster.blind[name] = PACE.min_looks + 1

    def _trouble(self, job: TrueJob, number: int) -> None:
        """A job that lives suffers a fault, or is put back into the queue."""
        if job.seen.state is JobState.RUNNING and number % 2:
            fault = (ClusterFault.PREEMPTED, ClusterFault.EVICTED)[number % 4 // 2]
            job.seen = replace(job.seen, state=JobState.QUEUED, fault=fault)
        else:
            job.seen = replace(job.seen, fault=list(ClusterFault)[number % len(ClusterFault)])

    def people(self, number: int) -> None:
        """A pull request wants a run or no longer does; an operator ends one or has one run again."""
        one = RUNS[number % len(RUNS)]
        run, row = one.record.id, self.ledger.rows[one.record.id]
        pull = 1 + number % 2
        match number // 6 % 6:
            case 0 | 1:
                self.ledger.wants.discard((pull, run))
                if (
                    not any(name == run for _, name in self.ledger.wants)
                    and row["state"] not in TERMINAL_STATES
                ):
                    row["due"] = 0.0
            case 2:
                row["operator_action"], row["due"] = "cancel", 0.0
            case 3 if RunState(row["state"]) in TERMINAL_STATES and row["operator_action"] is None:
                self._retry(run)
            case _:
                self.ledger.wants.add((pull, run))
                self.plan()

    def _retry(self, run: str) -> None:
        """As an operator does: another attempt of a run that is over."""
        row = self.ledger.rows[run]
        again = next_attempt(self.ledger.standing(run), why="an operator had it run again", now=self.now)
        row.update(status=msgspec.json.encode(again).decode(), state=RunState.PLANNED, due=self.now)
        row.update(operator_action="run", token=row["token"] + 1, lease_until=0.0, attempt=again.attempt)
        self.causes[run] += 1
        self.retries += 1

    def plan(self) -> None:
        """As a pull request's look does: what is wanted and was cancelled begins anew."""
        for one in RUNS:
            row = self.ledger.rows[one.record.id]
            wanted = any(name == one.record.id for _, name in self.ledger.wants)
            if wanted and row["state"] == RunState.CANCELLED and row["operator_action"] is None:
                fresh = row_of(one, self.now)
                kept = {name: row[name] for name in ("token", "lease_until")}
                self.ledger.rows[one.record.id] = {**fresh, **kept}

    def check(self) -> None:
        """What must hold at every moment."""
        living = [name for name, job in self.model_cluster.jobs.items() if job.seen.state in LIVE]
        runs = [_run_of(name) for name in living]
        assert len(runs) == len(set(runs)), f"two live jobs of one run: {living}"
        assert len(living) <= LIMIT, f"more than {LIMIT} jobs live: {living}"
        assert len(self.ledger.under_way) <= LIMIT
        for one in RUNS:
            self._check(one.record.id)

    def _check(self, run: str) -> None:
        state, standing = RunState(self.ledger.rows[run]["state"]), self.ledger.standing(run)
        assert standing.attempt - 1 <= self.causes[run], "another attempt for nothing that a cluster did"
        assert standing.attempt <= PACE.max_attempts + self.retries, "more attempts than there may be"
        assert len(standing.names) == len(standing.past) + 1, "two attempts share a name"
        if state is RunState.ENDED:
            assert run in self.ledger.measured, "ended without a measurement"
        elif state is RunState.LOST:
            assert self._may_be_lost(run, standing), f"lost for nothing: {standing.why}"
        elif state is not RunState.CANCELLED:
            assert self.ledger.rows[run]["due"] is not None, "nobody will look at it again"

    def _may_be_lost(self, run: str, standing: RunStatus) -> bool:
        """Whether what is said of a lost run is so. A clock that jumps may hide a gap's length each time."""
        if "time limit" in standing.why:
            return self.ran[run] + self.jumps * PACE.max_gap_seconds >= 600.0
        if "all" in standing.why:
            return self.causes[run] >= PACE.max_attempts
        return "no longer knows" in standing.why and standing.name in self.vanished

    def calm(self) -> None:
        """The trouble stops: everything that is wanted ends, and nothing lives that nobody wants."""
        for process in self.processes:
            process.asleep = False
        self.model_cluster.refusing = 0
        hangs = RUNS[self.calls % len(RUNS)].record.id if self.calls % HANGING == 0 else ""
        for round_ in range(4000):
            self.passing(39)
            self.plan()
            for name, job in list(self.model_cluster.jobs.items()):
                if job.seen.state in LIVE:
                    self._settle_down(name, job, hangs)
            for place in range(PROCESSES * 12):
                self.advance(place % PROCESSES + (0 if round_ % 20 == 0 and place < PROCESSES else 51))
                self.check()
            self.plan()
            if self._all_over():
                break
        assert self._all_over(), {run: (row["state"], row["due"]) for run, row in self.ledger.rows.items()}
        self._swept()

    def _settle_down(self, name: str, job: TrueJob, hangs: str) -> None:
        """It runs, and ends after a while; the one that hangs has to be ended."""
        if job.ran > 5 * STEPS and _run_of(name) != hangs:
            job.seen = Observation(state=JobState.ENDED, exit_code=0, log_uri="there")
        else:
            self.model_cluster.logs.add(name)
            job.seen = Observation(state=JobState.RUNNING, last_step=1, last_output=self.now)

    def _all_over(self) -> bool:
        return all(RunState(row["state"]) in TERMINAL_STATES for row in self.ledger.rows.values()) and all(
            process.going is None for process in self.processes
        )

    def _swept(self) -> None:
        # Who slept may have set something aside anew for what was settled; the sweeper gives that back.
        assert self.ledger.under_way <= self.ledger.settled, "an attempt is over and was not settled"
        for _ in range(2):
            self.now += GRACE_SECONDS + 1
            self._take_up(self.processes[0], 0)
            while self.processes[0].going is not None:
                self.advance(0)
        assert self.ledger.under_way == set(), "something set aside was never settled"
        left = [name for name, job in self.model_cluster.jobs.items() if job.seen.state in LIVE]
        assert left == [], f"nobody wants them: {left}"
        for one in RUNS:
            if (1, one.record.id) in self.ledger.wants and self.ledger.rows[one.record.id][
                "operator_action"
            ] is None:
                state = RunState(self.ledger.rows[one.record.id]["state"])
                assert state in {RunState.ENDED, RunState.LOST}, f"wanted, and {state}"


def _refuse(world: World, number: int) -> None:
    """The cluster will not start the next job, or not say that it did."""
    world.model_cluster.refusing = 1 + number % 2


def _run_of(name: str) -> str:
    return next(one.record.id for one in RUNS if one.record.id in name)


EVENTS: dict[str, Callable[[World, int], None]] = {
    "advance": World.advance,
    "pass": World.passing,
    "cluster": World.cluster,
    "crash": World.crash,
    "sleep": World.sleep,
    "jump": World.jump,
    "people": World.people,
    "refuse": _refuse,
}

WEIGHTS = {
    "advance": 220,
    "pass": 25,
    "cluster": 20,
    "crash": 4,
    "sleep": 2,
    "jump": 1,
    "people": 12,
    "refuse": 2,
}
