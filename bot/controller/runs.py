"""Move one launched run one step: look at its job, start it, end it, or read what it left.

In:  a claimed row of `run`.
Out: the run's standing; at its end a kept log, its measurement, and a wish to look at who wanted it.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

import msgspec

from bot.errors import Told
from bot.runs import collect
from bot.runs.clusters.port import Cluster, Job
from bot.runs.records import RunFile, RunRecord, RunState
from bot.runs.states import (
    LOCAL_PACE,
    Collect,
    Delete,
    Effect,
    Launch,
    Pace,
    RunStanding,
    Wait,
    Wish,
    decide,
)
from bot.storage import pulls, queue, runs
from bot.storage.artifacts import RunStore
from bot.storage.database import Database
from bot.storage.queue import Claim
from bot.storage.sources import open_source
from bot.verdict.judgement import MeasuredRun

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStep:
    """What the controller does with a launched run."""

    database: Database
    cluster: Cluster
    artifacts: RunStore
    now: Callable[[], float]
    wake: Callable[[], None]
    pace: Pace = LOCAL_PACE

    async def __call__(self, held: Claim) -> None:
        """Look, act, and write the standing down."""
        planned = runs.planned_run(held.row)
        before = _standing(held.row["standing"], planned.job)
        wanters = await self.database.read(runs.wanters, planned.record.id)
        observation = await self.cluster.observe(planned.job.name)
        wish = Wish.WANTED if wanters else Wish.UNWANTED
        after, effects = decide(before, observation, wish, self.now(), self.pace)
        record, due = replace(planned.record, state=after.state), None
        for effect in effects:
            record, due = await self._act(effect, after, planned.job, record)
        values = {
            "state": record.state,
            "standing": msgspec.json.encode(after).decode(),
            "started": record.started,
            "log_uri": record.log_uri,
        }
        written = await self.database.write(queue.release, held, due=due, values=values)
        if written and after.state is not before.state:
            await self._tell(wanters, planned.record)

    async def _act(
        self, effect: Effect, standing: RunStanding, job: Job, record: RunRecord
    ) -> tuple[RunRecord, float | None]:
        match effect:
            case Launch():
                return await self._launch(job, record), None
            case Delete():
                await self.cluster.delete(job.name)
                return record, None
            case Collect():
                return await self._collect(standing, record), None
            case Wait(until=until):
                return record, until
            case _:
                assert_never(effect)

    async def _launch(self, job: Job, record: RunRecord) -> RunRecord:
        try:
            await self.cluster.launch(job)
        except Told as told:
            LOG.warning("%s cannot be started: %s", job.name, told.text)
        return record

    async def _collect(self, standing: RunStanding, record: RunRecord) -> RunRecord:
        """Keep the log where links to it never die, and measure it."""
        if standing.log_uri is None:
            return replace(record, state=RunState.LOST)
        name = f"runs/{record.id}/log.txt"
        file, measured = await asyncio.to_thread(self._keep_log, standing.log_uri, name)
        started = collect.started(measured) or self.now()
        kept = replace(record, state=RunState.ENDED, started=started, log_uri=self.artifacts.uri(file.name))
        await self.database.write(runs.save, kept, now=self.now(), measured=measured)
        return kept

    def _keep_log(self, log_uri: str, name: str) -> tuple[RunFile, MeasuredRun]:
        with open_source(log_uri) as chunks:
            self.artifacts.write(name, chunks, "text/plain; charset=utf-8")
        file = next(iter(self.artifacts.find(name)))
        return file, collect.read_log_file(self.artifacts, file)

    async def _tell(self, wanters: tuple[tuple[str, int], ...], record: RunRecord) -> None:
        """Have everyone who waits for this run look at it."""
        for repository, number in wanters:
            await self.database.write(pulls.touch, repository=repository, number=number, now=self.now())
        LOG.info("run %s of %s is %s", record.id, record.case, record.state)
        self.wake()


def _standing(text: str | None, job: Job) -> RunStanding:
    if text is None:
        return RunStanding(name=job.name, timeout_seconds=job.timeout_seconds)
    return msgspec.json.decode(text, type=RunStanding)
