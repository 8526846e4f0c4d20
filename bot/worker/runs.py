"""Move one launched run one step: look at its job, start it, end it, or read its log.

Effects on the cluster come before the write of the run's state, under a name derived from the run and its
attempt, so a repeated step finds what it did before. A process whose lease ended neither starts nor ends a
job.

The operator's policy comes first: a cluster that it does not grant the run's repository is asked nothing, and
right before each launch GitHub is asked anew whose the repository is.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from bot.artifacts.store import ArtifactStore
from bot.clusters.interface import Cluster, ClusterPlace, Job
from bot.clusters.registry import ClusterRegistry
from bot.domain.run import RunRecord, RunState
from bot.errors import InternalError, NotFound, TransientError, UserError
from bot.ingest import collect, read_log
from bot.ingest.read_log import ReadLog, text_name
from bot.ingest.turns import Turns
from bot.planning.budget import LIMIT_RETRY_SECONDS
from bot.planning.jobs import job_of_attempt
from bot.policy.gate import Asked, LaunchDecision, LaunchTarget, Permissions
from bot.publish.lease_fence import LeaseFence
from bot.runs.run_status import TERMINAL_STATES, RunStatus, RunTimeouts, timeouts_for
from bot.runs.state_machine import (
    CheckAgain,
    CollectLog,
    DeleteJob,
    Demand,
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
    with_state,
)
from bot.storage import launched_runs, runs
from bot.storage.database import Database
from bot.storage.launched_runs import RunChange
from bot.storage.queue import Claim
from bot.verdict.judgement import MeasuredRun
from bot.worker.budget_gate import Admission, Admitted, Deferred, NoLimits

MAX_LOG_READS = 20
"""Attempts to read a log that a store refuses, with pauses of up to ten minutes: some three hours for an
operator to fix a permission. Then the run is lost, and says why."""

LOG = logging.getLogger(__name__)


class _StepState(Struct, kw_only=True):
    """One step of one run: its status before and after, and the results of the effects so far."""

    claim: Claim
    fence: LeaseFence
    cluster: Cluster
    job: Job
    before: RunStatus
    after: RunStatus
    record: RunRecord
    due: float | None = None
    measured: MeasuredRun | None = None
    text: str | None = None


class RunStep(Struct, frozen=True, kw_only=True):
    """The worker's step for a launched run."""

    database: Database
    clusters: ClusterRegistry
    artifacts: ArtifactStore
    permissions: Permissions
    now: Callable[[], float]
    wake: Callable[[], None]
    admission: Admission = NoLimits()
    timeouts: Callable[[ClusterPlace | None], RunTimeouts] = timeouts_for
    turns: Turns = field(default_factory=Turns)
    _local_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, claim: Claim) -> None:
        """Observe the job, act, and save the status."""
        planned = runs.planned_run(claim.row)
        if planned.job.place is not None:
            await self._move(claim, planned.record, planned.job)
            return
        # Local runs start in the order in which they were planned.
        async with self._local_lock:
            await self._move(claim, planned.record, planned.job)

    async def _move(self, claim: Claim, record: RunRecord, first_job: Job) -> None:
        before = launched_runs.run_status(claim.row)
        step = _StepState(
            claim=claim,
            fence=LeaseFence(database=self.database, claim=claim, now=self.now),
            cluster=self.clusters.at(first_job.place),
            job=job_of_attempt(first_job, record, before),
            before=before,
            after=before,
            record=replace(record, attempt=before.attempt),
        )
        demand = await self.database.read(launched_runs.run_demand, record.id)
        asked = Asked.RECENTLY if before.state is RunState.PLANNED else Asked.EVER
        decision = await self._permission(step, asked)
        if decision.refusal is not None:
            await self._refuse(step, decision.refusal.text, demand)
            await self._release(step)
            return
        try:
            observation = await step.cluster.observe(before.name)
        except (UserError, TransientError) as error:
            if before.state is not RunState.PLANNED:
                raise
            # Nothing of it exists yet, so the run waits, and says for what.
            self._hold_back(step, before, error)
        else:
            step.after, effects = decide(
                before, observation, demand, self.now(), self.timeouts(first_job.place)
            )
            for effect in effects:
                await self._act(effect, step)
        await self._release(step)

    async def _permission(self, step: _StepState, asked: Asked) -> LaunchDecision:
        job = step.job
        target = LaunchTarget(place=job.place, image=job.image, repository=job.repository)
        return await self.permissions.launch(step.record.repository, target, asked)

    async def _refuse(self, step: _StepState, why: str, demand: Demand) -> None:
        """A run without a grant waits for one; one whose grant ended is given up.

        Its cluster is asked nothing, unless the policy knows it for others: then its job is deleted there."""
        now, planned = self.now(), step.before.state is RunState.PLANNED
        if planned and demand is Demand.WANTED:
            step.due = now + LIMIT_RETRY_SECONDS
            step.after, _ = hold_launch(step.before, until=step.due, why=why)
            return
        if self.permissions.knows(step.job.place):
            await step.fence()
            await step.cluster.delete(step.job.name)
        cancelled = planned or demand is Demand.UNWANTED
        step.after = (
            with_state(step.before, RunState.CANCELLED, now)
            if cancelled
            else mark_lost(step.before, why, now)
        )
        await self._settle(step)

    async def _act(self, effect: RunEffect, step: _StepState) -> None:
        match effect:
            case LaunchJob():
                await self._launch(step)
            case DeleteJob():
                await step.fence()
                await step.cluster.delete(step.job.name)
            case CollectLog():
                await self._collect_log(step)
            case KeepLog():
                await self._keep_log(step)
            case SettleAttempt():
                await self._settle(step)
            case CheckAgain(until=until):
                step.due = until if step.due is None else step.due
            case _:
                assert_never(effect)

    async def _launch(self, step: _StepState) -> None:
        """Start the job if it is granted and admitted."""
        granted = await self._permission(step, Asked.NOW)
        if granted.refusal is not None:
            until = self.now() + LIMIT_RETRY_SECONDS
            step.after, _ = hold_launch(step.before, until=until, why=granted.refusal.text)
            step.due = until
            return
        step.job = replace(step.job, isolation=granted.isolation)
        decision = await self.admission.admit(step.record, step.job)
        match decision:
            case Deferred(until=until, why=why):
                step.after, _ = hold_launch(step.before, until=until, why=why)
                step.due = until
            case Admitted(again=again):
                await step.fence()
                await self._start(step, again=again)
            case _:
                assert_never(decision)

    async def _start(self, step: _StepState, *, again: bool) -> None:
        try:
            await step.cluster.launch(step.job)
        except UserError as error:
            LOG.warning("%s cannot be started: %s", step.job.name, error.text)
            step.after = replace(step.after, why=error.text)
        except TransientError as error:
            if step.before.state is not RunState.PLANNED:
                raise
            timeouts = self.timeouts(step.job.place)
            status = launch_refused(step.before, repeated=again, now=self.now(), timeouts=timeouts)
            if error.may_have_acted:
                status = clear_missing(step.before)
            elif status.missing_since is None:
                # While its image is not built, a run holds no slot and no budget that others could use.
                await self._settle(step)
            self._hold_back(step, status, error)

    def _hold_back(self, step: _StepState, run: RunStatus, error: UserError | TransientError) -> None:
        """Keep the run planned, with the reason."""
        LOG.warning("%s waits: %s", step.job.name, error)
        soonest = (
            error.after if isinstance(error, TransientError) else self.timeouts(step.job.place).poll_seconds
        )
        step.after, effects = back_off_launch(run, str(error), soonest=soonest, now=self.now())
        step.due = next((one.until for one in effects if isinstance(one, CheckAgain)), None)

    async def _collect_log(self, step: _StepState) -> None:
        """Read the log: measure it, and store its text in our own artifacts."""
        try:
            read = await asyncio.to_thread(self._read_log, step)
        except NotFound:
            step.after = mark_lost(step.after, "it left no log", self.now())
            return
        except UserError as error:
            if step.claim.row["attempts"] < MAX_LOG_READS:
                raise
            step.after = mark_lost(step.after, f"its log cannot be read: {error.text}", self.now())
            return
        uri = await asyncio.to_thread(self._store_text, step, read)
        step.measured = read.measured
        started = collect.log_start_time(step.measured) or step.before.began or self.now()
        step.after = replace(step.after, kept_log=uri)
        step.record = replace(step.record, started=started, log_uri=uri)

    async def _keep_log(self, step: _StepState) -> None:
        """Store the log of a job that is given up, if it has one."""
        try:
            read = await asyncio.to_thread(self._read_log, step)
            uri = await asyncio.to_thread(self._store_text, step, read)
        except (UserError, InternalError) as error:
            LOG.info("no log of %s is kept: %s", step.job.name, error)
            return
        step.after = replace(step.after, kept_log=uri)
        if step.after.retry:
            step.text = None
        else:
            step.record = replace(step.record, log_uri=uri)

    def _read_log(self, step: _StepState) -> ReadLog:
        with step.cluster.open_log(step.job.name) as chunks:
            taker = self.turns.of(step.record.repository)
            return read_log.read_log(chunks, self.artifacts.uri(_text_name(step)), taker)

    def _store_text(self, step: _StepState, read: ReadLog) -> str:
        """Store what was read of the log; its address."""
        step.text = _text_name(step)
        read.text.keep(self.artifacts, step.text)
        return self.artifacts.uri(step.text)

    async def _settle(self, step: _StepState) -> None:
        await step.fence()
        hours = step.measured.measurements.chip_hours if step.measured else None
        await self.admission.settle(
            step.record, step.job, chip_hours=hours, ran_seconds=_ran_seconds(step, self.now())
        )

    async def _release(self, step: _StepState) -> None:
        """Save the status, and make due every pull request that wants this run."""
        before, after = step.before, step.after
        written = await self.database.write(
            launched_runs.release_run,
            step.claim,
            replace(step.record, state=after.state, attempt=after.attempt),
            after,
            due=None if after.state in TERMINAL_STATES else step.due,
            now=self.now(),
            news=run_change(before, after),
            measured=step.measured,
            text=step.text,
        )
        if written and before.state is not after.state:
            LOG.info("run %s of %s is %s", step.record.id, step.record.case, after.state)
            self.wake()


def _text_name(step: _StepState) -> str:
    return text_name(step.record.id, f"attempt-{step.before.attempt}")


def run_change(before: RunStatus, after: RunStatus) -> RunChange:
    """What changed, for those who wait for the run."""
    if (before.state, before.attempt, before.why) != (after.state, after.attempt, after.why):
        return RunChange.STATE
    if (before.last_step, before.queue_position, before.note) != (
        after.last_step,
        after.queue_position,
        after.note,
    ):
        return RunChange.PROGRESS
    return RunChange.NONE


def _ran_seconds(step: _StepState, now: float) -> float | None:
    """How long the job was seen running. If it ended between two observations: as long as its log says, but
    no longer than its time limit, since the log is written by the change under test."""
    if step.before.began is not None:
        return max(0.0, now - step.before.began)
    if step.measured is None:
        return None
    wall, most = step.measured.measurements.wall_seconds, step.before.timeout_seconds
    return most if wall is None else min(max(0.0, wall), most)
