"""Read parts of a run's log where it is stored, plain, gzip or UTF-16, and never the whole of it.

Offsets count bytes of the text, after inflating and in UTF-8. Memory does not grow with the log. Calls block:
callers run them in a thread. A log that cannot be shown is `LogUnavailable`.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from bot.artifacts.line_index import STRIDE, LineIndex, LineIndexCache, build_index, content_identity
from bot.artifacts.sources import open_store
from bot.artifacts.store import GZIP_MAGIC, AddressGuard, ArtifactStore
from bot.domain.run import RunOrigin, RunRecord
from bot.errors import InternalError, NotGranted, UserError
from bot.logs.decoding import is_utf16
from bot.redaction.redact import redact
from bot.web.log_viewer.seekable import DamagedGzip, GzipText, RecodedText

INFLATED_LIMIT = 4 << 30
"""Bytes of text inflated for a page at most, some seconds of work: a small file may expand to any size."""

READ_STRIDE = 4 << 20
"""Bytes per request when many are read, so that the bucket's latency does not matter."""

CachedValue = TypeVar("CachedValue")

MAX_CACHED_INDEXES = 64

MAX_CACHED_GZIPS = 6
"""Compressed logs whose inflater states are cached, some 10 MB each at most."""


class OffsetTooFar(UserError):
    """The requested place of a compressed log is behind `INFLATED_LIMIT`."""


class LogSource(Struct, frozen=True, kw_only=True):
    """One version of one log; `identity` names both.

    `gzip` is set if it is stored compressed, `recoded` if it is UTF-16.
    """

    store: ArtifactStore
    name: str
    identity: str
    stored: int
    gzip: GzipText | None = None
    recoded: RecodedText | None = None

    @property
    def size(self) -> int | None:
        """Bytes of its text; None if not known yet because it is stored encoded."""
        return self.stored if self._decoded is None else self._decoded.size

    @property
    def _decoded(self) -> GzipText | RecodedText | None:
        """The decoder, unless the text is stored as it is."""
        return self.recoded or self.gzip

    @property
    def zipped(self) -> bool:
        """Whether it is stored as a gzip."""
        return self.gzip is not None

    def read(self, start: int, length: int) -> bytes:
        """At most `length` bytes of the text from `start`, fewer at the end."""
        if self._decoded is None:
            return self.store.read_range(self.name, start, length)
        return b"".join(self.pieces_from(start, start + length))

    def pieces_from(self, start: int, end: int | None = None) -> Iterator[bytes]:
        """The text from one byte to another, or to its end, piece by piece."""
        pieces = (
            self._stored_from(start, end) if self._decoded is None else _up_to_limit(self._decoded, start)
        )
        at = start
        for piece in pieces:
            if end is not None and at + len(piece) >= end:
                yield piece[: end - at]
                return
            yield piece
            at += len(piece)

    def pieces(self) -> Iterator[bytes]:
        """The whole text, piece by piece."""
        if self._decoded is not None:
            yield from self._decoded.pieces_from(0)
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


def _up_to_limit(text: GzipText | RecodedText, start: int) -> Iterator[bytes]:
    """The text from a byte on; raises `OffsetTooFar` at `INFLATED_LIMIT`."""
    at = start
    if at <= INFLATED_LIMIT:
        for piece in text.pieces_from(start):
            yield piece
            at += len(piece)
            if at > INFLATED_LIMIT:
                break
        else:
            return
    raise OffsetTooFar(
        f"This log is compressed or UTF-16, and this place lies behind its first {INFLATED_LIMIT >> 30} GB; "
        "download the whole log to read it."
    )


