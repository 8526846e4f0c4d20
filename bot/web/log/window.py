"""Which bytes of a log a page shows, and how they read as lines.

In:  bytes around the place that was asked for, and where the log's marks (error, steps) stand.
Out: a `Window` of `LogLine`s: numbered, marked, with nothing in them that a browser could act on. Pure.

A window begins and ends between lines. Where a line is longer than a window (a log pasted as one line), it
is broken softly: at its stamps and marks, at spaces, and never inside a character.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.web.ground.legible import legible
from bot.web.log.colours import Colours, Run

WINDOW = 256 << 10
"""Bytes on one page: some thousand lines, which a browser shows at once."""

MOST_LINES = 5_000
"""Lines on one page: a browser lays these out in a moment, however short they are."""

LOOK_BACK = 16 << 10
"""Bytes before the place asked for in which the begin of its line is looked for."""

LONGEST_PIECE = 2_000
"""Bytes of one line shown in one piece: some screens of text, so that a line of megabytes stays readable."""

FOLD_BACK = 300
"""A piece ends at a space, where one stands this close before its longest end."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196] …
_STAMP = re.compile(rb"(?<![^\s])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} ")

STAMP_REACH = 160
"""Bytes behind a stamp that belong to it: a mark there needs no piece of its own."""

# What belongs to the word behind it: `token = …`, `Authorization: Bearer …`
_BINDS = re.compile(rb"(?:[=:]|bearer|basic)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMark:
    """A place of the log worth finding: `anchor` is its HTML id, `words` what stands there."""

    offset: int
    anchor: str
    words: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line, or a piece of a long one: `continues` says that its begin stands in the piece before.

    `mark` leads; `also` are the anchors of further marks that stand in it. `runs` are coloured."""

    number: int
    offset: int
    text: str
    continues: bool = False
    mark: LogMark | None = None
    also: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()

    @property
    def anchor(self) -> str:
        """Its id in the page."""
        return f"B{self.offset}" if self.continues else f"L{self.number}"

    @property
    def coloured(self) -> tuple[tuple[str, str], ...]:
        """Classes and text, part by part."""
        parts, at = [], 0
        for run in self.runs:
            parts += [("", self.text[at : run.start]), (run.style, self.text[run.start : run.end])]
            at = run.end
        return tuple(part for part in (*parts, ("", self.text[at:])) if part[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The bytes a window shows: `at` of the log is `text[0]`; `ends` says that the log ends with it. `after`
    is some of what follows: a token that the end cuts in two is known by it."""

    at: int
    text: bytes
    ends: bool
    after: bytes = b""

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.at + len(self.text)


def cut(around: bytes, *, base: int, wanted: int, most: int = WINDOW, ends: bool) -> Span:
    """The whole lines from the one that holds byte `wanted`; `around` begins at byte `base` of the log."""
    start = _line_start(around, wanted - base)
    if base == 0 and wanted <= 0:
        start = 0
    whole = around[start : start + most]
    rest = whole.split(b"\n", MOST_LINES)[MOST_LINES:]
    if rest and rest[0]:
        return Span(at=base + start, text=whole.removesuffix(rest[0]), ends=False)
    if ends and start + most >= len(around):
        return Span(at=base + start, text=whole, ends=True)
    return Span(at=base + start, text=whole[: _end(whole)], ends=False)


def lines(span: Span, marks: Sequence[LogMark], first_number: int, before: str = "") -> Iterator[LogLine]:
    """The span line by line; `marks` in the order of their offsets, `before` the text in front of it."""
    colours = Colours(before)
    inside = bool(before) and not before.endswith("\n")
    number, begin = first_number, span.at
    for line in span.text.removesuffix(b"\n").split(b"\n") if span.text else ():
        for piece in _pieces(line.rstrip(b"\r"), begin, number, marks):
            text, runs = colours.read(piece.text)
            yield replace(piece, text=text, runs=runs, continues=piece.continues or inside)
            inside = False
        number += 1
        begin += len(line) + 1


def _pieces(line: bytes, begin: int, number: int, marks: Sequence[LogMark]) -> Iterator[LogLine]:
    last = begin + max(len(line) - 1, 0)
    here = marks[bisect_left(marks, begin, key=_offset) : bisect_right(marks, last, key=_offset)]
    breaks = _breaks(line, [mark.offset - begin for mark in here])
    for index, (start, end) in enumerate(zip(breaks, [*breaks[1:], len(line)], strict=True)):
        inside = [mark for mark in here if start <= mark.offset - begin < max(end, start + 1)]
        yield LogLine(
            number=number,
            offset=begin + start,
            text=line[start:end].decode("utf-8", "replace"),
            continues=index > 0,
            mark=inside[0] if inside else None,
            also=tuple(mark.anchor for mark in inside[1:]),
        )


def _offset(mark: LogMark) -> int:
    return mark.offset


def _breaks(line: bytes, marked: Sequence[int]) -> list[int]:
    """Where the pieces of a line begin: at its stamps and marks, and where a piece would be too long."""
    breaks = [0]
    for end in [*_places(line, marked), len(line)]:
        while end - breaks[-1] > LONGEST_PIECE:
            breaks.append(_fold(line, breaks[-1]))
        if breaks[-1] < end < len(line):
            breaks.append(end)
    return breaks


def _places(line: bytes, marked: Sequence[int]) -> list[int]:
    """The stamps of a long line, where it was many lines once, and the marks that stand far from one."""
    if len(line) <= LONGEST_PIECE:
        return []
    stamps = [found.start() for found in _STAMP.finditer(line)]
    before = [bisect_right(stamps, place) for place in marked]
    apart = [
        place
        for place, count in zip(marked, before, strict=True)
        if not count or place - stamps[count - 1] > STAMP_REACH
    ]
    return sorted({*stamps, *apart} - {0})


def _fold(line: bytes, start: int) -> int:
    """A space near the longest end, but not one between a name and its value: they are read together."""
    end = start + LONGEST_PIECE
    near = [place for place in range(end - 1, end - FOLD_BACK, -1) if line[place] in b" \r"]
    space = next((place for place in near if not _BINDS.search(line[max(place - 16, 0) : place])), None)
    return _character_start(line, end) if space is None else space + 1


def _line_start(around: bytes, place: int) -> int:
    """The begin of the line that holds `place`; of its word, where the line begins too far before."""
    place = min(max(place, 0), len(around))
    for sign in (b"\n", b" "):
        if (before := around.rfind(sign, 0, place)) >= 0:
            return before + 1
    return _character_start(around, place) if place < len(around) else place


def _end(whole: bytes) -> int:
    for sign in (b"\n", b" "):
        if (last := whole.rfind(sign)) > 0:
            return last + 1
    return _character_start(whole, len(whole) - 1) or len(whole)


def _character_start(text: bytes, place: int) -> int:
    """`place`, or the begin of the UTF-8 character it stands in."""
    for back in range(4):
        if place - back >= 0 and text[place - back] & 0xC0 != 0x80:
            return place - back
    return place


def readable(text: bytes) -> str:
    """The bytes as text that shows what it holds: no terminal codes, and a sign for what cannot be seen."""
    return legible(text.decode("utf-8", errors="replace"))
