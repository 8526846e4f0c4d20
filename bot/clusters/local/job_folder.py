"""One job of the local cluster as files, which survive any process.

Every file appears whole or not at all. Whether a process lives is asked of the locks it holds, never of
a process number, which another process may carry by now.

    root/limit                 how many jobs run at once
    root/logs/NAME.log         stays when the job is deleted; locked while the supervisor lives, and while a
                               program without a sandbox or a child of it does
    root/commits/SHA/          the files of a commit, shared, never run in
    root/jobs/NAME/job.json    what to run
                   lock        held by the supervisor while it lives
                   supervisor  its process number; written once, so a job is started once
                   program     the process group of the program
                   cancel      somebody wants this job to end
                   exit        the exit code
                   work, home, tmp   the program's own folders, while it runs
"""

import errno
import fcntl
import os
import re
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct, field

from bot.clusters.interface import Isolation, Job
from bot.clusters.local.limits import JobLimits, default_limits
from bot.clusters.local.processes import end_marked
from bot.clusters.local.sandbox import DEFAULT_VIEW, SandboxView
from bot.clusters.local.scratch import remove_tree

# A job's name is also a file name, so nothing else is allowed.
JOB_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


JOB_MARK = "MAXVIEW_JOB"
"""The variable by which the processes of an unsandboxed job are found again."""


class FolderState(StrEnum):
    """The state of a job, by its folder."""

    UNKNOWN = "unknown"
    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    ABANDONED = "abandoned"


class JobOrder(Struct, frozen=True, kw_only=True):
    """A supervisor's order. `turn` is the position in the queue, `commit` its files' folder; `view` is what a
    sandboxed job sees besides the system."""

    job: Job
    turn: int
    commit: str
    grace_seconds: float
    limits: JobLimits = field(default_factory=default_limits)
    view: SandboxView = DEFAULT_VIEW

    @property
    def mark(self) -> str:
        """The value of `JOB_MARK` for this execution."""
        return f"{self.job.name}-{self.turn}"


_DECODE_ORDER = msgspec.json.Decoder(JobOrder).decode


class JobFolder(Struct, frozen=True):
    """The files of one job. The name must match `JOB_NAME`."""

    root: Path
    name: str

    @property
    def path(self) -> Path:
        """The job's own folder."""
        return self.root / "jobs" / self.name

    @property
    def log(self) -> Path:
        """The job's log; it exists once the program starts."""
        return self.root / "logs" / f"{self.name}.log"

    @property
    def lock(self) -> Path:
        """The file that the supervisor holds locked."""
        return self.path / "lock"

    def write_order(self, order: JobOrder) -> None:
        """Make the folder with its order, atomically."""
        fresh = self.path.with_name(f".{self.name}.{os.getpid()}")
        fresh.mkdir(parents=True, exist_ok=True)
        (fresh / "job.json").write_bytes(msgspec.json.encode(order))
        fresh.rename(self.path)

    def read_order(self) -> JobOrder:
        """The order that the folder was made for."""
        return _DECODE_ORDER((self.path / "job.json").read_bytes())

    def write(self, name: str, text: str) -> None:
        """Write a small file into the folder, atomically."""
        fresh = self.path / f".{name}.{os.getpid()}"
        fresh.write_text(text, encoding="ascii")
        fresh.replace(self.path / name)

    def read(self, name: str) -> int | None:
        """The number in a small file, or None where there is none yet."""
        with suppress(FileNotFoundError, NotADirectoryError, ValueError):
            return int((self.path / name).read_text(encoding="ascii"))
        return None

    def has(self, name: str) -> bool:
        """Whether the folder holds this file."""
        return (self.path / name).exists()

    def state(self) -> FolderState:
        """The job's state now."""
        if not self.has("job.json"):
            return FolderState.UNKNOWN
        if self.has("exit"):
            return FolderState.ENDED
        if is_locked(self.lock):
            return FolderState.RUNNING
        # The supervisor may have written the exit code between the two checks.
        if self.has("exit"):
            return FolderState.ENDED
        return FolderState.ABANDONED if self.has("supervisor") else FolderState.WAITING

    def end_leftovers(self) -> None:
        """Kill what an abandoned program left running. Of a sandbox the kernel has left nothing."""
        group = self.read("program")
        if group is None or not self.has("job.json"):
            return
        order = self.read_order()
        if order.job.isolation is Isolation.SANDBOXED:
            return
        # The lock on the log says whether the group is still the program's.
        if is_locked(self.log):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        end_marked(JOB_MARK, order.mark)

    @contextmanager
    def open_log(self) -> Iterator[int]:
        """The log, opened for reading. Raises `FileNotFoundError` where there is none, and where a job put a
        link or a pipe in its place."""
        try:
            descriptor = os.open(self.log, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as problem:
            raise FileNotFoundError(problem.errno, problem.strerror, str(self.log)) from problem
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileNotFoundError(errno.ENOENT, "not a file", str(self.log))
            yield descriptor
        finally:
            os.close(descriptor)

    def remove(self) -> None:
        """Remove the folder with all that is in it, at once for those who look for it."""
        away = self.path.with_name(f".gone-{self.name}-{time.time_ns()}")
        with suppress(FileNotFoundError):
            self.path.rename(away)
        remove_tree(away)


def job_folders(root: Path) -> list[JobFolder]:
    """Every job of this root, in no order."""
    with suppress(FileNotFoundError):
        names = [entry.name for entry in (root / "jobs").iterdir()]
        return [JobFolder(root, name) for name in names if JOB_NAME.fullmatch(name)]
    return []


def is_locked(path: Path) -> bool:
    """Whether a living process holds this file locked."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two processes that check do not take each other for the holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Wait for the file's lock and hold it inside the block. Yields the open descriptor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
