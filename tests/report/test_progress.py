"""What the comment says while runs are under way: how far, what stands in the way, and how long."""

from dataclasses import replace

import pytest

from bot.report.action import action_line
from bot.report.cells import verdict_cell
from bot.report.decided import decided
from bot.report.model import CaseReport, Progress, Report, RowState
from bot.report.report_document import report_document
from bot.runs.eta import Span

RUNNING = Progress(
    step=6, steps=10, runs_done=1, runs_wanted=3, words="step 6 of 10", left=Span(low=430, high=655)
)
QUEUED = Progress(runs_wanted=3, words="2 others before it in the queue")


def _row(case: str, state: RowState, progress: Progress | None, note: str = "") -> CaseReport:
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


def test_the_second_line_says_how_long_it_will_take() -> None:
    """As a range, of the row that takes longest."""
    later = replace(RUNNING, left=Span(low=100, high=900))
    report = _report(_row("a", RowState.RUNNING, RUNNING), _row("b", RowState.RUNNING, later))
    assert action_line(report).endswith("⏳ 2 left, 7–15 min")


def test_no_time_is_said_where_one_row_has_none() -> None:
    """A time for some of the runs would be taken for that of all."""
    report = _report(_row("a", RowState.RUNNING, RUNNING), _row("b", RowState.QUEUED, QUEUED))
    assert action_line(report).endswith("⏳ 2 left")


@pytest.mark.parametrize(
    ("state", "progress", "words"),
    [
        (RowState.RUNNING, RUNNING, "⏳ step 6 of 10 (1 of 3 runs)"),
        (RowState.QUEUED, QUEUED, "🕓 queued, 2 others before it in the queue (0 of 3 runs)"),
        (
            RowState.RETRYING,
            Progress(words="attempt 2, since it was preempted", retrying=True),
            "🔁 retrying, attempt 2, since it was preempted",
        ),
        (
            RowState.RUNNING,
            Progress(step=6, steps=10, words="silent for 14 min, last step 6 of 10"),
            "⏳ silent for 14 min, last step 6 of 10",
        ),
    ],
)
def test_the_row_says_how_far_its_case_is(state: RowState, progress: Progress, words: str) -> None:
    """In the cell of its verdict."""
    row = _row("a", state, progress)
    assert verdict_cell(_report(row), row) == words


def test_progress_decides_nothing() -> None:
    """So that it is written once a minute at the most, while a decision is written at once."""
    before = _report(_row("a", RowState.RUNNING, RUNNING))
    after = _report(_row("a", RowState.RUNNING, replace(RUNNING, step=7, words="step 7 of 10")))
    queued = _report(_row("a", RowState.RETRYING, QUEUED))
    assert decided(before) == decided(after) == decided(queued)
    assert decided(before) != decided(_report(_row("a", RowState.NO_BASELINE, None)))


def test_programs_get_the_same_words_and_seconds() -> None:
    """The JSON of the page."""
    document = report_document(_report(_row("a", RowState.RUNNING, RUNNING)))
    rows = document["rows"]
    assert isinstance(rows, list)
    assert rows[0]["progress"]["about"] == "step 6 of 10"
    assert rows[0]["progress"]["left_seconds"] == [430, 655]
