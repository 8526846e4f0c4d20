"""Search a whole log for literal words or an RE2 expression, some seconds at a time.

Memory does not grow with the log, and time is linear in what is searched: RE2 has no backtracking, and an
expression whose machine would be large is an `InvalidQuery`. Text redacted from a public log cannot be
guessed
by searching: only what its readers are shown counts as a hit. No match goes beyond its line, and none is
empty.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import re2
from msgspec import Struct

from bot.web.log_viewer.redaction import LEAD_CHARACTERS, Redaction
from bot.web.log_viewer.source import LogSource
from bot.web.log_viewer.view import redacted_lines
from bot.web.log_viewer.window import LOOK_BACK, LogLine, LogSpan, log_lines

MAX_QUERY_LENGTH = 200

MAX_PATTERN_MEMORY = 1 << 18
"""Memory of an expression's automaton: some thousand states, far more than a search in logs needs."""

MULTILINE_FLAG = "(?m)"
"""Lets ^ and $ match at the ends of lines."""


class InvalidQuery(ValueError):
    """An expression that cannot be searched for; the message says why."""


class LogQuery(Struct, frozen=True, kw_only=True):
    """The text to search for, case-sensitive if `cased`, an RE2 expression if `regular`."""

    words: str
    cased: bool
    regular: bool = False

    @property
    def literal(self) -> bytes:
        """The bytes to search in a chunk that `folded` returned, unless it is an expression."""
        return (self.words if self.cased else self.words.lower()).encode("utf-8", "replace")

    def folded(self, block: bytes) -> bytes:
        """The chunk as it is searched; for literal words only ASCII letters fold case."""
        return block if self.cased or self.regular else block.lower()

    def spot(self, block: bytes, begin: int, end: int) -> tuple[int, int] | None:
        """The first match in a folded chunk that begins between two of its bytes."""
        if not self.regular:
            literal = self.literal
            at = block.find(literal, begin, end + len(literal) - 1)
            return (at, at + len(literal)) if at >= 0 else None
        found = compile_pattern(self.words, cased=self.cased).search(block, begin, end)
        return _require_not_empty(found.span()) if found else None

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """The matches in a text as shown."""
        if self.regular:
            found = compile_pattern(self.words, cased=self.cased).finditer(text)
            yield from (_require_not_empty(one.span()) for one in found)
            return
        within, words = (text, self.words) if self.cased else (text.lower(), self.words.lower())
        if len(within) != len(text):
            return
        at = within.find(words)
        while at >= 0:
            yield at, at + len(words)
            at = within.find(words, at + len(words))


@lru_cache(maxsize=64)
def compile_pattern(words: str, *, cased: bool) -> "re2._Regexp":
    """The compiled expression, for bytes and text; raises `InvalidQuery` if it cannot be searched for."""
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.max_mem = MAX_PATTERN_MEMORY
    options.case_sensitive = cased
    try:
        pattern = re2.compile(MULTILINE_FLAG + words, options)
    except re2.error as problem:
        raise InvalidQuery(f"This is no regular expression of RE2: {_re2_message(problem)}") from problem
    if pattern.search("") is not None:
        raise InvalidQuery("This expression also stands for nothing at all, so it would be found everywhere")
    return pattern


def _re2_message(problem: Exception) -> str:
    """RE2's message (bytes) as `missing ) at “(a”`."""
    said = problem.args[0].decode("utf-8", "replace") if problem.args else "it cannot be read"
    what, _, place = said.partition(": ")
    return f"{what} at “{place.replace(MULTILINE_FLAG, '', 1)}”" if place else what


def _require_not_empty(span: tuple[int, int]) -> tuple[int, int]:
    if span[0] == span[1]:
        raise InvalidQuery("This expression is found where no letter stands, so it cannot be shown")
    return span


LOOK_AHEAD = 8 << 10
"""Bytes behind a hit that are read before it is shown."""

CHUNK_BYTES = 4 << 20


