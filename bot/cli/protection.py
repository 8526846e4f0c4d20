"""Keeps the secrets of this process from the other processes of its user, such as jobs without a sandbox.

What was read from the environment is erased from it: from ours, from what children inherit, and from the
kernel's copy in `/proc`. The process's memory and open files are closed to its own user, and never written
to a core file. Root may read all of it in any case.
"""

import ctypes
import os
import resource
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from bot.clusters.local.processes import hide_memory

# Where a program's first environment begins and ends in its memory: positions in /proc/self/stat, behind the
# program's name.
_ENVIRONMENT_AT = slice(47, 49)


def protect_process(secrets: Collection[str]) -> None:
    """Close this process's memory, then erase these variables; what they said must have been read."""
    hide_memory()
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in secrets:
        os.environ.pop(name, None)
    with suppress(OSError, ValueError):
        _erase_first_environment(secrets)


def _erase_first_environment(names: Collection[str]) -> None:
    """Overwrite the values in the environment that this process was started with, which `/proc` shows."""
    stat = Path("/proc/self/stat").read_bytes()
    begin, end = (int(field) for field in stat[stat.rindex(b")") + 2 :].split()[_ENVIRONMENT_AT])
    if not begin < end:
        return
    at = begin
    for entry in ctypes.string_at(begin, end - begin).split(b"\0"):
        name, found, value = entry.partition(b"=")
        if found and os.fsdecode(name) in names:
            ctypes.memset(at + len(name) + 1, 0, len(value))
        at += len(entry) + 1
