"""A log as we store it: UTF-8 text in compressed blocks, with an index of lines and offsets.

Any line, or any byte, is found by reading the index and one block. A stored line is a line of the log, or a
piece of a longer one: a line above `LONG_LINE_BYTES` is cut at the timestamps in it (a log pasted as one
line), and no piece is above `MAX_LINE_BYTES`. Pieces say that they continue a line.

Offsets count the bytes of the log's text. The redacted form of a log is an archive of the same lines at the
same offsets, so a link leads to the same place in both.

An archive is made in a temporary file and written to its store as a whole: a half of one is never read.
"""

import re
import struct
import sys
import tempfile
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import BinaryIO, NamedTuple

from msgspec import Struct

from bot.artifacts.store import CHUNK_BYTES, ArtifactStore
from bot.errors import InternalError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK_BYTES = 256 << 10
"""Bytes of text in a block at most: unpacked in a millisecond, and large enough to be packed well."""

MAX_LINE_BYTES = 64 << 10
"""Longest stored line: a reader of it holds no more, however long the log's own line is."""

LONG_LINE_BYTES = 2_000
"""A line above this is cut at its timestamps: some screens of text, which nobody reads as one line."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196] …
_STAMP = re.compile(rb"(?<![^\s])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} ")

LEVEL = 1
"""Of zstd: on logs in blocks of this size level 3 takes half as long again and packs no better."""

ARCHIVE_SUFFIX = ".mvlog"
"""Names of archives end with this."""

CONTENT_TYPE = "application/octet-stream"

SOFT_CUT_BYTES = 4 << 10
"""A long line is cut at a space, if there is one this close before the longest end."""

_MAGIC = b"MVLOG\x01\r\n"

_HEAD = struct.Struct("<BII")
"""Of a block: whether its last line ends in it, how many pieces continue a line, how many lengths follow."""

_TRAILER = struct.Struct("<QIQQI8s")
"""Where the index begins and its length; the text's bytes; its line ends; the blocks; `_MAGIC`."""

_TAIL_BYTES = 64 << 10
"""Read at first: trailer and index of a log of some hundred MB."""

_MAX_INDEX_BYTES = 256 << 20

_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: LEVEL,
    zstd.CompressionParameter.checksum_flag: 1,
}


class StoredLine(NamedTuple):
    """A line of the log without its line end, or a piece of a long one (`continues` but for the first).

    `offset` is its first byte in the log's text and `length` how many bytes it stands for, its line end
    included; of a redacted line the text has another length. `ends` says that a line of the log ends in it.
    """

    offset: int
    number: int
    continues: bool
    length: int
    text: bytes
    ends: bool


class LogBlock(Struct, frozen=True, kw_only=True):
    """Some stored lines that follow each other, joined by line ends in `text`.

    The first stands at byte `offset` in line `number`. `continued` are the indices of those that continue a
    line. `lengths` says for how many bytes each stands where the text has other lengths.
    """

    offset: int
    number: int
    text: bytes
    ends_line: bool
    continued: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """How many stored lines it has."""
        return self.text.count(b"\n") + 1

    @property
    def line_ends(self) -> int:
        """How many lines of the log end in it."""
        return self.count - sum(n > 0 for n in self.continued) - (not self.ends_line)

    @property
    def size(self) -> int:
        """Bytes of the log's text that it stands for."""
        if self.lengths:
            return sum(self.lengths)
        return len(self.text) - sum(n > 0 for n in self.continued) + self.ends_line

    def stored_lengths(self) -> list[int]:
        """For how many bytes of the log's text each line stands."""
        if self.lengths:
            return list(self.lengths)
        lengths = [len(text) + 1 for text in self.text.split(b"\n")]
        for n in self.continued:
            if n:
                lengths[n - 1] -= 1
        lengths[-1] -= not self.ends_line
        return lengths

    def lines(self) -> Iterator[StoredLine]:
        """The stored lines."""
        continued = frozenset(self.continued)
        offset, number = self.offset, self.number
        lengths = self.stored_lengths()
        last = len(lengths) - 1
        for n, (text, length) in enumerate(zip(self.text.split(b"\n"), lengths, strict=True)):
            continues = n in continued
            number += n > 0 and not continues
            ends = self.ends_line if n == last else n + 1 not in continued
            yield StoredLine(offset, number, continues, length, text, ends)
            offset += length

    def raw(self) -> bytes:
        """The text as the log has it: cut lines joined again."""
        if not any(self.continued):
            return self.text + b"\n" * self.ends_line
        continued = frozenset(self.continued)
        parts = [
            text if n == 0 or n in continued else b"\n" + text
            for n, text in enumerate(self.text.split(b"\n"))
        ]
        return b"".join((*parts, b"\n" * self.ends_line))


