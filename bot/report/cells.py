"""One row of the comment's table, cell by cell, in Markdown.

In:  a `CaseReport` of a `Report`.
Out: `RowView`: six cells, words beside symbols, foreign text redacted and escaped, an en dash where there is
     nothing to say. A figure that was not judged says so.
"""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

from bot.report.acknowledged import accepted_line
from bot.report.carried import carried_line
from bot.report.detail import Detail
from bot.report.figures import NONE, change, counted, pair, percent_up, run_counts, seconds, significant, size
from bot.report.judged import (
    bad_end,
    bound_percent,
    ended,
    is_memory,
    loss_changed,
    loss_words,
    weighty,
)
from bot.report.links import absolute, case_path
from bot.report.model import CaseReport, Report, RowState
from bot.report.progress import progress_words
from bot.report.quoting import quoted, said
from bot.report.row_words import row_words
from bot.verdict.fields import FIELDS
from bot.verdict.judgement import (
    Caveat,
    Comparison,
    Direction,
    MeasuredRun,
    Row,
    Timing,
    TimingVerdict,
    Verdict,
)
from bot.verdict.metrics import BY_KEY

TITLES = {field.name: field.title for field in FIELDS}
CAVEATS_IN_A_CELL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """The cells of one row, Markdown."""

    case: str
    verdict: str
    steady: str
    loss: str
    checkpoint: str
    memory: str


def row_view(report: Report, row: CaseReport, *, public_url: str, detail: Detail) -> RowView:
    """The six cells of `row`."""
    return RowView(
        case=case_cell(report, row, public_url=public_url, detail=detail),
        verdict=verdict_cell(report, row),
        steady=steady_cell(row, detail) + _bound(row),
        loss=loss_cell(row.comparison),
        checkpoint=checkpoint_cell(row.comparison),
        memory=memory_cell(row.comparison),
    )


def label(report: Report, case: str, variant: str) -> str:
    """A case by its name, with the variant unless it is the usual one and the case's only one: plain text."""
    usual = report.variants[0] if report.variants else variant
    return f"{case} · {variant}" if variant and (variant != usual or case in _several(report)) else case


def _several(report: Report) -> frozenset[str]:
    """The cases that this report has in more than one variant."""
    return _cases_of(tuple((row.case, row.variant) for row in report.rows))


@lru_cache(maxsize=16)
def _cases_of(rows: tuple[tuple[str, str], ...]) -> frozenset[str]:
    variants = Counter(case for case, _ in dict.fromkeys(rows))
    return frozenset(case for case, count in variants.items() if count > 1)


def case_cell(report: Report, row: CaseReport, *, public_url: str, detail: Detail) -> str:
    """The case, linked to its row on the page."""
    name = said(label(report, row.case, row.variant), detail.name)
    if not detail.links:
        return name
    return f"[{name}]({absolute(public_url, case_path(report, row.case, row.variant))})"


def verdict_cell(report: Report, row: CaseReport) -> str:
    """`🔴 slower`, or how far a running case is."""
    words = row_words(row, report.base_branch)
    text = words.word
    if row.progress and row.state in {RowState.RUNNING, RowState.QUEUED, RowState.RETRYING}:
        text = progress_words(row.progress, text)
    return f"{words.symbol} {text}{accepted_line(row)}{carried_line(report, row)}"


def steady_cell(row: CaseReport, detail: Detail) -> str:
    """Steady step time of both sides with change, band and number of runs; else why there is none."""
    comparison = row.comparison
    if comparison is None:
        return said(row.note, detail.error) if row.note else NONE
    if row.state is RowState.NO_BASELINE:
        return steady_of_head(comparison)
    if row.state in {RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH} and (end := bad_end(comparison.head)):
        return ended(end)
    if comparison.timing.change is None:
        return _reasons(comparison, detail) or said(comparison.timing.reason, detail.error) or NONE
    if comparison.timing.verdict is TimingVerdict.WITHHELD:
        reasons = _reasons(comparison, detail)
        return _figures(comparison.timing) + ", not judged" + (f": {reasons}" if reasons else "")
    return _figures(comparison.timing) + _more_runs(row, comparison.timing)


def loss_cell(comparison: Comparison | None) -> str:
    """The loss verdict, in bold where the curve is outside its tolerance."""
    words = loss_words(comparison)
    if comparison is None or words is None or comparison.verdict is Verdict.NOT_COMPARABLE:
        return NONE
    judged = comparison.verdict is not Verdict.NOT_LIKE_FOR_LIKE
    return f"**{words}**" if judged and loss_changed(comparison) else words


