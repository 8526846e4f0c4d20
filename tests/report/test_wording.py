"""Words that must not puzzle: advice, differences that are none, bounds beside bands."""

from dataclasses import replace

from bot.report.cells import row_view
from bot.report.comparison_view import comparison_view
from bot.report.detail import LEVELS
from bot.report.differences import environment_fold
from bot.report.model import CaseReport, RowState
from bot.verdict.judgement import Caveat, CaveatKind, TimingVerdict, Verdict
from bot.web.cases.words import sentences
from tests.report.parts import DIVERGED, JAX_CAVEATS, compared, rows, timing
from tests.report.samples import case, report, same, unsure

UNSETTLED = timing(TimingVerdict.INCONCLUSIVE, 56.3, band=60.0, n=(1, 1), more_runs=2)


def _steady(row: CaseReport) -> str:
    return row_view(report(row), row, public_url="", detail=LEVELS[0]).steady


def test_no_runs_are_asked_for_where_the_verdict_hangs_on_the_loss() -> None:
    """A diverged case stays diverged however often its time is measured; row, page and command agree."""
    comparison = compared(Verdict.DIVERGED, UNSETTLED, DIVERGED)
    row = case("04_int8", RowState.DIVERGED, comparison)
    for text in (_steady(row), *sentences(row), comparison_view(comparison).timing):
        assert "more run" not in text
    assert "2 more runs a side" in _steady(unsure())


def test_the_bound_stands_beside_the_band_of_a_row_that_is_the_same() -> None:
    """±x % is where a change begins to count; how much is ruled out is another figure, and is said."""
    row = same("04_int8")
    assert row.comparison is not None
    assert _steady(row).endswith("(±1.1 %, 3 v 6): no change > 0.9 %")
    assert comparison_view(row.comparison).timing.endswith("; a change > 0.9 % is ruled out")


def test_more_memory_opens_the_comparison_with_a_warning() -> None:
    """The first line does not call a case the same that needs more memory."""
    comparison = compared(Verdict.SAME, timing(TimingVerdict.SAME, 0.1), metrics=rows(1.31, 1.38))
    view = comparison_view(comparison)
    assert (view.symbol, view.tone) == ("⚠️", "odd")
    assert view.headline.startswith("same time, more memory: no change > ")


def test_what_one_side_does_not_state_is_no_difference() -> None:
    """It stands in the table in two words, and is counted by itself."""
    silent = Caveat(
        kind=CaveatKind.ENVIRONMENT,
        field="device_kind",
        base="TPU v6 lite",
        text="device kind: not stated on head, so it is not known to be the same",
    )
    comparison = same("a").comparison
    assert comparison is not None
    row = replace(same("a"), comparison=replace(comparison, caveats=(silent,)))
    fold = environment_fold(report(row), LEVELS[0])
    assert fold is not None
    assert fold.table is not None
    assert fold.summary == "Environment: no difference · 1 not stated"
    assert fold.table.rows[0][1:3] == ("TPU v6 lite", "not stated")
    both = replace(row, comparison=replace(comparison, caveats=(silent, *JAX_CAVEATS)))
    fold = environment_fold(report(both), LEVELS[0])
    assert fold is not None
    assert " · 1 not stated" in fold.summary
    assert not fold.summary.startswith("Environment: no difference")
