"""The processes of a job: which there are, what they use, and how to end every one of them.

Linux tells all of this in `/proc`. A supervisor adopts what its job leaves behind (`adopt_orphans`), so that
a program cannot leave the job by forking twice or by `setsid`.
"""

import ctypes
import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36

_PROC = Path("/proc")

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

END_SECONDS = 10.0
"""How long `end_descendants` goes on: a process in an uninterruptible wait cannot be ended."""


class DeletedFile(Struct, frozen=True, kw_only=True):
    """A file that is open and has no name, so that no listing of folders finds it."""

    inode: tuple[int, int]
    allocated_bytes: int
    in_memory: bool


class Descendants(Struct, frozen=True, kw_only=True):
    """The processes below one process, with the group of each, and how many threads they have in all."""

    groups: dict[int, int]
    threads: int


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends. Does nothing where it is not Linux."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Have the kernel kill this process when its parent ends; called between fork and exec."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def hide_memory() -> None:
    """Keep other processes of the same user from this process's memory, variables and open files."""
    _prctl(_PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> None:
    with suppress(AttributeError, OSError):  # a system without it
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def descendants(root: int) -> Descendants:
    """The living processes below `root`, which is not among them."""
    children: dict[int, list[int]] = defaultdict(list)
    states: dict[int, tuple[int, int]] = {}
    for name in _numbers(_PROC):
        with suppress(OSError, ValueError, IndexError):
            # 17 (any name) S PARENT GROUP …: a program's name may hold blanks and brackets.
            text = (_PROC / name / "stat").read_bytes()
            fields = text[text.rindex(b")") + 2 :].split(None, 18)
            children[int(fields[1])].append(int(name))
            if fields[0] not in (b"Z", b"X"):
                states[int(name)] = int(fields[2]), int(fields[17])
    found: list[int] = []
    waiting = list(children[root])
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting.extend(children.get(process, ()))
    living = [process for process in found if process in states]
    return Descendants(
        groups={process: states[process][0] for process in living},
        threads=sum(states[process][1] for process in living),
    )


def anonymous_bytes(process: int, *, shared_once: bool = False) -> int:
    """The memory that a process holds besides the files it maps; with `shared_once` its share of that, which
    takes longer to tell."""
    with suppress(OSError, ValueError, IndexError):
        if shared_once:
            with suppress(PermissionError):
                return _proportional_bytes(process)
        _, resident, shared, *_ = (_PROC / str(process) / "statm").read_text(encoding="ascii").split()
        return (int(resident) - int(shared)) * _PAGE_BYTES
    return 0


def _proportional_bytes(process: int) -> int:
    """Pss_Anon and Pss_Shmem in bytes: each page divided by the number of processes that share it."""
    lines = (_PROC / str(process) / "smaps_rollup").read_text(encoding="ascii").splitlines()
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:"))]
    return sum(kilobytes) * 1024


def open_deleted_files(process: int) -> Iterator[DeletedFile]:
    """The files without a name that a process has open."""
    opened = _PROC / str(process) / "fd"
    for name in _numbers(opened):
        with suppress(OSError):
            target = str((opened / name).readlink())
            if not target.endswith(" (deleted)"):
                continue
            found = (opened / name).stat()
            yield DeletedFile(
                inode=(found.st_dev, found.st_ino),
                allocated_bytes=found.st_blocks * 512,
                in_memory=target.startswith("/memfd:"),
            )


def end_descendants() -> None:
    """Kill every process below this one, whatever it forks meanwhile, and reap it.

    A whole group is signalled at once, so that a program that does nothing but fork does not outrun us. Needs
    `adopt_orphans`: without it a process whose parent ended is no longer below this one.
    """
    deadline, own_group = time.monotonic() + END_SECONDS, os.getpgrp()
    while time.monotonic() < deadline:
        _reap_children()
        left = descendants(os.getpid()).groups
        if not left:
            return
        for group in set(left.values()) - {own_group}:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        for process in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.002)


def _reap_children() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _numbers(folder: Path) -> list[str]:
    """The names in a folder of `/proc` that are numbers; none where it is gone or closed to us."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - half the price of Path.iterdir
        return [name for name in names if name.isdigit()]
    except OSError:
        return []


def end_marked(variable: str, value: str) -> None:
    """Kill every process that was started with this environment variable, as far as we may read it."""
    wanted = f"{variable}={value}".encode()
    for name in _numbers(_PROC):
        with suppress(OSError):
            if wanted in (_PROC / name / "environ").read_bytes().split(b"\0"):
                os.kill(int(name), signal.SIGKILL)
