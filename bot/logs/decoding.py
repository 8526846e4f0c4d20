"""Decode a stream of bytes: gzip and zstd to plain bytes, UTF-16 to UTF-8, and what is no UTF-8 to signs.

All take chunks of any size and raise nothing. The result does not depend on where the chunks are cut. All
text in front of damage is kept.
"""

import codecs
import re
import sys
import zlib
from collections.abc import Iterator
from enum import StrEnum

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 256 * 1024
"""Bytes inflated at a time: a small file may inflate to a thousand times its size."""

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_WINDOW_LOG = 27
"""Largest window of zstd, 128 MB: what its own program accepts; a stream may ask for gigabytes."""


class GzipDamage(StrEnum):
    """What is wrong with compressed data, as the report says it."""

    TRUNCATED = "The gzip data is truncated: the log was read up to where it breaks off."
    # A flipped bit often inflates to other text for a while, and may show in the checksum at the end alone.
    CORRUPT = (
        "The gzip data is corrupt: the log was read up to where that shows, and what was read may be wrong "
        "from some place before it on."
    )
    TRAILING_DATA = "Something that is not gzip follows the gzip data: it was left out."
    ZSTD_TRUNCATED = "The zstd data is truncated: the log was read up to where it breaks off."
    ZSTD_CORRUPT = (
        "The zstd data is corrupt: the log was read up to where that shows, and what was read may be wrong "
        "from some place before it on."
    )
    ZSTD_TRAILING_DATA = "Something that is not zstd follows the zstd data: it was left out."


CORRUPT_DAMAGE = (GzipDamage.CORRUPT, GzipDamage.ZSTD_CORRUPT)
"""Damage after which neither the steps nor the end are certain."""


PORTION_BYTES = 16 * 1024
"""Bytes of zstd data inflated at once: a call that fails gives nothing, so at most this much is lost."""


class _ZstdInflater:
    """Inflates the frames of a zstd stream, portion by portion, so that the chunks make no difference."""

    def __init__(self) -> None:
        self.damage: GzipDamage | None = None
        self._kept = b""
        self._frame = self._new_frame()
        self._foreign = False  # whether what follows the last frame begins like none
        self._dead = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The plain bytes that become available with `chunk`."""
        whole = self._kept + chunk
        full = len(whole) - len(whole) % PORTION_BYTES
        self._kept = whole[full:]
        for at in range(0, full, PORTION_BYTES):
            yield from self._inflate(whole[at : at + PORTION_BYTES])

    def close(self) -> Iterator[bytes]:
        """The rest."""
        yield from self._inflate(self._kept)
        if not self._dead and not self._frame.eof:
            self.damage = GzipDamage.ZSTD_TRUNCATED

    def _inflate(self, portion: bytes) -> Iterator[bytes]:
        while portion and not self._dead:
            if self._frame.eof:
                if not portion.strip(b"\0"):
                    return
                self._frame = self._new_frame()
                head = portion[: len(_ZSTD_MAGIC)]
                self._foreign = not _ZSTD_MAGIC.startswith(head)
            try:
                yield from self._frame_pieces(portion)
            except zstd.ZstdError:
                self._dead = True
                self.damage = GzipDamage.ZSTD_TRAILING_DATA if self._foreign else GzipDamage.ZSTD_CORRUPT
                return
            portion = self._frame.unused_data

    def _frame_pieces(self, portion: bytes) -> Iterator[bytes]:
        piece = self._frame.decompress(portion, PIECE_BYTES)
        while piece or not (self._frame.eof or self._frame.needs_input):
            if piece:
                yield piece
            if self._frame.eof or self._frame.needs_input:
                return
            piece = self._frame.decompress(b"", PIECE_BYTES)

    @staticmethod
    def _new_frame() -> "zstd.ZstdDecompressor":
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})


class Inflater:
    """Inflates a stream that may be gzip or zstd. Feed it chunks, then close it."""

    def __init__(self) -> None:
        self.damage: GzipDamage | None = None
        self.total = 0  # plain bytes given out
        self._head = b""
        self._plain = False
        self._member: zlib._Decompress | None = None
        self._zstd: _ZstdInflater | None = None
        self._first = True  # whether no member has ended
        self._begun = False  # whether the member has given a byte
        self._dead = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The plain bytes that become available with `chunk`."""
        pieces = iter((chunk,)) if self._plain else self._begin(chunk)
        for piece in pieces:
            self.total += len(piece)
            yield piece

    def close(self) -> Iterator[bytes]:
        """The bytes that were held back while the kind of the stream was unknown."""
        if self._zstd is not None:
            for piece in self._zstd.close():
                self.total += len(piece)
                yield piece
            self.damage = self._zstd.damage
        elif self._member is not None and not self._dead and not self._member.eof:
            self.damage = GzipDamage.TRUNCATED
        elif self._head and self._member is None and not self._dead:
            self.total += len(self._head)
            yield self._head

    def _begin(self, chunk: bytes) -> Iterator[bytes]:
        """Decide by the first bytes, however they arrive."""
        if self._zstd is None and self._member is None and not self._dead:
            self._head += chunk
            if self._head in (_GZIP_MAGIC[:1], *(_ZSTD_MAGIC[:n] for n in range(4))):
                return
            chunk, self._head = self._head, b""
            if chunk.startswith(_ZSTD_MAGIC):
                self._zstd = _ZstdInflater()
            elif not chunk.startswith(_GZIP_MAGIC):
                self._plain = True
                yield chunk
                return
        if self._zstd is not None:
            yield from self._zstd.feed(chunk)
            return
        if self._member is None and not self._dead:
            self._member = zlib.decompressobj(_GZIP_WINDOW_BITS)
        yield from self._inflate(chunk)

    def _inflate(self, chunk: bytes) -> Iterator[bytes]:
        while chunk and not self._dead and (member := self._next_member(chunk)) is not None:
            before = member.copy()
            try:
                piece = member.decompress(chunk, PIECE_BYTES)
            except zlib.error:
                self._dead = True
                piece = _inflate_until_error(before, chunk)
                is_member = self._first or self._begun or bool(piece)
                self.damage = GzipDamage.CORRUPT if is_member else GzipDamage.TRAILING_DATA
            if piece:
                self._begun = True
                yield piece
            chunk = member.unused_data if member.eof else member.unconsumed_tail

    def _next_member(self, chunk: bytes) -> "zlib._Decompress | None":
        """The member that `chunk` belongs to; zero padding after the last one is not a member."""
        if self._member is not None and self._member.eof:
            if not chunk.strip(b"\0"):
                return None
            self._member = zlib.decompressobj(_GZIP_WINDOW_BITS)
            self._first = self._begun = False
        return self._member


