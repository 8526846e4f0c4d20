"""What a person must read about one row: the error, or why it was not judged, and the next step.

In:  a `CaseReport` of a `Report`.
Out: Markdown blockquotes, one per row, with the command that measures the row again and its full log.
"""

from bot.logs.facts import Failure
from bot.report.cells import caveat_words, label, rerun
from bot.report.detail import Detail
from bot.report.judged import bad_end, ended, next_step, weighty
from bot.report.kinship import news_words
from bot.report.links import absolute, log_path
from bot.report.model import CaseReport, Report, RowState
from bot.report.quoting import quoted, said
from bot.report.row_words import remarkable, row_words, some_failed
from bot.verdict.judgement import CaveatKind, Comparison

CAVEATS = 6


def quote(report: Report, row: CaseReport, *, public_url: str, detail: Detail) -> str | None:
    """The quote of `row`; None where its table row says everything."""
    text = _text(report, row, detail)
    if text is None:
        return None
    name = said(label(report, row.case, row.variant), detail.name)
    links = [log_link(row, public_url), rerun(report, row)] if detail.links else [rerun(report, row)]
    return f"> {row_words(row, report.base_branch).symbol} **{name}** " + " · ".join(
        [text, *(link for link in links if link)]
    )


def log_link(row: CaseReport, public_url: str, words: str = "full log") -> str:
    """A link to the log of the head's run that failed, else to its newest; empty where there is none."""
    runs = [run for run in row.head_runs if run.log_uri]
    ends = [run.log.outcome for run in row.comparison.head] if row.comparison else []
    if row.comparison and len(ends) == len(row.head_runs) and (end := bad_end(row.comparison.head)):
        told = row.head_runs[next(place for place, one in enumerate(ends) if one is end)]
        runs = [told] if told.log_uri else runs
    return f"[{words}]({absolute(public_url, log_path(runs[-1].id))})" if runs else ""


def _text(report: Report, row: CaseReport, detail: Detail) -> str | None:
    """What is said of the row's state, then where its code may not be what it claims to be."""
    comparison = row.comparison
    if comparison is None:
        return None
    origin = [said(one.text, detail.error) for one in comparison.caveats if one.kind is CaveatKind.PROVENANCE]
    parts = [_of_state(report, row, comparison, detail), *origin]
    return " · ".join(part for part in parts if part) or None


def _of_state(report: Report, row: CaseReport, comparison: Comparison, detail: Detail) -> str:
    if failed := some_failed(row):
        return f"{failed}: {_failed(report, row, comparison, detail)}"
    if _tells_of_a_failure(row, comparison):
        return _failed(report, row, comparison, detail)
    match row.state:
        case RowState.DIVERGED | RowState.NOT_COMPARABLE | RowState.NOT_LIKE_FOR_LIKE:
            return _why(comparison, detail)
        case RowState.INCONCLUSIVE if comparison.timing.change is None or comparison.timing.band is None:
            return _why(comparison, detail)
        case _:
            return ""


def _tells_of_a_failure(row: CaseReport, comparison: Comparison) -> bool:
    match row.state:
        case RowState.NEW_FAILURE:
            return True
        case RowState.FAILS_ON_BOTH:
            return remarkable(row)
        case RowState.DIVERGED:
            return bad_end(comparison.head) is not None
        case _:
            return False


def _failed(report: Report, row: CaseReport, comparison: Comparison, detail: Detail) -> str:
    end = bad_end(comparison.head)
    if end is None:
        return said(comparison.reason, detail.error)
    parts = [_error(end.failure, detail) if end.failure and end.failure.error else ended(end)]
    if row.failure is not None:
        parts.append(news_words(row, report.base_branch))
    elif comparison.base and not bad_end(comparison.base):
        parts.append(f"succeeds on {said(report.base_branch, 40)}")
    if end.failure:
        parts.append(next_step(end.failure.kind).removesuffix("."))
    return " · ".join(part for part in parts if part)


def _error(failure: Failure, detail: Detail) -> str:
    where = f" at {quoted(failure.where, 120)}" if failure.where else ""
    return f"{quoted(failure.error, detail.error)}{where}"


def _why(comparison: Comparison, detail: Detail) -> str:
    """The verdict's own sentence; the caveats that decided it where it has none."""
    if comparison.reason:
        return said(comparison.reason, 2 * detail.error)
    return "; ".join(caveat_words(caveat) for caveat in weighty(comparison)[:CAVEATS])
