"""Searches a whole log, some seconds at a time.

In:  a log, words, and where to go on. Out: `Found`: the hits with the lines around them, and where to go on.
Promises memory that does not grow with the log, a limit to the time of one request, and that what is taken
out of a public log cannot be guessed by searching: only what its readers are shown counts as a hit.

The words are taken literally, unless an expression is asked for: see `Query`.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bot.web.log.redaction import LEAD, Redaction
from bot.web.log.source import LogSource
from bot.web.log.window import LOOK_BACK, LogLine, Span, lines
from bot.web.log_viewer.overlap import Block, Place, overlapping
from bot.web.log_viewer.query import Query
from bot.web.log_viewer.view import redacted_lines

MOST_HITS = 50
MOST_SECONDS = 2.0
"""After which a page is given with what was found: a reader waits that long, and goes on where it ended."""

AROUND = 2
"""Lines shown on either side of a hit."""

STRIDE = 8 << 10
"""Bytes that an expression is looked for in at once."""

SIDE = 800
"""Bytes of a longer line that are shown on either side of a hit: together with it one piece of a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A line that holds the words, with its neighbours; `lit` are its parts, the words marked."""

    line: LogLine
    before: tuple[LogLine, ...]
    after: tuple[LogLine, ...]
    lit: tuple[tuple[bool, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The hits from byte `begin` to byte `end`; `following` is where to go on, None at the log's end."""

    hits: tuple[Hit, ...]
    begin: int
    end: int
    following: Place | None


def search(
    source: LogSource,
    query: Query,
    begin: Place,
    *,
    redacts: bool,
    clock: Callable[[], float] = time.monotonic,
) -> Found:
    """What stands in the log from a place on, as far as one request goes."""
    until = clock() + MOST_SECONDS
    hits: list[Hit] = []
    at = begin
    for block in overlapping(source, begin.offset):
        hidden = redacts and query.regular
        here = _shown_hits(block, query, at) if hidden else _hits(block, query, at, redacts=redacts)
        for hit, place in here:
            hits += [hit] if hit else []
            at = place
            if len(hits) >= MOST_HITS or clock() >= until:
                return Found(hits=tuple(hits), begin=begin.offset, end=at.offset, following=at)
        at = block.place(max(block.limit, at.offset), at)
        if clock() >= until and not block.ends:
            return Found(hits=tuple(hits), begin=begin.offset, end=at.offset, following=at)
    return Found(hits=tuple(hits), begin=begin.offset, end=at.offset, following=None)


def _hits(block: Block, query: Query, begin: Place, *, redacts: bool) -> Iterator[tuple[Hit | None, Place]]:
    """The hits of a block from a place on, each with the place behind it: one for each line, or for each
    stretch of a line of megabytes; None for what its readers may not see."""
    text, known = query.folded(block.text), begin
    at, limit = begin.offset - block.at, block.limit - block.at
    while at < limit:
        stop = _stop(text, at) if query.regular else len(text)
        spot = query.spot(text, at, stop)
        if spot is None or spot[0] >= limit:
            known = block.place(block.at + min(stop, limit), known)
            yield None, known
            at = stop
            continue
        first, last = spot[0], min(spot[1], spot[0] + SIDE)
        known = block.place(block.at + first, known)
        end = block.text.find(b"\n", last, first + SIDE)
        at = end + 1 if end >= 0 else min(first + max(SIDE, last - first), len(text))
        yield (
            _shown(block, query, (first, last), known.line, redacts=redacts),
            block.place(block.at + at, known),
        )


def _shown_hits(block: Block, query: Query, begin: Place) -> Iterator[tuple[Hit | None, Place]]:
    """The hits of an expression in what strangers are shown. The log itself is not looked through: one that
    stands for a guess or for the sign in a secret's place would be found there where the guess is right."""
    known = begin
    at, limit = begin.offset - block.at, block.limit - block.at
    while at < limit:
        stop = _stop(block.text, at)
        lead = block.text[max(at - LOOK_BACK, 0) : at].decode("utf-8", "replace")
        public = Redaction(lead).whole(block.text[at:stop], block.text[stop : stop + LEAD])
        if query.spot(public, 0, len(public)):
            for hit, end in _public_hits(block, query, at, stop, known.line):
                if hit.line.offset < block.limit:
                    known = block.place(end, known)
                    yield hit, known
        end = block.text.find(b"\n", limit - 1, stop) + 1 or min(
            stop, limit
        )  # the last line is looked at whole
        known = block.place(max(block.at + end, known.offset), known)
        yield None, known
        at = stop


