"""Reads parts of a run's log where it is kept, plain or gzip, and never the whole of it.

In:  a log's address, and which bytes of its text are wanted.
Out: those bytes; offsets are those of the text, after inflating.
Promises memory that does not grow with the log. The calls block: callers run them in a thread.
`Told` where the log is gone or refused, `Broken` where its store cannot be reached.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from bot.errors import Told
from bot.storage.artifacts import RunStore, open_store
from bot.storage.pieces import GZIP_MAGIC, PIECE

INFLATED_LIMIT = 256 << 20
"""A gzip can only be read from its start: this much takes about a second; what lies behind it is told to be
too far, and can be downloaded."""

COUNTED_LIMIT = 64 << 20
"""Bytes read only to know how many lines stand before a place: a fraction of a second from a disk, a few
seconds from a bucket."""

STRIDE = 4 << 20
"""Bytes per request when many are read: the latency of a bucket does not count then."""

GZIP = 31  # zlib's number for a gzip frame


class TooFar(Told):
    """The wanted place of a compressed log lies behind what is inflated for a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """One log. `size` is its length in bytes, None where it is compressed and so unknown."""

    store: RunStore
    name: str
    size: int | None
    zipped: bool

    def read(self, start: int, length: int) -> bytes:
        """The text's bytes from `start`, at most `length` of them, fewer at the end."""
        if not self.zipped:
            return self.store.read_range(self.name, start, length)
        if start + length > INFLATED_LIMIT:
            raise TooFar(
                f"This log is compressed, and this place lies behind its first {INFLATED_LIMIT >> 20} MB; "
                "download the whole log to read it."
            )
        return b"".join(_part(self.pieces(), start, length))

    def lines_between(self, start: int, end: int) -> int | None:
        """How many lines end in these bytes; None where counting them would take too long."""
        if end - start > (INFLATED_LIMIT if self.zipped else COUNTED_LIMIT):
            return None
        return sum(piece.count(b"\n") for piece in self.pieces_from(start, end))

    def pieces_from(self, start: int, end: int) -> Iterator[bytes]:
        """The text from one byte to another, or to its end, piece by piece."""
        if self.zipped:
            yield from _part(self.pieces(), start, end - start)
            return
        for at in range(start, end, STRIDE):
            length = min(STRIDE, end - at)
            piece = self.store.read_range(self.name, at, length)
            if piece:
                yield piece
            if len(piece) < length:
                return

    def pieces(self) -> Iterator[bytes]:
        """The whole text, piece by piece."""
        with self.store.open(self.name) as stored:
            yield from _inflated(stored) if self.zipped else stored


def open_log(address: str) -> LogSource:
    """The log at `file:…` or `gs://…`; asks its store once whether it is there and what it is."""
    store, name = _placed(address)
    size = store.size(name)
    zipped = size > len(GZIP_MAGIC) and store.read_range(name, 0, len(GZIP_MAGIC)) == GZIP_MAGIC
    return LogSource(store=store, name=name, size=None if zipped else size, zipped=zipped)


def _placed(address: str) -> tuple[RunStore, str]:
    """The store, and the log's name in it: a folder for a file, the bucket for an object."""
    if address.startswith("gs://"):
        bucket, _, name = address.removeprefix("gs://").partition("/")
        return open_store(f"gs://{bucket}"), name
    folder, _, name = address.rpartition("/")
    return open_store(folder or "/"), unquote(name) if address.startswith("file:") else name


def _part(pieces: Iterator[bytes], start: int, length: int) -> Iterator[bytes]:
    at, end = 0, start + length
    for piece in pieces:
        if at + len(piece) > start:
            yield piece[max(start - at, 0) : end - at]
        at += len(piece)
        if at >= end:
            return


def _inflated(stored: Iterator[bytes]) -> Iterator[bytes]:
    """The text of a gzip of one or more members; one that is cut gives what it holds."""
    inflate = zlib.decompressobj(GZIP)
    for piece in stored:
        waiting = piece
        while waiting:
            if inflate.eof:
                if not waiting.startswith(GZIP_MAGIC[:1]):
                    return
                inflate = zlib.decompressobj(GZIP)
            try:
                text = inflate.decompress(waiting, PIECE)
            except zlib.error as problem:
                raise Told("This log is compressed, and damaged: its rest cannot be read.") from problem
            if text:
                yield text
            waiting = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
