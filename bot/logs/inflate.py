"""Turns a stream that may be gzip into plain bytes.

In:  chunks of bytes, plain or gzip (told by the first two bytes; several members may follow each other).
Out: plain chunks of at most `PIECE` bytes, and `complaint`, one sentence where the gzip data is damaged.

What could be read before the damage is given out; nothing raises.
"""

import zlib
from collections.abc import Iterator

PIECE = 256 * 1024
"""Bytes inflated at a time: a small file may inflate to a thousand times its size."""

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
            self.complaint = "The gzip data is truncated: the log was read up to where it breaks off."
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
            try:
                piece = member.decompress(chunk, PIECE)
            except zlib.error:
                self._dead = True
                self.complaint = "The gzip data is corrupt: the log was read up to where it breaks."
                return
            if piece:
                yield piece
            chunk = member.unused_data if member.eof else member.unconsumed_tail

    def _next_member(self, chunk: bytes) -> "zlib._Decompress | None":
        """The member that `chunk` belongs to; zero padding after the last one is not a member."""
        if self._member is not None and self._member.eof:
            if not chunk.strip(b"\0"):
                return None
            self._member = zlib.decompressobj(_GZIP)
        return self._member