def _inflate_until_error(member: "zlib._Decompress", chunk: bytes) -> bytes:
    """The plain bytes in front of the error. Byte by byte, since a call that fails gives nothing."""
    found = bytearray()
    try:
        for at in range(len(chunk)):
            found += member.decompress(chunk[at : at + 1])
    except zlib.error:
        pass
    return bytes(found)


UTF16_NOTE = "The log is UTF-16 text: it was read as UTF-8, and the places named in it are counted there."

_HEAD_BYTES = 4
"""Bytes that decide between UTF-16 and UTF-8."""
_BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LITTLE_ENDIAN = re.compile(rb"\xff\xfe(?!\0\0)|[\t\n\r -~]\0[\t\n\r -~]\0")
_BIG_ENDIAN = re.compile(rb"\xfe\xff|\0[\t\n\r -~]\0[\t\n\r -~]")


def is_utf16(head: bytes) -> bool:
    """Whether a log that begins with these bytes, four or more of them, is UTF-16."""
    return any(pattern.match(head) for pattern in (_LITTLE_ENDIAN, _BIG_ENDIAN))


class Transcoder:
    """Turns UTF-16 into UTF-8 and leaves other bytes alone. Windows PowerShell redirects output as UTF-16.

    UTF-16 shows in the byte order mark or, without one, in two letters that each have a zero byte. Feed it
    chunks, then close it.
    """

    def __init__(self) -> None:
        self._head = b""
        self._decided = False
        self._decoder: codecs.IncrementalDecoder | None = None

    @property
    def note(self) -> str | None:
        """A note for the reader of the report; `None` where the log is not UTF-16."""
        return UTF16_NOTE if self._decoder is not None else None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The text that becomes available with `chunk`, in UTF-8."""
        if not self._decided:
            chunk, self._head = self._head + chunk, b""
            if len(chunk) < _HEAD_BYTES:
                self._head = chunk
                return
            chunk = self._decide(chunk)
        if piece := self._in_utf8(chunk, final=False):
            yield piece

    def close(self) -> Iterator[bytes]:
        """The bytes that were held back."""
        if not self._decided:
            self._head = self._decide(self._head)
        if piece := self._in_utf8(self._head, final=True):
            yield piece

    def _decide(self, head: bytes) -> bytes:
        """Decide by the first bytes, and return them without the byte order mark."""
        self._decided = True
        for pattern, name in ((_LITTLE_ENDIAN, "utf-16-le"), (_BIG_ENDIAN, "utf-16-be")):
            if pattern.match(head):
                self._decoder = codecs.getincrementaldecoder(name)("replace")
        has_mark = self._decoder is not None and head.startswith(_BYTE_ORDER_MARKS)
        return head[len(_BYTE_ORDER_MARKS[0]) :] if has_mark else head

    def _in_utf8(self, chunk: bytes, *, final: bool) -> bytes:
        if self._decoder is None:
            return chunk
        return self._decoder.decode(chunk, final).encode("utf-8", "replace")


class Utf8Cleaner:
    """Puts the replacement sign in place of what is no UTF-8. Feed it chunks, then close it."""

    def __init__(self) -> None:
        self._kept = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The text that becomes available with `chunk`."""
        if not self._kept and chunk.isascii():
            yield chunk
        elif text := self._valid(self._kept + chunk, final=False):
            yield text

    def close(self) -> Iterator[bytes]:
        """What was held back: the beginning of a character."""
        if self._kept:
            yield self._valid(self._kept, final=True)

    def _valid(self, text: bytes, *, final: bool) -> bytes:
        try:
            _, known = codecs.utf_8_decode(text, "strict", final)
        except UnicodeDecodeError:
            decoded, known = codecs.utf_8_decode(text, "replace", final)
            self._kept = text[known:]
            return decoded.encode()
        self._kept = text[known:]
        return text[:known]
