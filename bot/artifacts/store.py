"""The interface of a folder or bucket that runs and logs are kept in.

A name is relative to the store's root and never leads out of it. What is read is one generation from its
first byte to its last. A failure that a person can fix is a `UserError`. The calls block: callers run them
in a thread.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from bot.domain.run import LogFile
from bot.errors import UserError

CHUNK_BYTES = 1 << 20
"""Largest chunk of a log: the scanner is fastest above 128 KB, and memory stays flat."""

SMALL_FILE_BYTES = 1 << 20
"""A manifest or a summary has a few KB; a larger file is something else."""

AddressGuard = Callable[[str], bool]
"""Whether an address may be read: `gs://bucket/name`, or `file:/path` with every link resolved."""

GZIP_MAGIC = b"\x1f\x8b"


def inflate_small(stored: bytes, limit: int) -> bytes:
    """`stored`, or of gzip the first `limit` bytes of its content, as far as truncated gzip has them."""
    if not stored.startswith(GZIP_MAGIC):
        return stored
    inflate = zlib.decompressobj(wbits=31)
    try:
        return inflate.decompress(stored, limit)
    except zlib.error:
        return stored


class ArtifactStore(Protocol):
    """A folder or bucket."""

    def find(self, glob: str, *, start_offset: str | None = None) -> Iterator[LogFile]:
        """The files whose name matches, by name; `*` never crosses `/`. Names below `start_offset` in byte
        order are left out. Nothing deeper than the glob is listed."""
        ...

    def open(self, name: str, generation: str | None = None) -> AbstractContextManager[Iterator[bytes]]:
        """The stored bytes in chunks of at most `CHUNK_BYTES`; `generation` pins what `find` saw."""
        ...

    def read_small(self, name: str, limit: int = SMALL_FILE_BYTES) -> bytes | None:
        """At most the first `limit` bytes of a small file, inflated if it is gzip; None if it is missing."""
        ...

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """The stored bytes from `start`, at most `length` of them, fewer at the end."""
        ...

    def describe(self, name: str) -> LogFile:
        """Stored size, time and generation of one file."""
        ...

    def write(self, name: str, chunks: Iterable[bytes], content_type: str) -> None:
        """Write a file atomically: readers see all of it or what was there before."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is deleted already."""
        ...

    def delete_below(self, name: str) -> int:
        """Delete this file, or every file of this folder; how many. What is not there is no error."""
        ...

    def uri(self, name: str) -> str:
        """The `gs://…` or `file:…` address that `open_source` reads."""
        ...

    def check(self) -> None:
        """Raise `UserError` if the store cannot be reached or read."""
        ...


def split_uri(uri: str) -> tuple[str, str]:
    """The bucket and name of `gs://bucket/some/name`."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    if not bucket:
        raise UserError(f"{uri}: no bucket named; write gs://bucket/object")
    return bucket, name
