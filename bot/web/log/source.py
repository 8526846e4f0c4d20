"""Reads parts of a run's log where it is kept, plain, gzip or UTF-16, and never the whole of it.

In:  a log's address, and which bytes of its text are wanted.
Out: those bytes; offsets are those of the text, after inflating and in UTF-8.
Promises memory that does not grow with the log. The calls block: callers run them in a thread.
`Told` where the log is gone or refused, `Broken` where its store cannot be reached.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar
from urllib.parse import unquote

from bot.errors import Told
from bot.logs.encoding import is_utf16
from bot.storage.artifacts import RunStore, open_store
from bot.storage.line_index import STRIDE, IndexShelf, LineIndex, identity, line_index
from bot.storage.pieces import GZIP_MAGIC
from bot.web.log.gzipped import GzipText
from bot.web.log.recoded import RecodedText

INFLATED_LIMIT = 4 << 30
"""Bytes of text that are inflated for a page, some seconds of work; a small file may hold any amount."""

READ_STRIDE = 4 << 20
"""Bytes per request when many are read: the latency of a bucket does not count then."""

Kept = TypeVar("Kept")

KEPT_INDEXES = 64
KEPT_GZIPS = 6
"""Compressed logs whose inflater's states are kept, some 10 MB each at the most."""


class TooFar(Told):
    """The wanted place of a compressed log lies behind what is inflated for a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """One content of one log. `identity` names both; `gzip` is there where it is compressed, `recoded` where
    it is UTF-16."""

    store: RunStore
    name: str
    identity: str
    stored: int
    gzip: GzipText | None = None
    recoded: RecodedText | None = None

    @property
    def size(self) -> int | None:
        """The length of its text in bytes; None where that is not known yet, because it is not stored so."""
        return self.stored if self._made is None else self._made.size

    @property
    def _made(self) -> GzipText | RecodedText | None:
        """What makes the text, where it is not stored as it is."""
        return self.recoded or self.gzip

    @property
    def zipped(self) -> bool:
        """Whether it is kept as a gzip."""
        return self.gzip is not None

    def read(self, start: int, length: int) -> bytes:
        """The text's bytes from `start`, at most `length` of them, fewer at the end."""
        if self._made is None:
            return self.store.read_range(self.name, start, length)
        return b"".join(self.pieces_from(start, start + length))

    def pieces_from(self, start: int, end: int | None = None) -> Iterator[bytes]:
        """The text from one byte to another, or to its end, piece by piece."""
        pieces = self._stored_from(start, end) if self._made is None else _as_far(self._made, start)
        at = start
        for piece in pieces:
            if end is not None and at + len(piece) >= end:
                yield piece[: end - at]
                return
            yield piece
            at += len(piece)

    def pieces(self) -> Iterator[bytes]:
        """The whole text, piece by piece."""
        if self._made is not None:
            yield from self._made.pieces_from(0)
            return
        with self.store.open(self.name) as stored:
            yield from stored

    def _stored_from(self, start: int, end: int | None) -> Iterator[bytes]:
        last = self.stored if end is None else end
        for at in range(start, last, READ_STRIDE):
            length = min(READ_STRIDE, last - at)
            piece = self.store.read_range(self.name, at, length)
            if piece:
                yield piece
            if len(piece) < length:
                return


def _as_far(text: GzipText | RecodedText, start: int) -> Iterator[bytes]:
    """The text from a byte on, as far as a page goes; `TooFar` there."""
    at = start
    if at <= INFLATED_LIMIT:
        for piece in text.pieces_from(start):
            yield piece
            at += len(piece)
            if at > INFLATED_LIMIT:
                break
        else:
            return
    raise TooFar(
        f"This log is compressed or UTF-16, and this place lies behind its first {INFLATED_LIMIT >> 30} GB; "
        "download the whole log to read it."
    )