class LogPlace(Struct, frozen=True, kw_only=True):
    """A byte of a log and the number of its line."""

    offset: int = 0
    line: int = 1


class LogChunk(Struct, frozen=True):
    """Text from byte `at` on. Hits up to `limit` are reported; the rest is context behind them."""

    at: int
    text: bytes
    limit: int
    ends: bool

    def place(self, offset: int, known: LogPlace) -> LogPlace:
        """This byte with its line number, counted from a known place of the chunk."""
        passed = self.text.count(b"\n", known.offset - self.at, offset - self.at)
        return LogPlace(offset=offset, line=known.line + passed)


def overlapping_chunks(source: LogSource, start: int) -> Iterator[LogChunk]:
    """The log in overlapping chunks, so that every hit has its context at hand."""
    base = max(start - LOOK_BACK, 0)
    kept, at = b"", base
    waiting: bytes | None = None
    for piece in _gather_pieces(source.pieces_from(base)):
        if waiting is not None:
            text = kept + waiting
            yield LogChunk(at, text, at + len(text) - LOOK_AHEAD, ends=False)
            cut = max(len(text) - LOOK_AHEAD - LOOK_BACK, 0)
            kept, at = text[cut:], at + cut
        waiting = piece
    if waiting is not None:
        text = kept + waiting
        yield LogChunk(at, text, at + len(text), ends=True)


def _gather_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of at least `CHUNK_BYTES`, but for the last: each is longer than the look-ahead."""
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


MAX_HITS = 50

MAX_SECONDS = 2.0
"""A request ends after this time with what it found; the reader continues where it ended."""

CONTEXT_LINES = 2
"""Lines shown before and after a hit."""

SEARCH_STRIDE = 8 << 10
"""Bytes that an expression is matched against at once."""

CONTEXT_BYTES = 800
"""Bytes of a long line shown before and after a hit; with the hit they are one piece of a line."""


class LogHit(Struct, frozen=True, kw_only=True):
    """A line with a match and its neighbours; `text_parts` is its text, matches flagged."""

    line: LogLine
    before: tuple[LogLine, ...]
    after: tuple[LogLine, ...]
    text_parts: tuple[tuple[bool, str], ...]


class SearchResult(Struct, frozen=True, kw_only=True):
    """The hits from byte `begin` to `end`; `following` is where to continue, None at the log's end."""

    hits: tuple[LogHit, ...]
    begin: int
    end: int
    following: LogPlace | None


