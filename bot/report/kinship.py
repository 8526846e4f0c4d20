"""Whether a failure is this change's own: new, on main too, on another pull request too, or fixed.

In:  the measured runs of both sides, main's failed runs, the pull requests that have the same failure.
Out: `FailureNews`; its words. Pure.

Failures are the same where their fingerprints are; what the cluster failed is no news about the change.
"""

from typing import assert_never

from bot.logs.facts import Failure
from bot.report.figures import listed
from bot.report.judged import bad_end, sometimes_on_base
from bot.report.material import Request, Sides
from bot.report.model import CaseReport, FailureNews, Kinship
from bot.report.quoting import quoted, said
from bot.verdict.outcome import Fate, Side, side

NAMED = 5
"""Pull requests that are named; the JSON has all of them."""


def failure_news(sides: Sides, request: Request) -> FailureNews | None:
    """Where the head's failure is known from; None where the head did not fail and nothing is fixed."""
    head, base = side("head", sides.head), side("base", sides.base)
    if head.fate is Fate.PASSED and not head.flaky:
        failure = _failure(base) if base.fate is Fate.FAILED else None
        return _news(Kinship.FIXED, failure) if failure else None
    failure = _failure(head)
    if failure is None or (head.fate is not Fate.FAILED and not head.flaky):
        return None
    shown = {run.id for run in sides.runs.base.runs}
    others = (one for one in sides.runs.main_failures if one.run not in shown)
    alike = next((one for one in others if one.fingerprint == failure.fingerprint), None)
    kinship = _kinship(base, failure)
    return _news(
        kinship,
        failure,
        pulls=request.elsewhere.get(failure.fingerprint, ()),
        main_sha=alike.sha if alike and kinship is not Kinship.SAME_ON_BASE else None,
    )


def fingerprints(sides: Sides) -> set[str]:
    """What to look for on other pull requests."""
    failure = _failure(side("head", sides.head))
    return {failure.fingerprint} if failure and failure.fingerprint else set()


def news_words(row: CaseReport, branch: str) -> str:
    """`new: succeeds on main · also on pull request 12`, as Markdown; empty where there is no news."""
    news = row.failure
    if news is None:
        return ""
    parts = [_words(row, news, said(branch, 40)), _pulls(news)]
    return " · ".join(part for part in parts if part)


def _kinship(base: Side, failure: Failure) -> Kinship:
    match base.fate:
        case Fate.PASSED | Fate.FAILED if failure.fingerprint in base.fingerprints:
            return Kinship.SAME_ON_BASE
        case Fate.PASSED:
            return Kinship.NEW
        case Fate.FAILED:
            return Kinship.OTHER_ON_BASE
        case _:
            return Kinship.UNKNOWN


def _failure(its: Side) -> Failure | None:
    return its.telling.log.outcome.failure if its.telling else None


def _news(
    kinship: Kinship, failure: Failure, *, pulls: tuple[int, ...] = (), main_sha: str | None = None
) -> FailureNews:
    return FailureNews(
        kinship=kinship,
        kind=failure.kind,
        fingerprint=failure.fingerprint,
        pulls=pulls,
        main_sha=main_sha,
    )


def _words(row: CaseReport, news: FailureNews, branch: str) -> str:
    match news.kinship:
        case Kinship.NEW | Kinship.UNKNOWN if news.main_sha:
            return f"not in the baseline, but {branch} fails the same at `{news.main_sha[:7]}`"
        case Kinship.NEW:
            return f"new: succeeds on {branch}"
        case Kinship.SAME_ON_BASE:
            some = sometimes_on_base(row)
            return f"also on {branch} ({some[0]} of {some[1]} runs)" if some else f"the same on {branch}"
        case Kinship.OTHER_ON_BASE:
            return f"{branch} fails otherwise{_base_error(row)}"
        case Kinship.FIXED:
            return f"fixed: fails on {branch}{_base_error(row)}"
        case Kinship.UNKNOWN:
            return f"{branch} has no run that tells whether it is new"
        case _:
            assert_never(news.kinship)


def _base_error(row: CaseReport) -> str:
    end = bad_end(row.comparison.base) if row.comparison else None
    return f": {quoted(end.failure.error, 120)}" if end and end.failure and end.failure.error else ""


def _pulls(news: FailureNews) -> str:
    if not news.pulls:
        return ""
    many = "s" if len(news.pulls) > 1 else ""
    return f"also on pull request{many} {listed([str(number) for number in news.pulls], NAMED)}"
