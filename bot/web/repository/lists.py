"""The lists of pull requests: one line each, with what its newest report says.

In:  the remembered pull requests and the headlines of their reports. Out: `PullLine`s, open ones first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.storage.pulls import PullRow
from bot.storage.reports import ReportRow
from bot.web.ground.access import Visit
from bot.web.ground.moments import Moment, ago, moment

NOT_YET = "nothing measured yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullLine:
    """One pull request, or one branch that is watched without. `outdated` says that its head has changed
    since the report."""

    number: int
    branch: str
    title: str
    open: bool
    headline: str
    head_sha: str | None
    reported_sha: str | None
    made: Moment | None
    age: str
    outdated: bool
    link: str


def pull_lines(
    rows: Iterable[PullRow], headlines: Mapping[int, ReportRow], visit: Visit, now: float
) -> tuple[PullLine, ...]:
    """Open pull requests, then closed ones; in both the newest number first."""
    ordered = sorted(rows, key=lambda row: (not row.open, -row.number))
    return tuple(_line(row, headlines.get(row.number), visit, now) for row in ordered)


def _line(row: PullRow, report: ReportRow | None, visit: Visit, now: float) -> PullLine:
    return PullLine(
        number=row.number,
        branch=visit.text(row.head_branch or ""),
        title=visit.text(row.title) or ("" if row.is_branch else f"Pull request {row.number}"),
        open=row.open,
        headline=visit.text(report.headline) if report else NOT_YET,
        head_sha=row.head_sha,
        reported_sha=report.head_sha if report else None,
        made=moment(report.made) if report else None,
        age=ago(report.made, now) if report else "",
        outdated=bool(report and row.head_sha and row.head_sha != report.head_sha),
        link=_link(row, visit),
    )


def _link(row: PullRow, visit: Visit) -> str:
    if row.is_branch:
        return visit.links.branch(row.repository, row.head_branch or "")
    return visit.links.pull(row.repository, row.number)
