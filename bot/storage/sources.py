"""Opens the source of a log: a file, standard input, an object in a bucket, an address.

In:  `-`, a path, `file:…`, `gs://bucket/object`, `http(s)://…`. Out: its stored bytes, piece by piece.
Promises constant memory, stored bytes as they are (gzip stays gzip: the log reader inflates it), and `Told`
for everything that stands in the way, a download that ended early included.
"""

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bot.errors import Broken, Told
from bot.storage.artifacts import split_uri
from bot.storage.folder import open_regular, path_of
from bot.storage.pieces import PIECE

if TYPE_CHECKING:
    from bot.storage.gcs import GcsStore

# Seconds over which an unreachable bucket is asked again: somebody waits at the terminal.
PATIENCE = 10.0

# Standard input and pipes hand over what they have; asking for more would only wait.
PIPE_PIECE = 1 << 18


def open_source(spec: str) -> AbstractContextManager[Iterator[bytes]]:
    """The bytes of `spec`, to be used in a `with` statement."""
    if spec == "-":
        return _standard_input()
    if spec.startswith("gs://"):
        return _object(spec)
    if spec.startswith(("http://", "https://")):
        from bot.storage.addresses import open_address  # noqa: PLC0415 - httpx takes long to import

        return open_address(spec)
    return _file(_path(spec), spec)


def source_size(spec: str) -> int | None:
    """Stored size in bytes, for a progress bar; None where it cannot be known before reading."""
    if spec == "-":
        return _standard_size()
    if spec.startswith(("http://", "https://")):
        from bot.storage.addresses import address_size  # noqa: PLC0415 - as above

        return address_size(spec)
    if spec.startswith("gs://"):
        store, name = _in_bucket(spec)
        with _told():
            return store.describe(name).size
    with open_regular(_path(spec), spec) as file:
        return _regular_size(file.fileno())


def _path(spec: str) -> Path:
    scheme, separator, _ = spec.partition("://")
    if separator and scheme != "file":
        raise Told(f"{spec}: cannot read {scheme}://; give a path, -, gs://bucket/object or http(s)://…")
    if not spec:
        raise Told("no source named; give a path, -, gs://bucket/object or http(s)://…")
    return path_of(spec)


@contextmanager
def _file(path: Path, spec: str) -> Iterator[Iterator[bytes]]:
    with open_regular(path, spec) as file:
        yield _read(file, spec, PIECE)


@contextmanager
def _standard_input() -> Iterator[Iterator[bytes]]:
    if sys.stdin.isatty():
        raise Told("-: standard input is the terminal; pipe a log into it, or name a file")
    yield _read(sys.stdin.buffer, "-", PIPE_PIECE)


def _standard_size() -> int | None:
    try:
        return _regular_size(sys.stdin.fileno())
    except (io.UnsupportedOperation, ValueError):
        return None


def _read(file: BinaryIO, spec: str, size: int) -> Iterator[bytes]:
    read = getattr(file, "read1", file.read)
    try:
        while piece := read(size):
            yield piece
    except OSError as problem:
        raise Told(f"{spec}: reading stopped ({(problem.strerror or str(problem)).lower()})") from problem


@contextmanager
def _object(spec: str) -> Iterator[Iterator[bytes]]:
    store, name = _in_bucket(spec)
    with _told(), store.open(name) as pieces:
        yield _each(pieces)


def _each(pieces: Iterator[bytes]) -> Iterator[bytes]:
    with _told():
        yield from pieces


def _in_bucket(spec: str) -> "tuple[GcsStore, str]":
    from bot.storage.gcs import GcsStore  # noqa: PLC0415 - takes long to import

    bucket, name = split_uri(spec)
    if not name or name.endswith("/"):
        raise Told(f"{spec}: no object named; write gs://bucket/object")
    return GcsStore(bucket=bucket, retry_seconds=PATIENCE), name


@contextmanager
def _told() -> Iterator[None]:
    """On the terminal the reader is the operator too: what would be logged is told."""
    try:
        yield
    except Broken as broken:
        raise Told(str(broken)) from broken


def _regular_size(descriptor: int) -> int | None:
    status = os.fstat(descriptor)
    return status.st_size if stat.S_ISREG(status.st_mode) else None
