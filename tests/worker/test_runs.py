"""A launched run from its plan to its end, against a cluster of plain values and both databases."""

from pathlib import Path

import pytest

from bot.artifacts.sources import open_source, open_store
from bot.clusters.interface import ClusterFault, JobState, Observation
from bot.domain.run import RunState
from bot.errors import InternalError, UserError
from bot.storage import kept_logs, pull_requests, runs
from bot.storage.database import Database
from bot.worker.budget_gate import Admitted, Deferred
from tests.worker.fake_cluster import LOG, FakeAdmission, FakeCluster, RunProcess, planned_run

NOW = 1_795_000_000.0

RUN = planned_run().record.id

NAME = planned_run().job.name


@pytest.fixture
def process(database: Database, tmp_path: Path) -> RunProcess:
    """A process with one planned run that pull request 7 wants."""
    database.write_now(pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW)
    database.write_now(runs.plan_runs, [planned_run()], repository="acme/maxtext", number=7, now=NOW)
    store = open_store(f"file:{tmp_path / 'artifacts'}")
    return RunProcess(
        database=database, cluster=FakeCluster(), artifacts=store, clock=[NOW], admission=FakeAdmission()
    )


def _gate(process: RunProcess) -> FakeAdmission:
    assert isinstance(process.admission, FakeAdmission)
    return process.admission


def _text_at(uri: str) -> str:
    with open_source(uri) as pieces:
        return b"".join(pieces).decode()


def _wanted(process: RunProcess) -> int:
    row = process.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
    assert row is not None
    return row.wanted


def test_a_run_goes_from_its_plan_to_its_measurement(process: RunProcess) -> None:
    """Launched, queued, running, ended: the log is kept and measured, and the pull request looks again."""
    states, cluster = [], process.cluster
    process.step()
    states.append(process.record(RUN).state)
    process.later()
    states.append(process.record(RUN).state)
    cluster.runs_on(NAME, last_step=4, expected_steps=10)
    process.later()
    states.append(process.record(RUN).state)
    cluster.ends(NAME)
    before = _wanted(process)
    process.later()
    ended = process.record(RUN)
    assert [*states, ended.state] == [
        RunState.LAUNCHED,
        RunState.QUEUED,
        RunState.RUNNING,
        RunState.ENDED,
    ]
    assert cluster.launches == [NAME]
    assert ended.log_uri is not None
    assert LOG == _text_at(ended.log_uri)
    kept = process.database.write_now(kept_logs.find, RUN)
    assert kept is not None
    assert ended.log_uri.endswith(kept.text or "none")
    assert len(process.database.write_now(runs.measured, [RUN])[RUN].log.steps) == 10
    assert _wanted(process) == before + 1
    assert process.step() == 0


def test_every_attempt_is_settled_once_with_what_it_took(process: RunProcess) -> None:
    """A preempted attempt by the time that the cluster ran it, an ended one also by its log."""
    process.step()
    process.cluster.runs_on(NAME)
    process.later()
    process.cluster.fails(NAME, ClusterFault.PREEMPTED)
    process.later()
    process.later(30)
    process.cluster.runs_on(f"{NAME}-2")
    process.later()
    process.cluster.ends(f"{NAME}-2")
    process.later(40)
    first, second = _gate(process).settled
    assert first == (RUN, 1, None, 20.0)
    assert (second[1], second[3]) == (2, 40.0)
    assert second[2] is not None


def test_a_fault_of_the_cluster_is_tried_again_under_names_of_its_own(process: RunProcess) -> None:
    """The job is deleted and started anew with another job name and run name; the run keeps its id."""
    process.step()
    process.cluster.fails(NAME, ClusterFault.PREEMPTED, "by <b>prod</b>")
    process.later()
    assert (process.record(RUN).state, process.record(RUN).attempt) == (RunState.PLANNED, 2)
    assert process.cluster.deleted == [NAME]
    process.later(30)
    assert [job.name for job in process.cluster.asked] == [NAME, f"{NAME}-2"]
    assert [job.run_name for job in process.cluster.asked] == [
        f"linen_feat_x_{RUN}_04_int8",
        f"linen_feat_x_{RUN}.2_04_int8",
    ]
    over = process.standing(RUN).past[0]
    assert (over.number, over.why, over.note) == (1, "it was preempted", "by <b>prod</b>")


def test_a_run_that_the_limits_do_not_admit_waits_and_says_so(process: RunProcess) -> None:
    """Nothing is launched, the run stays planned with the reason, and starts when there is room."""
    _gate(process).answer = Deferred(until=NOW + 30, why="4 of 4 runs on the cluster")
    before = _wanted(process)
    process.step()
    assert process.cluster.launches == []
    assert process.record(RUN).state is RunState.PLANNED
    assert process.standing(RUN).why == "4 of 4 runs on the cluster"
    assert _wanted(process) == before + 1
    process.later(29)
    assert process.cluster.launches == []
    _gate(process).answer = Admitted()
    process.later(2)
    assert process.cluster.launches == [NAME]
    assert process.standing(RUN).why == ""


def test_a_run_that_nobody_wants_any_more_is_cancelled(process: RunProcess) -> None:
    """The job is deleted, and the run is cancelled once the cluster says that it is gone."""
    process.step()
    process.cluster.runs_on(NAME)
    process.later()
    process.database.write_now(runs.drop_wants, repository="acme/maxtext", number=7)
    process.step(2)
    assert (process.cluster.jobs, process.record(RUN).state) == ({}, RunState.RUNNING)
    process.later()
    assert process.record(RUN).state is RunState.CANCELLED
    assert [one[1] for one in _gate(process).settled] == [1]


