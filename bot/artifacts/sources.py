"""Open a store, or one log: a file, standard input, an object in a bucket, an address.

Logs are read in constant memory and come as they are stored: gzip stays gzip, the log reader inflates it.
Every failure to open or read is a `UserError`, also a download that ended early.
"""

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote

from bot.artifacts.folder import file_address, local_path, open_file
from bot.artifacts.log_archive import ARCHIVE_SUFFIX, open_archive
from bot.artifacts.store import CHUNK_BYTES, AddressGuard, ArtifactStore, split_uri
from bot.errors import InternalError, UserError

if TYPE_CHECKING:
    from bot.artifacts.bucket import BucketStore

TERMINAL_RETRY_SECONDS = 10.0
"""How long an unreachable bucket is retried: somebody waits at the terminal."""

PIPE_CHUNK_BYTES = 1 << 18
"""Pipes return what they have; a larger chunk would only wait."""


def open_source(spec: str) -> AbstractContextManager[Iterator[bytes]]:
    """The bytes of `spec`, to be used in a `with` statement."""
    if spec == "-":
        return _open_stdin()
    if spec.endswith(ARCHIVE_SUFFIX) and spec.startswith(("gs://", "file:")):
        return _open_kept_text(spec)
    if spec.startswith("gs://"):
        return _open_object(spec)
    if spec.startswith(("http://", "https://")):
        from bot.artifacts.download import open_url  # noqa: PLC0415 - httpx takes long to import

        return open_url(spec)
    return _open_file(_source_path(spec), spec)


def source_size(spec: str) -> int | None:
    """Stored size in bytes, for a progress bar; None if it is only known after reading."""
    if spec == "-":
        return _stdin_size()
    if spec.startswith(("http://", "https://")):
        from bot.artifacts.download import url_size  # noqa: PLC0415 - as above

        return url_size(spec)
    if spec.startswith("gs://"):
        store, name = _in_bucket(spec)
        with _as_user_errors():
            return store.describe(name).size
    with open_file(_source_path(spec), spec) as file:
        return _regular_size(file.fileno())


def _source_path(spec: str) -> Path:
    scheme, separator, _ = spec.partition("://")
    if separator and scheme != "file":
        raise UserError(f"{spec}: cannot read {scheme}://; give a path, -, gs://bucket/object or http(s)://…")
    if not spec:
        raise UserError("no source named; give a path, -, gs://bucket/object or http(s)://…")
    return local_path(spec)


@contextmanager
def _open_file(path: Path, spec: str) -> Iterator[Iterator[bytes]]:
    with open_file(path, spec) as file:
        yield _read_chunks(file, spec, CHUNK_BYTES)


@contextmanager
def _open_stdin() -> Iterator[Iterator[bytes]]:
    if sys.stdin.isatty():
        raise UserError("-: standard input is the terminal; pipe a log into it, or name a file")
    yield _read_chunks(sys.stdin.buffer, "-", PIPE_CHUNK_BYTES)


def _stdin_size() -> int | None:
    try:
        return _regular_size(sys.stdin.fileno())
    except (io.UnsupportedOperation, ValueError):
        return None


def _read_chunks(file: BinaryIO, spec: str, size: int) -> Iterator[bytes]:
    read = getattr(file, "read1", file.read)
    try:
        while piece := read(size):
            yield piece
    except OSError as problem:
        raise UserError(
            f"{spec}: reading stopped ({(problem.strerror or str(problem)).lower()})"
        ) from problem


@contextmanager
def _open_kept_text(spec: str) -> Iterator[Iterator[bytes]]:
    """The text of a log that we stored."""
    store, name = split_address(spec)
    with _as_user_errors():
        archive = open_archive(store, name)
    yield _checked_chunks(archive.text())


@contextmanager
def _open_object(spec: str) -> Iterator[Iterator[bytes]]:
    store, name = _in_bucket(spec)
    with _as_user_errors(), store.open(name) as pieces:
        yield _checked_chunks(pieces)


def _checked_chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    with _as_user_errors():
        yield from pieces


def _in_bucket(spec: str) -> "tuple[BucketStore, str]":
    from bot.artifacts.bucket import BucketStore  # noqa: PLC0415 - takes long to import

    bucket, name = split_uri(spec)
    if not name or name.endswith("/"):
        raise UserError(f"{spec}: no object named; write gs://bucket/object")
    return BucketStore(bucket=bucket, retry_seconds=TERMINAL_RETRY_SECONDS), name


@contextmanager
def _as_user_errors() -> Iterator[None]:
    """Show what would be logged: at the terminal the reader is the operator too."""
    try:
        yield
    except InternalError as broken:
        raise UserError(str(broken)) from broken


def _regular_size(descriptor: int) -> int | None:
    status = os.fstat(descriptor)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def canonical_address(url: str) -> str:
    """What the policy compares: a bucket's address as it is, a path with every link resolved."""
    return url if url.startswith("gs://") else file_address(local_path(url))


def open_store(url: str, allows: AddressGuard | None = None) -> ArtifactStore:
    """The store at `url`, without any request yet: `check` does that. `allows` is asked again for all that is
    opened in it."""
    from bot.artifacts.folder import FolderStore, local_path  # noqa: PLC0415 - a cold start needs one of the two

    if url.startswith("gs://"):
        from bot.artifacts.bucket import BucketStore  # noqa: PLC0415 - as above, and 0.2 s to import

        bucket, prefix = split_uri(url)
        return BucketStore(bucket=bucket, prefix=prefix.strip("/"), allows=allows)
    if "://" in url and not url.startswith("file:"):
        raise UserError(f"{url}: runs are kept in a folder (file:/path) or a bucket (gs://bucket/prefix)")
    return FolderStore(local_path(url), allows)


def split_address(address: str, allows: AddressGuard | None = None) -> tuple[ArtifactStore, str]:
    """The store and the name in it of a log at `file:…` or `gs://…`: the folder of a file, the bucket of an
    object."""
    if address.startswith("gs://"):
        bucket, name = split_uri(address)
        return open_store(f"gs://{bucket}", allows), name
    folder, _, name = address.rpartition("/")
    return open_store(folder or "/", allows), unquote(name) if address.startswith("file:") else name


def open_own_store(url: str) -> ArtifactStore:
    """Our own store at `url`; a folder is created if it is not there."""
    from bot.artifacts.folder import local_path  # noqa: PLC0415 - as above

    if not url.startswith("gs://"):
        try:
            local_path(url).mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UserError(f"{url}: the folder cannot be made: {problem.strerror}") from problem
    return open_store(url)
