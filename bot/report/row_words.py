"""A row in words, as headline, table, quote and page say it: its state, and the news that its state hides.

In:  a `CaseReport`, and the name of the base branch.
Out: `RowWords`; whether there is such news. Plain text that needs no escaping. Each row has one word, so that
     a headline that counts words counts every row once.
"""

from dataclasses import dataclass

from bot.report.escape import plain_name
from bot.report.figures import counted
from bot.report.judged import another_failure, failed_runs, loss_changed, sometimes_on_base, worse_memory
from bot.report.model import CaseReport, RowState
from bot.report.states import STATES, WARNING, Tier, word

JUDGED = frozenset(
    {RowState.SAME, RowState.FASTER, RowState.SLOWER, RowState.INCONCLUSIVE, RowState.FIXED}
)  # the states whose figures may be news: elsewhere they are not judged, or said already
RANK_OF_NEWS = 75  # between the red states and the unfair comparisons


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWords:
    """`word` is of the row alone; `one` and `many` stand behind a count of rows. A larger `rank` is worse."""

    symbol: str
    word: str
    one: str
    many: str
    rank: int


def row_words(row: CaseReport, base_branch: str) -> RowWords:
    """`⚠️ same time, more memory`."""
    state = STATES[row.state]
    single, many, alone = _words(row, base_branch)
    news = remarkable(row)
    return RowWords(
        symbol=WARNING if news and state.tier < Tier.UNFAIR else state.symbol,
        word=alone or single,
        one=single,
        many=many,
        rank=max(state.rank, RANK_OF_NEWS) if news else state.rank,
    )


def remarkable(row: CaseReport) -> bool:
    """Whether a row has news that its state does not tell: a failure that is not the base's or only of some
    of its runs, a failed run beside others that passed, a changed loss curve or more memory."""
    if another_failure(row):
        return True
    if row.state is RowState.FAILS_ON_BOTH:
        return sometimes_on_base(row) is not None
    if row.state not in JUDGED:
        return False
    return bool(some_failed(row)) or loss_changed(row.comparison) or bool(worse_memory(row.comparison))


def some_failed(row: CaseReport) -> str:
    """`1 of 3 runs failed`, of the head of a row that is judged all the same; empty where none did."""
    if row.state not in JUDGED or row.comparison is None:
        return ""
    failed, told = failed_runs(row.comparison.head)
    return f"{failed} of {counted(told, 'run')} failed" if failed else ""


def _words(row: CaseReport, base_branch: str) -> tuple[str, str, str]:
    """Behind the count 1, behind a larger one, and alone where that says more."""
    branch = plain_name(base_branch, "the base branch")
    if another_failure(row):
        return f"fails otherwise than {branch}", f"fail otherwise than {branch}", ""
    if row.state is RowState.FAILS_ON_BOTH:
        if some := sometimes_on_base(row):
            alone = f"also on {branch} ({some[0]} of {some[1]} runs)"
            return f"fails as some runs of {branch} do", f"fail as some runs of {branch} do", alone
        return f"fails on {branch} too", f"fail on {branch} too", ""
    single = word(row.state, base_branch)
    if failed := some_failed(row):
        return f"{single}, with a failed run", f"{single}, with failed runs", f"{single}, {failed}"
    if remarkable(row):
        news = "changed loss curve" if loss_changed(row.comparison) else "more memory"
        text = f"{'same time' if row.state is RowState.SAME else single}, {news}"
        return text, text, ""
    return single, "new failures" if row.state is RowState.NEW_FAILURE else single, ""