class Logs:
    """Opens logs and caches their line indexes and decoder states; thread-safe.

    `guard_of` says what of other stores than our own a repository's pages may read."""

    def __init__(
        self, shelf: LineIndexCache | None = None, guard_of: Callable[[str], AddressGuard] | None = None
    ) -> None:
        self._guard_of = guard_of
        self._shelf = shelf or LineIndexCache()
        self._indexes: OrderedDict[str, LineIndex] = OrderedDict()
        self._gzips: OrderedDict[str, GzipText] = OrderedDict()
        self._recoded: OrderedDict[str, RecodedText | None] = OrderedDict()
        self._making: dict[str, Lock] = {}
        self._lock = Lock()

    def open_run(self, record: RunRecord, address: str) -> LogSource:
        """The log of a run: of a launched one in our own artifacts, of a found one where it was found."""
        if record.origin is RunOrigin.LAUNCHED or self._guard_of is None:
            return self.open(address)
        return self.open(address, self._guard_of(record.repository))

    def open(self, address: str, allows: AddressGuard | None = None) -> LogSource:
        """The log at `file:…` or `gs://…`; asks its store once whether it exists and what it is."""
        store, name = _store_and_name(address, allows)
        file = store.describe(name)
        named = content_identity(address, file.generation)
        zipped = file.size > len(GZIP_MAGIC) and store.read_range(name, 0, len(GZIP_MAGIC)) == GZIP_MAGIC
        text = self._gzip(named, GzipText(store, name, file.size)) if zipped else None
        source = LogSource(store=store, name=name, identity=named, stored=file.size, gzip=text)
        recoded = self._recoding(source)
        return source if recoded is None else replace(source, recoded=recoded, identity=f"{named} in UTF-8")

    def index(self, source: LogSource) -> LineIndex:
        """The line index of this log; the first caller reads the whole log for it."""
        with self._lock:
            making = self._making.setdefault(source.identity, Lock())
        with making:
            index = self._indexes.get(source.identity) or self._shelf.find(source.identity)
            if index is None:
                index = build_index(source.pieces_from(0))
                self._shelf.keep(source.identity, index)
            with self._lock:
                _cache(self._indexes, source.identity, index, MAX_CACHED_INDEXES)
                self._making.pop(source.identity, None)
        return index

    def number_at(self, source: LogSource, offset: int) -> int:
        """The number of the line that contains this byte."""
        if offset < STRIDE:
            at, number = 0, 1
        else:
            at, number = self.index(source).before(offset)
        return number + sum(piece.count(b"\n") for piece in source.pieces_from(at, offset))

    def place_of(self, source: LogSource, line: int) -> int | None:
        """The offset at which a line begins; None if the log has no such line."""
        if line <= 1:
            return 0
        known = self.index(source).block_of(line)
        if known is None:
            return None
        at, number = known
        for piece in source.pieces_from(at, at + STRIDE):
            count = piece.count(b"\n")
            if number + count >= line:
                place = at + _after_line_ends(piece, line - number)
                return place if place < self.index(source).size else None
            at, number = at + len(piece), number + count
        return None

    def _recoding(self, source: LogSource) -> RecodedText | None:
        """The UTF-16 decoder, None for other logs; determined once."""
        name, known = source.identity, self._recoded
        with self._lock:
            if name in known:
                return _cache(known, name, known[name], MAX_CACHED_INDEXES)
        fresh = RecodedText(source.pieces_from) if is_utf16(source.read(0, 4)) else None
        with self._lock:
            return _cache(known, name, known.get(name) or fresh, MAX_CACHED_INDEXES)

    def _gzip(self, name: str, fresh: GzipText) -> GzipText:
        with self._lock:
            return _cache(self._gzips, name, self._gzips.get(name, fresh), MAX_CACHED_GZIPS)


def open_log(address: str) -> LogSource:
    """Open a log without a cache."""
    return Logs().open(address)


def _cache(
    known: "OrderedDict[str, CachedValue]", name: str, value: "CachedValue", most: int
) -> "CachedValue":
    known[name] = value
    known.move_to_end(name)
    while len(known) > most:
        known.popitem(last=False)
    return value


def _after_line_ends(text: bytes, count: int) -> int:
    """The offset behind `count` line ends."""
    place = 0
    for _ in range(count):
        place = text.index(b"\n", place) + 1
    return place


def _store_and_name(address: str, allows: AddressGuard | None) -> tuple[ArtifactStore, str]:
    """The store and the log's name in it: the folder of a file, the bucket of an object."""
    if address.startswith("gs://"):
        bucket, _, name = address.removeprefix("gs://").partition("/")
        return open_store(f"gs://{bucket}", allows), name
    folder, _, name = address.rpartition("/")
    return open_store(folder or "/", allows), unquote(name) if address.startswith("file:") else name


class LogUnavailable(Exception):
    """A log cannot be shown: HTTP status, what is the matter, and what to do."""

    def __init__(self, status: int, what: str, why: str) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.why = why


@contextmanager
def reading_logs(*records: RunRecord, too_far: str) -> Iterator[None]:
    """Translate failures of reading these runs' logs to `LogUnavailable`; `too_far` names an
    `OffsetTooFar`."""
    try:
        yield
    except OffsetTooFar as far:
        raise LogUnavailable(404, too_far, far.text) from far
    except (UserError, InternalError) as problem:
        raise _log_unavailable(problem, records) from problem


def _log_unavailable(problem: UserError | InternalError, records: Sequence[RunRecord]) -> LogUnavailable:
    cause = problem.__cause__
    if isinstance(problem, NotGranted):
        return LogUnavailable(
            404,
            "This server may not read this log",
            "Its operator's policy does not grant the repository the place where it was found. What was "
            "measured from it stays; ask the operator.",
        )
    if isinstance(problem, DamagedGzip):
        return LogUnavailable(
            404,
            str(problem),
            "What was measured from it stays. The run's raw log holds everything that can be read of it.",
        )
    if isinstance(cause, FileNotFoundError | NotADirectoryError) or getattr(cause, "code", None) == 404:
        return LogUnavailable(
            404,
            "This log is gone",
            "It is no longer where it was found: moved, deleted, or removed by the bucket's own rules. "
            "What was measured from it stays; to have a log again, run the case again.",
        )
    text = str(problem)
    for record in records:
        text = text.replace(record.log_uri, "the log") if record.log_uri else text
    return LogUnavailable(
        503,
        "The place where this log is kept cannot be read right now",
        f"{redact(text)}. What was measured from it stays. Try again in a minute; if it lasts, "
        "tell who operates MaxView.",
    )


def open_run_log(logs: Logs, record: RunRecord) -> LogSource:
    """The log of a run; raises `LogUnavailable` if there is none."""
    if not record.log_uri:
        raise LogUnavailable(404, "This run has no log yet", "It appears here when the run has written one.")
    with reading_logs(record, too_far="This part of the log is too far in"):
        return logs.open_run(record, record.log_uri)
