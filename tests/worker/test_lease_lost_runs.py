"""Who slept past its lease starts and ends nothing: another process looks after the run by now."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from bot.artifacts.sources import open_store
from bot.domain.run import RunState
from bot.publish.lease_fence import LeaseLost
from bot.storage import pull_requests, runs
from bot.storage.database import Database
from tests.worker.fake_cluster import FakeAdmission, FakeCluster, RunProcess, planned_run

NOW = 1_795_000_000.0

RUN = planned_run().record.id

NAME = planned_run().job.name


@pytest.fixture
def process(database: Database, tmp_path: Path) -> RunProcess:
    """A process with one planned run that pull request 7 wants."""
    database.write_now(pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW)
    store = open_store(f"file:{tmp_path / 'artifacts'}")
    made = RunProcess(database=database, cluster=FakeCluster(), artifacts=store, clock=[NOW])
    _plan(made)
    return made


def _plan(process: RunProcess) -> None:
    process.database.write_now(
        runs.plan_runs, [planned_run()], repository="acme/maxtext", number=7, now=process.clock[0]
    )


def _while_it_looks(process: RunProcess, happens: Callable[[], None]) -> None:
    """Right before the next look at the cluster, a process falls asleep, and this happens meanwhile."""

    def sleeps(call: str, _name: str) -> None:
        if call == "observe":
            process.cluster.before = lambda _call, _name: None
            other = Thread(target=happens)
            other.start()
            other.join()

    process.cluster.before = sleeps


def test_a_job_that_was_started_anew_is_not_ended_by_who_slept(process: RunProcess) -> None:
    """It was about to clear away what nobody wanted; meanwhile it was cancelled, wanted again and started."""
    process.step()
    process.cluster.runs_on(NAME)
    process.later()
    process.database.write_now(runs.drop_wants, repository="acme/maxtext", number=7)
    process.step()

    def meanwhile() -> None:
        process.later(60)
        process.later()
        assert process.record(RUN).state is RunState.CANCELLED
        _plan(process)
        process.step(owner="other")
        process.database.write_now(runs.drop_wants, repository="acme/maxtext", number=7)

    _while_it_looks(process, meanwhile)
    with pytest.raises(LeaseLost):
        process.step()
    assert list(process.cluster.jobs) == [NAME]


def test_what_another_process_collected_is_not_settled_by_who_slept(process: RunProcess) -> None:
    """It slept while it read the log; meanwhile the run ended, was asked for anew and set aside for again."""
    gate = FakeAdmission()
    process.admission = gate
    process.step()
    process.cluster.ends(NAME)

    def sleeps(call: str, _name: str) -> None:
        if call == "open_log":
            process.cluster.before = lambda _call, _name: None
            other = Thread(target=process.later, args=(60,))
            other.start()
            other.join()

    process.cluster.before = sleeps
    process.clock[0] += 20
    with pytest.raises(LeaseLost):
        process.step()
    assert process.record(RUN).state is RunState.ENDED
    assert [one[:2] for one in gate.settled] == [(RUN, 1)]


def test_what_was_cancelled_meanwhile_is_not_started_by_who_slept(process: RunProcess) -> None:
    """It was about to launch; meanwhile nobody wanted the run any more."""

    def meanwhile() -> None:
        process.clock[0] += 60
        process.database.write_now(runs.drop_wants, repository="acme/maxtext", number=7)
        for _ in range(3):
            process.later()

    _while_it_looks(process, meanwhile)
    with pytest.raises(LeaseLost):
        process.step()
    assert process.record(RUN).state is RunState.CANCELLED
    assert process.cluster.jobs == {}
