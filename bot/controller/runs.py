"""Move one launched run one step: look at its job, start it, end it, or read what it left.

In:  a claimed row of `run`.
Out: the run's standing; at its end a kept log, its measurement, and a wish to look at who wanted it.

Whatever is done to a cluster is done before the standing is written, under a name that is derived from the
run and its attempt: a step that dies is repeated and meets what it did before. Who slept past the lease
neither starts nor ends what another process looks after by now.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

from bot.controller.admission import Admission, Admitted, Open, Waits
from bot.controller.fence import RowFence
from bot.controller.jobs import job_of_attempt
from bot.errors import Broken, Missing, Told, TryLater
from bot.runs import collect
from bot.runs.attempts import lost
from bot.runs.clusters.port import Cluster, Clusters, Job, Place
from bot.runs.effects import Collect, Delete, Effect, Keep, Launch, Settle, Wait
from bot.runs.holding import held_up, refused, unseen
from bot.runs.records import RunFile, RunRecord, RunState
from bot.runs.standing import TERMINAL, Pace, RunStanding, pace_at
from bot.runs.states import decide, held_back
from bot.storage import launched, runs
from bot.storage.artifacts import RunStore
from bot.storage.database import Database
from bot.storage.launched import News
from bot.storage.queue import Claim
from bot.verdict.judgement import MeasuredRun

READING_TRIES = 20
"""How often a log that a store refuses is asked for, with pauses of up to ten minutes: some three hours, in
which an operator can put a permission right. Then the run is lost, and says why."""

LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Turn:
    """One step of one run: how it stood, how it stands now, and what came of the effects so far."""

    held: Claim
    fence: RowFence
    cluster: Cluster
    job: Job
    before: RunStanding
    after: RunStanding
    record: RunRecord
    due: float | None = None
    measured: MeasuredRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStep:
    """What the controller does with a launched run."""

    database: Database
    clusters: Clusters
    artifacts: RunStore
    now: Callable[[], float]
    wake: Callable[[], None]
    admission: Admission = Open()  # noqa: RUF009 - a value
    pace: Callable[[Place | None], Pace] = pace_at
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
        before = launched.standing(held.row)
        turn = _Turn(
            held=held,
            fence=RowFence(database=self.database, held=held, now=self.now),
            cluster=self.clusters.at(first.place),
            job=job_of_attempt(first, record, before),
            before=before,
            after=before,
            record=replace(record, attempt=before.attempt),
        )
        wish = await self.database.read(launched.wish, record.id)
        try:
            observation = await turn.cluster.observe(before.name)
        except (Told, TryLater) as problem:
            if before.state is not RunState.PLANNED:
                raise
            # Nothing of it is there yet, so that all it can do is wait, and say for what.
            self._hold_back(turn, before, problem)
        else:
            turn.after, effects = decide(before, observation, wish, self.now(), self.pace(first.place))
            for effect in effects:
                await self._act(effect, turn)
        await self._write(turn)

    async def _act(self, effect: Effect, turn: _Turn) -> None:
        match effect:
            case Launch():
                await self._launch(turn)
            case Delete():
                await turn.fence()
                await turn.cluster.delete(turn.job.name)
            case Collect():
                await self._collect(turn)
            case Keep():
                await self._keep(turn)
            case Settle():
                await self._settle(turn)
            case Wait(until=until):
                turn.due = until if turn.due is None else turn.due
            case _:
                assert_never(effect)

    async def _launch(self, turn: _Turn) -> None:
        """Start the job if that is admitted."""
        answer = await self.admission.admit(turn.record, turn.job)
        match answer:
            case Waits(until=until, why=why):
                turn.after, _ = held_back(turn.before, until=until, why=why)
                turn.due = until
            case Admitted(again=again):
                await turn.fence()
                await self._start(turn, again=again)
            case _:
                assert_never(answer)

    async def _start(self, turn: _Turn, *, again: bool) -> None:
        try:
            await turn.cluster.launch(turn.job)
        except Told as told:
            LOG.warning("%s cannot be started: %s", turn.job.name, told.text)
            turn.after = replace(turn.after, why=told.text)
        except TryLater as later:
            if turn.before.state is not RunState.PLANNED:
                raise
            pace = self.pace(turn.job.place)
            stands = refused(turn.before, again=again, now=self.now(), pace=pace)
            if later.may_have_acted:
                stands = unseen(turn.before)
            elif stands.missing_since is None:
                # An image that is not built yet holds no place and no budget that others could use.
                await self._settle(turn)
            self._hold_back(turn, stands, later)

    def _hold_back(self, turn: _Turn, run: RunStanding, problem: Told | TryLater) -> None:
        """The run stays planned, and says what is in its way."""
        LOG.warning("%s waits: %s", turn.job.name, problem)
        soonest = problem.after if isinstance(problem, TryLater) else self.pace(turn.job.place).poll
        turn.after, waits = held_up(run, str(problem), soonest=soonest, now=self.now())
        turn.due = next((one.until for one in waits if isinstance(one, Wait)), None)

    async def _collect(self, turn: _Turn) -> None:
        """Keep the log where links to it never die, and measure it."""
        try:
            file = await asyncio.to_thread(self._kept, turn)
        except Missing:
            turn.after = lost(turn.after, "it left no log", self.now())
            return
        except Told as told:
            if turn.held.row["attempts"] < READING_TRIES:
                raise
            turn.after = lost(turn.after, f"its log cannot be read: {told.text}", self.now())
            return
        turn.measured = await asyncio.to_thread(collect.read_log_file, self.artifacts, file)
        started = collect.started(turn.measured) or turn.before.began or self.now()
        uri = self.artifacts.uri(file.name)
        turn.after = replace(turn.after, kept=uri)
        turn.record = replace(turn.record, started=started, log_uri=uri)

    async def _keep(self, turn: _Turn) -> None:
        """Keep the log of a job that is given up, as far as there is one."""
        try:
            file = await asyncio.to_thread(self._kept, turn)
        except (Told, Broken) as problem:
            LOG.info("no log of %s is kept: %s", turn.job.name, problem)
            return
        uri = self.artifacts.uri(file.name)
        turn.after = replace(turn.after, kept=uri)
        if not turn.after.again:
            turn.record = replace(turn.record, log_uri=uri)

    def _kept(self, turn: _Turn) -> RunFile:
        attempt = turn.before.attempt
        name = f"runs/{turn.record.id}/log{f'-{attempt}' if attempt > 1 else ''}.txt"
        with turn.cluster.open_log(turn.job.name) as chunks:
            self.artifacts.write(name, chunks, "text/plain; charset=utf-8")
        return next(iter(self.artifacts.find(name)))

    async def _settle(self, turn: _Turn) -> None:
        await turn.fence()
        hours = turn.measured.measurements.chip_hours if turn.measured else None
        await self.admission.settle(
            turn.record, turn.job, chip_hours=hours, ran_seconds=_ran_seconds(turn, self.now())
        )

    async def _write(self, turn: _Turn) -> None:
        """Write the standing down, and have everyone who waits for this run look at it."""
        before, after = turn.before, turn.after
        written = await self.database.write(
            launched.let_go,
            turn.held,
            replace(turn.record, state=after.state, attempt=after.attempt),
            after,
            due=None if after.state in TERMINAL else turn.due,
            now=self.now(),
            news=news(before, after),
            measured=turn.measured,
        )
        if written and before.state is not after.state:
            LOG.info("run %s of %s is %s", turn.record.id, turn.record.case, after.state)
            self.wake()


def news(before: RunStanding, after: RunStanding) -> News:
    """What those who wait for the run are told."""
    if (before.state, before.attempt, before.why) != (after.state, after.attempt, after.why):
        return News.STATE
    if (before.last_step, before.queue_place, before.note) != (
        after.last_step,
        after.queue_place,
        after.note,
    ):
        return News.PROGRESS
    return News.NONE


def _ran_seconds(turn: _Turn, now: float) -> float | None:
    """How long the job was seen running; of one that ended between two looks, as long as its log says, but
    no longer than it was allowed to: a log is the change's own word."""
    if turn.before.began is not None:
        return max(0.0, now - turn.before.began)
    if turn.measured is None:
        return None
    wall, most = turn.measured.measurements.wall_seconds, turn.before.timeout_seconds
    return most if wall is None else min(max(0.0, wall), most)
