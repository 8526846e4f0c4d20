"""The check of one head commit.

In:  a `Report`, the body of its comment, the paths that the pull request changes.
Out: a `CheckText`. Pure; it says what the comment says, and what a merge queue makes of it stands in
     `CONCLUSIONS` alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.intake.check import LONGEST_SUMMARY, Action, CheckText, Conclusion
from bot.intake.life import Wish
from bot.report.check_lines import annotations
from bot.report.escape import shortened
from bot.report.headline import headline, is_green, is_settled
from bot.report.model import CaseReport, Report, RowState
from bot.report.row_words import remarkable
from bot.report.states import GREEN, STATES, Tier

LONGEST_TITLE = 200


class Outcome(StrEnum):
    """What a report amounts to for those who only see the mark beside a commit."""

    GREEN = "green"
    ACKNOWLEDGED = "acknowledged"
    REGRESSION = "regression"
    NOT_JUDGED = "not judged"
    UNDECIDED = "undecided"
    NOTHING = "nothing measured"
    PROBLEM = "problem"
    AWAITED = "awaited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a check ends: by itself, and where the repository asks for a failure on a regression."""

    usual: Conclusion
    gated: Conclusion


def _same(conclusion: Conclusion) -> Ending:
    return Ending(usual=conclusion, gated=conclusion)


CONCLUSIONS: Mapping[Outcome, Ending] = {
    Outcome.GREEN: _same(Conclusion.SUCCESS),
    Outcome.ACKNOWLEDGED: _same(Conclusion.SUCCESS),
    # Some repositories merge only where every check is `success` or `skipped`: red must be asked for.
    Outcome.REGRESSION: Ending(usual=Conclusion.SKIPPED, gated=Conclusion.FAILURE),
    # Missing data is never green, and nobody's fault.
    Outcome.NOT_JUDGED: _same(Conclusion.SKIPPED),
    Outcome.UNDECIDED: _same(Conclusion.SKIPPED),
    Outcome.NOTHING: _same(Conclusion.SKIPPED),
    Outcome.PROBLEM: _same(Conclusion.SKIPPED),
    # Where a check stands that must be concluded before the answer is there.
    Outcome.AWAITED: _same(Conclusion.SKIPPED),
}

_RERUN = Action(label="Re-run", description="Measure every case again", identifier=Wish.RERUN)
_RERUN_FAILED = Action(
    label="Re-run failed", description="Measure again what failed", identifier=Wish.RERUN_FAILED
)
_ACKNOWLEDGE = Action(
    label="Acknowledge", description="Accept what is worse on this commit", identifier=Wish.ACKNOWLEDGE
)
_FAILING = frozenset({RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH, RowState.LOST})


def outcome(report: Report) -> Outcome:
    """The one word for a report, the worst first: a case that got worse outranks a problem beside it."""
    rows = report.rows
    if not is_settled(report) or (rows and all(row.state is RowState.NO_RUN for row in rows)):
        return Outcome.AWAITED
    if any(is_regression(row) for row in rows):
        return Outcome.REGRESSION
    if report.problem:
        return Outcome.PROBLEM
    if not rows:
        return Outcome.NOTHING
    if is_green(report):
        return Outcome.GREEN
    return _of_rest([row for row in rows if row.state not in GREEN or remarkable(row)])


def _of_rest(rows: Sequence[CaseReport]) -> Outcome:
    """Where no row is red and some are not green."""
    rest = [row for row in rows if row.acknowledged is None]
    if all(row.state is RowState.FAILS_ON_BOTH and not remarkable(row) for row in rest):
        return Outcome.ACKNOWLEDGED if len(rest) < len(rows) else Outcome.NOT_JUDGED
    unfair = any(STATES[row.state].tier is Tier.UNFAIR or remarkable(row) for row in rest)
    return Outcome.NOT_JUDGED if unfair else Outcome.UNDECIDED


def is_regression(row: CaseReport) -> bool:
    """Whether a row is red, and nobody accepted it: slower, diverged, or a new failure."""
    return STATES[row.state].tier is Tier.RED and row.acknowledged is None


def conclude(found: Outcome, *, gates: bool) -> Conclusion:
    """How the check ends; `gates` where the repository asked for failures."""
    ending = CONCLUSIONS[found]
    return ending.gated if gates else ending.usual


def check_text(
    report: Report,
    *,
    conclusion: Conclusion | None,
    body: str,
    changed_paths: Sequence[str],
    url: str,
) -> CheckText:
    """The check; `body` is the comment's, so that the two cannot disagree, and `url` the page."""
    return CheckText(
        conclusion=conclusion,
        title=shortened(title(report), LONGEST_TITLE),
        summary=shortened(_without_marks(body), LONGEST_SUMMARY),
        url=url,
        annotations=annotations(report, changed_paths) if conclusion else (),
        actions=actions(report) if conclusion else (),
    )


def title(report: Report) -> str:
    """The headline without the name, which stands beside it already."""
    return headline(report).replace("MaxView: ", "", 1)


def actions(report: Report) -> tuple[Action, ...]:
    """The buttons that would do something; GitHub shows three at most, and only on a finished check. A branch
    by itself has no conversation in which a button could be answered."""
    if report.is_branch:
        return ()
    failing = any(row.state in _FAILING for row in report.rows)
    worse = any(is_regression(row) for row in report.rows)
    offered = [_RERUN] if report.rows else []
    offered += [_RERUN_FAILED] if failing else []
    offered += [_ACKNOWLEDGE] if worse else []
    return tuple(offered)


def _without_marks(body: str) -> str:
    """Without the hidden lines at the top, by which only a comment is found."""
    lines = body.splitlines(keepends=True)
    while lines and (not lines[0].strip() or lines[0].startswith("<!-- maxview:")):
        lines.pop(0)
    return "".join(lines)
