"""Cases that nobody asked for are named with the reason."""

import pytest
from msgspec.structs import replace

from bot.commands.active_requests import requests_in_force
from bot.domain.case_key import CaseKey
from bot.domain.pull_request import PullRequest
from bot.domain.run_request import RequestSource, RunRequest
from bot.planning.plan_report import (
    IS_DRAFT,
    NO_AUTOMATIC_RUNS,
    NOT_REQUESTED,
    OUTSIDE_CASE_PATHS,
    OUTSIDE_TRIGGER_PATHS,
    skip_reasons,
    without_skipped,
)
from bot.report.model import CaseReport, ParityRow, Report, RowState, SkippedCase
from tests.worker.samples import BASE, HEAD, LAUNCHES, NOW, PULL, pull, suite

PATHS = ("src/a.py",)

NARROW = LAUNCHES.replace('quantization=int8"', 'quantization=int8", paths: ["src/quantization/**"]')


@pytest.mark.parametrize(
    ("text", "triggers", "change", "expected"),
    [
        (LAUNCHES, "{pull_request: false}", PULL, NO_AUTOMATIC_RUNS),
        (LAUNCHES, "{drafts: false}", pull(draft=True), IS_DRAFT),
        (LAUNCHES, '{paths: ["docs/**"]}', PULL, OUTSIDE_TRIGGER_PATHS),
        (NARROW, "{drafts: true}", PULL, OUTSIDE_CASE_PATHS),
    ],
)
def test_every_case_that_is_left_out_says_why(
    text: str, triggers: str, change: PullRequest, expected: str
) -> None:
    """The rule that did not ask for it."""
    with_suite = suite(text, triggers=triggers)
    reasons = skip_reasons(requests_in_force((), change, with_suite, PATHS), change, with_suite, PATHS)
    assert reasons[CaseKey("04_int8", "nnx")] == expected
    assert (CaseKey("03_dropout", "linen") in reasons) == (expected != OUTSIDE_CASE_PATHS)


def test_what_somebody_asked_for_is_not_left_out() -> None:
    """By a label or a command, whatever the rules say."""
    ask = RunRequest(
        source=RequestSource.LABEL, name="benchmark:04_int8", keys=frozenset({CaseKey("04_int8", "nnx")})
    )
    reasons = skip_reasons((ask,), PULL, suite(LAUNCHES), PATHS)
    assert set(reasons) == {
        CaseKey("03_dropout", "linen"),
        CaseKey("03_dropout", "nnx"),
        CaseKey("04_int8", "linen"),
    }
    assert set(reasons.values()) == {NOT_REQUESTED}


def _row(case: str, state: RowState) -> CaseReport:
    return CaseReport(case=case, variant="linen", state=state)


def _parity(case: str) -> ParityRow:
    return ParityRow(
        case=case, first_variant="linen", second_variant="nnx", first_passes=None, second_passes=None
    )


REPORT = Report(
    repository="acme/maxtext",
    number=7,
    title="A change",
    head_sha=HEAD,
    head_branch="feat/x",
    base_branch="main",
    merge_base=BASE,
    made_at=NOW,
    rows=(_row("a", RowState.NO_RUN), _row("b", RowState.SAME), _row("c", RowState.CANCELLED)),
    parity=(_parity("a"), _parity("b")),
)


def test_only_rows_without_runs_are_left_out() -> None:
    """What was measured, or was cancelled, keeps its row; the empty one is named among the skipped."""
    made = without_skipped(
        REPORT,
        dict.fromkeys((CaseKey("a", "linen"), CaseKey("b", "linen"), CaseKey("c", "linen")), NOT_REQUESTED),
    )
    assert [row.case for row in made.rows] == ["b", "c"]
    assert made.skipped == (SkippedCase(case="a", variant="linen", why=NOT_REQUESTED),)
    assert [row.case for row in made.parity] == ["b"]
    assert without_skipped(REPORT, {}) == REPORT
    assert (
        without_skipped(replace(REPORT, rows=REPORT.rows[1:]), {CaseKey("a", "linen"): NOT_REQUESTED}).skipped
        == ()
    )