def search_log(
    source: LogSource,
    query: LogQuery,
    begin: LogPlace,
    *,
    redacts: bool,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Search the log from a place on, as far as one request goes."""
    until = clock() + MAX_SECONDS
    hits: list[LogHit] = []
    at = begin
    for block in overlapping_chunks(source, begin.offset):
        hidden = redacts and query.regular
        here = _redacted_hits(block, query, at) if hidden else _stored_hits(block, query, at, redacts=redacts)
        for hit, place in here:
            hits += [hit] if hit else []
            at = place
            if len(hits) >= MAX_HITS or clock() >= until:
                return SearchResult(hits=tuple(hits), begin=begin.offset, end=at.offset, following=at)
        at = block.place(max(block.limit, at.offset), at)
        if clock() >= until and not block.ends:
            return SearchResult(hits=tuple(hits), begin=begin.offset, end=at.offset, following=at)
    return SearchResult(hits=tuple(hits), begin=begin.offset, end=at.offset, following=None)


def _stored_hits(
    block: LogChunk, query: LogQuery, begin: LogPlace, *, redacts: bool
) -> Iterator[tuple[LogHit | None, LogPlace]]:
    """The hits of a chunk from a place on, each with the place behind it.

    One hit for each line, or for each stretch of a line of megabytes; None for one that its readers may
    not see.
    """
    text, known = query.folded(block.text), begin
    at, limit = begin.offset - block.at, block.limit - block.at
    while at < limit:
        stop = _search_end(text, at) if query.regular else len(text)
        spot = query.spot(text, at, stop)
        if spot is None or spot[0] >= limit:
            known = block.place(block.at + min(stop, limit), known)
            yield None, known
            at = stop
            continue
        first, last = spot[0], min(spot[1], spot[0] + CONTEXT_BYTES)
        known = block.place(block.at + first, known)
        end = block.text.find(b"\n", last, first + CONTEXT_BYTES)
        at = end + 1 if end >= 0 else min(first + max(CONTEXT_BYTES, last - first), len(text))
        yield (
            _visible_hit(block, query, (first, last), known.line, redacts=redacts),
            block.place(block.at + at, known),
        )


def _redacted_hits(
    block: LogChunk, query: LogQuery, begin: LogPlace
) -> Iterator[tuple[LogHit | None, LogPlace]]:
    """The hits of an expression in the redacted text.

    The stored text is not searched: an expression that matches both a guess and the sign in a secret's place
    would confirm the guess.
    """
    known = begin
    at, limit = begin.offset - block.at, block.limit - block.at
    while at < limit:
        stop = _search_end(block.text, at)
        lead = block.text[max(at - LOOK_BACK, 0) : at].decode("utf-8", "replace")
        public = Redaction(lead).whole(block.text[at:stop], block.text[stop : stop + LEAD_CHARACTERS])
        if query.spot(public, 0, len(public)):
            for hit, end in _hits_in_redacted(block, query, at, stop, known.line):
                if hit.line.offset < block.limit:
                    known = block.place(end, known)
                    yield hit, known
        end = block.text.find(b"\n", limit - 1, stop) + 1 or min(
            stop, limit
        )  # the last line is looked at whole
        known = block.place(max(block.at + end, known.offset), known)
        yield None, known
        at = stop


def _hits_in_redacted(
    block: LogChunk, query: LogQuery, at: int, stop: int, number: int
) -> Iterator[tuple[LogHit, int]]:
    """The hits between two offsets of a chunk, each with the byte behind it."""
    start = _context_start(block.text, at)
    above = _visible_lines(block, start, at, number - block.text.count(b"\n", start, at), redacts=True)
    here = _visible_lines(block, at, stop, number, redacts=True)
    passed = block.text.count(b"\n", at, stop)
    below = _visible_lines(block, stop, _context_end(block.text, stop), number + passed, redacts=True)
    near = (*above, *here, *below)
    ends = [*(line.offset for line in here[1:]), block.at + stop]
    for n, line in enumerate(here, len(above)):
        if (text_parts := _highlighted(line.text, query)) is not None:
            yield (
                LogHit(
                    line=line,
                    before=near[max(n - CONTEXT_LINES, 0) : n],
                    after=near[n + 1 : n + 1 + CONTEXT_LINES],
                    text_parts=text_parts,
                ),
                ends[n - len(above)],
            )


def _search_end(text: bytes, at: int) -> int:
    """The end of a line some `SEARCH_STRIDE` bytes on: the clock is checked there.

    A longer line is searched piece by piece, so no match is longer than a piece.
    """
    end = text.find(b"\n", at + SEARCH_STRIDE, at + 8 * SEARCH_STRIDE) + 1
    return end or min(at + 8 * SEARCH_STRIDE, len(text))


def _visible_hit(
    block: LogChunk, query: LogQuery, spot: tuple[int, int], number: int, *, redacts: bool
) -> LogHit | None:
    """The hit as its readers may see it; None if the visible text does not match."""
    at, last = spot
    start, end = _context_start(block.text, at), _context_end(block.text, last)
    first = number - block.text.count(b"\n", start, at)
    near = _visible_lines(block, start, end, first, redacts=redacts)
    n = _line_holding(near, block.at + at)
    text_parts = _highlighted(near[n].text, query)
    if text_parts is None and query.regular and not redacts:
        text_parts = ((False, near[n].text),)  # of a long line not all that was found is shown
    if text_parts is None:
        return None
    sides = slice(max(n - CONTEXT_LINES, 0), n), slice(n + 1, n + 1 + CONTEXT_LINES)
    return LogHit(line=near[n], before=near[sides[0]], after=near[sides[1]], text_parts=text_parts)


def _visible_lines(
    block: LogChunk, start: int, end: int, number: int, *, redacts: bool
) -> tuple[LogLine, ...]:
    """The lines between two offsets of a chunk, as their readers may see them."""
    before = block.text[max(start - LOOK_BACK, 0) : start].decode("utf-8", "replace")
    after = block.text[end : end + LEAD_CHARACTERS]
    span = LogSpan(at=block.at + start, text=block.text[start:end], ends=False, after=after)
    near = tuple(log_lines(span, (), number, before))
    return redacted_lines(near, before, span) if redacts else near


def _line_holding(near: tuple[LogLine, ...], offset: int) -> int:
    return max((n for n, line in enumerate(near) if line.offset <= offset), default=0)


def _highlighted(text: str, query: LogQuery) -> tuple[tuple[bool, str], ...] | None:
    parts: list[tuple[bool, str]] = []
    at = 0
    for begin, end in query.places(text):
        parts += [(False, text[at:begin]), (True, text[begin:end])]
        at = end
    return tuple(part for part in (*parts, (False, text[at:])) if part[1]) if parts else None


def _context_start(text: bytes, at: int) -> int:
    """The start of the lines shown before a hit; within a line of megabytes, of a word before it."""
    start = text.rfind(b"\n", max(at - CONTEXT_BYTES, 0), at) + 1
    if not start and at > CONTEXT_BYTES:
        return text.find(b" ", at - CONTEXT_BYTES, at) + 1 or at - CONTEXT_BYTES
    for _ in range(CONTEXT_LINES):
        above = text.rfind(b"\n", max(start - CONTEXT_BYTES, 0), max(start - 1, 0)) + 1
        start = above or (0 if start <= CONTEXT_BYTES else start)
    return start


def _context_end(text: bytes, at: int) -> int:
    """The end of the lines shown after a hit; within a line of megabytes, of a word after it."""
    end = text.find(b"\n", at, at + CONTEXT_BYTES) + 1
    if not end:
        return (
            len(text)
            if at + CONTEXT_BYTES >= len(text)
            else text.rfind(b" ", at, at + CONTEXT_BYTES) + 1 or at + CONTEXT_BYTES
        )
    for _ in range(CONTEXT_LINES):
        end = text.find(b"\n", end, end + CONTEXT_BYTES) + 1 or end
    return end


HighlightedText = tuple[tuple[bool, str], ...]


class HitGroup(Struct, frozen=True, kw_only=True):
    """Adjacent lines of a log, each with its highlighted text if it is a hit."""

    lines: tuple[tuple[LogLine, HighlightedText | None], ...]

    @property
    def words(self) -> str:
        """The group's label for screen readers."""
        first, last = self.lines[0][0].number, self.lines[-1][0].number
        return f"Line {first}" if first == last else f"Lines {first} to {last}"


def group_hits(hits: Sequence[LogHit]) -> tuple[HitGroup, ...]:
    """Merge hits that share lines into groups."""
    found: list[dict[int, tuple[LogLine, HighlightedText | None]]] = []
    for hit in hits:
        around = {line.offset: (line, None) for line in (*hit.before, *hit.after)}
        its: dict[int, tuple[LogLine, HighlightedText | None]] = {
            **around,
            hit.line.offset: (hit.line, hit.text_parts),
        }
        if not found or not found[-1].keys() & its.keys():
            found.append({})
        for offset, (line, text_parts) in its.items():
            known = found[-1].get(offset)
            found[-1][offset] = known if known and known[1] else (line, text_parts)
    return tuple(HitGroup(lines=tuple(block[offset] for offset in sorted(block))) for block in found)
