"""What a report is made from, chosen from what the database keeps."""

from typing import Any

import pytest
from msgspec.structs import replace

from bot.domain.head import HeadFacts
from bot.domain.pull_request import PullRequest
from bot.domain.run import RunOrigin, RunRecord
from bot.ingest.report_runs import choose_runs
from bot.logs.facts import Failure, OutcomeState
from bot.report.model import CaseReport, CaseRuns, FailureNovelty, MainFailure, Novelty, Report, RowState
from bot.storage import pull_requests, queue, reports, runs
from bot.storage.database import Database
from bot.storage.tables import PULL_REQUEST
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from tests.planning.samples import XPK
from tests.verdict.made_runs import TPU, Shape, run_log
from tests.worker.samples import ACME, BASE, FACTS, FETCHES, HEAD, LAUNCHES, NOW, PULL, ROW, suite

CASE, HOUR = "04_int8", 3600.0


def _keep(
    database: Database,
    name: str,
    sha: str | None,
    measured: MeasuredRun,
    *,
    branch: str,
    age: float,
    **more: Any,
) -> None:
    record = RunRecord(
        id=name,
        repository=ACME.full_name,
        case=CASE,
        variant="linen",
        branch=branch,
        sha=sha,
        started=NOW - age * HOUR,
        **more,
    )
    database.write_now(runs.save, record, now=NOW, measured=measured)


def _run(jax: str = "0.9.2") -> MeasuredRun:
    return measure(run_log(Shape(steps=12), environment=replace(TPU, jax=jax)))


def _failed(fingerprint: str) -> MeasuredRun:
    log = run_log()
    failure = Failure(kind="code", error="KeyError: 'x'", fingerprint=fingerprint)
    outcome = replace(log.outcome, state=OutcomeState.FAILED, exit_code=1, failure=failure)
    return measure(replace(log, outcome=outcome, steps=(), steps_seen=0))


def _failing_pull(database: Database, number: int, fingerprint: str) -> None:
    news = FailureNovelty(novelty=Novelty.NEW, kind="code", fingerprint=fingerprint)
    row = CaseReport(case=CASE, variant="linen", state=RowState.NEW_FAILURE, failure=news)
    report = Report(
        repository=ACME.full_name,
        number=number,
        title="Another change",
        head_sha="e" * 40,
        head_branch="other",
        base_branch="main",
        merge_base=BASE,
        made_at=NOW,
        rows=(row,),
    )
    database.write_now(
        pull_requests.enqueue, repository=ACME.full_name, number=number, installation=1, now=NOW
    )
    database.write_now(reports.save, report, headline="x")


def test_a_failing_head_is_given_what_main_and_others_know_of_it(database: Database) -> None:
    """History under the baseline's conditions only, main's failed runs, pull requests with the failure."""
    _keep(database, "base", BASE, _run(), branch="main", age=5)
    _keep(database, "earlier", "c" * 40, _run(), branch="main", age=9)
    _keep(database, "old image", "d" * 40, _run("0.8.1"), branch="main", age=12)
    _keep(database, "broken", "f" * 40, _failed("f1"), branch="main", age=1)
    _keep(database, "head", HEAD, _failed("f1"), branch="feat_x", age=0)
    _failing_pull(database, 12, "f1")
    _failing_pull(database, 13, "f2")
    chosen = database.write_now(choose_runs, row=ROW, pull=PULL, facts=FACTS, suite=suite(), now=NOW)
    (case,) = [one for one in chosen.cases if one.base.runs]
    assert [run.sha for run in case.history] == ["c" * 40, BASE]
    assert case.main_failures == (MainFailure(run="broken", sha="f" * 40, fingerprint="f1"),)
    assert [one.number for one in chosen.elsewhere["f1"]] == [12]
    assert set(chosen.elsewhere) == {"f1"}


def _chosen(database: Database, pull: PullRequest = PULL, facts: HeadFacts = FACTS) -> CaseRuns:
    chosen = database.write_now(choose_runs, row=ROW, pull=pull, facts=facts, suite=suite(), now=NOW)
    return next(one for one in chosen.cases if (one.case, one.variant) == (CASE, "linen"))


def test_a_run_without_a_commit_counts_for_the_branch_that_its_name_means(database: Database) -> None:
    """The newest that began after the push is taken, where the name can mean one branch only."""
    _keep(database, "newest", None, _run(), branch="feat_x", age=-1)
    assert [run.id for run in _chosen(database).head.runs] == ["newest"]


def test_a_fork_takes_no_run_that_does_not_record_its_commit(database: Database) -> None:
    """The repository's own branch may have the same name: its runs say nothing of the fork's code."""
    _keep(database, "upstream", None, _run(), branch="feat_x", age=-1)
    case = _chosen(database, replace(PULL, head_repository="evil/maxtext"))
    assert case.head.runs == ()
    assert case.left_out.startswith("the branch of this name is a fork's")


