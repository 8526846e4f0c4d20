"""Move one launched run one step: look at its job, start it, end it, or read its log.

Effects on the cluster come before the write of the run's state, under a name derived from the run and its
attempt, so a repeated step finds what it did before. A process whose lease ended neither starts nor ends a
job.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from bot.artifacts.store import ArtifactStore
from bot.clusters.interface import Cluster, ClusterPlace, Clusters, Job
from bot.domain.run import LogFile, RunRecord, RunState
from bot.errors import InternalError, NotFound, TransientError, UserError
from bot.ingest import collect
from bot.planning.jobs import job_of_attempt
from bot.publish.lease_fence import LeaseFence
from bot.runs.run_status import TERMINAL_STATES, RunStatus, RunTimeouts, timeouts_for
from bot.runs.state_machine import (
    CheckAgain,
    CollectLog,
    DeleteJob,
    KeepLog,
    LaunchJob,
    RunEffect,
    SettleAttempt,
    back_off_launch,
    clear_missing,
    decide,
    hold_launch,
    launch_refused,
    mark_lost,
)
from bot.storage import launched_runs, runs
from bot.storage.database import Database
from bot.storage.launched_runs import RunChange
from bot.storage.queue import Claim
from bot.verdict.judgement import MeasuredRun
from bot.worker.budget_gate import Admission, Admitted, Deferred, NoLimits

MOST_LOG_READS = 20
"""How often a log that a store refuses is asked for, with pauses of up to ten minutes: some three hours, in
which an operator can put a permission right. Then the run is lost, and says why."""

LOG = logging.getLogger(__name__)


class _RunInStep(Struct, kw_only=True):
    """One step of one run: how it stood, how it stands now, and what came of the effects so far."""

    held: Claim
    fence: LeaseFence
    cluster: Cluster
    job: Job
    before: RunStatus
    after: RunStatus
    record: RunRecord
    due: float | None = None
    measured: MeasuredRun | None = None


class RunStep(Struct, frozen=True, kw_only=True):
    """What the controller does with a launched run."""

    database: Database
    clusters: Clusters
    artifacts: ArtifactStore
    now: Callable[[], float]
    wake: Callable[[], None]
    admission: Admission = NoLimits()
    pace: Callable[[ClusterPlace | None], RunTimeouts] = timeouts_for
    _here: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, held: Claim) -> None:
        """Look, act, and write the standing down."""
        planned = runs.planned_run(held.row)
        if planned.job.place is not None:
            await self._step(held, planned.record, planned.job)
            return
        # Runs of this machine are started in the order in which they were planned.
        async with self._here:
            await self._step(held, planned.record, planned.job)

    async def _step(self, held: Claim, record: RunRecord, first: Job) -> None:
        before = launched_runs.run_status(held.row)
        turn = _RunInStep(
            held=held,
            fence=LeaseFence(database=self.database, claim=held, now=self.now),
            cluster=self.clusters.at(first.place),
            job=job_of_attempt(first, record, before),
            before=before,
            after=before,
            record=replace(record, attempt=before.attempt),
        )
        wish = await self.database.read(launched_runs.run_demand, record.id)
        try:
            observation = await turn.cluster.observe(before.name)
        except (UserError, TransientError) as problem:
            if before.state is not RunState.PLANNED:
                raise
            # Nothing of it is there yet, so that all it can do is wait, and say for what.
            self._hold_back(turn, before, problem)
        else:
            turn.after, effects = decide(before, observation, wish, self.now(), self.pace(first.place))
            for effect in effects:
                await self._act(effect, turn)
        await self._write(turn)

    async def _act(self, effect: RunEffect, turn: _RunInStep) -> None:
        match effect:
            case LaunchJob():
                await self._launch(turn)
            case DeleteJob():
                await turn.fence()
                await turn.cluster.delete(turn.job.name)
            case CollectLog():
                await self._collect(turn)
            case KeepLog():
                await self._keep(turn)
            case SettleAttempt():
                await self._settle(turn)
            case CheckAgain(until=until):
                turn.due = until if turn.due is None else turn.due
            case _:
                assert_never(effect)

    async def _launch(self, turn: _RunInStep) -> None:
        """Start the job if that is admitted."""
        answer = await self.admission.admit(turn.record, turn.job)
        match answer:
            case Deferred(until=until, why=why):
                turn.after, _ = hold_launch(turn.before, until=until, why=why)
                turn.due = until
            case Admitted(again=again):
                await turn.fence()
                await self._start(turn, again=again)
            case _:
                assert_never(answer)

    async def _start(self, turn: _RunInStep, *, again: bool) -> None:
        try:
            await turn.cluster.launch(turn.job)
        except UserError as told:
            LOG.warning("%s cannot be started: %s", turn.job.name, told.text)
            turn.after = replace(turn.after, why=told.text)
        except TransientError as later:
            if turn.before.state is not RunState.PLANNED:
                raise
            pace = self.pace(turn.job.place)
            stands = launch_refused(turn.before, repeated=again, now=self.now(), timeouts=pace)
            if later.may_have_acted:
                stands = clear_missing(turn.before)
            elif stands.missing_since is None:
                # An image that is not built yet holds no place and no budget that others could use.
                await self._settle(turn)
            self._hold_back(turn, stands, later)

    def _hold_back(self, turn: _RunInStep, run: RunStatus, problem: UserError | TransientError) -> None:
        """The run stays planned, and says what is in its way."""
        LOG.warning("%s waits: %s", turn.job.name, problem)
        soonest = (
            problem.after if isinstance(problem, TransientError) else self.pace(turn.job.place).poll_seconds
        )
        turn.after, waits = back_off_launch(run, str(problem), soonest=soonest, now=self.now())
        turn.due = next((one.until for one in waits if isinstance(one, CheckAgain)), None)

    async def _collect(self, turn: _RunInStep) -> None:
        """Keep the log where links to it never die, and measure it."""
        try:
            file = await asyncio.to_thread(self._kept, turn)
        except NotFound:
            turn.after = mark_lost(turn.after, "it left no log", self.now())
            return
        except UserError as told:
            if turn.held.row["attempts"] < MOST_LOG_READS:
                raise
            turn.after = mark_lost(turn.after, f"its log cannot be read: {told.text}", self.now())
            return
        turn.measured = await asyncio.to_thread(collect.read_log_file, self.artifacts, file)
        started = collect.log_start_time(turn.measured) or turn.before.began or self.now()
        uri = self.artifacts.uri(file.name)
        turn.after = replace(turn.after, kept_log=uri)
        turn.record = replace(turn.record, started=started, log_uri=uri)

    async def _keep(self, turn: _RunInStep) -> None:
        """Keep the log of a job that is given up, as far as there is one."""
        try:
            file = await asyncio.to_thread(self._kept, turn)
        except (UserError, InternalError) as problem:
            LOG.info("no log of %s is kept: %s", turn.job.name, problem)
            return
        uri = self.artifacts.uri(file.name)
        turn.after = replace(turn.after, kept_log=uri)
        if not turn.after.retry:
            turn.record = replace(turn.record, log_uri=uri)

    def _kept(self, turn: _RunInStep) -> LogFile:
        attempt = turn.before.attempt
        name = f"runs/{turn.record.id}/log{f'-{attempt}' if attempt > 1 else ''}.txt"
        with turn.cluster.open_log(turn.job.name) as chunks:
            self.artifacts.write(name, chunks, "text/plain; charset=utf-8")
        return next(iter(self.artifacts.find(name)))

    async def _settle(self, turn: _RunInStep) -> None:
        await turn.fence()
        hours = turn.measured.measurements.chip_hours if turn.measured else None
        await self.admission.settle(
            turn.record, turn.job, chip_hours=hours, ran_seconds=_ran_seconds(turn, self.now())
        )

    async def _write(self, turn: _RunInStep) -> None:
        """Write the standing down, and have everyone who waits for this run look at it."""
        before, after = turn.before, turn.after
        written = await self.database.write(
            launched_runs.release_run,
            turn.held,
            replace(turn.record, state=after.state, attempt=after.attempt),
            after,
            due=None if after.state in TERMINAL_STATES else turn.due,
            now=self.now(),
            news=news_between(before, after),
            measured=turn.measured,
        )
        if written and before.state is not after.state:
            LOG.info("run %s of %s is %s", turn.record.id, turn.record.case, after.state)
            self.wake()


def news_between(before: RunStatus, after: RunStatus) -> RunChange:
    """What those who wait for the run are told."""
    if (before.state, before.attempt, before.why) != (after.state, after.attempt, after.why):
        return RunChange.STATE
    if (before.last_step, before.queue_position, before.note) != (
        after.last_step,
        after.queue_position,
        after.note,
    ):
        return RunChange.PROGRESS
    return RunChange.NONE


def _ran_seconds(turn: _RunInStep, now: float) -> float | None:
    """How long the job was seen running; of one that ended between two looks, as long as its log says, but
    no longer than it was allowed to: a log is the change's own word."""
    if turn.before.began is not None:
        return max(0.0, now - turn.before.began)
    if turn.measured is None:
        return None
    wall, most = turn.measured.measurements.wall_seconds, turn.before.timeout_seconds
    return most if wall is None else min(max(0.0, wall), most)
