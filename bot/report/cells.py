"""One row of the comment's table, cell by cell.

Every symbol has a word beside it; an en dash means that there is no value. A figure that was not judged says
so.
"""

from collections import Counter
from functools import lru_cache
from statistics import median

from msgspec import Struct

from bot.domain.case_key import CaseKey
from bot.report.assess import (
    CAVEAT_TITLES,
    carried_runs,
    change_bound_percent,
    deciding_caveats,
    is_memory_metric,
    loss_changed,
    loss_words,
    outcome_words,
    row_words,
    unsuccessful_outcome,
)
from bot.report.links import absolute, case_path
from bot.report.model import CaseProgress, CaseReport, Report, RowState
from bot.report.text.pieces import MAX_REASON_LENGTH, Line, bold, code, foreign, line, link, listed_lines
from bot.report.wording import (
    NO_VALUE,
    counted,
    duration_words,
    loop_phase_words,
    moment_words,
    percent_ceiling,
    run_counts,
    signed_percent,
    significant,
    significant_pair,
    unsigned_percent,
    wanted_runs_words,
)
from bot.verdict.judgement import (
    Caveat,
    Comparison,
    Direction,
    MeasuredRun,
    MetricRow,
    TimingDecision,
    TimingMeasure,
    TimingVerdict,
    Verdict,
)
from bot.verdict.metrics import METRICS_BY_KEY

CAVEATS_IN_A_CELL = 2

MAX_PROGRESS_LENGTH = 120


class RowCells(Struct, frozen=True, kw_only=True):
    """The cells of one row; `remarks` are shown below the verdict, each on a line of its own."""

    case: Line
    verdict: Line
    remarks: tuple[Line, ...]
    steady: Line
    loss: Line
    checkpoint: Line
    memory: Line


class DetailLevel(Struct, frozen=True, kw_only=True):
    """The most rows of each part. `columns`: at most so many rows of a folded part are table rows, the
    others are named in a list, `named` of them at most. `ledgers`: cases whose time ledger is shown.
    `name` and `error` are characters."""

    links: bool
    rows: int
    quotes: int
    columns: int
    named: int
    ledgers: int
    name: int
    error: int


def row_cells(report: Report, row: CaseReport, *, public_url: str, detail: DetailLevel) -> RowCells:
    """The six cells of `row`."""
    return RowCells(
        case=case_cell(report, row, public_url=public_url, detail=detail),
        verdict=verdict_cell(report, row),
        remarks=tuple(remark for remark in (_acknowledged_by(row), _carried_over(report, row)) if remark),
        steady=line(steady_cell(row, detail), _bound_suffix(row)),
        loss=loss_cell(row.comparison),
        checkpoint=_checkpoint_cell(row.comparison),
        memory=memory_cell(row.comparison),
    )


def case_label(report: Report, key: CaseKey) -> str:
    """A case by its name, with the variant unless it is the usual one and the case's only one: plain text."""
    usual = report.variants[0] if report.variants else key.variant
    if key.variant == usual and key.case not in _cases_in_several_variants(report):
        return key.case
    return f"{key.case} · {key.variant}" if key.variant else key.case


def _cases_in_several_variants(report: Report) -> frozenset[str]:
    return _repeated_cases(tuple((row.case, row.variant) for row in report.rows))


@lru_cache(maxsize=16)
def _repeated_cases(rows: tuple[tuple[str, str], ...]) -> frozenset[str]:
    variants = Counter(case for case, _ in dict.fromkeys(rows))
    return frozenset(case for case, count in variants.items() if count > 1)


def case_name(report: Report, key: CaseKey, limit: int) -> Line:
    """The label of a case, at most so long."""
    return foreign(case_label(report, key), limit)


def case_cell(report: Report, row: CaseReport, *, public_url: str, detail: DetailLevel) -> Line:
    """The case, linked to its row on the page."""
    name = case_name(report, row.key, detail.name)
    if not detail.links:
        return name
    return line(link(absolute(public_url, case_path(report, row.key)), name))


def verdict_cell(report: Report, row: CaseReport) -> Line:
    """`🔴 slower`, or how far a running case is."""
    words = row_words(row, report.base_branch)
    if row.progress and row.under_way.any:
        return line(f"{words.symbol} {words.word}: ", progress_words(row.progress, "waiting"))
    if row.progress and row.state in {RowState.RUNNING, RowState.QUEUED, RowState.RETRYING}:
        return line(f"{words.symbol} ", progress_words(row.progress, words.word))
    return line(f"{words.symbol} {words.word}")