def _public_hits(block: Block, query: Query, at: int, stop: int, number: int) -> Iterator[tuple[Hit, int]]:
    """The hits among the lines from one place of a block to another, each with the byte behind it."""
    start = _back(block.text, at)
    above = _lines(block, start, at, number - block.text.count(b"\n", start, at), redacts=True)
    here = _lines(block, at, stop, number, redacts=True)
    passed = block.text.count(b"\n", at, stop)
    below = _lines(block, stop, _ahead(block.text, stop), number + passed, redacts=True)
    near = (*above, *here, *below)
    ends = [*(line.offset for line in here[1:]), block.at + stop]
    for n, line in enumerate(here, len(above)):
        if (lit := _lit(line.text, query)) is not None:
            yield (
                Hit(
                    line=line,
                    before=near[max(n - AROUND, 0) : n],
                    after=near[n + 1 : n + 1 + AROUND],
                    lit=lit,
                ),
                ends[n - len(above)],
            )


def _stop(text: bytes, at: int) -> int:
    """The end of a line some `STRIDE` bytes on: as far as an expression is looked for before the clock is.
    A longer line is looked through piece by piece, so that no match is longer than a piece."""
    end = text.find(b"\n", at + STRIDE, at + 8 * STRIDE) + 1
    return end or min(at + 8 * STRIDE, len(text))


def _shown(block: Block, query: Query, spot: tuple[int, int], number: int, *, redacts: bool) -> Hit | None:
    """The hit as its readers may see it; None where what they see does not hold the words."""
    at, last = spot
    start, end = _back(block.text, at), _ahead(block.text, last)
    first = number - block.text.count(b"\n", start, at)
    near = _lines(block, start, end, first, redacts=redacts)
    n = _holding(near, block.at + at)
    lit = _lit(near[n].text, query)
    if lit is None and query.regular and not redacts:
        lit = ((False, near[n].text),)  # of a long line not all that was found is shown
    if lit is None:
        return None
    sides = slice(max(n - AROUND, 0), n), slice(n + 1, n + 1 + AROUND)
    return Hit(line=near[n], before=near[sides[0]], after=near[sides[1]], lit=lit)


def _lines(block: Block, start: int, end: int, number: int, *, redacts: bool) -> tuple[LogLine, ...]:
    """The lines between two places of a block, the first with its number, as their readers may see them."""
    before = block.text[max(start - LOOK_BACK, 0) : start].decode("utf-8", "replace")
    after = block.text[end : end + LEAD]
    span = Span(at=block.at + start, text=block.text[start:end], ends=False, after=after)
    near = tuple(lines(span, (), number, before))
    return redacted_lines(near, before, span) if redacts else near


def _holding(near: tuple[LogLine, ...], offset: int) -> int:
    return max((n for n, line in enumerate(near) if line.offset <= offset), default=0)


def _lit(text: str, query: Query) -> tuple[tuple[bool, str], ...] | None:
    parts: list[tuple[bool, str]] = []
    at = 0
    for begin, end in query.places(text):
        parts += [(False, text[at:begin]), (True, text[begin:end])]
        at = end
    return tuple(part for part in (*parts, (False, text[at:])) if part[1]) if parts else None


def _back(text: bytes, at: int) -> int:
    """The begin of the lines shown before a hit; within a line of megabytes, of a word before it."""
    start = text.rfind(b"\n", max(at - SIDE, 0), at) + 1
    if not start and at > SIDE:
        return text.find(b" ", at - SIDE, at) + 1 or at - SIDE
    for _ in range(AROUND):
        above = text.rfind(b"\n", max(start - SIDE, 0), max(start - 1, 0)) + 1
        start = above or (0 if start <= SIDE else start)
    return start


def _ahead(text: bytes, at: int) -> int:
    """The end of the lines shown behind a hit; within a line of megabytes, of a word behind it."""
    end = text.find(b"\n", at, at + SIDE) + 1
    if not end:
        return len(text) if at + SIDE >= len(text) else text.rfind(b" ", at, at + SIDE) + 1 or at + SIDE
    for _ in range(AROUND):
        end = text.find(b"\n", end, end + SIDE) + 1 or end
    return end
