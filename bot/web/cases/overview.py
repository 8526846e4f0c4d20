"""One case as a row of an overview, in the words of the comment's table.

In:  a `Report`, as its reader may see it. Out: `RowLine`s. Pure.
"""

from dataclasses import dataclass

from bot.report.cells import label, row_view
from bot.report.detail import Detail
from bot.report.model import CaseReport, Report
from bot.report.row_words import remarkable, row_words
from bot.report.states import STATES, Tier
from bot.web.ground.inline import Piece, inline, plain

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


def tone(row: CaseReport) -> str:
    """The colour of a row; the words say the same."""
    state = STATES[row.state]
    if remarkable(row) and state.tier < Tier.RED:
        return "unfair"
    if state.tier is Tier.QUIET:
        return "good" if state.done and not state.person and state.rank < 20 else "quiet"
    return state.tier.name.lower()


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