def test_two_branches_with_one_spelling_share_no_run_without_a_commit(database: Database) -> None:
    """`feat/x` and `feat-x` are one name in a bucket: a run counts for who is recorded in it."""
    _keep(database, "whose", None, _run(), branch="feat_x", age=-1)
    database.write_now(pull_requests.enqueue, repository=ACME.full_name, number=8, installation=1, now=NOW)
    held = database.write_now(queue.claim, PULL_REQUEST, owner="x", now=NOW, lease=30.0)
    assert held is not None
    database.write_now(pull_requests.release_pull, held, now=NOW, due=None, values={"head_branch": "feat-x"})
    case = _chosen(database)
    assert case.head.runs == ()
    assert "is spelt like feat-x" in case.left_out


TREED = replace(FACTS, tree="1" * 40, merge_base=replace(FACTS.merge_base, tree="2" * 40))


def test_runs_of_the_same_files_count_whatever_commit_and_branch_they_are_of(database: Database) -> None:
    """A rebased head needs no new runs; nor does a base whose files were measured elsewhere."""
    _keep(database, "before", "d" * 40, _run(), branch="other", age=3, tree="1" * 40)
    _keep(database, "landed", "e" * 40, _run(), branch="another", age=3, tree="2" * 40)
    _keep(database, "unlike", "f" * 40, _run(), branch="other", age=3, tree="3" * 40)
    case = _chosen(database, facts=TREED)
    assert [run.id for run in case.head.runs] == ["before"]
    assert [run.id for run in case.base.runs] == ["landed"]


def _shown(database: Database, text: str = XPK) -> CaseRuns:
    chosen = database.write_now(choose_runs, row=ROW, pull=PULL, facts=TREED, suite=suite(text), now=NOW)
    return next(one for one in chosen.cases if (one.case, one.variant) == (CASE, "linen"))


def _on(kind: str | None, devices: int | None) -> MeasuredRun:
    return measure(run_log(environment=replace(TPU, device_kind=kind, devices=devices)))


def test_a_run_on_other_devices_is_not_the_one_that_the_configuration_asks_for(database: Database) -> None:
    """The other runs of its side count alone, and it is said of both sides what does not."""
    _keep(database, "small", HEAD, _on("TPU v6 lite", 8), branch="feat_x", age=1)
    _keep(database, "right", HEAD, _run(), branch="feat_x", age=2)
    _keep(database, "same files", "d" * 40, _on("TPU v5 lite", 32), branch="other", age=3, tree="1" * 40)
    _keep(database, "old device", BASE, _on("TPU v5 lite", 32), branch="main", age=5)
    _keep(database, "earlier", "c" * 40, _run(), branch="main", age=9)
    case = _shown(database)
    assert [run.id for run in case.head.runs] == ["right"]
    assert [run.id for run in case.base.runs] == ["earlier"]
    assert case.other_devices == (
        "3 runs are not used: they were on TPU v6 lite × 8 and TPU v5 lite × 32, "
        "and this case is run on v6e-32"
    )


def test_one_run_on_other_devices_is_said_as_one(database: Database) -> None:
    """Also where nothing else is there to use."""
    _keep(database, "small", HEAD, _on("TPU v6 lite", 8), branch="feat_x", age=1)
    case = _shown(database)
    assert case.head.runs == ()
    assert case.other_devices == (
        "1 run is not used: it was on TPU v6 lite × 8, and this case is run on v6e-32"
    )


@pytest.mark.parametrize("text", [FETCHES, LAUNCHES])
def test_where_no_device_is_asked_for_every_run_counts(database: Database, text: str) -> None:
    """A configuration that only fetches, and one of this machine."""
    _keep(database, "small", HEAD, _on("TPU v6 lite", 8), branch="feat_x", age=1)
    case = _shown(database, text)
    assert ([run.id for run in case.head.runs], case.other_devices) == (["small"], "")


def test_a_log_that_states_no_device_counts(database: Database) -> None:
    """As it did; nor is an older run on other devices spoken of that nobody would have used."""
    _keep(database, "silent", HEAD, _on(None, None), branch="feat_x", age=1)
    _keep(database, "base", BASE, _run(), branch="main", age=5)
    _keep(database, "former", "c" * 40, _on("TPU v5 lite", 32), branch="main", age=9)
    case = _shown(database)
    assert ([run.id for run in case.head.runs], case.other_devices) == (["silent"], "")


def test_what_was_started_for_a_pull_request_counts_whatever_its_log_says(database: Database) -> None:
    """It is the run that was asked for: another one would say the same."""
    launched: dict[str, Any] = {"origin": RunOrigin.LAUNCHED, "branch": "feat_x", "age": 3.0}
    _keep(database, "ours", HEAD, _on("TPU v6 lite", 8), key="ours", place="p/z/c", **launched)
    database.write_now(runs.want_existing, ["ours"], repository=ACME.full_name, number=7)
    case = _shown(database)
    assert ([run.id for run in case.head.runs], case.other_devices) == (["ours"], "")


def test_runs_that_took_turns_on_this_machine_are_their_comparisons_own(database: Database) -> None:
    """A machine whose speed drifts says nothing about another hour; a cluster that keeps its pace does."""
    launched: dict[str, Any] = {"origin": RunOrigin.LAUNCHED, "branch": "feat_x", "age": 3.0}
    _keep(database, "here", HEAD, _run(), key="here", **launched)
    _keep(database, "there", HEAD, _run(), key="there", place="p/z/c", **launched)
    assert [run.id for run in _chosen(database).head.runs] == ["there"]
