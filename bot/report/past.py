"""How old what is known of the base branch is, and which of its runs the noise was measured from.

In:  a row's `Past`, a case's runs. Out: plain text; ages count back from the head's newest run, so that
waiting changes none.
"""

from bot.report.figures import age, change, counted
from bot.report.material import Request, Sides
from bot.report.model import CaseReport, Report
from bot.verdict.history import Shift

DAY = 86_400.0


def past_words(row: CaseReport, branch: str) -> str:
    """`Noise from 20 runs on main, the oldest 9 days before the head's.`; empty where that is not so."""
    if row.past is None or not row.past.runs:
        return ""
    older = _older(row)
    words = f"Noise from {counted(row.past.runs, 'run')} on {branch}"
    words += f", the oldest {_days(older)} before the head's" if older is not None else ""
    return f"{words}{_follows(row.past.follows)}."


def past_line(report: Report, branch: str) -> str | None:
    """The same for all cases together; None where no noise was measured from the base branch."""
    rows = [row for row in report.rows if row.past and row.past.runs]
    if not rows:
        return None
    numbers = sorted(row.past.runs for row in rows if row.past)
    least, most = numbers[0], numbers[-1]
    runs = counted(most, "run") if least == most else f"{least} to {most} runs a case"
    oldest = max((older for row in rows if (older := _older(row)) is not None), default=None)
    when = f", the oldest {_days(oldest)} before the head's" if oldest is not None else ""
    cut = sum(row.past.follows is not None for row in rows if row.past)
    after = f"; in {counted(cut, 'case')} only those since the last change of its level" if cut else ""
    return f"Noise from {runs} on {branch} on the same devices, mesh and versions{when}{after}."


def old_baseline(sides: Sides, request: Request) -> str:
    """`main has had no good run of this case for 9 days`; empty where that is too short to doubt anything.

    Counted back from the head's newest run, or from now where it has none."""
    if sides.runs.last_good is None:
        return ""
    started = [run.started for run in sides.runs.head.runs if run.started is not None]
    without = max(started, default=request.made_at) - sides.runs.last_good
    if without < request.old_after_seconds:
        return ""
    return f"{request.pull.base_branch} has had no good run of this case for {_days(without)}"


def _older(row: CaseReport) -> float | None:
    """Seconds from the start of the oldest run used to that of the head's newest."""
    started = [run.started for run in row.head_runs if run.started is not None]
    if row.past is None or row.past.oldest_started is None or not started:
        return None
    older = max(started) - row.past.oldest_started
    return older if older >= 0 else None


def _days(older: float) -> str:
    return counted(round(older / DAY), "day") if older >= 2 * DAY else age(older) or ""


def _follows(shift: Shift | None) -> str:
    if shift is None:
        return ""
    at = f" at {shift.at[:7]}" if shift.at else ""
    return f", all since its level changed by {change(shift.change)}{at}"