def checkpoint_cell(comparison: Comparison | None) -> str:
    """The wait for the last checkpoint on both sides, or the blocking of a save; information only."""
    if comparison is None or bad_end(comparison.head) or _without_delta(comparison):
        return NONE
    base, head = _checkpoint(comparison.base), _checkpoint(comparison.head)
    if base is None or head is None:
        return NONE if head is None else seconds(head)
    first, second = seconds(base), seconds(head)
    return f"{second}, same" if first == second else f"{first} → {second}"


def memory_cell(comparison: Comparison | None) -> str:
    """What the exact memory figures say: the first one that moved, else that they are the same."""
    if comparison is None or _without_delta(comparison):
        return NONE
    rows = [row for row in comparison.rows if row.judged and is_memory(row)]
    rows = [row for row in rows if row.base is not None and row.head is not None]
    moved = next((row for row in rows if row.direction is not Direction.SAME), None)
    return _moved(moved) if moved else "same" if rows else NONE


def caveat_words(caveat: Caveat, limit: int = 60) -> str:
    """`JAX 0.9.2 → 0.8.1`, or the caveat's own sentence, as Markdown."""
    if caveat.base is None and caveat.head is None:
        return said(caveat.text or field_name(caveat.field), 3 * limit)
    base, head = (said(side, limit) if side else "not stated" for side in (caveat.base, caveat.head))
    return f"{field_name(caveat.field)} {base} → {head}"


def field_name(field: str) -> str:
    """The name of a caveat's field as people say it, as Markdown."""
    return TITLES.get(field) or said(field.replace("_", " "))


def _figures(timing: Timing) -> str:
    """`0.229 → 0.243 **+6.1 %** (±1.6 %, 3 v 6)`: runs of head against runs of base."""
    judged = timing.verdict in {TimingVerdict.SLOWER, TimingVerdict.FASTER}
    ratio = f"**{change(timing.change)}**" if judged else change(timing.change)
    band = f"±{size(timing.band)}, " if timing.band is not None else ""
    figures = f"{ratio} ({band}{run_counts(timing.n, timing.main_runs)})"
    if timing.base_seconds is None or timing.head_seconds is None:
        return figures
    return f"{pair(timing.base_seconds, timing.head_seconds)} {figures}"


def _more_runs(row: CaseReport, timing: Timing) -> str:
    """How many runs would settle it, where the row still hangs on its time."""
    if row.state is not RowState.INCONCLUSIVE or not timing.more_runs:
        return ""
    return f": {counted(timing.more_runs, 'more run')} a side"


def _reasons(comparison: Comparison, detail: Detail) -> str:
    caveats = weighty(comparison)
    words = [caveat_words(caveat, min(detail.name, 40)) for caveat in caveats[:CAVEATS_IN_A_CELL]]
    more = len(caveats) - len(words)
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def _bound(row: CaseReport) -> str:
    """What the word *same* rules out, beside the band from which a change would count."""
    bound = bound_percent(row.comparison)
    return f": no change > {percent_up(bound)}" if bound is not None and row.state is RowState.SAME else ""


def _without_delta(comparison: Comparison) -> bool:
    """Whether the sides cannot be compared at all; one side alone may still be shown."""
    return comparison.verdict is Verdict.NOT_COMPARABLE and bool(comparison.base)


def _checkpoint(runs: tuple[MeasuredRun, ...]) -> float | None:
    final = [run.measurements.final_checkpoint_wait_seconds for run in runs]
    blocking = [run.measurements.checkpoint_blocking_seconds for run in runs]
    for figures in (final, blocking):
        if known := [figure for figure in figures if figure is not None]:
            return median(known)
    return None


def _moved(row: Row) -> str:
    words = {Direction.WORSE: "**more:** ", Direction.BETTER: "less: "}.get(row.direction, "")
    return words + metric_pair(row)


def metric_pair(row: Row) -> str:
    """Both sides of a metric with its unit, as Markdown."""
    metric = BY_KEY.get(row.key)
    base, head = (metric_side(row.key, side) for side in (row.base, row.head))
    return f"{base} → {head} {metric.unit}".rstrip() if metric else f"{base} → {head}"


def metric_side(key: str, value: float | str | None) -> str:
    """One side of a metric with the decimals of its row in the table of metrics, as Markdown."""
    if isinstance(value, str):
        return said(value, 60)
    if value is None:
        return NONE
    return f"{value:.{BY_KEY[key].digits}f}" if key in BY_KEY else significant(value, 4)


def rerun(report: Report, row: CaseReport) -> str:
    """The command that measures this row again, as a code span."""
    variant = f" {row.variant}" if label(report, row.case, row.variant) != row.case else ""
    return quoted(f"/benchmark rerun {row.case}{variant}", 200)


def steady_of_head(comparison: Comparison) -> str:
    """The head's steady step time alone, where nothing stands against it."""
    known = [run.measurements.steady.seconds for run in comparison.head if run.measurements.steady.seconds]
    return f"{significant(median(known))} s" if known else NONE
