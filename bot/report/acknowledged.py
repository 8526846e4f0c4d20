"""Verdicts that somebody accepted: how far the acceptance reaches.

In:  rows, and acknowledgements of the pull request.
Out: the grounds on which a row can be accepted; the rows with the acknowledgement that holds for each. Pure.

An acknowledgement turns what follows from a verdict (severity, conclusion, what there is to do), never the
verdict. It holds for every head whose row says the same for the same reason, and ends where it gets worse.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.report.judged import worse_memory
from bot.report.model import Acknowledgement, CaseReport, Grounds, RowState
from bot.report.quoting import LONGEST_REASON, said
from bot.report.row_words import remarkable, row_words
from bot.report.states import STATES
from bot.verdict.judgement import Comparison

MEMORY_SLACK = 0.005
"""Relative: what `Memory %` must change by to be judged at all (VERDICT.md, exact metrics)."""


def grounds(row: CaseReport) -> Grounds | None:
    """What accepting this row accepts; None where there is nothing to accept."""
    news = remarkable(row)
    asks = STATES[row.state].done and STATES[row.state].person and row.state is not RowState.NO_BASELINE
    if not (asks or news):
        return None
    comparison = row.comparison
    return Grounds(
        word=row_words(row, "main").one,
        change=comparison.timing.change if comparison else None,
        band=comparison.timing.band if comparison else None,
        fingerprint=row.failure.fingerprint if row.failure else "",
        loss=_loss(comparison),
        memory=_memory(comparison),
    )


def acknowledged(
    rows: Iterable[CaseReport], acknowledgements: Sequence[Acknowledgement]
) -> tuple[CaseReport, ...]:
    """The rows, each with the newest acknowledgement that holds for it."""
    newest = {(one.case, one.variant): one for one in sorted(acknowledgements, key=lambda one: one.made)}
    return tuple(_with(row, newest.get((row.case, row.variant))) for row in rows)


def holds(acknowledgement: Acknowledgement, row: CaseReport) -> bool:
    """Whether the row still says what was accepted: in the same words, and no worse in any figure."""
    now, then = grounds(row), acknowledgement.grounds
    if now is None or acknowledgement.verdict is not row.state:
        return False
    same = (now.word, now.fingerprint, now.loss) == (then.word, then.fingerprint, then.loss)
    return same and not _slower(row, then, now) and now.memory <= then.memory * (1 + MEMORY_SLACK)


def _with(row: CaseReport, acknowledgement: Acknowledgement | None) -> CaseReport:
    if acknowledgement is None or not holds(acknowledgement, row):
        return row
    return replace(row, acknowledged=acknowledgement)


def _slower(row: CaseReport, then: Grounds, now: Grounds) -> bool:
    """Whether a slower case got slower still, by more than the band that was told with the first figure."""
    if row.state is not RowState.SLOWER:
        return False
    if now.change is None or then.change is None:
        return True
    return now.change > then.change + (then.band or 0.0)


def _loss(comparison: Comparison | None) -> str:
    return str(comparison.loss.verdict) if comparison else ""


def _memory(comparison: Comparison | None) -> float:
    """The largest growth of memory that is judged worse, as head over base; 1 where none is."""
    growths = [
        row.head / row.base
        for row in worse_memory(comparison)
        if isinstance(row.head, float | int) and isinstance(row.base, float | int) and row.base
    ]
    return max(growths, default=1.0)


def accepted_line(row: CaseReport) -> str:
    """Who accepted the verdict and why, on a line of its own below it; nothing where nobody did."""
    one = row.acknowledged
    return f"<br>👁 accepted by {said(one.by, 40)}: {said(one.reason, LONGEST_REASON)}" if one else ""
