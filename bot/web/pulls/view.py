"""What the page of a pull request shows, row by row: the same report as the comment, in full.

In:  a `Report`, and the visit it is shown in.
Out: `PullView`: words and figures ready to be set. Pure.

Verdict words, figures and sentences are those of `bot.report`, so page and comment cannot disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.report.action import action_line
from bot.report.headline import headline, is_settled
from bot.report.links import case_anchor
from bot.report.model import CaseReport, Report
from bot.report.row_words import row_words
from bot.verdict.judgement import MeasuredRun
from bot.web.cases.overview import FULL, RowLine, row_line
from bot.web.cases.view import CaseView, case_view
from bot.web.ground.access import Visit
from bot.web.ground.inline import Piece, inline
from bot.web.pulls.tables import Sheet, sheets


@dataclass(frozen=True, slots=True, kw_only=True)
class PullView:
    """The page: `settled` says that nothing more is awaited, so that it need not be looked at again."""

    report: Report
    headline: str
    action: tuple[Piece, ...]
    settled: bool
    rows: tuple[RowLine, ...]
    cases: tuple[CaseView, ...]
    sheets: tuple[Sheet, ...]


def pull_view(report: Report, visit: Visit, measured: Mapping[str, MeasuredRun] | None = None) -> PullView:
    """The page's words. `report` is as this visitor may read it; `measured` holds its runs with their step
    lines, by id, of which only figures are drawn."""
    ordered = sorted(
        report.rows, key=lambda row: (-row_words(row, report.base_branch).rank, row.case, row.variant)
    )
    anchors = _anchors(ordered)
    return PullView(
        report=report,
        headline=headline(report),
        action=inline(action_line(report)),
        settled=is_settled(report),
        rows=tuple(row_line(report, row, anchors[row.case, row.variant]) for row in ordered),
        cases=tuple(
            case_view(report, row, visit, anchor=anchors[row.case, row.variant], measured=measured)
            for row in ordered
        ),
        sheets=sheets(report, FULL),
    )


def _anchors(rows: list[CaseReport]) -> Mapping[tuple[str, str], str]:
    """An id for every row, the comment's own; names that differ only in odd characters get a number."""
    anchors: dict[tuple[str, str], str] = {}
    for row in rows:
        wanted, count = case_anchor(row.case, row.variant), 1
        while (anchor := wanted if count == 1 else f"{wanted}-{count}") in anchors.values():
            count += 1
        anchors[row.case, row.variant] = anchor
    return anchors
