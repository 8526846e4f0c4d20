"""How the sides of one case failed, and where else that failure is known from.

In:  a `CaseReport` of a `Report`, and the visit it is shown in. Out: `Trouble`s. Pure.
"""

from dataclasses import dataclass, replace

from bot.logs.facts import Failure
from bot.report.judged import bad_end, ended
from bot.report.kinship import news_words
from bot.report.model import CaseReport, Report
from bot.runs.records import RunRecord
from bot.verdict.judgement import MeasuredRun
from bot.web.ground.access import Visit
from bot.web.ground.inline import Piece, inline
from bot.web.log.marks import log_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the two sides are called."""

    base: str
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """How one side failed."""

    side: str
    how: str
    error: str
    where: str
    kind: str
    excerpt: str
    log: str | None
    news: tuple[Piece, ...] = ()
    pulls: tuple[tuple[int, str], ...] = ()


def troubles(report: Report, row: CaseReport, visit: Visit, names: Names | None) -> tuple[Trouble, ...]:
    """The bad ends of both sides, the head's first, with what is known of the head's elsewhere."""
    if row.comparison is None:
        return ()
    head = names.head if names else f"This change ({report.head_sha[:7]})"
    sides = (
        (head, row.comparison.head, row.head_runs),
        (names.base if names else report.base_branch, row.comparison.base, row.base_runs),
    )
    found = [one for side in sides if (one := _trouble(*side, visit)) is not None]
    if not found or row.failure is None:
        return tuple(found)
    others = tuple((number, visit.links.pull(report.repository, number)) for number in row.failure.pulls)
    news = inline(news_words(row, report.base_branch))
    return (replace(found[0], news=news, pulls=others), *found[1:])


def _trouble(
    side: str, runs: tuple[MeasuredRun, ...], records: tuple[RunRecord, ...], visit: Visit
) -> Trouble | None:
    end = bad_end(runs)
    if end is None:
        return None
    failure = end.failure or Failure(kind="", error="")
    at = next((place for place, run in enumerate(runs) if run.log.outcome is end), 0)
    record = records[at] if len(records) == len(runs) else None
    log = None
    if record is not None and record.log_uri:
        log = visit.links.log(record.id, start=log_start(failure.offset), anchor="error")
    return Trouble(
        side=side,
        how=ended(end),
        error=failure.error,
        where=failure.where or "",
        kind=failure.kind,
        excerpt=failure.excerpt,
        log=log,
    )
