"""The process that supervises one job: starts the program, limits it, and writes down how it ended.

Started with the root folder and the job's name as arguments. It outlives the bot. The log opens and
closes with XPK's lines; between them is what the program wrote, in its order. When the exit code is
written, everything that the program started is gone. Where the supervisor itself is killed, the kernel kills
the program, and a sandbox with all that is in it.
"""

import fcntl
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bot.clusters import job_log
from bot.clusters.command import argument_list
from bot.clusters.local.job_folder import JobFolder, JobOrder
from bot.clusters.local.job_output import JobOutput, append
from bot.clusters.local.limits import UsageWatch
from bot.clusters.local.local_queue import start_waiting_jobs
from bot.clusters.local.processes import adopt_orphans, end_descendants
from bot.clusters.local.program import Program, start_program
from bot.clusters.local.scratch import SCRATCH_FOLDERS, make_scratch, remove_scratch

# The codes that shells and GNU `timeout` use.
EXIT_TIMED_OUT = 124

EXIT_CANNOT_START = 126

EXIT_NOT_FOUND = 127

EXIT_SIGNAL_BASE = 128

EXIT_KILLED = EXIT_SIGNAL_BASE + signal.SIGKILL


class _SignalWaiter:
    """Waits for a signal or a deadline, without missing a signal that came before."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)
        for each in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(each, lambda _number, _frame: None)

    def wait(self, seconds: float, *, output: int | None = None) -> frozenset[int]:
        """The signals received; none where the time passed first, or where there is output to read."""
        watched = [self._reading] if output is None else [self._reading, output]
        ready, _, _ = select.select(watched, [], [], max(0.0, seconds))
        return frozenset(os.read(self._reading, 64)) if self._reading in ready else frozenset()


class _JobEnd(Struct, frozen=True, kw_only=True):
    """How a program ended: its exit code, whether its time was over, and the limit that it exceeded."""

    code: int
    over_time: bool = False
    problem: str = ""


def main(root: str, name: str) -> None:
    """Run one job from its first line to its exit code, then start the next one."""
    folder = JobFolder(Path(root), name)
    # Who reads our number may end us at once, and by then we must be able to hear it.
    signals = _SignalWaiter()
    adopt_orphans()
    folder.write("supervisor", str(os.getpid()))
    try:
        _execute(folder, folder.read_order(), signals)
    finally:
        end_descendants()
        remove_scratch(folder.path)
        start_waiting_jobs(folder.root)


def _execute(folder: JobFolder, order: JobOrder, signals: _SignalWaiter) -> None:
    make_scratch(folder.path, Path(order.commit))
    with _open_log(folder.log) as (log, lock):
        job = order.job
        append(log, job_log.log_header(started=time.time(), sha=job.sha, case=job.case, variant=job.variant))
        output = JobOutput(log, order.limits.log_bytes)
        code = _run_program(folder, order, output=output, lock=lock, signals=signals)
        output.say(job_log.log_footer(ended=time.time(), exit_code=code))
    folder.write("exit", str(code))


@contextmanager
def _open_log(path: Path) -> Iterator[tuple[int, int]]:
    """The log, emptied and opened for appending; and locked, and opened for reading only, for the program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield log, lock
    finally:
        os.close(lock)
        os.close(log)


def _run_program(
    folder: JobFolder, order: JobOrder, *, output: JobOutput, lock: int, signals: _SignalWaiter
) -> int:
    """Start the program and wait for its end; returns the exit code that a shell would give."""
    words = argument_list(order.job)
    if folder.has("cancel"):
        return EXIT_SIGNAL_BASE + signal.SIGTERM
    # The program inherits our process group, which we leave afterwards: so its number is on disk before the
    # program starts, and the program can be killed where we were killed.
    group = os.getpgrp()
    folder.write("program", str(group))
    try:
        program = start_program(words, folder, order, group=group, output=output.writing, lock=lock)
    except OSError as problem:
        output.say(f"{words[0]}: {problem.strerror or problem}\n")
        return EXIT_NOT_FOUND if isinstance(problem, FileNotFoundError) else EXIT_CANNOT_START
    finally:
        os.setpgid(0, 0)
        output.close_writing()
    watch = UsageWatch(order.limits, [folder.path / name for name in SCRATCH_FOLDERS])
    end = _wait_for_end(program, order, output=output, signals=signals, watch=watch, named=words[0])
    if end.problem:
        output.say(job_log.limit_line(end.problem))
        return EXIT_KILLED
    if end.over_time and end.code not in {-signal.SIGKILL, EXIT_KILLED}:
        return EXIT_TIMED_OUT
    return end.code if end.code >= 0 else EXIT_SIGNAL_BASE - end.code


def _wait_for_end(
    program: Program,
    order: JobOrder,
    *,
    output: JobOutput,
    signals: _SignalWaiter,
    watch: UsageWatch,
    named: str,
) -> _JobEnd:
    """Wait for the program's end; end it when its time is over, when asked to (SIGTERM), or at a limit."""
    deadline = time.monotonic() + min(order.job.timeout_seconds, order.limits.seconds)
    over_time, problem = False, ""
    while program.monitor.poll() is None and not problem:
        received = signals.wait(min(deadline, watch.next_look) - time.monotonic(), output=output.reading)
        output.pump()
        problem = output.problem or watch.exceeded()
        over_time = not problem and program.monitor.poll() is None and time.monotonic() >= deadline
        if over_time:
            output.say(job_log.timeout_line(named))
        if over_time or signal.SIGTERM in received:
            _terminate(program, grace_seconds=order.grace_seconds, output=output, signals=signals)
    code = program.end()
    output.finish()
    return _JobEnd(code=code, over_time=over_time, problem=problem or output.problem)


def _terminate(program: Program, *, grace_seconds: float, output: JobOutput, signals: _SignalWaiter) -> None:
    """Send SIGTERM to everything the program started, and SIGKILL after the grace period."""
    program.ask_to_end()
    deadline = time.monotonic() + grace_seconds
    while program.monitor.poll() is None and time.monotonic() < deadline:
        signals.wait(deadline - time.monotonic(), output=output.reading)
        output.pump()
    if program.monitor.poll() is None:
        program.end()


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
