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
from bot.web.throttle import check_abandoned

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
        """The bytes to search in a chunk that `fold_case` returned, unless it is an expression."""
        return (self.words if self.cased else self.words.lower()).encode("utf-8", "replace")

    def fold_case(self, chunk: bytes) -> bytes:
        """The chunk as it is searched; for literal words only ASCII letters fold case."""
        return chunk if self.cased or self.regular else chunk.lower()

    def find_in(self, chunk: bytes, begin: int, end: int) -> tuple[int, int] | None:
        """The first match in a folded chunk that begins between two of its bytes."""
        if not self.regular:
            literal = self.literal
            at = chunk.find(literal, begin, end + len(literal) - 1)
            return (at, at + len(literal)) if at >= 0 else None
        found = compile_pattern(self.words, cased=self.cased).search(chunk, begin, end)
        return _require_not_empty(found.span()) if found else None

    def matches(self, text: str) -> Iterator[tuple[int, int]]:
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
    for chunk in overlapping_chunks(source, begin.offset):
        hidden = redacts and query.regular
        found = (
            _redacted_hits(chunk, query, at) if hidden else _stored_hits(chunk, query, at, redacts=redacts)
        )
        for hit, place in found:
            check_abandoned()
            hits += [hit] if hit else []
            at = place
            if len(hits) >= MAX_HITS or clock() >= until:
                return SearchResult(hits=tuple(hits), begin=begin.offset, end=at.offset, following=at)
        at = chunk.place(max(chunk.limit, at.offset), at)
        if clock() >= until and not chunk.ends:
            return SearchResult(hits=tuple(hits), begin=begin.offset, end=at.offset, following=at)
    return SearchResult(hits=tuple(hits), begin=begin.offset, end=at.offset, following=None)


def _stored_hits(
    chunk: LogChunk, query: LogQuery, begin: LogPlace, *, redacts: bool
) -> Iterator[tuple[LogHit | None, LogPlace]]:
    """The hits of a chunk from a place on, each with the place behind it.

    One hit for each line, or for each stretch of a line of megabytes; None for one that its readers may
    not see.
    """
    text, known = query.fold_case(chunk.text), begin
    at, limit = begin.offset - chunk.at, chunk.limit - chunk.at
    while at < limit:
        stop = _search_end(text, at) if query.regular else len(text)
        span = query.find_in(text, at, stop)
        if span is None or span[0] >= limit:
            known = chunk.place(chunk.at + min(stop, limit), known)
            yield None, known
            at = stop
            continue
        first, last = span[0], min(span[1], span[0] + CONTEXT_BYTES)
        known = chunk.place(chunk.at + first, known)
        end = chunk.text.find(b"\n", last, first + CONTEXT_BYTES)
        at = end + 1 if end >= 0 else min(first + max(CONTEXT_BYTES, last - first), len(text))
        yield (
            _visible_hit(chunk, query, (first, last), known.line, redacts=redacts),
            chunk.place(chunk.at + at, known),
        )


def _redacted_hits(
    chunk: LogChunk, query: LogQuery, begin: LogPlace
) -> Iterator[tuple[LogHit | None, LogPlace]]:
    """The hits of an expression in the redacted text.

    The stored text is not searched: an expression that matches both a guess and the sign in a secret's place
    would confirm the guess.
    """
    known = begin
    at, limit = begin.offset - chunk.at, chunk.limit - chunk.at
    while at < limit:
        stop = _search_end(chunk.text, at)
        lead = chunk.text[max(at - LOOK_BACK, 0) : at].decode("utf-8", "replace")
        public = Redaction(lead).whole(chunk.text[at:stop], chunk.text[stop : stop + LEAD_CHARACTERS])
        if query.find_in(public, 0, len(public)):
            for hit, end in _hits_in_redacted(chunk, query, at, stop, known.line):
                if hit.line.offset < chunk.limit:
                    known = chunk.place(end, known)
                    yield hit, known
        # The last line is searched whole.
        end = chunk.text.find(b"\n", limit - 1, stop) + 1 or min(stop, limit)
        known = chunk.place(max(chunk.at + end, known.offset), known)
        yield None, known
        at = stop


def _hits_in_redacted(
    chunk: LogChunk, query: LogQuery, at: int, stop: int, number: int
) -> Iterator[tuple[LogHit, int]]:
    """The hits between two offsets of a chunk, each with the byte behind it."""
    start = _context_start(chunk.text, at)
    above = _visible_lines(chunk, start, at, number - chunk.text.count(b"\n", start, at), redacts=True)
    lines = _visible_lines(chunk, at, stop, number, redacts=True)
    passed = chunk.text.count(b"\n", at, stop)
    below = _visible_lines(chunk, stop, _context_end(chunk.text, stop), number + passed, redacts=True)
    near = (*above, *lines, *below)
    ends = [*(line.offset for line in lines[1:]), chunk.at + stop]
    for n, line in enumerate(lines, len(above)):
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
    chunk: LogChunk, query: LogQuery, span: tuple[int, int], number: int, *, redacts: bool
) -> LogHit | None:
    """The hit as its readers may see it; None if the visible text does not match."""
    at, last = span
    start, end = _context_start(chunk.text, at), _context_end(chunk.text, last)
    first = number - chunk.text.count(b"\n", start, at)
    near = _visible_lines(chunk, start, end, first, redacts=redacts)
    n = _line_holding(near, chunk.at + at)
    text_parts = _highlighted(near[n].text, query)
    if text_parts is None and query.regular and not redacts:
        text_parts = ((False, near[n].text),)  # a long line is shown in part
    if text_parts is None:
        return None
    sides = slice(max(n - CONTEXT_LINES, 0), n), slice(n + 1, n + 1 + CONTEXT_LINES)
    return LogHit(line=near[n], before=near[sides[0]], after=near[sides[1]], text_parts=text_parts)


def _visible_lines(
    chunk: LogChunk, start: int, end: int, number: int, *, redacts: bool
) -> tuple[LogLine, ...]:
    """The lines between two offsets of a chunk, as their readers may see them."""
    before = chunk.text[max(start - LOOK_BACK, 0) : start].decode("utf-8", "replace")
    after = chunk.text[end : end + LEAD_CHARACTERS]
    span = LogSpan(at=chunk.at + start, text=chunk.text[start:end], ends=False, after=after)
    near = tuple(log_lines(span, (), number, before))
    return redacted_lines(near, before, span) if redacts else near


def _line_holding(near: tuple[LogLine, ...], offset: int) -> int:
    return max((n for n, line in enumerate(near) if line.offset <= offset), default=0)


def _highlighted(text: str, query: LogQuery) -> tuple[tuple[bool, str], ...] | None:
    parts: list[tuple[bool, str]] = []
    at = 0
    for begin, end in query.matches(text):
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
    groups: list[dict[int, tuple[LogLine, HighlightedText | None]]] = []
    for hit in hits:
        around = {line.offset: (line, None) for line in (*hit.before, *hit.after)}
        lines: dict[int, tuple[LogLine, HighlightedText | None]] = {
            **around,
            hit.line.offset: (hit.line, hit.text_parts),
        }
        if not groups or not groups[-1].keys() & lines.keys():
            groups.append({})
        for offset, (line, text_parts) in lines.items():
            known = groups[-1].get(offset)
            groups[-1][offset] = known if known and known[1] else (line, text_parts)
    return tuple(HitGroup(lines=tuple(group[offset] for offset in sorted(group))) for group in groups)
