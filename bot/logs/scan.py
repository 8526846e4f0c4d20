"""Finds literals in a stream of bytes, in one pass and constant memory.

In:  chunks of bytes of any size, and the literals to look for.
Out: a `Hit` per literal found, in order, with the text around it.

The hits are the same however the stream was cut. A hit is given out only when `AHEAD` bytes after it have
been seen or the stream has ended, and is valid until the next one is asked for.
"""

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import ahocorasick_rs

BEHIND = 8 * 1024
"""Bytes kept in front of a hit: the prefix of its line, and the line before it."""
AHEAD = 32 * 1024
"""Bytes kept behind a hit: the longest record read from one place is a traceback."""
BLOCK = 512 * 1024
"""Bytes searched at a time: chunks of 128 KB and less cost 1.7 times as much per byte."""
AT_ONCE = 60
"""Literals per automaton: beyond 64 the vectorised searcher falls back to one 3 times slower, while a second
pass over bytes that are in the cache costs half as much as the first."""

_CONTROL = {0: None}


@dataclass(frozen=True, slots=True)
class _Text:
    """The part of the stream that is in memory: its first `filled` bytes; `ended`: they are the last."""

    buffer: mmap.mmap
    filled: int
    ended: bool


class Hit:
    """One literal found: `needle` is its index, `offset` its first byte in the stream.

    It is the same object for every literal of a block: making one for each costs as much as finding them.
    """

    __slots__ = ("_at", "_text", "needle", "offset")

    def __init__(self, text: "_Text") -> None:
        self._text = text
        self._at = self.needle = self.offset = 0

    def move(self, needle: int, offset: int, at: int) -> None:
        """Stand at the next literal: byte `at` of the text in memory."""
        self.needle = needle
        self.offset = offset
        self._at = at

    def around(self, behind: int, ahead: int) -> tuple[bytes, int]:
        """The bytes from up to `behind` in front of the literal's first one to up to `ahead` after it, as
        they are, and where among them the literal begins."""
        at, text = self._at, self._text
        start = at - behind if at > behind else 0
        return text.buffer[start : min(text.filled, at + ahead)], at - start

    def before(self, count: int) -> str:
        """Up to `count` bytes of text in front of the literal."""
        return _plain(self._text.buffer[max(0, self._at - count) : self._at])

    def after(self, count: int) -> str:
        """Up to `count` bytes of text from the literal's first byte on."""
        return _plain(self._text.buffer[self._at : min(self._text.filled, self._at + count)])

    def reaches_end(self, count: int) -> bool:
        """Whether `after(count)` shows the last byte of the whole stream."""
        return self._text.ended and self._at + count >= self._text.filled


def _plain(piece: bytes) -> str:
    text = piece.decode("utf-8", "replace")
    return text.translate(_CONTROL) if "\0" in text else text


class Scanner:
    """Feed it chunks, then close it; both give the hits that have become certain."""

    def __init__(self, needles: Sequence[bytes]) -> None:
        count = -(-len(needles) // AT_ONCE) or 1
        self._size = -(-len(needles) // count) or 1  # as many in each: fewer at once are found faster
        groups = [needles[n : n + self._size] for n in range(0, len(needles), self._size)]
        self._automata = [
            ahocorasick_rs.BytesAhoCorasick(list(group), ahocorasick_rs.MatchKind.LeftmostFirst)
            for group in groups
        ]
        self._tail = max(map(len, needles), default=1) - 1
        self._buffer = mmap.mmap(-1, BEHIND + AHEAD + self._tail + BLOCK)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._start = 0  # of the stream, the offset of the buffer's first byte
        self._from = [0] * len(groups)  # per automaton, where its next search begins in the buffer
        self.searched = 0  # bytes handed to each automaton: the work done

    def feed(self, chunk: bytes) -> Iterator[Hit]:
        """Take the next bytes of the stream."""
        rest = memoryview(chunk)
        while rest:
            room = len(self._buffer) - self._filled
            taken = rest[:room]
            self._view[self._filled : self._filled + len(taken)] = taken
            self._filled += len(taken)
            rest = rest[room:]
            if self._filled == len(self._buffer):
                yield from self._hits(len(self._buffer) - AHEAD, ended=False)
                self._move()

    def close(self) -> Iterator[Hit]:
        """The stream has ended: give out what was still uncertain."""
        yield from self._hits(self._filled, ended=True)

    def _hits(self, limit: int, *, ended: bool) -> Iterator[Hit]:
        """Hits that begin before `limit`; later ones are found again when more is known."""
        found = [place for group in range(len(self._automata)) for place in self._search(group, limit)]
        found.sort()
        hit = Hit(_Text(self._buffer, self._filled, ended))
        for at, needle in found:
            hit.move(needle, self._start + at, at)
            yield hit

    def _search(self, group: int, limit: int) -> list[tuple[int, int]]:
        """Where the literals of a group begin, and which they are."""
        origin = self._from[group]
        self.searched += self._filled - origin if group == 0 else 0
        matches = self._automata[group].find_matches_as_indexes(self._view[origin : self._filled])
        while matches and origin + matches[-1][1] >= limit:
            matches.pop()
        self._from[group] = max(origin, limit, origin + matches[-1][2] if matches else 0)
        first_of_group = group * self._size
        return [(origin + first, first_of_group + needle) for needle, first, _ in matches]

    def _move(self) -> None:
        """Keep what a later hit may need in front of it, drop the rest."""
        drop = max(0, min(self._from) - BEHIND)
        kept = self._filled - drop
        self._buffer.move(0, drop, kept)
        self._start += drop
        self._filled = kept
        self._from = [at - drop for at in self._from]


class Literals:
    """Finds literals in a text that is at hand; of those that overlap the first one is found."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            list(literals), ahocorasick_rs.MatchKind.LeftmostFirst
        )

    def places(self, text: bytes) -> Iterator[tuple[int, int]]:
        """The index of each literal found, and where it begins."""
        for literal, start, _ in self._automaton.find_matches_as_indexes(text):
            yield literal, start
