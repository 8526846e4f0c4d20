"""How much of a file is handled at once, and small files as they were meant.

In:  stored bytes. Out: the same, inflated where they are gzip.
"""

import zlib

# Largest piece of a log handed on at once: the scanner is fastest above 128 KB, and memory stays flat.
PIECE = 1 << 20

# A manifest or a summary is a few KB; beyond this it is something else.
SMALL = 1 << 20

GZIP_MAGIC = b"\x1f\x8b"


def inflated_small(stored: bytes, limit: int) -> bytes:
    """`stored`, or where it is gzip the first `limit` bytes of what it holds; cut gzip gives what it can."""
    if not stored.startswith(GZIP_MAGIC):
        return stored
    inflate = zlib.decompressobj(wbits=31)
    try:
        return inflate.decompress(stored, limit)
    except zlib.error:
        return stored
