"""A sparse index of the lines of a large log, made in one pass and kept beside our own files.

Some kilobytes for gigabytes, with exact line numbers. An index belongs to one content of one log: its name
is made of both, so that a log that changed is never read with the index of what it was.
"""

import hashlib
import logging
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable

from msgspec import Struct

from bot.artifacts.store import ArtifactStore
from bot.errors import InternalError, UserError

STRIDE = 256 << 10
"""Bytes between two index entries: a line is found by reading this much, and 2 GB have 8192 entries."""

MIN_INDEXED_BYTES = 16 << 20
"""Smallest log whose index is kept: a smaller one is counted in a few milliseconds."""

_FOLDER = "line-index"

_HEADER = struct.Struct("<4sQ")

_MAGIC = b"MVL1"

_MAX_INDEX_BYTES = 8 << 20  # an index of a log of terabytes

LOG = logging.getLogger(__name__)


class LineIndex(Struct, frozen=True):
    """`size` is the log's length in bytes, `ends[k]` how many lines end in its first `(k + 1) * STRIDE`;
    the last entry counts all of them."""

    size: int
    ends: "array[int]"

    def before(self, offset: int) -> tuple[int, int]:
        """The last entry at or before `offset`: its offset, and the number of the line there."""
        block = min(offset, self.size) // STRIDE
        return block * STRIDE, (self.ends[block - 1] if block else 0) + 1

    def block_of(self, line: int) -> tuple[int, int] | None:
        """The entry before a line: its offset, and the line there; None if the log has no such line."""
        if line <= 1:
            return 0, 1
        if not self.ends or line - 1 > self.ends[-1]:
            return None
        block = bisect_left(self.ends, line - 1)
        return block * STRIDE, (self.ends[block - 1] if block else 0) + 1

    def encoded(self) -> bytes:
        """The index as bytes."""
        counts = array("Q", (now - before for now, before in zip(self.ends, [0, *self.ends], strict=False)))
        return _HEADER.pack(_MAGIC, self.size) + zlib.compress(counts.tobytes(), 6)


def decode_index(stored: bytes) -> LineIndex | None:
    """The index of `encoded`; None if it is something else or damaged."""
    if len(stored) < _HEADER.size:
        return None
    magic, size = _HEADER.unpack_from(stored)
    try:
        counts = array("Q", zlib.decompress(stored[_HEADER.size :]))
    except (zlib.error, ValueError):
        return None
    if magic != _MAGIC or len(counts) != -(-size // STRIDE):
        return None
    total, ends = 0, array("Q")
    for count in counts:
        total += count
        ends.append(total)
    return LineIndex(size, ends)


class LineIndexBuilder:
    """Builds an index from text, chunk by chunk."""

    def __init__(self) -> None:
        self._size = 0
        self._found = 0
        self._ends = array("Q")

    def feed(self, piece: bytes) -> None:
        """Count the next chunk of the log."""
        at = 0
        while at < len(piece):
            end = min(at + STRIDE - self._size % STRIDE, len(piece))
            self._found += piece.count(b"\n", at, end)
            self._size += end - at
            at = end
            if self._size % STRIDE == 0:
                self._ends.append(self._found)

    def index(self) -> LineIndex:
        """The index of everything fed."""
        rest = [self._found] if self._size % STRIDE else []
        return LineIndex(self._size, array("Q", [*self._ends, *rest]))


def content_identity(address: str, generation: str) -> str:
    """The identity of one content of one log."""
    return f"{address} {generation}"


def build_index(pieces: Iterable[bytes]) -> LineIndex:
    """The index of a whole text."""
    counter = LineIndexBuilder()
    for piece in pieces:
        counter.feed(piece)
    return counter.index()


class LineIndexCache(Struct, frozen=True):
    """Keeps indexes in our own store; without a store they are rebuilt after a start."""

    store: ArtifactStore | None = None

    def find(self, name: str) -> LineIndex | None:
        """The stored index of this content of this log, or None."""
        if self.store is None:
            return None
        try:
            stored = self.store.read_small(_file_name(name), _MAX_INDEX_BYTES)
        except (UserError, InternalError) as problem:
            LOG.warning("an index of lines cannot be read, so it is made again: %s", problem)
            return None
        return decode_index(stored) if stored else None

    def keep(self, name: str, index: LineIndex) -> None:
        """Store an index that saves work. If the store is unavailable the log can still be read."""
        if self.store is None or index.size < MIN_INDEXED_BYTES:
            return
        try:
            self.store.write(_file_name(name), [index.encoded()], "application/octet-stream")
        except (UserError, InternalError) as problem:
            LOG.warning("an index of lines cannot be kept: %s", problem)


def _file_name(name: str) -> str:
    return f"{_FOLDER}/{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
