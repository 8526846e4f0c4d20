"""The folded parts of the comment: what most readers need not open.

In:  a `Report`.
Out: `Fold`s, each a summary that tells the result by itself, and a table (at most 6 columns) or text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.report.cells import RowView, case_cell, label, loss_cell, memory_cell, row_view, steady_cell
from bot.report.detail import Detail
from bot.report.figures import change, counted, listed, percent_up
from bot.report.judged import bound_percent
from bot.report.model import CaseReport, Report, RowState
from bot.report.quoting import said
from bot.report.row_words import remarkable, row_words
from bot.report.states import STATES, word

FEW = 5  # rows of a state in which nothing is known stand in the open table up to this number


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A Markdown table. `align` has one letter per column: l, r or c."""

    columns: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """One `<details>`: `summary` is safe HTML, the rest safe Markdown, shown in this order."""

    summary: str
    table: Table | None = None
    lines: tuple[str, ...] = ()
    names: str = ""
    opened: bool = False


OPEN_COLUMNS = ("Case", "Verdict", "Steady s/step (±band, n)", "Loss curve", "Checkpoint wait", "Memory")
QUIET_COLUMNS = ("Case", "Verdict", "Steady s/step (±band, n)", "No change >", "Loss curve", "Memory")
TIMED = frozenset({RowState.SAME, RowState.FASTER, RowState.SLOWER})
_UNKNOWN = frozenset(
    {RowState.NO_RUN, RowState.NO_BASELINE, RowState.WAITING_FOR_APPROVAL, RowState.CANCELLED}
)


def open_rows(report: Report) -> list[CaseReport]:
    """The rows that need a person, worst first; a crowd of rows of which nothing is known is folded."""
    crowded = {state for state in _UNKNOWN if sum(row.state is state for row in report.rows) > FEW}
    rows = [row for row in report.rows if STATES[row.state].person or remarkable(row)]
    rows = [row for row in rows if row.state not in crowded]
    return sorted(rows, key=lambda row: -row_words(row, report.base_branch).rank)


def rest_fold(report: Report, rows: Sequence[CaseReport], detail: Detail) -> list[Fold]:
    """The rows that need a person and for which the open table has no room, by name and state."""
    if not rows:
        return []
    names = [f"{row_words(row, report.base_branch).symbol} {_named(report, row, detail)}" for row in rows]
    return [
        Fold(
            summary=f"{counted(len(rows), 'more case')} that need a person", names=listed(names, detail.named)
        )
    ]


def quiet_folds(report: Report, detail: Detail, *, public_url: str) -> list[Fold]:
    """One part per state of the rows that stand in no open table, best known news last."""
    shown = {id(row) for row in open_rows(report)}
    states = sorted({row.state for row in report.rows}, key=lambda state: -STATES[state].rank)
    folds = []
    for state in states:
        rows = [row for row in report.rows if row.state is state and id(row) not in shown]
        if rows:
            folds.append(_quiet_fold(report, state, rows, detail, public_url))
    return folds


def open_table(views: Sequence[RowView]) -> Table:
    """The table of the rows that need a person."""
    cells = ((v.case, v.verdict, v.steady, v.loss, v.checkpoint, v.memory) for v in views)
    return Table(columns=OPEN_COLUMNS, align="llllll", rows=tuple(cells))


def views_of(report: Report, rows: Sequence[CaseReport], detail: Detail, public_url: str) -> list[RowView]:
    """The cells of `rows`."""
    return [row_view(report, row, public_url=public_url, detail=detail) for row in rows]


def _quiet_fold(
    report: Report, state: RowState, rows: list[CaseReport], detail: Detail, public_url: str
) -> Fold:
    full, rest = rows[: detail.columns], rows[detail.columns :]
    cells = tuple(_quiet_cells(report, row, detail, public_url) for row in full)
    names = [_named(report, row, detail) for row in rest]
    return Fold(
        summary=f"{STATES[state].symbol} {_summary(report, state, rows)}",
        table=Table(columns=QUIET_COLUMNS, align="llllll", rows=cells) if cells else None,
        names=listed(names, detail.named),
    )


def _quiet_cells(report: Report, row: CaseReport, detail: Detail, public_url: str) -> tuple[str, ...]:
    bound = bound_percent(row.comparison)
    return (
        case_cell(report, row, public_url=public_url, detail=detail),
        word(row.state, report.base_branch),
        steady_cell(row, detail),
        percent_up(bound) if bound is not None and row.state is RowState.SAME else "–",
        loss_cell(row.comparison),
        memory_cell(row.comparison),
    )


def _named(report: Report, row: CaseReport, detail: Detail) -> str:
    name = said(label(report, row.case, row.variant), detail.name)
    timing = row.comparison.timing if row.comparison else None
    judged = timing is not None and timing.change is not None and row.state in TIMED
    return f"{name} {change(timing.change)}" if timing is not None and judged else name


def _summary(report: Report, state: RowState, rows: list[CaseReport]) -> str:
    cases = counted(len(rows), "case")
    if state is not RowState.SAME:
        return f"{cases}: {word(state, report.base_branch)}"
    bounds = [bound for row in rows if (bound := bound_percent(row.comparison)) is not None]
    if len(bounds) < len(rows):
        return f"{cases} same"
    return f"{cases} same (no change &gt; {percent_up(max(bounds))})"
