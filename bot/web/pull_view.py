"""What the page of a pull request shows, row by row: the same report as the comment, in full.

In:  a `Report`, and the visit it is shown in.
Out: `PullView`: words and figures ready to be set. Pure.

Verdict words, figures and sentences are those of `bot.report`, so page and comment cannot disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.report.action import action_line
from bot.report.cells import label, row_view
from bot.report.detail import Detail
from bot.report.headline import headline, is_settled
from bot.report.links import case_anchor
from bot.report.model import CaseReport, Report
from bot.report.row_words import remarkable, row_words
from bot.report.states import STATES, Tier
from bot.verdict.judgement import MeasuredRun
from bot.web.access import Visit
from bot.web.case_view import CaseView, case_view
from bot.web.inline import Piece, inline, plain
from bot.web.tables import Sheet, sheets

ALL = 1_000_000
FULL = Detail(
    links=False,
    rows=100_000,
    quotes=100_000,
    columns=100_000,
    named=100_000,
    ledgers=0,
    name=200,
    error=2_000,
)
"""A page has room for everything; what is long is folded by the browser, not cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLine:
    """One row of the overview."""

    anchor: str
    name: str
    symbol: str
    word: str
    tone: str
    accepted: str
    steady: tuple[Piece, ...]
    loss: tuple[Piece, ...]
    checkpoint: str
    memory: tuple[Piece, ...]


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


def tone(row: CaseReport) -> str:
    """The colour of a row; the words say the same."""
    state = STATES[row.state]
    if remarkable(row) and state.tier < Tier.RED:
        return "unfair"
    if state.tier is Tier.QUIET:
        return "good" if state.done and not state.person and state.rank < 20 else "quiet"
    return state.tier.name.lower()


def _anchors(rows: list[CaseReport]) -> Mapping[tuple[str, str], str]:
    """An id for every row, the comment's own; names that differ only in odd characters get a number."""
    anchors: dict[tuple[str, str], str] = {}
    for row in rows:
        wanted, count = case_anchor(row.case, row.variant), 1
        while (anchor := wanted if count == 1 else f"{wanted}-{count}") in anchors.values():
            count += 1
        anchors[row.case, row.variant] = anchor
    return anchors


def row_line(report: Report, row: CaseReport, anchor: str) -> RowLine:
    """One row of the overview, in the words of the comment's table."""
    cells = row_view(report, row, public_url="", detail=FULL)
    words = row_words(row, report.base_branch)
    verdict, _, accepted = cells.verdict.partition("<br>")
    return RowLine(
        anchor=anchor,
        name=label(report, row.case, row.variant),
        symbol=words.symbol,
        word=plain(verdict).removeprefix(words.symbol).strip() or words.word,
        tone=tone(row),
        accepted=plain(accepted),
        steady=inline(cells.steady),
        loss=inline(cells.loss),
        checkpoint=plain(cells.checkpoint),
        memory=inline(cells.memory),
    )
