"""From runs that ended to the comment of a head that did not have to pay for them."""

import asyncio

import pytest
from msgspec import structs
from msgspec.structs import replace

from bot.domain.pull_request import PullRequest
from bot.domain.run import RunRecord, RunState
from bot.ingest.report_runs import choose_runs
from bot.report.build import BuiltReport, build_report
from bot.report.cells import carried_words
from bot.report.model import Report, RowState
from bot.report.text.pieces import markdown
from bot.storage import runs
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from bot.verdict.measure import measure
from bot.worker.pull_decisions import report_request
from bot.worker.run_planner import PlanOutcome, RunPlanner
from tests.planning.samples import KEYS, SUITE, TREED
from tests.verdict.made_runs import TPU, Shape, run_log
from tests.worker.samples import BASE, HEAD, NOW, PULL, ROW, pull, row

FIRST = replace(ROW, head_seen=None)

HOURS = measure(run_log(Shape())).measurements.chip_hours or 0.0


def _look(database: Database, row_: PullRow = FIRST, pull_: PullRequest = PULL) -> tuple[PlanOutcome, Report]:
    """Choose, report, launch: one look at a pull request whose head has the files of `TREED`."""
    chosen = database.write_now(choose_runs, row=row_, pull=pull_, facts=TREED, suite=SUITE, now=NOW)
    asked = report_request(row_, pull_, suite=SUITE, problem=None, now=NOW)
    built: BuiltReport = build_report(structs.replace(asked, merge_base=BASE), chosen.cases, chosen.measured)
    launcher = RunPlanner(database=database, now=lambda: NOW)
    launched = asyncio.run(launcher.plan(row_, pull_, TREED, SUITE, built))
    return launched, launched.add_to(built.report)


def _end(database: Database, record: RunRecord, seed: int) -> None:
    """The run has ended, and was measured."""
    ended = structs.replace(record, state=RunState.ENDED, started=NOW - 7200, log_uri="file:/log")
    measured = measure(run_log(Shape(seed=seed, step_seconds=0.147)))
    database.write_now(runs.save, ended, now=NOW, measured=measured)


@pytest.fixture
def measured(database: Database) -> Database:
    """Everything that pull request 7 had started has ended."""
    launched, _ = _look(database)
    assert launched.new_runs == 2 * len(KEYS)
    for at, record in enumerate(database.write_now(runs.wanted_runs, PULL.repository, 7)):
        _end(database, record, at)
    return database


def test_who_had_the_runs_started_saved_nothing(measured: Database) -> None:
    """Its own runs are no reuse, and nothing more is started."""
    launched, report = _look(measured)
    assert (launched.new_runs, {line.state for line in report.rows}) == (0, {RowState.SAME})
    assert launched.plan is not None
    assert (launched.plan.runs, launched.plan.reused, report.chip_hours_saved) == ((), 0, None)
    assert {carried_words(report, line) for line in report.rows} == {()}


def test_a_found_run_on_other_devices_saves_nothing(database: Database) -> None:
    """The run that is wanted is started, and the row says why the other is not used."""
    for at, (case, variant) in enumerate(KEYS):
        small = RunRecord(
            id=f"small{at}", repository=PULL.repository, case=case, variant=variant, branch="feat_x", sha=HEAD
        )
        log = run_log(Shape(), environment=structs.replace(TPU, devices=8))
        database.write_now(runs.save, small, now=NOW, measured=measure(log))
    launched, report = _look(database)
    assert launched.new_runs == 2 * len(KEYS)
    assert {line.note for line in report.rows} == {
        "1 run is not used: it was on TPU v6 lite × 8, and this case is run on v6e-32"
    }
    for at, record in enumerate(database.write_now(runs.wanted_runs, PULL.repository, 7)):
        _end(database, record, at)
    launched, report = _look(database)
    assert (launched.new_runs, {line.state for line in report.rows}) == (0, {RowState.SAME})
    assert {len(line.head_runs) for line in report.rows} == {1}


def test_a_rebased_head_with_the_same_files_has_its_verdict_at_once(measured: Database) -> None:
    """From the old commit's runs, said to be carried and dated; its heads' runs are saved."""
    rebased = "d" * 40
    launched, report = _look(measured, row(head_sha=rebased, head_seen=NOW), pull(head_sha=rebased))
    assert (launched.new_runs, {line.state for line in report.rows}) == (0, {RowState.SAME})
    words = markdown(carried_words(report, report.rows[0]))
    assert words.startswith(f"carried from `{HEAD[:7]}`, measured 2026-")
    assert launched.plan is not None
    assert launched.plan.reused == len(KEYS)
    assert report.chip_hours_saved == pytest.approx(len(KEYS) * HOURS, rel=1e-3)


def test_another_pull_request_with_the_same_files_pays_for_nothing(measured: Database) -> None:
    """Both sides are there; what that saved is said."""
    launched, report = _look(measured, row(number=8, head_seen=None), pull(number=8, head_branch="other"))
    assert (launched.new_runs, {line.state for line in report.rows}) == (0, {RowState.SAME})
    assert launched.plan is not None
    assert launched.plan.reused == 2 * len(KEYS)
    assert report.chip_hours_saved == pytest.approx(2 * len(KEYS) * HOURS, rel=1e-3)
    assert report.chip_hours_used is None
