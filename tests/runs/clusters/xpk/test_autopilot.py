"""Several workloads at once on a cluster that moves by itself, to their stored logs."""

import asyncio
from pathlib import Path

import pytest

from bot.logs.read import LogReader
from bot.runs.clusters.port import JobState
from tests.peers.autopilot import Autopilot, flying
from tests.runs.clusters.xpk.stage import SHA, named, staged


def test_workloads_run_to_their_ends_and_leave_logs_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is started once, prints its steps, records its commit, and is gone after its deletion."""

    async def fly() -> None:
        async with staged(tmp_path, monkeypatch) as stage:
            names = [f"mv-{letter}" for letter in "abc"]
            await asyncio.gather(*(stage.far.launch(named(name)) for name in names))
            with flying(Autopilot(cluster=stage.cluster, steps=6)) as autopilot:
                for name in names:
                    assert (await stage.until(JobState.ENDED, name)).exit_code == 0
                    reader = LogReader(name)
                    reader.feed((await asyncio.to_thread(stage.log, name)).encode())
                    (run,) = reader.close()
                    assert (len(run.steps), run.outcome.exit_code) == (6, 0)
                    assert run.environment.commit == SHA
                    await stage.far.delete(name)
            assert autopilot.moved == dict.fromkeys(names, 1)
            assert await stage.far.names() == frozenset()

    asyncio.run(fly())
