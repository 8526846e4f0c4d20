"""A run that its cluster cannot start waits, says for what, and keeps nobody else from starting."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.artifacts.sources import open_store
from bot.domain.run import RunState
from bot.errors import TransientError, UserError
from bot.storage import pull_requests, runs
from bot.storage.database import Database
from bot.worker.budget_gate import Admitted
from tests.worker.fake_cluster import FakeAdmission, FakeCluster, RunProcess, planned_run

NOW = 1_795_000_000.0

RUN = planned_run().record.id

NAME = planned_run().job.name


@pytest.fixture
def gate() -> FakeAdmission:
    """Admits everything."""
    return FakeAdmission()


@pytest.fixture
def process(database: Database, tmp_path: Path, gate: FakeAdmission) -> RunProcess:
    """A process with one planned run that pull request 7 wants."""
    database.write_now(pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW)
    database.write_now(runs.plan_runs, [planned_run()], repository="acme/maxtext", number=7, now=NOW)
    store = open_store(f"file:{tmp_path / 'artifacts'}")
    return RunProcess(database=database, cluster=FakeCluster(), artifacts=store, clock=[NOW], admission=gate)


def _wanted(process: RunProcess) -> int:
    row = process.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    return row.wanted


def test_an_image_that_is_not_there_yet_is_waited_for_and_said(
    process: RunProcess, gate: FakeAdmission
) -> None:
    """The run stays planned and tells why; it holds no place, and starts when the image is there."""
    missing = TransientError("The image gcr.io/p/maxtext:aaaaaaa is not there yet: no such tag.", after=120.0)
    process.cluster.before = _refusing("launch", missing)
    before = _wanted(process)
    process.step()
    assert process.record(RUN).state is RunState.PLANNED
    assert process.standing(RUN).why == "the image gcr.io/p/maxtext:aaaaaaa is not there yet: no such tag"
    assert (_wanted(process), gate.settled) == (before + 1, [(RUN, 1, None, None)])
    process.cluster.before = _refusing("nothing", missing)
    process.later(119)
    assert process.cluster.launches == []
    process.later(2)
    assert (process.cluster.launches, process.standing(RUN).why) == ([NAME], "")


def test_what_may_have_been_started_keeps_its_place(process: RunProcess, gate: FakeAdmission) -> None:
    """A call that ended unclearly may have made the job: what it may cost stays set aside."""
    unclear = TransientError("xpk workload create ended with 1: quota", after=60.0, may_have_acted=True)
    process.cluster.before = _refusing("launch", unclear)
    process.step()
    assert process.standing(RUN).why == "xpk workload create ended with 1: quota"
    assert gate.settled == []


def test_what_an_earlier_call_may_have_started_keeps_its_place_when_the_next_is_refused(
    process: RunProcess, gate: FakeAdmission
) -> None:
    """The cluster may not show the job yet; when it has denied it long enough, the place is free."""
    process.cluster.before = _refusing("launch", TransientError("No answer", after=5.0, may_have_acted=True))
    process.step()
    gate.answer = Admitted(again=True)
    process.cluster.before = _refusing("launch", TransientError("The image is not there yet", after=5.0))
    for _ in range(3):
        process.later(121)
    assert (gate.settled, process.standing(RUN).missing_looks) == ([], 3)
    process.later(121)
    assert gate.settled == [(RUN, 1, None, None)]


def test_an_unclear_start_begins_the_search_anew(process: RunProcess, gate: FakeAdmission) -> None:
    """Each call may have made the job, and is shown later."""
    gate.answer = Admitted(again=True)
    process.cluster.before = _refusing("launch", TransientError("The image is not there yet", after=5.0))
    for _ in range(2):
        process.later(121)
    process.cluster.before = _refusing("launch", TransientError("No answer", after=5.0, may_have_acted=True))
    process.later(121)
    assert (gate.settled, process.standing(RUN).missing_looks) == ([], 0)


def test_a_cluster_that_refuses_us_is_told_before_anything_is_started(process: RunProcess) -> None:
    """Who may not look at it cannot start there either; once that is put right, the run goes on."""
    process.cluster.before = _refusing("observe", UserError("The cluster refuses MaxView: forbidden."))
    process.step()
    assert process.standing(RUN).why == "the cluster refuses MaxView: forbidden"
    process.cluster.before = _refusing("nothing", UserError(""))
    process.later(31)
    assert process.cluster.launches == [NAME]


def _refusing(wanted: str, problem: Exception) -> Callable[[str, str], None]:
    def refuse(call: str, _name: str) -> None:
        if call == wanted:
            raise problem

    return refuse
