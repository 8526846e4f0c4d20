"""The cells of a row: progress, verdicts, bounds and caveats."""

import pytest
from msgspec.structs import replace

from bot.report.assess import change_digest
from bot.report.cells import row_cells, verdict_cell
from bot.report.comment import DETAIL_LEVELS, action_line, comment_body
from bot.report.documents import report_document
from bot.report.explain import comparison_view
from bot.report.folds import environment_fold
from bot.report.model import CaseProgress, CaseReport, Report, RowState
from bot.report.text.pieces import markdown
from bot.runs.eta import DurationRange
from bot.templating import Renderer
from bot.verdict.judgement import Caveat, CaveatKind, TimingVerdict, Verdict
from bot.web.pages.case import case_sentences
from tests.report.sample_states import accepted
from tests.report.samples import (
    DIVERGED,
    JAX_CAVEATS,
    OLDER,
    case,
    compared,
    record,
    report,
    rows,
    same,
    slower,
    timing,
    unsure,
)

RUNNING = CaseProgress(
    step=6, steps=10, runs_done=1, runs_wanted=3, words="step 6 of 10", left=DurationRange(low=430, high=655)
)

QUEUED = CaseProgress(runs_wanted=3, words="2 others before it in the queue")


def _row(case: str, state: RowState, progress: CaseProgress | None, note: str = "") -> CaseReport:
    return CaseReport(case=case, variant="linen", state=state, progress=progress, note=note)


def _report(*rows: CaseReport) -> Report:
    return Report(
        repository="octo/maxtext",
        number=7,
        title="A change",
        head_sha="a" * 40,
        head_branch="feat/x",
        base_branch="main",
        merge_base="b" * 40,
        made_at=1_000_000.0,
        rows=rows,
        variants=("linen",),
    )


def test_the_second_line_states_the_time_left() -> None:
    """As a range, of the row that takes longest."""
    later = replace(RUNNING, left=DurationRange(low=100, high=900))
    report = _report(_row("a", RowState.RUNNING, RUNNING), _row("b", RowState.RUNNING, later))
    assert markdown(action_line(report)).endswith("⏳ 2 left, 7–15 min")


def test_no_time_is_stated_where_one_row_has_none() -> None:
    """A time for some of the runs would be taken for that of all."""
    report = _report(_row("a", RowState.RUNNING, RUNNING), _row("b", RowState.QUEUED, QUEUED))
    assert markdown(action_line(report)).endswith("⏳ 2 left")


@pytest.mark.parametrize(
    ("state", "progress", "words"),
    [
        (RowState.RUNNING, RUNNING, "⏳ step 6 of 10 (1 of 3 runs)"),
        (RowState.QUEUED, QUEUED, "🕓 queued, 2 others before it in the queue (0 of 3 runs)"),
        (
            RowState.RETRYING,
            CaseProgress(words="attempt 2, since it was preempted", retrying=True),
            "🔁 retrying, attempt 2, since it was preempted",
        ),
        (
            RowState.RUNNING,
            CaseProgress(step=6, steps=10, words="silent for 14 min, last step 6 of 10"),
            "⏳ silent for 14 min, last step 6 of 10",
        ),
    ],
)
def test_the_verdict_cell_shows_progress(state: RowState, progress: CaseProgress, words: str) -> None:
    """In the cell of its verdict."""
    row = _row("a", state, progress)
    assert markdown(verdict_cell(_report(row), row)) == words


def test_progress_does_not_change_the_digest() -> None:
    """So that it is written once a minute at the most, while a decision is written at once."""
    before = _report(_row("a", RowState.RUNNING, RUNNING))
    after = _report(_row("a", RowState.RUNNING, replace(RUNNING, step=7, words="step 7 of 10")))
    queued = _report(_row("a", RowState.RETRYING, QUEUED))
    assert change_digest(before) == change_digest(after) == change_digest(queued)
    assert change_digest(before) != change_digest(_report(_row("a", RowState.NO_BASELINE, None)))


def test_the_json_has_the_same_progress_words_and_seconds() -> None:
    """The JSON of the page."""
    document = report_document(_report(_row("a", RowState.RUNNING, RUNNING)))
    rows = document["rows"]
    assert isinstance(rows, list)
    assert rows[0]["progress"]["about"] == "step 6 of 10"
    assert rows[0]["progress"]["left_seconds"] == [430, 655]


UNSETTLED = timing(TimingVerdict.INCONCLUSIVE, 56.3, threshold=60.0, n=(1, 1), more_runs=2)


def _steady(row: CaseReport) -> str:
    return markdown(row_cells(report(row), row, public_url="", detail=DETAIL_LEVELS[0]).steady)


def test_no_more_runs_are_proposed_where_the_loss_decides() -> None:
    """A diverged case stays diverged however often its time is measured; row, page and command agree."""
    comparison = compared(Verdict.DIVERGED, UNSETTLED, DIVERGED)
    row = case("04_int8", RowState.DIVERGED, comparison)
    for text in (_steady(row), *case_sentences(row), comparison_view(comparison).timing):
        assert "more run" not in text
    assert "2 more runs a side" in _steady(unsure())


def test_an_unchanged_row_shows_its_bound_and_its_threshold() -> None:
    """±x % is where a change begins to count; how much is ruled out is another figure."""
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


def test_an_unstated_field_is_no_difference() -> None:
    """The table says `not stated`, and the summary counts it separately."""
    silent = Caveat(
        kind=CaveatKind.ENVIRONMENT,
        field="device_kind",
        base="TPU v6 lite",
        text="device kind: not stated on head, so it is not known to be the same",
    )
    comparison = same("a").comparison
    assert comparison is not None
    row = replace(same("a"), comparison=replace(comparison, caveats=(silent,)))
    fold = environment_fold(report(row), DETAIL_LEVELS[0])
    assert fold is not None
    assert fold.table is not None
    assert markdown(fold.summary) == "Environment: no difference · 1 not stated"
    assert tuple(map(markdown, fold.table.rows[0][1:3])) == ("TPU v6 lite", "not stated")
    both = replace(row, comparison=replace(comparison, caveats=(silent, *JAX_CAVEATS)))
    fold = environment_fold(report(both), DETAIL_LEVELS[0])
    assert fold is not None
    assert " · 1 not stated" in markdown(fold.summary)
    assert not markdown(fold.summary).startswith("Environment: no difference")


def test_who_acknowledged_and_what_was_carried_are_lines_of_their_own() -> None:
    """Below the verdict; Markdown breaks the line, a page shows them side by side."""
    carried = (record("04_int8", "linen", OLDER, 1),)
    row = replace(accepted(slower()), head_runs=carried)
    cells = row_cells(report(row), row, public_url="", detail=DETAIL_LEVELS[0])
    assert [markdown(one).partition(" ")[0] for one in cells.remarks] == ["👁", "↩️"]
    body = comment_body(report(row), public_url="https://maxview.example", render=Renderer().render)
    assert f"🔴 slower<br>{markdown(cells.remarks[0])}<br>{markdown(cells.remarks[1])} |" in body
