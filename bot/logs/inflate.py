"""Turns a stream that may be gzip into plain bytes.

In:  chunks of bytes, plain or gzip (told by the first two bytes; several members may follow each other).
Out: plain chunks of about `PIECE` bytes at most, and `complaint`, one sentence where the data is damaged.

All that could be read before the damage shows is given out, however the stream was cut; nothing raises.
"""

import zlib
from collections.abc import Iterator

PIECE = 256 * 1024
"""Bytes inflated at a time: a small file may inflate to a thousand times its size."""

TRUNCATED = "The gzip data is truncated: the log was read up to where it breaks off."
CORRUPT = (
    "The gzip data is corrupt: the log was read up to where that shows, and what was read may be wrong from "
    "some place before it on."
)
"""A flipped bit often inflates to other text for a while, and may show in the checksum at the end alone."""
RUBBISH = "Something that is not gzip follows the gzip data: it was left out."

_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS


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
            self.complaint = TRUNCATED
        elif self._head and self._member is None and not self._dead:
            self.total += len(self._head)
            yield self._head

    def _begin(self, chunk: bytes) -> Iterator[bytes]:
        """Decide plain or gzip on the first two bytes, however they arrive."""
        if self._member is None and not self._dead:
            self._head += chunk
            if len(self._head) < len(_MAGIC):
                return
            chunk, self._head = self._head, b""
            if not chunk.startswith(_MAGIC):
                self._plain = True
                yield chunk
                return
            self._member = zlib.decompressobj(_GZIP)
        yield from self._inflate(chunk)

    def _inflate(self, chunk: bytes) -> Iterator[bytes]:
        while chunk and not self._dead and (member := self._next_member(chunk)) is not None:
            before = member.copy()
            try:
                piece = member.decompress(chunk, PIECE)
            except zlib.error:
                self._dead = True
                piece = _up_to_the_damage(before, chunk)
                alone = self._first or self._begun or bool(piece)
                self.complaint = CORRUPT if alone else RUBBISH
            if piece:
                self._begun = True
                yield piece
            chunk = member.unused_data if member.eof else member.unconsumed_tail

    def _next_member(self, chunk: bytes) -> "zlib._Decompress | None":
        """The member that `chunk` belongs to; zero padding after the last one is not a member."""
        if self._member is not None and self._member.eof:
            if not chunk.strip(b"\0"):
                return None
            self._member = zlib.decompressobj(_GZIP)
            self._first = self._begun = False
        return self._member


def _up_to_the_damage(member: "zlib._Decompress", chunk: bytes) -> bytes:
    """What a chunk gives before it breaks, byte by byte: a call that fails gives nothing."""
    found = bytearray()
    try:
        for at in range(len(chunk)):
            found += member.decompress(chunk[at : at + 1])
    except zlib.error:
        pass
    return bytes(found)
