"""The verdict in one line: what comment, check, page and notification say first.

In:  a `Report`.
Out: `headline`, plain text that begins with its symbol; `severity`, by which a report is worse than another;
     `conclusion_is_green`.

It never contradicts the rows: its symbol is that of the worst row, and it is green only where every row is.
"""

from collections import Counter

from bot.report.figures import counted, percent_up
from bot.report.judged import bound_percent
from bot.report.model import CaseReport, Report, RowState
from bot.report.row_words import remarkable, row_words
from bot.report.states import GREEN, PENDING, STATES, WARNING, Tier
from bot.verdict.judgement import LossVerdict

RED = frozenset({RowState.SLOWER, RowState.DIVERGED})


def headline(report: Report) -> str:
    """`🔴 MaxView: 1 slower · 9 same (12 of 14 cases done)`."""
    return f"{symbol(report)} MaxView: {_words(report)}"


def severity(report: Report) -> int:
    """How bad the news is, larger is worse. What is still awaited, or was acknowledged, counts as no news."""
    rows = [row for row in report.rows if row.acknowledged is None]
    tiers = [STATES[row.state].tier for row in rows]
    quiet = {*GREEN, RowState.FAILS_ON_BOTH}
    tiers += [Tier.UNFAIR for row in rows if remarkable(row) and row.state in quiet]
    tiers += [Tier.UNFAIR] if report.problem else []
    return int(max(tiers, default=Tier.QUIET))


def is_green(report: Report) -> bool:
    """Whether every case has been measured and none is worse. A report of no case is not green."""
    clean = all(row.state in GREEN and not remarkable(row) for row in report.rows)
    return bool(report.rows) and clean and not report.problem


def is_settled(report: Report) -> bool:
    """Whether nothing more is awaited for this head commit."""
    return not any(row.state in PENDING for row in report.rows)


def symbol(report: Report) -> str:
    """The worst row's symbol; red as soon as one case is slower or diverged."""
    states = {row.state for row in report.rows}
    if states & RED:
        return STATES[RowState.SLOWER].symbol
    if RowState.NEW_FAILURE in states:
        return STATES[RowState.NEW_FAILURE].symbol
    if report.problem or not report.rows:
        return WARNING if report.problem else "⚪"
    worst = max(states, key=lambda state: STATES[state].rank)
    if STATES[worst].tier < Tier.UNFAIR and any(remarkable(row) for row in report.rows):
        return WARNING
    return STATES[worst].symbol


def _words(report: Report) -> str:
    if report.problem and not report.rows:
        return "no verdict"
    if not report.rows:
        return _nothing(report)
    return _of_one_kind(report, {row.state for row in report.rows}) or _mixed(report)


def _nothing(report: Report) -> str:
    if not report.skipped:
        return "nothing measured yet"
    return "nothing asked for" if report.launches else "nothing to measure here"


def _of_one_kind(report: Report, states: set[RowState]) -> str | None:
    cases = counted(len(report.rows), "case")
    if states == {RowState.SAME} and is_green(report):
        return _all_same(report)
    if states == {RowState.NO_RUN}:
        return f"no verdict yet, no run of {report.head_sha[:7]} found for {cases}"
    if states == {RowState.NO_BASELINE}:
        return f"no verdict, nothing to compare {cases} with"
    if states <= PENDING:
        return f"no verdict yet, {_counts(report)} (0 of {cases} done)"
    return None


def _mixed(report: Report) -> str:
    done = sum(STATES[row.state].done for row in report.rows)
    return f"{_counts(report)} ({done} of {counted(len(report.rows), 'case')} done)"


def _counts(report: Report) -> str:
    """How many rows say which words, worst first; every row is counted once."""
    number = Counter((row_words(row, report.base_branch), _accepted(row)) for row in report.rows)
    spoken: dict[tuple[str, str], tuple[int, int]] = {}
    for (words, accepted), count in number.items():
        one, many = words.one + accepted, words.many + accepted
        rank, before = spoken.get((one, many), (words.rank, 0))
        spoken[one, many] = (max(rank, words.rank), before + count)
    ordered = sorted(spoken.items(), key=lambda item: -item[1][0])
    return " · ".join(f"{count} {one if count == 1 else many}" for (one, many), (_, count) in ordered)


def _accepted(row: CaseReport) -> str:
    return ", acknowledged" if row.acknowledged else ""


def _all_same(report: Report) -> str:
    bounds = [bound for row in report.rows if (bound := bound_percent(row.comparison)) is not None]
    cases = counted(len(report.rows), "case")
    if len(bounds) < len(report.rows):
        return f"no significant change in {cases}, {_curves(report)}"
    return f"no change > {percent_up(max(bounds))} in {cases}, {_curves(report)}"


def _curves(report: Report) -> str:
    verdicts = {row.comparison.loss.verdict for row in report.rows if row.comparison}
    if verdicts == {LossVerdict.IDENTICAL}:
        return "loss curves identical"
    if LossVerdict.NOT_COMPARABLE in verdicts or not verdicts:
        return "loss curves not compared everywhere"
    return "loss curves within tolerance"
