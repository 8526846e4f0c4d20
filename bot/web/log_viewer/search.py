"""Search a whole log for literal words or an RE2 expression, some seconds at a time.

Memory does not grow with the log, and time is linear in what is searched: RE2 has no backtracking, and an
expression whose machine would be large is an `InvalidQuery`. What is searched is the form that the reader is
shown, so text redacted from a public log cannot be guessed by searching. No match goes beyond its stored
line, and none is empty.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice

import re2
from msgspec import Struct

from bot.artifacts.log_archive import LogArchive, StoredLine
from bot.web.log_viewer.window import MAX_PIECE_BYTES, LogLine, character_start, log_lines
from bot.web.sanitize import sanitize
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
        """The first match in a folded chunk between two of its bytes."""
        if not self.regular:
            at = chunk.find(self.literal, begin, end)
            return (at, at + len(self.literal)) if at >= 0 else None
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


class LogPlace(Struct, frozen=True, kw_only=True):
    """A byte of a log and the number of its line."""

    offset: int = 0
    line: int = 1


MAX_HITS = 50

MAX_SECONDS = 2.0
"""A request ends after this time with what it found; the reader continues where it ended."""

CONTEXT_LINES = 2
"""Lines shown before and after a hit."""

SEARCH_STRIDE = 8 << 10
"""Bytes that an expression is matched against before the clock is looked at."""

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
    archive: LogArchive,
    query: LogQuery,
    begin: LogPlace,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Search the log from the line that contains a place on, as far as one request goes."""
    until = clock() + MAX_SECONDS
    hits: list[LogHit] = []
    for n in range(archive.block_at(begin.offset), archive.block_count):
        search = _BlockSearch(archive, n, query)
        for found, place in search.hits(begin.offset):
            check_abandoned()
            hits += [found] if found else []
            if place.offset < archive.size and (len(hits) >= MAX_HITS or clock() >= until):
                return SearchResult(hits=tuple(hits), begin=begin.offset, end=place.offset, following=place)
    return SearchResult(hits=tuple(hits), begin=begin.offset, end=archive.size, following=None)


