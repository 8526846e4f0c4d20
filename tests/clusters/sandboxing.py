"""What the tests of sandboxed jobs share: whether a sandbox can be had, and which processes are left."""

import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from bot.clusters.local.sandbox import sandbox_problem

PATIENCE = 20.0


def require_sandbox() -> None:
    """Skip the test where no sandbox can be had; fail it in CI where only bubblewrap is missing."""
    problem = sandbox_problem()
    if not problem:
        return
    if os.environ.get("CI") and _has_user_namespaces():
        pytest.fail(f"CI runs the tests of sandboxed jobs: {problem}")
    pytest.skip(problem)


def _has_user_namespaces() -> bool:
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    return subprocess.run([unshare, "--user", "true"], capture_output=True, check=False).returncode == 0


def running(mark: str) -> list[int]:
    """The processes whose command line holds a text, without those that only look for it."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if mark.encode() in words:
                    found.append(int(folder.name))
    return found


def wait_until_gone(mark: str) -> None:
    """Wait until no process has this word in its command line."""
    limit = time.monotonic() + PATIENCE
    while left := running(mark):
        assert time.monotonic() < limit, left
        time.sleep(0.02)
