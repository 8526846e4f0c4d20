"""Whether a failure is the change's own: new, on main too, elsewhere too, or fixed."""

from dataclasses import replace

import pytest

from bot.logs.facts import Failure, State
from bot.report.kinship import failure_news, news_words
from bot.report.material import CaseRuns, Looked, MainFailure, Request, Sides
from bot.report.model import CaseReport, FailureNews, Kinship, RowState
from bot.report.report_document import report_document
from bot.runs.baseline import BaselineChoice, HeadChoice
from bot.runs.records import RunRecord
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from tests.controller.samples import PULL
from tests.report.samples import failing_elsewhere, failing_otherwise, report
from tests.verdict.samples import run_log

REQUEST = Request(pull=PULL, merge_base="b" * 40, made_at=0.0, elsewhere={"f1": (12, 15)})
BASE_RUN = RunRecord(id="b0", repository="acme/x", case="a", variant="", sha="b" * 40)


def _failing(fingerprint: str, kind: str = "code", state: State = State.FAILED) -> MeasuredRun:
    log = run_log()
    failure = Failure(kind=kind, error="KeyError: 'x'", fingerprint=fingerprint)
    outcome = replace(log.outcome, state=state, exit_code=1, failure=failure)
    return measure(replace(log, outcome=outcome, steps=(), steps_seen=0))


PASS, FAIL, OTHER = measure(run_log()), _failing("f1"), _failing("f2")
LOST = _failing("f1", "preempted", State.KILLED)


def _news(
    base: list[MeasuredRun], head: list[MeasuredRun], failures: tuple[MainFailure, ...] = ()
) -> FailureNews | None:
    choice = BaselineChoice(sha="b" * 40, distance=0, why="the merge base", runs=(BASE_RUN,))
    runs = CaseRuns(case="a", variant="", head=HeadChoice(), base=choice, main_failures=failures)
    return failure_news(Sides(runs, tuple(base), tuple(head), Looked(look=1, runs="")), REQUEST)


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ([PASS], [PASS], None),
        ([PASS], [FAIL], Kinship.NEW),
        ([PASS], [PASS, FAIL], Kinship.NEW),
        ([FAIL], [FAIL], Kinship.SAME_ON_BASE),
        ([PASS, FAIL], [FAIL], Kinship.SAME_ON_BASE),
        ([OTHER], [FAIL], Kinship.OTHER_ON_BASE),
        ([FAIL], [PASS], Kinship.FIXED),
        ([FAIL], [PASS, FAIL], Kinship.SAME_ON_BASE),
        ([], [FAIL], Kinship.UNKNOWN),
        ([LOST], [FAIL], Kinship.UNKNOWN),
        ([PASS], [LOST], None),
        ([LOST], [PASS], None),
        ([], [], None),
    ],
)
def test_a_failure_is_related_to_the_baseline_by_its_fingerprint(
    base: list[MeasuredRun], head: list[MeasuredRun], expected: Kinship | None
) -> None:
    """New only where the baseline passed; what the cluster failed says nothing about the change."""
    found = _news(base, head)
    assert (found.kinship if found else None) == expected


def test_other_pull_requests_with_the_same_failure_are_named() -> None:
    """Only for what fails here now: a failure that is fixed is no news of theirs."""
    here, fixed = _news([PASS], [FAIL]), _news([FAIL], [PASS])
    assert here is not None
    assert fixed is not None
    assert (here.pulls, fixed.pulls) == ((12, 15), ())


def test_main_may_fail_the_same_way_elsewhere_than_in_the_baseline() -> None:
    """The newest such run is named; the baseline's own runs and other failures are not."""
    failures = (
        MainFailure(run="m3", sha="d" * 40, fingerprint="f2"),
        MainFailure(run="m2", sha="c" * 40, fingerprint="f1"),
        MainFailure(run="m1", sha="e" * 40, fingerprint="f1"),
    )
    found = _news([PASS], [FAIL], failures)
    assert found is not None
    assert found.main_sha == "c" * 40
    own = _news([PASS], [FAIL], (MainFailure(run="b0", sha="b" * 40, fingerprint="f1"),))
    assert own is not None
    assert own.main_sha is None


@pytest.mark.parametrize(
    ("kinship", "words"),
    [
        (Kinship.NEW, "new: succeeds on main"),
        (Kinship.SAME_ON_BASE, "the same on main"),
        (Kinship.OTHER_ON_BASE, "main fails otherwise"),
        (Kinship.FIXED, "fixed: fails on main"),
        (Kinship.UNKNOWN, "main has no run that tells whether it is new"),
    ],
)
def test_every_relation_has_its_words(kinship: Kinship, words: str) -> None:
    """Short enough to stand in the quote of a row."""
    news = FailureNews(kinship=kinship, kind="code", fingerprint="f1", pulls=(12,))
    row = CaseReport(case="a", variant="", state=RowState.NEW_FAILURE, failure=news)
    assert news_words(row, "main") == f"{words} · also on pull request 12"


def test_the_json_says_whose_fault_it_is_and_who_else_has_it() -> None:
    """Everything the quote says, and the fingerprint that it rests on."""
    rows = report_document(report(failing_elsewhere(), failing_otherwise()))["rows"]
    assert isinstance(rows, list)
    first, second = (row["failure"] for row in rows)
    assert (first["kinship"], first["pull_requests"], first["fingerprint"]) == ("new", [4266, 4271], "9f3b2c")
    assert second == {
        "kinship": "other_on_base",
        "class": "code",
        "fault": "change",
        "retry": False,
        "next_step": "Read the traceback and fix the code it points at.",
        "fingerprint": "9f3b2c",
        "pull_requests": [],
        "main_sha": None,
    }
