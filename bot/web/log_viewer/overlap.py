"""A whole log in overlapping blocks, so that whatever is found in one has the text around it at hand.

In:  a log, and the byte from which on it is read. Out: `Block`s. Memory is that of two of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bot.web.log.source import LogSource
from bot.web.log.window import LOOK_BACK

AHEAD = 8 << 10
"""Bytes behind a hit that are read before it is shown."""

BLOCK = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A byte of a log, and the number of the line that holds it."""

    offset: int = 0
    line: int = 1


@dataclass(frozen=True, slots=True)
class Block:
    """Text from byte `at` on, of which hits up to `limit` are taken: the rest is what stands behind them."""

    at: int
    text: bytes
    limit: int
    ends: bool

    def place(self, offset: int, known: Place) -> Place:
        """This byte with its line, counted from a place of the block that is known."""
        passed = self.text.count(b"\n", known.offset - self.at, offset - self.at)
        return Place(offset=offset, line=known.line + passed)


def overlapping(source: LogSource, start: int) -> Iterator[Block]:
    """The log in overlapping blocks, so that every hit has the text around it at hand."""
    base = max(start - LOOK_BACK, 0)
    kept, at = b"", base
    waiting: bytes | None = None
    for piece in _gathered(source.pieces_from(base)):
        if waiting is not None:
            text = kept + waiting
            yield Block(at, text, at + len(text) - AHEAD, ends=False)
            cut = max(len(text) - AHEAD - LOOK_BACK, 0)
            kept, at = text[cut:], at + cut
        waiting = piece
    if waiting is not None:
        text = kept + waiting
        yield Block(at, text, at + len(text), ends=True)


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of at least `BLOCK` bytes, but for the last: each is longer than what is read ahead."""
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= BLOCK:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)
