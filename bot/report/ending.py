"""A report on which nothing will follow: its head was pushed over, or its pull request is closed.

In:  the last `Report` of that head. Out: the same with nothing left pending, or None where nothing was.
"""

from dataclasses import replace

from bot.report.model import CaseReport, Report, RowState
from bot.report.states import PENDING

CLOSED = "the pull request was closed before its runs had ended"


def superseded(report: Report, head_sha: str) -> Report | None:
    """The report of a head that another head took the place of."""
    return _ended(report, RowState.SUPERSEDED, f"superseded by {head_sha[:7]} before its runs had ended")


def closed(report: Report) -> Report | None:
    """The report of a pull request that was closed or merged."""
    return _ended(report, RowState.CANCELLED, CLOSED)


def is_closed(row: CaseReport) -> bool:
    """Whether the row was cancelled because its pull request was closed."""
    return row.state is RowState.CANCELLED and row.note.startswith(CLOSED)


def _ended(report: Report, state: RowState, note: str) -> Report | None:
    if not any(row.state in PENDING for row in report.rows):
        return None
    rows = tuple(_end(row, state, note) if row.state in PENDING else row for row in report.rows)
    return replace(report, rows=rows, plan=None)


def _end(row: CaseReport, state: RowState, note: str) -> CaseReport:
    notes = "; ".join(part for part in (note, row.note) if part)
    return replace(row, state=state, note=notes, progress=None)
