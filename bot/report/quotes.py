"""What a person must read about one row: the error, or why it was not judged, and the next step.

In:  a `CaseReport` of a `Report`.
Out: Markdown blockquotes, one per row, with the command that measures the row again and its full log.
"""

from bot.logs.facts import Failure
from bot.report.cells import caveat_words, label, rerun
from bot.report.detail import Detail
from bot.report.judged import bad_end, ended, weighty
from bot.report.links import absolute, log_path
from bot.report.model import CaseReport, Report, RowState
from bot.report.quoting import quoted, said
from bot.report.states import STATES
from bot.verdict.judgement import Comparison

CAVEATS = 6


def quote(report: Report, row: CaseReport, *, public_url: str, detail: Detail) -> str | None:
    """The quote of `row`; None where its table row says everything."""
    text = _text(report, row, detail)
    if text is None:
        return None
    name = said(label(report, row.case, row.variant), detail.name)
    links = [log_link(row, public_url), rerun(report, row)] if detail.links else [rerun(report, row)]
    return f"> {STATES[row.state].symbol} **{name}** " + " · ".join([text, *(link for link in links if link)])


def log_link(row: CaseReport, public_url: str, words: str = "full log") -> str:
    """A link to the newest log of the head; empty where there is none."""
    runs = [run for run in row.head_runs if run.log_uri]
    return f"[{words}]({absolute(public_url, log_path(runs[-1].id))})" if runs else ""


def _text(report: Report, row: CaseReport, detail: Detail) -> str | None:
    comparison = row.comparison
    if comparison is None:
        return None
    match row.state:
        case RowState.NEW_FAILURE:
            return _failed(report, comparison, detail)
        case RowState.DIVERGED:
            return (
                _failed(report, comparison, detail) if bad_end(comparison.head) else _why(comparison, detail)
            )
        case RowState.NOT_COMPARABLE | RowState.NOT_LIKE_FOR_LIKE:
            return _why(comparison, detail)
        case RowState.INCONCLUSIVE if comparison.timing.change is not None and comparison.timing.band is None:
            return said(comparison.reason or comparison.timing.reason, detail.error) or None
        case _:
            return None


def _failed(report: Report, comparison: Comparison, detail: Detail) -> str:
    end = bad_end(comparison.head)
    if end is None:
        return said(comparison.reason, detail.error)
    parts = [_error(end.failure, detail) if end.failure else ended(end)]
    if comparison.base and not bad_end(comparison.base):
        parts.append(f"succeeds on {said(report.base_branch, 40)}")
    return " · ".join(part for part in parts if part)


def _error(failure: Failure, detail: Detail) -> str:
    where = f" at {quoted(failure.where, 120)}" if failure.where else ""
    return f"{quoted(failure.error, detail.error)}{where}"


def _why(comparison: Comparison, detail: Detail) -> str | None:
    """The caveats that decide, then the sentence of the verdict where it adds something."""
    words = [caveat_words(caveat) for caveat in weighty(comparison)[:CAVEATS]]
    reason = said(comparison.reason, detail.error)
    return "; ".join([*words, *([reason] if reason and reason not in words else [])]) or None