class BlockCutter:
    """Cuts a text into blocks of whole lines, and lines that are too long into pieces.

    The blocks do not depend on how the text arrives.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self._offset = 0
        self._number = 1
        self._inside = False  # whether the next byte continues a line

    def feed(self, text: bytes) -> Iterator[LogBlock]:
        """The blocks that are full."""
        self._kept += text
        while len(self._kept) > BLOCK_BYTES:
            end = self._kept.rfind(b"\n", 0, BLOCK_BYTES) + 1
            if not end:
                end = _last_stamp(self._kept) or _soft_cut(self._kept, 0, BLOCK_BYTES)
            whole = bytes(memoryview(self._kept)[:end])
            del self._kept[:end]
            yield self._block(whole)

    def close(self) -> Iterator[LogBlock]:
        """The last block, if there is text left."""
        if self._kept:
            yield self._block(bytes(self._kept))
            self._kept.clear()

    def _block(self, whole: bytes) -> LogBlock:
        cuts = _cuts(whole)
        continued = [0] if self._inside else []
        line, before = 0, 0
        for n, cut in enumerate(cuts):
            line += whole.count(b"\n", before, cut)
            before = cut
            continued.append(line + n + 1)
        ends = whole.endswith(b"\n")
        pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole) - ends], strict=True)]
        made = LogBlock(
            offset=self._offset,
            number=self._number,
            text=b"\n".join(pieces) if cuts else pieces[0],
            ends_line=ends,
            continued=tuple(continued),
        )
        self._offset += len(whole)
        self._number += whole.count(b"\n")
        self._inside = not ends
        return made


def _last_stamp(text: bytearray) -> int:
    """Where the last record begins of a line that fills the block."""
    near = _STAMP.finditer(text, max(BLOCK_BYTES - MAX_LINE_BYTES, 0), BLOCK_BYTES)
    return max((found.start() for found in near), default=0)


def _cuts(whole: bytes) -> list[int]:
    """Where lines of a block that are too long are cut."""
    found: list[int] = []
    start = 0
    while len(whole) - start > LONG_LINE_BYTES:
        end = whole.rfind(b"\n", start, start + LONG_LINE_BYTES + 1) + 1
        if not end:
            end = whole.find(b"\n", start) + 1 or len(whole)
            found += _line_cuts(whole, start, end)
        start = end
    return found


def _line_cuts(whole: bytes, start: int, end: int) -> Iterator[int]:
    """Where one long line is cut: at its timestamps, and where a piece would be too long."""
    for place in (*(found.start() for found in _STAMP.finditer(whole, start, end)), end):
        while place - start > MAX_LINE_BYTES + (place == end and whole.endswith(b"\n", start, end)):
            start = _soft_cut(whole, start, start + MAX_LINE_BYTES)
            yield start
        if start < place < end:
            yield place
            start = place


def _soft_cut(text: bytes | bytearray, start: int, end: int) -> int:
    """A place before `end` behind a space, but not between a name and its value; else between characters."""
    place = end
    while (place := text.rfind(b" ", max(start, end - SOFT_CUT_BYTES), place)) > start:
        if text[place - 1] not in b"=: ":
            return place + 1
    while end - 1 > start and text[end] & 0xC0 == 0x80:
        end -= 1
    return end


class ArchiveFile:
    """An archive in the making, in a temporary file that no other program sees.

    `note` says why the log's text ends where it does, if that is not its own end.
    """

    def __init__(self) -> None:
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed by keep and discard
        self._compressor = zstd.ZstdCompressor(options=_OPTIONS)
        self._stored = array("I")
        self._sizes = array("I")
        self._line_ends = array("I")
        self._ended = True
        self.note = ""
        self.size = 0
        self._file.write(_MAGIC)

    def add(self, block: LogBlock) -> None:
        """Append a block."""
        head = _HEAD.pack(block.ends_line, len(block.continued), len(block.lengths))
        arrays = array("I", block.continued).tobytes() + array("I", block.lengths).tobytes()
        packed = self._compressor.compress(head + arrays + block.text, zstd.ZstdCompressor.FLUSH_FRAME)
        self._file.write(packed)
        self._stored.append(len(packed))
        self._sizes.append(block.size)
        self._line_ends.append(block.line_ends)
        self._ended = block.ends_line
        self.size += self._sizes[-1]

    @property
    def line_count(self) -> int:
        """Lines of the log so far."""
        return sum(self._line_ends) + (not self._ended)

    def keep(self, store: ArtifactStore, name: str) -> None:
        """Write the archive to a store under this name, and forget it here."""
        with self._file as file:
            begin = file.tell()
            columns = b"".join(column.tobytes() for column in (self._stored, self._sizes, self._line_ends))
            index = zstd.compress(columns + self.note.encode(), options=_OPTIONS)
            file.write(index)
            file.write(
                _TRAILER.pack(begin, len(index), self.size, sum(self._line_ends), len(self._stored), _MAGIC)
            )
            file.seek(0)
            store.write(name, iter(lambda: file.read(CHUNK_BYTES), b""), CONTENT_TYPE)

    def discard(self) -> None:
        """Give it up."""
        self._file.close()

    def __del__(self) -> None:
        self._file.close()


class LogText:
    """Collects a log's text, as it arrives, into an archive."""

    def __init__(self) -> None:
        self._cutter = BlockCutter()
        self.archive = ArchiveFile()

    def feed(self, text: bytes) -> None:
        """Take the next bytes of UTF-8 text."""
        for block in self._cutter.feed(text):
            self.archive.add(block)

    def close(self) -> ArchiveFile:
        """The archive of the text, which has ended."""
        for block in self._cutter.close():
            self.archive.add(block)
        return self.archive


