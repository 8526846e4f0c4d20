"""What a job on this machine may use at most, and what it uses now.

Memory, processes and disk are watched: a look costs a few milliseconds and is repeated several times a
second, so a job may exceed a limit for a moment before it is ended. Time, the size of one file and the size
of the log are held exactly.
"""

import os
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from bot.clusters.local.processes import anonymous_bytes, descendants, open_deleted_files

MEGABYTE = 10**6

FREE_DISK_BYTES = 500 * MEGABYTE
"""Below this the server's own database can soon no longer be written, so a job that runs then is ended."""

MAX_SCRATCH_FILES = 1_000_000
"""Files and folders in a job's scratch folders: a disk can be full of names, too."""

WATCH_SECONDS = (0.25, 1.0)

DISK_WATCH_SECONDS = (1.0, 20.0)
"""From one look to the next: sooner disturbs what is measured, and later lets a job take too much."""

_WATCH_SHARE = 0.01
"""Between these bounds looking takes at most this share of one processor."""


class JobLimits(Struct, frozen=True, kw_only=True):
    """The most that one job may use. `processes` counts threads too; `log_bytes` is what it may print;
    `seconds` holds also where the repository's own time limit is longer."""

    memory_bytes: int
    processes: int = 4096
    log_bytes: int = 100 * MEGABYTE
    disk_bytes: int = 20_000 * MEGABYTE
    seconds: float = 86_400.0


def default_memory_bytes() -> int:
    """Three quarters of this machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4 * 3


def default_limits() -> JobLimits:
    """The limits of an operator who said nothing."""
    return JobLimits(memory_bytes=default_memory_bytes())


class UsageWatch:
    """Looks now and then at what the processes below this one use, and says which limit they exceed."""

    def __init__(self, limits: JobLimits, scratch: Collection[Path]) -> None:
        self._limits = limits
        self._scratch = tuple(scratch)
        self._next_look = self._next_disk_look = 0.0

    @property
    def next_look(self) -> float:
        """When to call `exceeded` again, on the monotonic clock."""
        return self._next_look

    def exceeded(self) -> str:
        """The limit that the job exceeds, as a clause; empty where it exceeds none or it is not time yet."""
        begun = time.monotonic()
        if begun < self._next_look:
            return ""
        living = descendants(os.getpid())
        problem = self._too_many(living.threads) or self._too_large(living.groups) or self._disk_full()
        self._next_look = _next_time(begun, WATCH_SECONDS)
        begun = time.monotonic()
        if not problem and begun >= self._next_disk_look:
            problem = self._too_much_disk(living.groups)
            self._next_disk_look = _next_time(begun, DISK_WATCH_SECONDS)
        return problem

    def _too_many(self, threads: int) -> str:
        most = self._limits.processes
        return f"it had more than {most} processes and threads" if threads > most else ""

    def _too_large(self, processes: Collection[int]) -> str:
        most = self._limits.memory_bytes
        used = sum(anonymous_bytes(process) for process in processes)
        # Forked processes share pages, which the sum above counts for each of them.
        if used > most:
            used = sum(anonymous_bytes(process, shared_once=True) for process in processes)
        return f"it used more than {most // MEGABYTE} MB of memory" if used > most else ""

    def _disk_full(self) -> str:
        with suppress(OSError):
            space = os.statvfs(self._scratch[0])
            if space.f_bavail * space.f_frsize < FREE_DISK_BYTES:
                return f"the disk of this machine has less than {FREE_DISK_BYTES // MEGABYTE} MB left"
        return ""

    def _too_much_disk(self, processes: Collection[int]) -> str:
        deleted = [found for process in processes for found in open_deleted_files(process)]
        memory = {one.inode: one.allocated_bytes for one in deleted if one.in_memory}
        if sum(memory.values()) > self._limits.memory_bytes:
            return f"it kept more than {self._limits.memory_bytes // MEGABYTE} MB of files in memory"
        used = sum({one.inode: one.allocated_bytes for one in deleted if not one.in_memory}.values())
        for count, size in enumerate(_allocated_sizes(self._scratch), start=1):
            used += size
            if used > self._limits.disk_bytes:
                return f"its files took more than {self._limits.disk_bytes // MEGABYTE} MB"
            if count > MAX_SCRATCH_FILES:
                return f"it made more than {MAX_SCRATCH_FILES} files"
        return ""


def _next_time(begun: float, bounds: tuple[float, float]) -> float:
    """When to look again after a look that has just ended."""
    soonest, latest = bounds
    now = time.monotonic()
    return now + min(max(soonest, (now - begun) / _WATCH_SHARE), latest)


def _allocated_sizes(folders: Collection[Path]) -> Iterator[int]:
    """The bytes on disk of each entry below the folders; links are not followed."""
    waiting: list[str] = [str(folder) for folder in folders]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:  # gone, or closed by the job
            continue
        with entries:
            for entry in entries:
                with suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    yield found.st_blocks * 512
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append(entry.path)