class _BlockSearch:
    """The search of one block; its lines, and those of its neighbours, are looked at where there is a hit."""

    def __init__(self, archive: LogArchive, n: int, query: LogQuery) -> None:
        self._archive = archive
        self._n = n
        self._query = query
        self._block = archive.block(n)
        self._lines: list[StoredLine] = []
        self._starts: list[int] = []

    def hits(self, first: int) -> Iterator[tuple[LogHit | None, LogPlace]]:
        """The hits from byte `first` of the log on, each with the place behind it; None for a stretch without
        one."""
        block, query = self._block, self._query
        text = query.fold_case(block.text)
        at = self._start_of(first) if first > block.offset else 0
        stride = SEARCH_STRIDE if query.regular else len(text)
        while at < len(text):
            stop = text.find(b"\n", min(at + stride, len(text))) + 1 or len(text)
            span = query.find_in(text, at, stop)
            if span is None:
                at = stop
                yield None, self._place(at)
                continue
            end = text.find(b"\n", span[0]) + 1 or len(text) + 1
            yield from self._line_hits(text, span, end)
            at = end
        yield None, LogPlace(offset=block.offset + block.size, line=block.number + block.line_ends)

    def _start_of(self, offset: int) -> int:
        """The place in the block's text of this byte of the log; of a short line its beginning."""
        start = 0
        for line in self._block.lines():
            if line.offset + line.length > offset:
                is_long = len(line.text) > MAX_PIECE_BYTES
                return start + min(offset - line.offset, len(line.text)) * is_long
            start += len(line.text) + 1
        return start

    def _place(self, at: int) -> LogPlace:
        """The place of the line that begins at byte `at` of the block's text."""
        self._look()
        n = self._index(at)
        if n >= len(self._lines):
            return LogPlace(
                offset=self._block.offset + self._block.size, line=self._block.number + self._block.line_ends
            )
        return LogPlace(offset=self._lines[n].offset, line=self._lines[n].number)

    def _index(self, at: int) -> int:
        """The index of the line that begins at byte `at` of the text, or contains it."""
        if at > len(self._block.text):
            return len(self._lines)
        return bisect_right(self._starts, at) - 1

    def _look(self) -> None:
        if not self._lines:
            self._lines = list(self._block.lines())
            self._starts = list(accumulate((len(line.text) + 1 for line in self._lines[:-1]), initial=0))

    def _line_hits(
        self, text: bytes, span: tuple[int, int], end: int
    ) -> Iterator[tuple[LogHit | None, LogPlace]]:
        """The hits of one stored line, which ends before `end`: one, or some of a long line."""
        self._look()
        n = self._index(span[0])
        line, start = self._lines[n], self._starts[n]
        if len(line.text) <= MAX_PIECE_BYTES:
            yield self._hit(n, _shown(line)), self._place(end)
            return
        found: tuple[int, int] | None = span
        while found is not None:
            piece = _cut_out(line, found[0] - start, found[1] - start)
            at = max(found[0] + CONTEXT_BYTES, found[1])
            found = self._query.find_in(text, at, end - 1) if at < end else None
            inside = LogPlace(offset=line.offset + at - start, line=line.number)
            goes_on = found is not None and at - start < line.length
            yield self._hit(n, piece), inside if goes_on else self._place(end)

    def _hit(self, n: int, shown: LogLine) -> LogHit | None:
        """The hit in a line as it is shown; None if what is shown does not match."""
        text_parts = _highlighted(shown.text, self._query)
        if text_parts is None and self._query.regular and len(self._lines[n].text) > MAX_PIECE_BYTES:
            text_parts = ((False, shown.text),)  # a long line is shown in part
        if text_parts is None:
            return None
        return LogHit(
            line=shown,
            before=tuple(_shown(line) for line in self._around(n - CONTEXT_LINES, n)),
            after=tuple(_shown(line) for line in self._around(n + 1, n + 1 + CONTEXT_LINES)),
            text_parts=text_parts,
        )

    def _around(self, first: int, last: int) -> list[StoredLine]:
        """Some lines by their indices in this block, also of the blocks beside it."""
        found = self._lines[max(first, 0) : max(last, 0)]
        if first < 0 < self._n:
            found = [*list(self._archive.block(self._n - 1).lines())[first:], *found][-CONTEXT_LINES:]
        if (more := last - len(self._lines)) > 0 and self._n + 1 < self._archive.block_count:
            found = [*found, *islice(self._archive.block(self._n + 1).lines(), more)]
        return found


def _shown(line: StoredLine) -> LogLine:
    """A line as it is shown; of a long one the beginning."""
    return next(log_lines((line,), ()))


def _cut_out(line: StoredLine, start: int, end: int) -> LogLine:
    """A piece of a long line around a match."""
    text = line.text
    first, last = max(start - CONTEXT_BYTES, 0), min(end, start + CONTEXT_BYTES) + CONTEXT_BYTES
    if first:
        first = text.find(b" ", first, start) + 1 or character_start(text, first)
    if last < len(text):
        space = text.rfind(b" ", min(end, last), last)
        last = character_start(text, last) if space < 0 else space + 1
    return LogLine(
        number=line.number,
        offset=line.offset + min(first, max(line.length - 1, 0)),
        text=sanitize(text[first:last].decode("utf-8", "replace")),
        continues=line.continues or first > 0,
    )


def _highlighted(text: str, query: LogQuery) -> tuple[tuple[bool, str], ...] | None:
    parts: list[tuple[bool, str]] = []
    at = 0
    for begin, end in query.matches(text):
        parts += [(False, text[at:begin]), (True, text[begin:end])]
        at = end
    return tuple(part for part in (*parts, (False, text[at:])) if part[1]) if parts else None


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
