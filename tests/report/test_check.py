"""The check says what the comment says, within GitHub's limits, and blocks a merge only by opt-in."""

import pytest
from msgspec.structs import replace

from bot.domain.check import MAX_SUMMARY_LENGTH, AnnotationLevel, Conclusion
from bot.logs.facts import Failure
from bot.report.check import (
    CONCLUSIONS,
    CheckOutcome,
    annotations,
    check_actions,
    check_outcome,
    check_text,
    conclude,
)
from bot.report.model import CaseReport, Report, RowState
from tests.report.sample_states import accepted, every_state
from tests.report.samples import NNX_FAILURE, case, failing, same, slower

MAX_ACTIONS = 3

MAX_ACTION_LENGTHS = {"label": 20, "description": 40, "identifier": 20}
"""GitHub's: https://docs.github.com/en/rest/checks/runs#create-a-check-run"""

REPORTS = every_state()


def _report(*rows: CaseReport, problem: str | None = None) -> Report:
    return replace(next(iter(REPORTS.values())), rows=rows, problem=problem, skipped=())


OUTCOMES = {
    CheckOutcome.GREEN: _report(same("a")),
    CheckOutcome.ACKNOWLEDGED: _report(same("a"), accepted(slower("b"))),
    CheckOutcome.REGRESSION: _report(same("a"), slower("b")),
    CheckOutcome.NOT_JUDGED: _report(same("a"), case("b", RowState.NOT_LIKE_FOR_LIKE)),
    CheckOutcome.UNDECIDED: _report(same("a"), case("b", RowState.INCONCLUSIVE)),
    CheckOutcome.NOTHING: _report(),
    CheckOutcome.PROBLEM: _report(problem="no configuration"),
    CheckOutcome.AWAITED: _report(same("a"), case("b", RowState.RUNNING)),
}


def test_every_outcome_has_a_conclusion() -> None:
    """The table leaves nothing open, and knows no word that would block a merge unasked."""
    assert set(CheckOutcome) == set(CONCLUSIONS) == set(OUTCOMES)
    usual = {ending.usual for ending in CONCLUSIONS.values()}
    assert {Conclusion.SUCCESS, Conclusion.SKIPPED} == usual
    gated = {found for found, ending in CONCLUSIONS.items() if ending.gated is Conclusion.FAILURE}
    assert {CheckOutcome.REGRESSION} == gated


@pytest.mark.parametrize("expected", OUTCOMES)
def test_a_report_has_one_outcome(expected: CheckOutcome) -> None:
    """The worst row decides; what is awaited decides before it."""
    assert expected == check_outcome(OUTCOMES[expected])


def test_only_a_green_or_acknowledged_report_is_a_success() -> None:
    """Missing data is never green, in any state of a report."""
    for report in REPORTS.values():
        found = check_outcome(report)
        success = conclude(found, fail_on_regression=False) is Conclusion.SUCCESS
        assert success == (found in {CheckOutcome.GREEN, CheckOutcome.ACKNOWLEDGED})
    assert CheckOutcome.AWAITED == check_outcome(_report(case("a", RowState.NO_RUN)))
    assert CheckOutcome.UNDECIDED == check_outcome(_report(same("b"), case("a", RowState.NO_RUN)))


@pytest.mark.parametrize("name", REPORTS)
def test_a_check_keeps_githubs_limits_in_every_state(name: str) -> None:
    """Buttons, summary and title fit, and no hidden mark of the comment is in it."""
    report = REPORTS[name]
    body = "<!-- maxview:pull o/r#1 v1 -->\n<!-- maxview:head abc1234 -->\n" + "x" * 70_000
    text = check_text(
        report, conclusion=Conclusion.SKIPPED, body=body, changed_paths=(), url="http://m/pull/1"
    )
    assert len(text.summary) <= MAX_SUMMARY_LENGTH
    assert "maxview:" not in text.summary
    assert "MaxView" not in text.title
    assert len(text.actions) <= MAX_ACTIONS
    for action in text.actions:
        for part, most in MAX_ACTION_LENGTHS.items():
            assert 0 < len(getattr(action, part)) <= most


def test_a_button_is_offered_where_it_would_do_something() -> None:
    """A green report can be measured again; a slower one accepted, a failing one repaired."""
    assert ["rerun"] == [one.identifier for one in check_actions(_report(same("a")))]
    assert ["rerun", "acknowledge"] == [one.identifier for one in check_actions(_report(slower("a")))]
    assert ["rerun", "rerun-failed", "acknowledge"] == [
        one.identifier for one in check_actions(_report(failing("a")))
    ]
    assert () == check_actions(_report()) == check_actions(replace(_report(slower("a")), number=-1))


def _failing(where: str, excerpt: str = "", error: str = "ValueError: 5") -> Report:
    failure = replace(NNX_FAILURE, where=where, excerpt=excerpt, error=error)
    return _report(failing("a", failure=failure), failing("b", failure=failure))


FRAME = '  File "{}", line 217, in setup'


@pytest.mark.parametrize(
    ("frame", "changed", "found"),
    [
        ("/deps/src/maxtext/utils/x.py", ["src/maxtext/utils/x.py", "README.md"], "src/maxtext/utils/x.py"),
        ("/usr/lib/python3.12/site-packages/maxtext/x.py", ["src/maxtext/x.py"], "src/maxtext/x.py"),
        ("/deps/src/maxtext/x.py", ["src/maxtext/layers/x.py"], None),
        ("/deps/src/maxtext/x.py", ["x.py"], "x.py"),
        ("x.py", ["src/x.py"], "src/x.py"),
        ("x.py", ["src/x.py", "tests/x.py"], None),
        ("/deps/src/maxtext/x.py", [], None),
        ("/deps/src/maxtext/max_x.py", ["src/maxtext/y.py"], None),
    ],
)
def test_a_failure_is_annotated_in_the_changed_file(
    frame: str, changed: list[str], found: str | None
) -> None:
    """Full paths decide; a name alone does where it names one changed file; else there is no remark."""
    name = frame.rpartition("/")[2]
    said = annotations(_failing(f"{name}:217", FRAME.format(frame)), changed)
    assert ([] if found is None else [(found, 217)]) == [(one.path, one.line) for one in said]


def test_one_annotation_names_all_cases_that_fail_there() -> None:
    """Secrets are gone from it, and it is one line."""
    (said,) = annotations(_failing("x.py:3", error="ValueError:\n gs://lance/x 5"), ["src/x.py"])
    assert (AnnotationLevel.FAILURE, "ValueError: [bucket] 5") == (said.level, said.message)
    assert said.title.startswith("a · nnx, b · nnx")


@pytest.mark.parametrize("where", [None, "", "x.py", "x.py:", "x.py:0", ":3", "x.py:abc", "(unknown):1"])
def test_an_unknown_place_makes_no_annotation(where: str | None) -> None:
    """A frame without a line is nowhere."""
    failure: Failure = replace(NNX_FAILURE, where=where)
    assert () == annotations(_report(failing("a", failure=failure)), ["src/x.py"])
