"""A folder as an `ArtifactStore`.

Neither a name nor a symbolic link leads out of the folder: what runs write there is not trusted. A write is
seen whole or not at all. `find` goes level by level along the glob.

A name is resolved, then opened level by level from `/` without following a link: what was checked is what is
opened, whoever swaps a folder for a link in between.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote

from bot.artifacts.store import CHUNK_BYTES, SMALL_FILE_BYTES, AddressGuard, inflate_small
from bot.domain.globs import compile_glob, literal_prefix
from bot.domain.run import LogFile
from bot.errors import InternalError, NotGranted, UserError

# Files being written start with this and are never found.
TEMPORARY_PREFIX = ".maxview-writing-"


def local_path(url: str) -> Path:
    """The path that `file:/path`, `file:///path` (both percent-encoded) or a plain path names."""
    if not url.startswith("file:"):
        return Path(url)
    rest = url.removeprefix("file:")
    if rest.startswith("//"):
        host, slash, path = rest.removeprefix("//").partition("/")
        if host not in ("", "localhost"):
            raise UserError(f"{url}: a file of another host cannot be read; write file:/path")
        rest = slash + path
    if not rest or "\x00" in unquote(rest):
        raise UserError(f"{url}: no path after file:; write file:/path")
    return Path(unquote(rest))


def file_address(path: Path) -> str:
    """The address of a path, every link resolved, whether or not it exists."""
    return f"file:{os.path.realpath(path)}"


def user_error(where: str, problem: OSError) -> UserError:
    """The message for an error of the operating system."""
    match problem:
        case FileNotFoundError():
            return UserError(f"{where}: no such file; check the spelling")
        case IsADirectoryError():
            return UserError(f"{where}: a directory, not a file; name the file inside it")
        case NotADirectoryError():
            return UserError(f"{where}: a part of this path is a file, not a folder; check the spelling")
        case PermissionError():
            return UserError(f"{where}: permission denied; make it readable for this user")
        case _:
            return UserError(f"{where}: {(problem.strerror or str(problem)).lower()}; check the path")


def open_file(path: Path, where: str) -> BinaryIO:
    """Open a regular file or a pipe for reading; anything else is a `UserError`."""
    try:
        if path.is_dir():
            raise IsADirectoryError
        return path.open("rb")
    except OSError as problem:
        raise user_error(where, problem) from problem
    except ValueError as problem:
        raise UserError(f"{where!r}: not a path ({problem})") from problem


@contextmanager
def _opened_in_place(path: Path, flags: int) -> Iterator[int]:
    """A descriptor of a resolved path, in which no part is a link any more."""
    # O_PATH needs no right to list the folders on the way; where it is missing, reading them must do.
    walk = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    *folders, last = path.parts[1:] or (".",)
    here = os.open(path.anchor, walk)
    try:
        for part in folders:
            above, here = here, os.open(part, walk, dir_fd=here)
            os.close(above)
        descriptor = os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_chunks(file: BinaryIO, size: int, where: str) -> Iterator[bytes]:
    """The first `size` bytes; `UserError` if the file became shorter meanwhile."""
    left = size
    while left:
        piece = file.read(min(CHUNK_BYTES, left))
        if not piece:
            raise UserError(f"{where}: became {left} bytes shorter while it was read; read it again")
        left -= len(piece)
        yield piece


class FolderStore:
    """The files below `root`, and of these only what `allows` lets through."""

    def __init__(self, root: Path, allows: AddressGuard | None = None) -> None:
        self._root = root
        self._allows = allows

    def find(self, glob: str, *, start_offset: str | None = None) -> Iterator[LogFile]:
        """See `ArtifactStore.find`."""
        levels = glob.split("/")
        fixed = 0
        while fixed < len(levels) - 1 and literal_prefix(levels[fixed]) == levels[fixed]:
            fixed += 1
        above = "".join(f"{level}/" for level in levels[:fixed])
        if any(level in ("", ".", "..") for level in levels):
            return
        yield from self._walk(above, levels[fixed:], start_offset or "")

    def _walk(self, above: str, levels: list[str], start: str) -> Iterator[LogFile]:
        wanted, deeper = compile_glob(levels[0]), levels[1:]
        tail = "/" if deeper else ""
        for name in sorted(f"{entry}{tail}" for entry in self._entries(above) if wanted.fullmatch(entry)):
            full = above + name
            if full < start[: len(full)] or (not deeper and full < start):
                continue
            if deeper:
                yield from self._walk(full, deeper, start)
            elif (found := self._found(full)) is not None:
                yield found

    def _entries(self, above: str) -> list[str]:
        try:
            path = self._resolved(above.rstrip("/")) if above else self._granted(os.path.realpath(self._root))
            with _opened_in_place(path, os.O_RDONLY | os.O_DIRECTORY) as folder:
                names = os.listdir(folder)  # noqa: PTH208 - a descriptor
        except NotGranted:
            if not above:
                raise
            return []
        except (FileNotFoundError, NotADirectoryError, UserError) as absent:
            if not above:
                raise UserError(f"{self._root}: no such folder; create it, or name another") from absent
            return []
        except OSError as problem:
            raise user_error(f"{self._root / above}", problem) from problem
        return [name for name in names if not name.startswith(TEMPORARY_PREFIX) and _is_valid_text(name)]

    def _found(self, name: str) -> LogFile | None:
        try:
            status = self._resolved(name).lstat()
        except (FileNotFoundError, NotADirectoryError, UserError):
            return None
        return _run_file(name, status) if stat.S_ISREG(status.st_mode) else None

    @contextmanager
    def open(self, name: str, generation: str | None = None) -> Iterator[Iterator[bytes]]:
        """See `ArtifactStore.open`."""
        with self._open_inside(name) as file:
            status = os.fstat(file.fileno())
            if generation is not None and generation != _generation(status):
                raise UserError(f"{self.uri(name)}: changed since it was found; look for it again")
            yield read_chunks(file, status.st_size, self.uri(name))

    def read_small(self, name: str, limit: int = SMALL_FILE_BYTES) -> bytes | None:
        """See `ArtifactStore.read_small`."""
        if self._found(name) is None:
            return None
        return inflate_small(self.read_range(name, 0, limit), limit)

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """See `ArtifactStore.read_range`."""
        with self._open_inside(name) as file:
            file.seek(start)
            return file.read(length)

    def describe(self, name: str) -> LogFile:
        """See `ArtifactStore.describe`."""
        with self._open_inside(name) as file:
            return _run_file(name, os.fstat(file.fileno()))

    def write(self, name: str, chunks: Iterable[bytes], content_type: str) -> None:  # noqa: ARG002 - a folder keeps no types
        """See `ArtifactStore.write`."""
        path = self._inside(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_atomically(path, chunks)
        except OSError as problem:
            raise InternalError(f"{self.uri(name)}: cannot be written: {problem.strerror}") from problem

    def delete(self, name: str) -> None:
        """See `ArtifactStore.delete`."""
        try:
            self._inside(name).unlink(missing_ok=True)
        except OSError as problem:
            raise InternalError(f"{self.uri(name)}: cannot be deleted: {problem.strerror}") from problem

    def delete_below(self, name: str) -> int:
        """See `ArtifactStore.delete_below`."""
        path = self._inside(name)
        try:
            if not path.is_dir() or path.is_symlink():
                there = path.exists() or path.is_symlink()
                path.unlink(missing_ok=True)
                return int(there)
            number = sum(len(files) for _, _, files in os.walk(path))
            shutil.rmtree(path)
        except FileNotFoundError:
            return 0
        except OSError as problem:
            raise InternalError(f"{self.uri(name)}: cannot be deleted: {problem.strerror}") from problem
        return number

    def uri(self, name: str) -> str:
        """See `ArtifactStore.uri`."""
        return "file:" + quote(os.path.abspath(self._root / name))  # noqa: PTH100 - resolve() would follow links

    def check(self) -> None:
        """See `ArtifactStore.check`."""
        if not self._root.is_dir():
            raise UserError(f"{self._root}: no such folder; create it, or name another")
        if not os.access(self._root, os.R_OK | os.X_OK):
            raise UserError(f"{self._root}: permission denied; make the folder readable for this user")

    @contextmanager
    def _open_inside(self, name: str) -> Iterator[BinaryIO]:
        where, path = self.uri(name), self._resolved(name)
        with ExitStack() as opened:
            try:
                # Without O_NONBLOCK a pipe would wait for its writer.
                descriptor = opened.enter_context(_opened_in_place(path, os.O_RDONLY | os.O_NONBLOCK))
            except OSError as problem:
                raise user_error(where, problem) from problem
            kind = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(kind):
                raise user_error(where, IsADirectoryError())
            if not stat.S_ISREG(kind):
                raise UserError(f"{where}: not a regular file; name a log")
            yield opened.enter_context(os.fdopen(descriptor, "rb", closefd=False))

    def _resolved(self, name: str) -> Path:
        """The path of a name without links; `NotGranted` where it may not be read."""
        return self._granted(os.path.realpath(self._inside(name)))

    def _granted(self, resolved: str) -> Path:
        """A resolved path, which is below the folder, or the folder itself, and may be read."""
        root = os.path.realpath(self._root)
        if self._allows is not None and not self._allows(f"file:{resolved}"):
            raise NotGranted(f"this server may not read file:{self._root}: ask its operator")
        path = Path(resolved)
        if not path.is_relative_to(root):
            raise UserError(f"a link that leads out of {self._root}; put the file itself there")
        return path

    def _inside(self, name: str) -> Path:
        if "\x00" in name or name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
            raise UserError(f"{name!r}: not a name inside {self._root}; use a relative one without dots")
        path = self._root / name
        # Not Path.resolve(), which raises RuntimeError for a link to itself.
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self._root)):
            raise UserError(f"{name}: a link that leads out of {self._root}; put the file itself there")
        return path


def _write_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=TEMPORARY_PREFIX, delete=False) as file:
        try:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)  # noqa: PTH105 - the temporary file's name is text
        except BaseException:
            os.unlink(file.name)  # noqa: PTH108 - as above
            raise


def _run_file(name: str, status: os.stat_result) -> LogFile:
    return LogFile(name=name, size=status.st_size, updated=status.st_mtime, generation=_generation(status))


def _generation(status: os.stat_result) -> str:
    return f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"


def _is_valid_text(name: str) -> bool:
    return not any("\udc80" <= letter <= "\udcff" for letter in name)
