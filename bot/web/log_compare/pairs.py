"""Lines of two logs beside each other: the same, the same but for figures, or apart.

In:  the lines of a section of each log, each with what of it counts. Out: `Row`s. Pure.

What belongs to one run alone (stamps, threads, addresses, dates, names, temporary paths) is left out of the
comparison and shown all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

from bot.web.log.masks import mask

KEPT_SAME = 2
"""Lines that are the same and shown around those that are not."""


class Kind(StrEnum):
    """How two lines stand to each other."""

    SAME = "same"
    FIGURES = "figures"
    APART = "apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideLine:
    """One line of one log: what is shown, what counts, its number, and seconds since the log's start."""

    text: str
    counts: str
    number: int
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Two lines, or one alone; or so many lines that are the `same` and are not shown."""

    kind: Kind
    base: SideLine | None = None
    head: SideLine | None = None
    same: int = 0


def rows(base: Sequence[SideLine], head: Sequence[SideLine]) -> tuple[Row, ...]:
    """The lines beside each other, in their order."""
    matcher = SequenceMatcher(
        None, [line.counts for line in base], [line.counts for line in head], autojunk=False
    )
    found: list[Row] = []
    for kind, base_begin, base_end, head_begin, head_end in matcher.get_opcodes():
        left, right = base[base_begin:base_end], head[head_begin:head_end]
        if kind == "equal":
            found += [Row(kind=Kind.SAME, base=a, head=b) for a, b in zip(left, right, strict=True)]
        else:
            found += _unequal(left, right)
    return tuple(found)


def folded(found: Sequence[Row]) -> tuple[Row, ...]:
    """Long stretches that are the same as one row, but for the lines next to what is not."""
    shown: list[Row] = []
    at = 0
    while at < len(found):
        end = at
        while end < len(found) and found[end].kind is Kind.SAME:
            end += 1
        front, back = KEPT_SAME if at else 0, KEPT_SAME if end < len(found) else 0
        hidden = end - at - front - back
        if hidden > 1:
            shown += found[at : at + front]
            shown.append(Row(kind=Kind.SAME, same=hidden))
            shown += found[end - back : end]
        else:
            shown += found[at:end]
        shown += found[end : end + 1]
        at = end + 1
    return tuple(shown)


def _unequal(base: Sequence[SideLine], head: Sequence[SideLine]) -> list[Row]:
    """Lines that say the same with other figures are put beside each other first."""
    matcher = SequenceMatcher(
        None, [mask(line.counts) for line in base], [mask(line.counts) for line in head], autojunk=False
    )
    found: list[Row] = []
    for kind, base_begin, base_end, head_begin, head_end in matcher.get_opcodes():
        left, right = base[base_begin:base_end], head[head_begin:head_end]
        how = Kind.FIGURES if kind == "equal" else Kind.APART
        found += [Row(kind=how, base=a, head=b) for a, b in zip_longest(left, right)]
    return found
