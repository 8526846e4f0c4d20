"""Results that were measured on another commit with the very same files: always said, and dated.

In:  a row of a `Report`. Out: which runs were carried over, and the words for it as Markdown.
"""

from bot.report.figures import counted, day
from bot.report.model import CaseReport, Report
from bot.runs.baseline import same_commit
from bot.runs.records import RunRecord


def carried_runs(report: Report, row: CaseReport) -> tuple[RunRecord, ...]:
    """The head's runs that measured another commit with the head's files, newest first."""
    return tuple(run for run in row.head_runs if run.sha and not same_commit(run.sha, report.head_sha))


def carried_words(report: Report, row: CaseReport) -> str:
    """``carried from `abc1234`, measured 2026-04-21 10:17 UTC``; empty where every run is of the head itself.

    A date and no age: the comment is not written anew as time passes.
    """
    runs = carried_runs(report, row)
    if not runs:
        return ""
    part = "" if len(runs) == len(row.head_runs) else f"{len(runs)} of {counted(len(row.head_runs), 'run')} "
    newest = runs[0]
    measured = f", measured {day(newest.started)}" if newest.started is not None else ""
    return f"{part}carried from `{(newest.sha or '')[:7]}`{measured}"


def carried_line(report: Report, row: CaseReport) -> str:
    """The words on a line of their own below a verdict."""
    words = carried_words(report, row)
    return f"<br>↩️ {words}" if words else ""