class ArchiveIndex(Struct, frozen=True):
    """Where the blocks of an archive are: the first byte of each in the file, in the text, and its line; each
    with one more entry for the end."""

    places: Sequence[int]
    offsets: Sequence[int]
    numbers: Sequence[int]


class DamagedArchive(InternalError):
    """An archive is not what was written."""


class LogArchive(Struct, frozen=True):
    """One archive, read block by block; safe to use from several threads."""

    store: ArtifactStore
    name: str
    index: ArchiveIndex
    line_count: int
    note: str

    @property
    def size(self) -> int:
        """Bytes of the log's text."""
        return self.index.offsets[-1]

    @property
    def block_count(self) -> int:
        """How many blocks it has."""
        return len(self.index.offsets) - 1

    def block(self, n: int) -> LogBlock:
        """Block `n`."""
        return next(self.blocks(n, n + 1))

    def blocks(self, first: int = 0, end: int | None = None) -> Iterator[LogBlock]:
        """The blocks from one on, several with each request to the store."""
        places, last = self.index.places, self.block_count if end is None else min(end, self.block_count)
        while first < last:
            upto = max(bisect_right(places, places[first] + CHUNK_BYTES, first + 1, last + 1) - 1, first + 1)
            stored = self.store.read_range(self.name, places[first], places[upto] - places[first])
            if len(stored) != places[upto] - places[first]:
                raise DamagedArchive(f"{self.name}: the archive is shorter than its index says")
            for n in range(first, upto):
                yield self._unpacked(n, stored[places[n] - places[first] : places[n + 1] - places[first]])
            first = upto

    def block_at(self, offset: int) -> int:
        """The block that contains this byte; the last one for what lies behind the end."""
        return min(max(bisect_right(self.index.offsets, offset) - 1, 0), max(self.block_count - 1, 0))

    def block_of_line(self, number: int) -> int:
        """The block in which this line begins; the last one for a line behind the end."""
        found = bisect_right(self.index.numbers, number) - 1
        while found > 0 and self.index.numbers[found] == number:
            found -= 1  # the line may have begun in the block before
        return min(max(found, 0), max(self.block_count - 1, 0))

    def lines_from(self, offset: int) -> Iterator[StoredLine]:
        """The stored lines from the one that contains this byte on."""
        for block in self.blocks(self.block_at(offset)):
            for line in block.lines():
                if line.offset + line.length > offset:
                    yield line

    def read_lines(self, first: int, count: int) -> list[StoredLine]:
        """The stored lines of `count` lines of the log from line `first` on; cut lines have several."""
        found: list[StoredLine] = []
        for block in self.blocks(self.block_of_line(first)):
            if block.number >= first + count:
                break
            found += [line for line in block.lines() if first <= line.number < first + count]
        return found

    def place_of(self, number: int) -> int | None:
        """The byte at which a line begins; None if the log has no such line."""
        if not 1 <= number <= self.line_count:
            return 0 if number <= 1 else None
        return next(line.offset for line in self.read_lines(number, 1))

    def text(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The text as it reads, from one offset to another; of a redacted form whole lines only."""
        last = self.size if end is None else min(end, self.size)
        if start >= last:
            return
        for block in self.blocks(self.block_at(start), self.block_at(last - 1) + 1):
            raw = block.raw()
            if block.lengths:
                yield raw
                continue
            yield raw[max(start - block.offset, 0) : last - block.offset]

    def _unpacked(self, n: int, stored: bytes) -> LogBlock:
        try:
            payload = zstd.decompress(stored)
            ends_line, continued, lengths = _HEAD.unpack_from(payload)
        except (zstd.ZstdError, struct.error) as problem:
            raise DamagedArchive(f"{self.name}: a block of the archive is damaged") from problem
        at = _HEAD.size
        behind = at + 4 * continued
        text = behind + 4 * lengths
        return LogBlock(
            offset=self.index.offsets[n],
            number=self.index.numbers[n],
            text=payload[text:],
            ends_line=bool(ends_line),
            continued=tuple(array("I", payload[at:behind])),
            lengths=tuple(array("I", payload[behind:text])),
        )


def open_archive(store: ArtifactStore, name: str) -> LogArchive:
    """The archive of this name; raises what the store raises if it is not there."""
    whole = store.describe(name).size
    tail = store.read_range(name, max(whole - _TAIL_BYTES, 0), _TAIL_BYTES)
    try:
        begin, length, size, line_ends, count, magic = _TRAILER.unpack(tail[-_TRAILER.size :])
    except struct.error as problem:
        raise DamagedArchive(f"{name}: this is no archive of a log") from problem
    if magic != _MAGIC or begin + length + _TRAILER.size != whole or 12 * count > _MAX_INDEX_BYTES:
        raise DamagedArchive(f"{name}: this is no archive of a log")
    behind = whole - begin
    packed = tail[-behind:] if behind <= len(tail) else store.read_range(name, begin, length)
    try:
        unpacked = zstd.decompress(packed[:length])
        columns, note = array("I", unpacked[: 12 * count]), unpacked[12 * count :].decode()
    except (zstd.ZstdError, ValueError) as problem:
        raise DamagedArchive(f"{name}: the index of the archive is damaged") from problem
    stored, sizes, ends = (columns[n * count : (n + 1) * count] for n in range(3))
    index = ArchiveIndex(
        places=array("Q", accumulate(stored, initial=len(_MAGIC))),
        offsets=array("Q", accumulate(sizes, initial=0)),
        numbers=array("Q", accumulate(ends, initial=1)),
    )
    if len(columns) != 3 * count or index.offsets[-1] != size:
        raise DamagedArchive(f"{name}: the index of the archive is damaged")
    archive = LogArchive(store, name, index, line_ends, note)
    unended = bool(count) and not archive.block(count - 1).ends_line
    return LogArchive(store, name, index, line_ends + unended, note)


class ArchiveCache:
    """Opens archives and keeps the indexes of those opened last; safe to use from several threads."""

    def __init__(self, store: ArtifactStore, most: int = 64) -> None:
        self._store = store
        self._most = most
        self._known: OrderedDict[str, LogArchive] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, name: str) -> LogArchive:
        """The archive of this name."""
        with self._lock:
            known = self._known.get(name)
            if known is not None:
                self._known.move_to_end(name)
                return known
        opened = open_archive(self._store, name)
        with self._lock:
            self._known[name] = opened
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return opened

    def forget(self, name: str) -> None:
        """Open this one anew next time."""
        with self._lock:
            self._known.pop(name, None)


class RedactedText:
    """Makes an archive with the same lines as another, whose text is changed line by line.

    `add` takes a block and `changed` what has become of the text so far: as many line ends as went in. The
    text may come later than its block.
    """

    def __init__(self, note: str = "") -> None:
        self.archive = ArchiveFile()
        self.archive.note = note
        self._waiting: list[LogBlock] = []
        self._text = bytearray()
        self._line_ends = 0

    def add(self, block: LogBlock) -> None:
        """The next block, whose lines will be changed; its text is not kept."""
        lengths = tuple(block.stored_lengths())
        self._waiting.append(
            LogBlock(
                offset=block.offset,
                number=block.number,
                text=b"",
                ends_line=block.ends_line,
                continued=block.continued,
                lengths=lengths,
            )
        )

    def changed(self, text: bytes) -> None:
        """The next of the changed text: stored lines, each with a line end."""
        self._text += text
        self._line_ends += text.count(b"\n")
        while self._waiting and self._line_ends >= len(self._waiting[0].lengths):
            self._write(self._waiting.pop(0))

    def close(self) -> ArchiveFile:
        """The archive; raises `InternalError` if lines are missing or left over."""
        if self._waiting or self._text:
            self.archive.discard()
            raise InternalError("the redacted text of a log has other lines than the log")
        return self.archive

    def _write(self, block: LogBlock) -> None:
        count = len(block.lengths)
        end = 0
        for _ in range(count):
            end = self._text.index(b"\n", end) + 1
        text = bytes(memoryview(self._text)[: end - 1])
        del self._text[:end]
        self._line_ends -= count
        self.archive.add(
            LogBlock(
                offset=block.offset,
                number=block.number,
                text=text,
                ends_line=block.ends_line,
                continued=block.continued,
                lengths=block.lengths,
            )
        )
