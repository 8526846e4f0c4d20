"""The interface of a folder or bucket that runs and logs are kept in.

A name is relative to the store's root and never leads out of it. What is read is one generation from its
first byte to its last. A failure that a person can fix is a `UserError`. The calls block: callers run them
in a thread.
"""

import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from bot.domain.run import LogFile
from bot.errors import UserError

# Largest piece of a log handed on at once: the scanner is fastest above 128 KB, and memory stays flat.
CHUNK_BYTES = 1 << 20

# A manifest or a summary is a few KB; beyond this it is something else.
SMALL_FILE_BYTES = 1 << 20

GZIP_MAGIC = b"\x1f\x8b"


def inflate_small(stored: bytes, limit: int) -> bytes:
    """`stored`, or where it is gzip the first `limit` bytes of what it holds; cut gzip gives what it can."""
    if not stored.startswith(GZIP_MAGIC):
        return stored
    inflate = zlib.decompressobj(wbits=31)
    try:
        return inflate.decompress(stored, limit)
    except zlib.error:
        return stored


class ArtifactStore(Protocol):
    """A folder or bucket of runs."""

    def find(self, glob: str, *, start_offset: str | None = None) -> Iterator[LogFile]:
        """The files whose name matches, by name; `*` never crosses `/`. Names below `start_offset` in byte
        order are left out. Nothing below the glob's own depth is looked at."""
        ...

    def open(self, name: str, generation: str | None = None) -> AbstractContextManager[Iterator[bytes]]:
        """The stored bytes in pieces of at most `PIECE`; `generation` pins the content that `find` saw."""
        ...

    def read_small(self, name: str, limit: int = SMALL_FILE_BYTES) -> bytes | None:
        """At most the first `limit` bytes of a small file, inflated where it is gzip; None: no such file."""
        ...

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """The stored bytes from `start`, at most `length` of them, fewer at the end."""
        ...

    def describe(self, name: str) -> LogFile:
        """Stored size, time and generation of one file."""
        ...

    def write(self, name: str, chunks: Iterable[bytes], content_type: str) -> None:
        """Store a file whole: readers see all of it or what was there before."""
        ...

    def uri(self, name: str) -> str:
        """`gs://…` or `file:…`, which `open_source` reads."""
        ...

    def check(self) -> None:
        """Raise `Told` where the store cannot be reached or read."""
        ...


def split_uri(uri: str) -> tuple[str, str]:
    """`gs://bucket/some/name` as bucket and name."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    if not bucket:
        raise UserError(f"{uri}: no bucket named; write gs://bucket/object")
    return bucket, name
