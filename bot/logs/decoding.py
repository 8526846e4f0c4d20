"""Decode a stream of bytes: gzip to plain bytes, UTF-16 to UTF-8.

Both accept chunks of any size and raise nothing. What precedes damage is kept, and one sentence says what
is wrong.
"""

import codecs
import re
import zlib
from collections.abc import Iterator

PIECE_BYTES = 256 * 1024
"""Bytes inflated at a time: a small file may inflate to a thousand times its size."""

GZIP_TRUNCATED = "The gzip data is truncated: the log was read up to where it breaks off."

GZIP_CORRUPT = (
    "The gzip data is corrupt: the log was read up to where that shows, and what was read may be wrong from "
    "some place before it on."
)
"""A flipped bit often inflates to other text for a while, and may show in the checksum at the end alone."""

GZIP_TRAILING_DATA = "Something that is not gzip follows the gzip data: it was left out."

_GZIP_MAGIC = b"\x1f\x8b"

_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS


class Inflater:
    """Feed it chunks, then close it."""

    def __init__(self) -> None:
        self.complaint: str | None = None
        self.total = 0  # plain bytes given out
        self._head = b""
        self._plain = False
        self._member: zlib._Decompress | None = None
        self._first = True  # whether no member has come to its end
        self._begun = False  # whether the member has given a byte
        self._dead = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The plain bytes that `chunk` brings."""
        pieces = iter((chunk,)) if self._plain else self._begin(chunk)
        for piece in pieces:
            self.total += len(piece)
            yield piece

    def close(self) -> Iterator[bytes]:
        """What was held back while the kind of the stream was unknown."""
        if self._member is not None and not self._dead and not self._member.eof:
            self.complaint = GZIP_TRUNCATED
        elif self._head and self._member is None and not self._dead:
            self.total += len(self._head)
            yield self._head

    def _begin(self, chunk: bytes) -> Iterator[bytes]:
        """Decide plain or gzip on the first two bytes, however they arrive."""
        if self._member is None and not self._dead:
            self._head += chunk
            if len(self._head) < len(_GZIP_MAGIC):
                return
            chunk, self._head = self._head, b""
            if not chunk.startswith(_GZIP_MAGIC):
                self._plain = True
                yield chunk
                return
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
                alone = self._first or self._begun or bool(piece)
                self.complaint = GZIP_CORRUPT if alone else GZIP_TRAILING_DATA
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
    """What a chunk gives before it breaks, byte by byte: a call that fails gives nothing."""
    found = bytearray()
    try:
        for at in range(len(chunk)):
            found += member.decompress(chunk[at : at + 1])
    except zlib.error:
        pass
    return bytes(found)


UTF16_NOTE = "The log is UTF-16 text: it was read as UTF-8, and the places named in it are counted there."

_HEAD_BYTES = 4
"""Bytes that decide."""

_BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_LITTLE_ENDIAN = re.compile(rb"\xff\xfe(?!\0\0)|[\t\n\r -~]\0[\t\n\r -~]\0")

_BIG_ENDIAN = re.compile(rb"\xfe\xff|\0[\t\n\r -~]\0[\t\n\r -~]")


def is_utf16(head: bytes) -> bool:
    """Whether a log that begins with these bytes, four or more of them, is UTF-16."""
    return any(pattern.match(head) for pattern in (_LITTLE_ENDIAN, _BIG_ENDIAN))


class Transcoder:
    """Feed it chunks, then close it."""

    def __init__(self) -> None:
        self._head = b""
        self._decided = False
        self._decoder: codecs.IncrementalDecoder | None = None

    @property
    def remark(self) -> str | None:
        """What a reader of the report should know, `None` where the bytes were taken as they are."""
        return UTF16_NOTE if self._decoder is not None else None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The text that `chunk` brings, in UTF-8."""
        if not self._decided:
            chunk, self._head = self._head + chunk, b""
            if len(chunk) < _HEAD_BYTES:
                self._head = chunk
                return
            chunk = self._decide(chunk)
        if piece := self._in_utf8(chunk, final=False):
            yield piece

    def close(self) -> Iterator[bytes]:
        """What was held back."""
        if not self._decided:
            self._head = self._decide(self._head)
        if piece := self._in_utf8(self._head, final=True):
            yield piece

    def _decide(self, head: bytes) -> bytes:
        """What is to be read of the first bytes: all but the mark."""
        self._decided = True
        for pattern, name in ((_LITTLE_ENDIAN, "utf-16-le"), (_BIG_ENDIAN, "utf-16-be")):
            if pattern.match(head):
                self._decoder = codecs.getincrementaldecoder(name)("replace")
        marked = self._decoder is not None and head.startswith(_BYTE_ORDER_MARKS)
        return head[len(_BYTE_ORDER_MARKS[0]) :] if marked else head

    def _in_utf8(self, chunk: bytes, *, final: bool) -> bytes:
        if self._decoder is None:
            return chunk
        return self._decoder.decode(chunk, final).encode("utf-8", "replace")