def progress_words(progress: CaseProgress, state: str) -> Line:
    """`2 of 6 runs, step 6 of 10`; the word of the state where no more is known."""
    words = foreign(progress.words, MAX_PROGRESS_LENGTH)
    if not words and progress.step is not None and progress.steps:
        words = line(f"step {progress.step} of {progress.steps}")
    runs = f"{progress.runs_done} of {progress.runs_wanted} runs" if progress.runs_wanted > 1 else ""
    if not words:
        return line(runs or state)
    state_before = "" if progress.step is not None else f"{'retrying' if progress.retrying else state}, "
    return line(state_before, words, f" ({runs})" if runs else "")


def _acknowledged_by(row: CaseReport) -> Line:
    """Who acknowledged the verdict and why; empty where nobody did."""
    one = row.acknowledged
    if one is None:
        return ()
    return line("👁 accepted by ", foreign(one.by, 40), ": ", foreign(one.reason, MAX_REASON_LENGTH))


def carried_words(report: Report, row: CaseReport) -> Line:
    """``carried from `abc1234`, measured 2026-04-21 10:17 UTC``; empty where every run is of the head itself.

    A date and no age, so that the comment need not be written again as time passes.
    """
    runs = carried_runs(report, row)
    if not runs:
        return ()
    part = "" if len(runs) == len(row.head_runs) else f"{len(runs)} of {counted(len(row.head_runs), 'run')} "
    newest = runs[0]
    measured = f", measured {moment_words(newest.started)}" if newest.started is not None else ""
    return line(f"{part}carried from ", code((newest.sha or "")[:7]), measured)


def _carried_over(report: Report, row: CaseReport) -> Line:
    words = carried_words(report, row)
    return line("↩️ ", words) if words else ()


def steady_cell(row: CaseReport, detail: DetailLevel) -> Line:
    """Steady step time of both sides with change, threshold and number of runs, or why there is none."""
    comparison = row.comparison
    if comparison is None:
        return foreign(row.note, detail.error) if row.note else line(NO_VALUE)
    if row.state is RowState.NO_BASELINE:
        return line(_head_steady(comparison))
    if row.state in {RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH} and (
        end := unsuccessful_outcome(comparison.head)
    ):
        return line(outcome_words(end))
    timing = comparison.timing
    reasons = _caveat_reasons(comparison, detail)
    if timing.change is None:
        return reasons or foreign(timing.reason, detail.error) or line(NO_VALUE)
    if timing.verdict is TimingVerdict.WITHHELD:
        return line(_timing_figures(timing), ", not judged", ": " if reasons else "", reasons)
    return line(_timing_figures(timing), loop_words(timing), _more_runs_words(row, timing))


def loss_cell(comparison: Comparison | None) -> Line:
    """The loss verdict, in bold where the curve is outside its tolerance."""
    words = loss_words(comparison)
    if comparison is None or words is None or comparison.verdict is Verdict.NOT_COMPARABLE:
        return line(NO_VALUE)
    judged = comparison.verdict is not Verdict.NOT_LIKE_FOR_LIKE
    return line(bold(words) if judged and loss_changed(comparison) else words)


def _checkpoint_cell(comparison: Comparison | None) -> Line:
    """The wait for the last checkpoint on both sides, or the blocking of a save; information only."""
    if comparison is None or unsuccessful_outcome(comparison.head) or _is_incomparable(comparison):
        return line(NO_VALUE)
    base, head = _checkpoint_seconds(comparison.base), _checkpoint_seconds(comparison.head)
    if base is None or head is None:
        return line(NO_VALUE if head is None else duration_words(head))
    first, second = duration_words(base), duration_words(head)
    return line(f"{second}, same" if first == second else f"{first} → {second}")


def memory_cell(comparison: Comparison | None) -> Line:
    """The first exact memory figure that moved; `same` where none did."""
    if comparison is None or _is_incomparable(comparison):
        return line(NO_VALUE)
    rows = [row for row in comparison.rows if row.judged and is_memory_metric(row)]
    rows = [row for row in rows if row.base is not None and row.head is not None]
    moved = next((row for row in rows if row.direction is not Direction.SAME), None)
    return _memory_change(moved) if moved else line("same" if rows else NO_VALUE)


def caveat_words(caveat: Caveat, limit: int = 60) -> Line:
    """`JAX 0.9.2 → 0.8.1`, or the caveat's own sentence."""
    if caveat.base is None and caveat.head is None:
        return foreign(caveat.text, 3 * limit) or field_name(caveat.field)
    base, head = (foreign(side, limit) if side else line("not stated") for side in (caveat.base, caveat.head))
    return line(field_name(caveat.field), " ", base, " → ", head)


