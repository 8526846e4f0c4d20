"""The process that supervises one job: starts the program, limits it, and writes down how it ended.

Started with the root folder and the job's name as arguments. It outlives the bot. The log opens and
closes with XPK's lines; between them is what the program wrote, in its order. When the exit code is
written, the program's whole process group is gone.
"""

import fcntl
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from bot.clusters import job_log
from bot.clusters.command import argument_list
from bot.clusters.local.job_folder import JobFolder, JobOrder
from bot.clusters.local.local_queue import start_waiting_jobs

# What a program gets of the bot's environment: where programs are, language, and the switches by which an
# operator chooses the device. The bot's secrets are in the environment too, and are not passed.
PASSED_VARIABLES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "CUDA_VISIBLE_DEVICES",
    "JAX_PLATFORMS",
    "XLA_FLAGS",
)

# The codes that shells and GNU `timeout` use.
EXIT_TIMED_OUT = 124

EXIT_CANNOT_START = 126

EXIT_NOT_FOUND = 127

EXIT_SIGNAL_BASE = 128


class _SignalWaiter:
    """Waits for a signal or a deadline, without missing a signal that came before."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)
        for each in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(each, lambda _number, _frame: None)

    def wait(self, seconds: float) -> frozenset[int]:
        """The signals received; none where the time passed first."""
        ready, _, _ = select.select([self._reading], [], [], max(0.0, seconds))
        return frozenset(os.read(self._reading, 64)) if ready else frozenset()


class _Program(Struct, frozen=True):
    """A started program and the process group that it and its children are in."""

    process: subprocess.Popen[bytes]
    group: int

    def signal(self, number: signal.Signals) -> None:
        """Signal the whole group; it is fine where all its members are gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)


def main(root: str, name: str) -> None:
    """Run one job from its first line to its exit code, then start the next one."""
    folder = JobFolder(Path(root), name)
    folder.write("supervisor", str(os.getpid()))
    _execute(folder, folder.read_order(), _SignalWaiter())
    for scratch in ("work", "home"):
        shutil.rmtree(folder.path / scratch, ignore_errors=True)
    start_waiting_jobs(folder.root)


def _execute(folder: JobFolder, order: JobOrder, signals: _SignalWaiter) -> None:
    work = folder.path / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(order.commit, work, symlinks=True)
    (folder.path / "home").mkdir(exist_ok=True)
    with _open_log(folder.log) as log:
        job = order.job
        _append(log, job_log.log_header(started=time.time(), sha=job.sha, case=job.case, variant=job.variant))
        code = _run_program(folder, order, log=log, signals=signals)
        _append(log, job_log.log_footer(ended=time.time(), exit_code=code))
    folder.write("exit", str(code))


@contextmanager
def _open_log(path: Path) -> Iterator[int]:
    """The log, emptied, opened for appending and locked: the program inherits the lock with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    try:
        fcntl.flock(log, fcntl.LOCK_EX)
        yield log
    finally:
        os.close(log)


def _run_program(folder: JobFolder, order: JobOrder, *, log: int, signals: _SignalWaiter) -> int:
    """Start the program and wait for its end; returns the exit code that a shell would give."""
    words = argument_list(order.job)
    if folder.has("cancel"):
        return EXIT_SIGNAL_BASE + signal.SIGTERM
    # The program inherits our process group, which we leave afterwards: so its number is on disk before the
    # program starts, and the program can be killed where we were killed.
    group = os.getpgrp()
    folder.write("program", str(group))
    try:
        with _memory_limit(order.job.memory_mb):
            program = subprocess.Popen(
                words,
                cwd=folder.path / "work",
                env=_environment(folder, order),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
    except OSError as problem:
        _append(log, f"{words[0]}: {problem.strerror}\n")
        return EXIT_NOT_FOUND if isinstance(problem, FileNotFoundError) else EXIT_CANNOT_START
    finally:
        os.setpgid(0, 0)
    return _wait_for_end(_Program(program, group), order, log=log, signals=signals, named=words[0])


def _wait_for_end(program: _Program, order: JobOrder, *, log: int, signals: _SignalWaiter, named: str) -> int:
    """Wait for the program's end; end it when its time is over or when asked to (SIGTERM)."""
    deadline = time.monotonic() + order.job.timeout_seconds
    over_time = False
    process = program.process
    while process.poll() is None:
        received = signals.wait(deadline - time.monotonic())
        over_time = process.poll() is None and time.monotonic() >= deadline
        if over_time:
            _append(log, job_log.timeout_line(named))
        if over_time or signal.SIGTERM in received:
            _terminate(program, grace_seconds=order.grace_seconds, signals=signals)
    program.signal(signal.SIGKILL)
    code = process.wait()
    if over_time and code != -signal.SIGKILL:
        return EXIT_TIMED_OUT
    return code if code >= 0 else EXIT_SIGNAL_BASE - code


def _terminate(program: _Program, *, grace_seconds: float, signals: _SignalWaiter) -> None:
    """Send SIGTERM to the whole group, and SIGKILL after the grace period."""
    program.signal(signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    while program.process.poll() is None and time.monotonic() < deadline:
        signals.wait(deadline - time.monotonic())
    if program.process.poll() is None:
        program.signal(signal.SIGKILL)
        program.process.wait()


@contextmanager
def _memory_limit(megabytes: int | None) -> Iterator[None]:
    """Lower our own limits while the program starts: it inherits them. Then restore ours.

    The limit is on address space, the only one a kernel enforces for an ordinary process.
    """
    before = {kind: resource.getrlimit(kind) for kind in (resource.RLIMIT_AS, resource.RLIMIT_CORE)}
    wanted = {resource.RLIMIT_CORE: 0}
    if megabytes is not None:
        wanted[resource.RLIMIT_AS] = megabytes * 2**20
    try:
        for kind, most in wanted.items():
            hard = before[kind][1]
            soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (soft, hard))
        yield
    finally:
        for kind, limits in before.items():
            resource.setrlimit(kind, limits)


def _environment(folder: JobFolder, order: JobOrder) -> dict[str, str]:
    """The program's whole environment."""
    home = str(folder.path / "home")
    kept = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    # Last: a machine may have a Python under its full name only.
    kept["PATH"] = os.pathsep.join((kept.get("PATH", os.defpath), str(Path(sys.executable).parent)))
    # Without it a Python program buffers its lines, and a killed one loses them.
    unbuffered = {"PYTHONUNBUFFERED": "1"}
    return kept | {"HOME": home, "TMPDIR": home} | unbuffered | dict(order.job.environment)


def _append(log: int, text: str) -> None:
    """Append a text to the log, after what the program wrote."""
    rest = text.encode("utf-8", "backslashreplace")
    while rest:
        rest = rest[os.write(log, rest) :]


def _daemonize() -> None:
    """Daemonize by one fork, so that the process that started us need not reap us.

    The child waits until its parent is gone: the program will be in the parent's process group.
    """
    reading, writing = os.pipe()
    if os.fork():
        os._exit(0)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)


if __name__ == "__main__":
    _daemonize()
    main(sys.argv[1], sys.argv[2])
