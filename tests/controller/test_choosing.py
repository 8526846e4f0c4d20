"""What a report is made from, chosen from what the database keeps."""

from dataclasses import replace

from bot.controller.choosing import choose
from bot.logs.facts import Failure, State
from bot.report.material import MainFailure
from bot.report.model import CaseReport, FailureNews, Kinship, Report, RowState
from bot.runs.records import RunRecord
from bot.storage import pulls, reports, runs
from bot.storage.database import Database
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from tests.controller.samples import ACME, BASE, FACTS, HEAD, NOW, PULL, ROW, suite
from tests.verdict.samples import TPU, Shape, run_log

CASE, HOUR = "04_int8", 3600.0


def _keep(database: Database, name: str, sha: str, measured: MeasuredRun, *, branch: str, age: float) -> None:
    record = RunRecord(
        id=name,
        repository=ACME.full_name,
        case=CASE,
        variant="linen",
        branch=branch,
        sha=sha,
        started=NOW - age * HOUR,
    )
    database.now(runs.save, record, now=NOW, measured=measured)


def _run(jax: str = "0.9.2") -> MeasuredRun:
    return measure(run_log(Shape(steps=12), environment=replace(TPU, jax=jax)))


def _failed(fingerprint: str) -> MeasuredRun:
    log = run_log()
    failure = Failure(kind="code", error="KeyError: 'x'", fingerprint=fingerprint)
    outcome = replace(log.outcome, state=State.FAILED, exit_code=1, failure=failure)
    return measure(replace(log, outcome=outcome, steps=(), steps_seen=0))


def _failing_pull(database: Database, number: int, fingerprint: str) -> None:
    news = FailureNews(kinship=Kinship.NEW, kind="code", fingerprint=fingerprint)
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
    database.now(pulls.want, repository=ACME.full_name, number=number, installation=1, now=NOW)
    database.now(reports.save, report, headline="x")


def test_a_failing_head_is_given_what_main_and_others_know_of_it(database: Database) -> None:
    """History under the baseline's conditions only, main's failed runs, pull requests with the failure."""
    _keep(database, "base", BASE, _run(), branch="main", age=5)
    _keep(database, "earlier", "c" * 40, _run(), branch="main", age=9)
    _keep(database, "old image", "d" * 40, _run("0.8.1"), branch="main", age=12)
    _keep(database, "broken", "f" * 40, _failed("f1"), branch="main", age=1)
    _keep(database, "head", HEAD, _failed("f1"), branch="feat_x", age=0)
    _failing_pull(database, 12, "f1")
    _failing_pull(database, 13, "f2")
    chosen = database.now(choose, row=ROW, pull=PULL, facts=FACTS, suite=suite())
    (case,) = [one for one in chosen.cases if one.base.runs]
    assert [run.sha for run in case.history] == ["c" * 40, BASE]
    assert case.main_failures == (MainFailure(run="broken", sha="f" * 40, fingerprint="f1"),)
    assert chosen.elsewhere == {"f1": (12,)}
