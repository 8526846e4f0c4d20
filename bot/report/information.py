"""The folded parts that nobody judges: where the time went, and the figures of the old benchmark page.

In:  a `Report`. Out: `Fold`s; None where the logs state none of it.
"""

from collections.abc import Sequence

from bot.report.cells import label, metric_side
from bot.report.detail import Detail
from bot.report.figures import NONE, counted, seconds
from bot.report.folds import Fold, Table, open_rows
from bot.report.model import CaseReport, Report
from bot.report.quoting import said
from bot.report.struck import spoiled_words
from bot.verdict.judgement import Comparison, MeasuredRun, Row, Verdict

PAGE_FIGURES = (
    ("Avg s/step", "avg_step_seconds"),
    ("TFLOP/s", "last_tflops_per_device"),
    ("Tok/s", "last_tokens_per_device"),
    ("Final loss", "final_loss"),
    ("Memory %", "memory_percent"),
)
_NO_DELTA = frozenset({Verdict.NOT_COMPARABLE, Verdict.NEW_FAILURE, Verdict.FAILS_ON_BOTH, Verdict.FIXED})
PAGE_NOTE = (
    "Avg s/step is the mean of the printed seconds over all steps but the first, stalls included; "
    "TFLOP/s, Tok/s and loss are those of the last step."
)
LEDGER_NOTE = "The first run of each side; the phases add up to the run's wall time, what is left is shown."


def ledger_fold(report: Report, detail: Detail) -> Fold | None:
    """Phase by phase, both sides, for the cases that need a person first."""
    first = open_rows(report)
    placed = {id(row) for row in first}
    rows = [
        row for row in (*first, *(row for row in report.rows if id(row) not in placed)) if _has_ledger(row)
    ]
    shown = rows[: detail.ledgers]
    cells = [line for row in shown if row.comparison for line in _ledger(report, row, row.comparison, detail)]
    if not cells:
        return None
    more = f" {counted(len(rows) - len(shown), 'more case')} on the page." if len(rows) > len(shown) else ""
    columns = ("Case", "Phase", "Base", "Head", "Difference")
    return Fold(
        summary="Where the time went",
        table=Table(columns=columns, align="llrrr", rows=tuple(cells)),
        lines=(LEDGER_NOTE + more,),
    )


def page_fold(report: Report, detail: Detail) -> Fold | None:
    """The figures people know, reproduced: information, never coloured."""
    rows = [row for row in report.rows if row.comparison and row.comparison.rows][: detail.columns]
    cells = [_page_cells(report, row, row.comparison, detail) for row in rows if row.comparison]
    if not cells:
        return None
    return Fold(
        summary="The page's own figures (information, not judged)",
        table=Table(
            columns=("Case", *(title for title, _ in PAGE_FIGURES)), align="lrrrrr", rows=tuple(cells)
        ),
        lines=(PAGE_NOTE, *_spoiled(rows)),
    )


def _spoiled(rows: Sequence[CaseReport]) -> tuple[str, ...]:
    """Say that these figures hold values which the others leave out."""
    compared = [row.comparison for row in rows if row.comparison]
    words = spoiled_words(run for one in compared for run in (*one.base, *one.head))
    return (words,) if words else ()


def phases(run: MeasuredRun | None) -> dict[str, float]:
    """Seconds by phase, in the ledger's order; phases of one name are added up."""
    totals: dict[str, float] = {}
    for phase in run.measurements.ledger if run else ():
        totals[phase.name] = totals.get(phase.name, 0.0) + phase.seconds
    return totals


def ledger_lines(base: MeasuredRun | None, head: MeasuredRun | None) -> list[tuple[str, str, str, str]]:
    """Phase, base, head and difference in words; the phases of both sides in their order."""
    first, second = phases(base), phases(head)
    lines = [
        (
            name,
            _stretch(first.get(name)),
            _stretch(second.get(name)),
            _difference(first.get(name), second.get(name)),
        )
        for name in dict.fromkeys((*first, *second))
        if round(abs(first.get(name, 0.0)), 2) or round(abs(second.get(name, 0.0)), 2)
    ]
    if not lines:
        return []
    whole = (sum(first.values()) if first else None, sum(second.values()) if second else None)
    return [*lines, ("whole run", _stretch(whole[0]), _stretch(whole[1]), _difference(*whole))]


def _has_ledger(row: CaseReport) -> bool:
    """Whether there is a ledger, and the two sides are at all comparable."""
    comparison = row.comparison
    if comparison is None or comparison.verdict in _NO_DELTA:
        return False
    return any(phases(run) for run in (*comparison.head, *comparison.base))


def _ledger(report: Report, row: CaseReport, comparison: Comparison, detail: Detail) -> list[tuple[str, ...]]:
    base = comparison.base[0] if comparison.base else None
    head = comparison.head[0] if comparison.head else None
    lines = ledger_lines(base, head)
    name = said(label(report, row.case, row.variant), detail.name)
    return [(name if place == 0 else "", said(phase), *rest) for place, (phase, *rest) in enumerate(lines)]


def _stretch(value: float | None) -> str:
    return NONE if value is None else seconds(value)


def _difference(base: float | None, head: float | None) -> str:
    if base is None or head is None:
        return NONE
    difference = head - base
    return f"{'+' if difference > 0 else '-'}{seconds(abs(difference))}" if round(difference, 3) else "0 s"


def _page_cells(report: Report, row: CaseReport, comparison: Comparison, detail: Detail) -> tuple[str, ...]:
    figures = {one.key: one for one in comparison.rows}
    cells = (_page_cell(figures.get(key)) for _, key in PAGE_FIGURES)
    return (said(label(report, row.case, row.variant), detail.name), *cells)


def _page_cell(row: Row | None) -> str:
    if row is None or (row.base is None and row.head is None):
        return NONE
    base, head = metric_side(row.key, row.base), metric_side(row.key, row.head)
    return head if base == head else f"{base} → {head}"
