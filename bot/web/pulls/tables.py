"""The parts of a report that concern all cases, as tables: parity, environment, the page's own figures,
and how it was measured.

In:  a `Report`. Out: `Sheet`s made of the comment's own folded parts.
"""

from dataclasses import dataclass

from bot.report.detail import Detail
from bot.report.differences import environment_fold
from bot.report.folds import Fold
from bot.report.information import page_fold
from bot.report.method import method_fold
from bot.report.model import Report
from bot.report.parity_fold import parity_fold
from bot.report.plan_fold import plan_fold
from bot.web.ground.inline import Piece, inline, plain

ALIGN = {"l": "left", "r": "right", "c": "middle"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell and the side its text keeps to."""

    pieces: tuple[Piece, ...]
    align: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table under its title, with the sentences below it."""

    anchor: str
    title: str
    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[tuple[Piece, ...], ...]


def sheets(report: Report, detail: Detail) -> tuple[Sheet, ...]:
    """The tables that have something to say."""
    folds = (
        ("plan", plan_fold(report, detail)),
        ("parity", parity_fold(report, detail)),
        ("environment", environment_fold(report, detail)),
        ("figures", page_fold(report, detail)),
        ("method", method_fold(report)),
    )
    return tuple(_sheet(anchor, fold) for anchor, fold in folds if fold is not None)


def _sheet(anchor: str, fold: Fold) -> Sheet:
    table = fold.table
    align = [ALIGN.get(letter, "left") for letter in table.align] if table else []
    return Sheet(
        anchor=anchor,
        title=plain(fold.summary),
        columns=_cells(table.columns, align) if table else (),
        rows=tuple(_cells(row, align) for row in table.rows) if table else (),
        notes=tuple(inline(line.removeprefix("* ")) for line in fold.lines),
    )


def _cells(row: tuple[str, ...], align: list[str]) -> tuple[Cell, ...]:
    return tuple(Cell(pieces=inline(text), align=side) for text, side in zip(row, align, strict=True))
