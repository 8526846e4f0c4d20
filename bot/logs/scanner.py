"""Find literals in a stream of bytes, in one pass and constant memory.

The hits do not depend on how the stream is cut. A hit is given out when `BYTES_AFTER` bytes after it are
known or the stream has ended. It is valid until the next one is requested.
"""

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence

import ahocorasick_rs

BYTES_BEFORE = 8 * 1024
"""Bytes kept in front of a hit: the prefix of its line, and the line before it."""
BYTES_AFTER = 32 * 1024
"""Bytes kept behind a hit: the longest record read from one place is a traceback."""
BLOCK_BYTES = 512 * 1024
"""Bytes searched at a time: chunks of 128 KB and less cost 1.7 times as much per byte."""
LITERALS_PER_AUTOMATON = 46
"""Beyond 64 the vectorised searcher falls back to one that is 3 times slower, and up to there it gets slower:
175 literals take 0.87 s a gigabyte in groups of 59, 0.69 in groups of 44, 0.72 of 35, 0.95 of 30."""

_DROP_NUL = {0: None}


class LiteralHit:
    """One literal found: `literal` is its index, `offset` its first byte in the stream.

    All literals of a block share one object: making one for each costs as much as finding them. The raw bytes
    are the first `filled` ones of `buffer`; the literal begins at `at`.
    """

    __slots__ = ("_ended", "at", "buffer", "filled", "literal", "offset")

    def __init__(self, buffer: mmap.mmap, filled: int, *, ended: bool) -> None:
        self.at = self.literal = self.offset = 0
        self.buffer = buffer
        self.filled = filled
        self._ended = ended

    def before(self, count: int) -> str:
        """Up to `count` bytes of text in front of the literal."""
        return _decode(self.buffer[max(0, self.at - count) : self.at])

    def after(self, count: int) -> str:
        """Up to `count` bytes of text from the literal's first byte on."""
        return _decode(self.buffer[self.at : min(self.filled, self.at + count)])

    def reaches_end(self, count: int) -> bool:
        """Whether `after(count)` shows the last byte of the whole stream."""
        return self._ended and self.at + count >= self.filled


def _decode(piece: bytes) -> str:
    text = piece.decode("utf-8", "replace")
    return text.translate(_DROP_NUL) if "\0" in text else text


class Scanner:
    """Finds literals in a stream. Feed it chunks, then close it; both give the hits that are certain by then.

    `skip` has functions by index of a literal. A hit for which the function returns true is done with and is
    not given out: where hits are many, giving them out costs as much as looking at them.
    """

    def __init__(
        self, literals: Sequence[bytes], skip: Mapping[int, Callable[[LiteralHit], bool]] | None = None
    ) -> None:
        self._skip = skip or {}
        count = -(-len(literals) // LITERALS_PER_AUTOMATON) or 1
        self._size = -(-len(literals) // count) or 1  # evenly: fewer literals are found faster
        groups = [literals[n : n + self._size] for n in range(0, len(literals), self._size)]
        self._automata = [
            ahocorasick_rs.BytesAhoCorasick(list(group), ahocorasick_rs.MatchKind.LeftmostFirst)
            for group in groups
        ]
        self._tail = max(map(len, literals), default=1) - 1
        self._buffer = mmap.mmap(-1, BYTES_BEFORE + BYTES_AFTER + self._tail + BLOCK_BYTES)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._start = 0  # offset of the buffer's first byte in the stream
        self._from = [0] * len(groups)  # where each automaton's next search begins in the buffer
        self.searched = 0  # bytes given to each automaton: the work done

    def feed(self, chunk: bytes) -> Iterator[LiteralHit]:
        """The hits that become certain with these bytes of the stream."""
        rest = memoryview(chunk)
        while rest:
            room = len(self._buffer) - self._filled
            taken = rest[:room]
            self._view[self._filled : self._filled + len(taken)] = taken
            self._filled += len(taken)
            rest = rest[room:]
            if self._filled == len(self._buffer):
                yield from self._hits(len(self._buffer) - BYTES_AFTER, ended=False)
                self._move()

    def close(self) -> Iterator[LiteralHit]:
        """The remaining hits of the stream, which has ended."""
        yield from self._hits(self._filled, ended=True)

    @property
    def total(self) -> int:
        """Bytes of the stream so far."""
        return self._start + self._filled

    def _hits(self, limit: int, *, ended: bool) -> Iterator[LiteralHit]:
        """Hits that begin before `limit`; later ones are found again when more bytes are known."""
        found = [place for group in range(len(self._automata)) for place in self._search(group, limit)]
        found.sort()
        hit = LiteralHit(self._buffer, self._filled, ended=ended)
        start, skip = self._start, self._skip
        for at, literal in found:
            hit.at, hit.literal, hit.offset = at, literal, start + at
            if literal not in skip or not skip[literal](hit):
                yield hit

    def _search(self, group: int, limit: int) -> list[tuple[int, int]]:
        """Where literals of a group begin, and their indices."""
        origin = self._from[group]
        self.searched += self._filled - origin if group == 0 else 0
        matches = self._automata[group].find_matches_as_indexes(self._view[origin : self._filled])
        while matches and origin + matches[-1][1] >= limit:
            matches.pop()
        self._from[group] = max(origin, limit, origin + matches[-1][2] if matches else 0)
        first_of_group = group * self._size
        return [(origin + first, first_of_group + literal) for literal, first, _ in matches]

    def _move(self) -> None:
        """Keep the bytes that a later hit may need in front of it, drop the rest."""
        drop = max(0, min(self._from) - BYTES_BEFORE)
        kept = self._filled - drop
        self._buffer.move(0, drop, kept)
        self._start += drop
        self._filled = kept
        self._from = [at - drop for at in self._from]