class Logs:
    """Opens logs, and remembers where their lines stand; safe to use from several threads."""

    def __init__(self, shelf: IndexShelf | None = None) -> None:
        self._shelf = shelf or IndexShelf()
        self._indexes: OrderedDict[str, LineIndex] = OrderedDict()
        self._gzips: OrderedDict[str, GzipText] = OrderedDict()
        self._recoded: OrderedDict[str, RecodedText | None] = OrderedDict()
        self._making: dict[str, Lock] = {}
        self._lock = Lock()

    def open(self, address: str) -> LogSource:
        """The log at `file:…` or `gs://…`; asks its store once whether it is there and what it is."""
        store, name = _placed(address)
        file = store.describe(name)
        named = identity(address, file.generation)
        zipped = file.size > len(GZIP_MAGIC) and store.read_range(name, 0, len(GZIP_MAGIC)) == GZIP_MAGIC
        text = self._gzip(named, GzipText(store, name, file.size)) if zipped else None
        source = LogSource(store=store, name=name, identity=named, stored=file.size, gzip=text)
        recoded = self._recoding(source)
        return source if recoded is None else replace(source, recoded=recoded, identity=f"{named} in UTF-8")

    def index(self, source: LogSource) -> LineIndex:
        """Where the lines of this log stand; read through once for that, where nobody did before."""
        with self._lock:
            making = self._making.setdefault(source.identity, Lock())
        with making:
            index = self._indexes.get(source.identity) or self._shelf.find(source.identity)
            if index is None:
                index = line_index(source.pieces_from(0))
                self._shelf.keep(source.identity, index)
            with self._lock:
                _remember(self._indexes, source.identity, index, KEPT_INDEXES)
                self._making.pop(source.identity, None)
        return index

    def number_at(self, source: LogSource, offset: int) -> int:
        """The number of the line that holds this byte."""
        if offset < STRIDE:
            at, number = 0, 1
        else:
            at, number = self.index(source).before(offset)
        return number + sum(piece.count(b"\n") for piece in source.pieces_from(at, offset))

    def place_of(self, source: LogSource, line: int) -> int | None:
        """The byte at which a line begins; None where the log has no such line."""
        if line <= 1:
            return 0
        known = self.index(source).block_of(line)
        if known is None:
            return None
        at, number = known
        for piece in source.pieces_from(at, at + STRIDE):
            count = piece.count(b"\n")
            if number + count >= line:
                place = at + _after_lines(piece, line - number)
                return place if place < self.index(source).size else None
            at, number = at + len(piece), number + count
        return None

    def _recoding(self, source: LogSource) -> RecodedText | None:
        """What makes UTF-8 of it; None where it is no UTF-16, which is looked up once."""
        name, known = source.identity, self._recoded
        with self._lock:
            if name in known:
                return _remember(known, name, known[name], KEPT_INDEXES)
        fresh = RecodedText(source.pieces_from) if is_utf16(source.read(0, 4)) else None
        with self._lock:
            return _remember(known, name, known.get(name) or fresh, KEPT_INDEXES)

    def _gzip(self, name: str, fresh: GzipText) -> GzipText:
        with self._lock:
            return _remember(self._gzips, name, self._gzips.get(name, fresh), KEPT_GZIPS)


def open_log(address: str) -> LogSource:
    """A log that nothing is remembered of."""
    return Logs().open(address)


def _remember(known: "OrderedDict[str, Kept]", name: str, value: "Kept", most: int) -> "Kept":
    known[name] = value
    known.move_to_end(name)
    while len(known) > most:
        known.popitem(last=False)
    return value


def _after_lines(text: bytes, count: int) -> int:
    """The place behind so many line ends."""
    place = 0
    for _ in range(count):
        place = text.index(b"\n", place) + 1
    return place


def _placed(address: str) -> tuple[RunStore, str]:
    """The store, and the log's name in it: a folder for a file, the bucket for an object."""
    if address.startswith("gs://"):
        bucket, _, name = address.removeprefix("gs://").partition("/")
        return open_store(f"gs://{bucket}"), name
    folder, _, name = address.rpartition("/")
    return open_store(folder or "/"), unquote(name) if address.startswith("file:") else name
