"""A job's program as processes: started with a sandbox or without, signalled, ended with all its children."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from bot.clusters.interface import Isolation
from bot.clusters.local.job_folder import JOB_MARK, JobFolder, JobOrder
from bot.clusters.local.limits import JobLimits
from bot.clusters.local.processes import descendants, end_descendants, end_with_parent
from bot.clusters.local.sandbox import INSIDE, INSIDE_TEMPORARY, SandboxCommand, sandbox_command

# What a program gets of our environment: where programs are, language, and the switches by which an operator
# chooses the device.
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

_OUT_OF_MEMORY_FIRST = "1000"
"""Where the whole machine runs out of memory, the kernel ends a job before it ends anything else."""


class Program(Struct, frozen=True):
    """A started program. `monitor` is the process that was started: the program itself, or bubblewrap.
    `group` is the process group of a program without a sandbox."""

    monitor: subprocess.Popen[bytes]
    group: int | None
    inside: int | None = None

    def ask_to_end(self) -> None:
        """Send SIGTERM to everything the program started. It is fine where all of it is gone."""
        if self.group is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.group, signal.SIGTERM)
            return
        for process in descendants(self.inside).groups if self.inside else ():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGTERM)

    def end(self) -> int:
        """Kill what is left of the program and its children; returns the program's exit code."""
        if self.monitor.poll() is None:
            if self.inside is not None:
                # The first process of a namespace takes all others along.
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(self.inside, signal.SIGKILL)
            self.monitor.kill()
        code = self.monitor.wait()
        end_descendants()
        return code


def start_program(
    words: Sequence[str], folder: JobFolder, order: JobOrder, *, group: int, output: int, lock: int
) -> Program:
    """Start a job's program. Raises OSError where it cannot be started.

    `group` is the process group that it is in where it has no sandbox, `lock` an open file that such a
    program and its children keep locked: so they are found where we were killed.
    """
    if order.job.isolation is Isolation.SANDBOXED:
        return _start_sandboxed(words, folder, order, output=output)
    environment = _environment(folder.path / "home", folder.path / "tmp", order)
    process = subprocess.Popen(
        list(words),
        cwd=folder.path / "work",
        env=environment | {JOB_MARK: order.mark},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(lock,),
        preexec_fn=_limiter(order),  # noqa: PLW1509 - a supervisor has one thread
    )
    return Program(process, group)


def _start_sandboxed(words: Sequence[str], folder: JobFolder, order: JobOrder, *, output: int) -> Program:
    command = sandbox_command(
        words,
        folder=folder.path,
        view=order.view,
        environment=_environment(INSIDE / "home", INSIDE_TEMPORARY, order),
        memory_bytes=order.limits.memory_bytes,
    )
    told, telling = os.pipe()
    held, releasing = os.pipe()
    try:
        monitor = _start_monitor(command, order, output=output, telling=telling, held=held)
    except OSError:
        os.close(told)
        os.close(releasing)
        raise
    finally:
        command.close()
        os.close(telling)
        os.close(held)
    with os.fdopen(told, "rb") as said, os.fdopen(releasing, "wb") as release:
        inside = _process_inside(said.read())
        if inside is None:
            monitor.wait()
            raise OSError("the sandbox could not be made")
        _limit_processes(inside, order.limits)
        with suppress(BrokenPipeError):
            release.write(b"1")
            release.flush()
    return Program(monitor, None, inside)


def _start_monitor(
    command: SandboxCommand, order: JobOrder, *, output: int, telling: int, held: int
) -> subprocess.Popen[bytes]:
    """Start bubblewrap, which waits before it starts the program until we have limited it."""
    bubblewrap, *rest = command.words
    return subprocess.Popen(
        [bubblewrap, "--info-fd", str(telling), "--block-fd", str(held), *rest],
        cwd="/",
        env={},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(*command.files, telling, held),
        preexec_fn=_limiter(order),  # noqa: PLW1509 - as above
    )


def _process_inside(said: bytes) -> int | None:
    """The number that the sandbox's first process has outside of it."""
    try:
        return int(json.loads(said)["child-pid"])
    except (ValueError, KeyError, TypeError):
        return None


def _limit_processes(process: int, limits: JobLimits) -> None:
    """Limit the number of processes in the sandbox. The kernel counts them for each user namespace, and not
    at all for root, so the supervisor counts them too."""
    with suppress(OSError, ValueError):
        resource.prlimit(process, resource.RLIMIT_NPROC, (limits.processes, limits.processes))


def _limiter(order: JobOrder) -> Callable[[], None]:
    """What to do between fork and exec: limits that the program cannot raise again."""
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: order.limits.disk_bytes}
    if order.job.memory_mb is not None:
        wanted[resource.RLIMIT_AS] = order.job.memory_mb * 2**20
    return partial(_limit_ourselves, wanted)


def _limit_ourselves(wanted: Mapping[int, int]) -> None:
    end_with_parent()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OUT_OF_MEMORY_FIRST, encoding="ascii")
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        lowered = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (lowered, lowered))


def _environment(home: Path, temporary: Path, order: JobOrder) -> dict[str, str]:
    """The program's whole environment."""
    kept = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    # Last: a machine may have a Python under its full name only.
    python = (
        Path(sys.base_prefix) / "bin"
        if order.job.isolation is Isolation.SANDBOXED
        else Path(sys.executable).parent
    )
    kept["PATH"] = os.pathsep.join((kept.get("PATH", os.defpath), str(python)))
    # Without it a Python program buffers its lines, and a killed one loses them.
    unbuffered = {"PYTHONUNBUFFERED": "1"}
    return kept | {"HOME": str(home), "TMPDIR": str(temporary)} | unbuffered | dict(order.job.environment)
