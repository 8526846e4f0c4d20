"""Where runs and logs are kept: a folder or a bucket behind one small interface.

In:  `file:…`, a plain path or `gs://bucket/prefix`. Out: a `RunStore`.
Promises that a name is relative to the store's root and never leads out of it; that what is read is one
generation from its first byte to its last; and that a failure a person can mend is `Told`.
The calls block: callers run them in a thread.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from bot.errors import Told
from bot.runs.records import RunFile
from bot.storage.pieces import SMALL


class RunStore(Protocol):
    """A folder or bucket of runs."""

    def find(self, glob: str, *, start_offset: str | None = None) -> Iterator[RunFile]:
        """The files whose name matches, by name; `*` never crosses `/`. Names below `start_offset` in byte
        order are left out. Nothing below the glob's own depth is looked at."""
        ...

    def open(self, name: str, generation: str | None = None) -> AbstractContextManager[Iterator[bytes]]:
        """The stored bytes in pieces of at most `PIECE`; `generation` pins the content that `find` saw."""
        ...

    def read_small(self, name: str, limit: int = SMALL) -> bytes | None:
        """At most the first `limit` bytes of a small file, inflated where it is gzip; None: no such file."""
        ...

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """The stored bytes from `start`, at most `length` of them, fewer at the end."""
        ...

    def describe(self, name: str) -> RunFile:
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
        raise Told(f"{uri}: no bucket named; write gs://bucket/object")
    return bucket, name


def open_store(url: str) -> RunStore:
    """The store at `url`; nothing is asked of it yet, that is what `check` does."""
    from bot.storage.folder import FolderStore, path_of  # noqa: PLC0415 - a cold start needs one of the two

    if url.startswith("gs://"):
        from bot.storage.gcs import GcsStore  # noqa: PLC0415 - as above, and 0.2 s to import

        bucket, prefix = split_uri(url)
        return GcsStore(bucket=bucket, prefix=prefix.strip("/"))
    if "://" in url and not url.startswith("file:"):
        raise Told(f"{url}: runs are kept in a folder (file:/path) or a bucket (gs://bucket/prefix)")
    return FolderStore(path_of(url))


def own_store(url: str) -> RunStore:
    """The store at `url`, where a folder is made if it is not there: the one that we write to ourselves."""
    from bot.storage.folder import path_of  # noqa: PLC0415 - as above

    if not url.startswith("gs://"):
        try:
            path_of(url).mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise Told(f"{url}: the folder cannot be made: {problem.strerror}") from problem
    return open_store(url)