def field_name(field: str) -> Line:
    """The title of a caveat's field."""
    title = CAVEAT_TITLES.get(field)
    return line(title) if title else foreign(field.replace("_", " "))


def _timing_figures(timing: TimingDecision) -> Line:
    """`0.229 → 0.243 **+6.1 %** (±1.6 %, 3 v 6)`: runs of head against runs of base."""
    pair = ""
    if timing.base_seconds is not None and timing.head_seconds is not None:
        pair = f"{significant_pair(timing.base_seconds, timing.head_seconds)} "
    band = f"±{unsigned_percent(timing.threshold)}, " if timing.threshold is not None else ""
    return line(pair, change_words(timing), f" ({band}{run_counts(timing.n, timing.main_runs)})")


def change_words(timing: TimingDecision) -> Line:
    """`+6.1 %`, in bold where it is judged."""
    judged = timing.verdict in {TimingVerdict.SLOWER, TimingVerdict.FASTER}
    judged = judged and timing.measure is TimingMeasure.STEADY
    change = signed_percent(timing.change)
    return line(bold(change) if judged else change)


def loop_words(timing: TimingDecision) -> Line:
    """`, loop +12 % in stalls` where the loop time decided; in bold where it is judged."""
    if timing.measure is not TimingMeasure.LOOP or timing.loop is None:
        return ()
    change = signed_percent(timing.loop.change)
    judged = timing.verdict is TimingVerdict.SLOWER
    return line(", loop ", bold(change) if judged else change, f" in {loop_phase_words(timing)}")


def _more_runs_words(row: CaseReport, timing: TimingDecision) -> str:
    """How many runs would settle it, while its step time decides the row."""
    if row.state is RowState.CONFIRMING:
        asked = wanted_runs_words(timing.confirm_runs)
        return f": {asked}" if asked else ""
    if row.state is not RowState.INCONCLUSIVE or not timing.more_runs:
        return ""
    return f": {counted(timing.more_runs, 'more run')} a side"


def _caveat_reasons(comparison: Comparison, detail: DetailLevel) -> Line:
    caveats = deciding_caveats(comparison)
    limit = min(detail.name, 40)
    return listed_lines([caveat_words(caveat, limit) for caveat in caveats], CAVEATS_IN_A_CELL)


def _bound_suffix(row: CaseReport) -> str:
    """The change that *same* rules out, behind the threshold from which a change counts."""
    bound = change_bound_percent(row.comparison)
    if bound is None or row.state is not RowState.SAME:
        return ""
    return f": no change > {percent_ceiling(bound)}"


def _is_incomparable(comparison: Comparison) -> bool:
    """Whether the sides cannot be compared at all; one side alone may still be shown."""
    return comparison.verdict is Verdict.NOT_COMPARABLE and bool(comparison.base)


def _checkpoint_seconds(runs: tuple[MeasuredRun, ...]) -> float | None:
    final = [run.measurements.final_checkpoint_wait_seconds for run in runs]
    blocking = [run.measurements.checkpoint_blocking_seconds for run in runs]
    for figures in (final, blocking):
        if known := [figure for figure in figures if figure is not None]:
            return median(known)
    return None


def _memory_change(row: MetricRow) -> Line:
    metric = METRICS_BY_KEY.get(row.key)
    unit = f" {metric.unit}" if metric and metric.unit else ""
    pair = line(metric_side(row.key, row.base), " → ", metric_side(row.key, row.head), unit)
    match row.direction:
        case Direction.WORSE:
            return line(bold("more:"), " ", pair)
        case Direction.BETTER:
            return line("less: ", pair)
        case _:
            return pair


def metric_side(key: str, value: float | str | None) -> Line:
    """One side of a metric with the decimals of its row in the table of metrics."""
    if isinstance(value, str):
        return foreign(value, 60)
    if value is None:
        return line(NO_VALUE)
    metric = METRICS_BY_KEY.get(key)
    return line(f"{value:.{metric.digits}f}" if metric else significant(value, 4))


def rerun_command(report: Report, row: CaseReport) -> Line:
    """The command that measures this row again."""
    variant = f" {row.variant}" if case_label(report, row.key) != row.case else ""
    return code(f"/benchmark rerun {row.case}{variant}", 200)


def _head_steady(comparison: Comparison) -> str:
    """The head's steady step time alone, where there is nothing to compare it with."""
    known = [run.measurements.steady.seconds for run in comparison.head if run.measurements.steady.seconds]
    return f"{significant(median(known))} s" if known else NO_VALUE