@pytest.mark.parametrize("end", ["preempted", "hangs", "unwanted"])
def test_what_was_set_aside_is_given_back_only_when_the_job_is_gone(process: RunProcess, end: str) -> None:
    """While a cluster does not delete it, it may use its chips: nobody else gets its place and its budget."""
    process.step()
    process.cluster.runs_on(NAME)
    process.later()
    if end == "unwanted":
        process.database.write_now(runs.drop_wants, repository="acme/maxtext", number=7)
    elif end == "preempted":
        process.cluster.fails(NAME, ClusterFault.PREEMPTED)
    process.cluster.before = _no_deletion
    with pytest.raises(InternalError):
        _for_long(process)
    assert _gate(process).settled == []
    process.cluster.before = lambda _call, _name: None
    _for_long(process)
    assert process.cluster.deleted[0] == NAME
    assert [one[:2] for one in _gate(process).settled] == [(RUN, 1)]


def _for_long(process: RunProcess) -> None:
    for _ in range(50):
        process.later()


def _no_deletion(call: str, _name: str) -> None:
    if call == "delete":
        raise InternalError("the cluster does not answer")


def test_what_cannot_be_started_is_lost_with_the_reason(process: RunProcess) -> None:
    """A commit that is not there is said, and not tried for ever."""

    def refuse(call: str, _name: str) -> None:
        if call == "launch":
            raise UserError("there is no commit aaaaaaa")

    process.cluster.before = refuse
    for _ in range(6):
        process.later()
    assert process.record(RUN).state is RunState.LOST
    assert process.standing(RUN).why == "there is no commit aaaaaaa"


def test_a_run_that_hangs_is_ended_at_its_limit_and_its_log_is_kept(process: RunProcess) -> None:
    """Lost, with the reason; what it wrote so far can be read."""
    process.step()
    process.cluster.runs_on(NAME, last_step=6)
    process.cluster.logs[NAME] = LOG[:500]
    process.later()
    for _ in range(40):
        process.later()
    lost = process.record(RUN)
    assert lost.state is RunState.LOST
    assert process.standing(RUN).why == "it was ended at its time limit of 10 min"
    assert lost.log_uri is not None
    assert LOG[:500] == _text_at(lost.log_uri)
    assert process.database.write_now(runs.measured, [RUN]) == {}
    assert process.cluster.jobs == {}


def test_the_log_of_an_attempt_that_is_followed_by_another_is_not_the_runs(process: RunProcess) -> None:
    """It is kept with the attempt; the run has one when its last attempt has."""
    process.step()
    process.cluster.logs[NAME] = LOG[:500]
    process.cluster.fails(NAME, ClusterFault.PREEMPTED)
    process.later()
    assert process.record(RUN).log_uri is None
    kept = process.standing(RUN).past[0].kept_log or ""
    assert (True, LOG[:500]) == (kept.endswith(f"runs/{RUN}/log-attempt-1.mvlog"), _text_at(kept))
    assert process.database.write_now(kept_logs.find, RUN) is None


def test_a_cluster_that_refuses_us_for_a_while_changes_nothing_of_a_run_that_runs(
    process: RunProcess,
) -> None:
    """The look is repeated, and the run goes on."""
    process.step()
    process.cluster.runs_on(NAME, last_step=4)
    process.later()
    before = process.standing(RUN)

    def refuse(_call: str, _name: str) -> None:
        raise UserError("The cluster refuses MaxView: forbidden.")

    process.cluster.before = refuse
    with pytest.raises(UserError):
        process.later()
    assert process.standing(RUN) == before


def test_a_run_without_a_log_is_lost(process: RunProcess) -> None:
    """There is nothing to measure, and that is said."""
    process.step()
    process.cluster.jobs[NAME] = Observation(state=JobState.ENDED, exit_code=1)
    process.later()
    assert (process.record(RUN).state, process.standing(RUN).why) == (RunState.LOST, "it left no log")


def test_progress_is_looked_at_within_half_a_minute(process: RunProcess) -> None:
    """A step further makes the pull request due soon, not at once, and not later than it was."""
    process.step()
    process.cluster.runs_on(NAME, last_step=1)
    process.later()
    assert _due(process, NOW + 1e6, last_step=2) == process.clock[0] + 30
    assert _due(process, process.clock[0] + 25, last_step=3) == process.clock[0] + 5
    assert _due(process, NOW + 1e6, last_step=3) == NOW + 1e6
    assert _due(process, None, last_step=4) == process.clock[0] + 30


def _due(process: RunProcess, due: float | None, last_step: int) -> float:
    """When the pull request is looked at after this step was seen, where it would have been at `due`."""
    from sqlalchemy import Connection, select, update  # noqa: PLC0415 - this one helper

    from bot.storage.tables import PULL_REQUEST  # noqa: PLC0415 - this one helper

    def put(connection: Connection) -> None:
        connection.execute(update(PULL_REQUEST).values(due=due))

    def read(connection: Connection) -> float:
        return float(connection.execute(select(PULL_REQUEST.c.due)).scalar_one())

    process.database.write_now(put)
    process.cluster.runs_on(NAME, last_step=last_step)
    process.later()
    return process.database.write_now(read)


def test_a_job_that_ended_between_two_looks_took_no_longer_than_it_was_allowed_to(
    process: RunProcess,
) -> None:
    """A log that tells of months spends ten minutes: what the change prints empties no budget."""
    first, second = "XPK Start: Tue Apr 21 10:17:00 UTC 2026", "XPK End: Tue Jul 21 10:17:00 UTC 2026"
    process.step()
    process.cluster.ends(NAME, log=f"{first}\n{LOG}\n{second}\nEXIT_CODE=0\n")
    process.later()
    assert [one[3] for one in _gate(process).settled] == [600.0]
