"""What the program says about the machine and its memory.

In:  the versions file, sizes in bytes. Out: log lines in MaxText's words.

The versions are those that `requirements.txt` pins. This program needs none of these packages; it reports
the pins so that a pull request that changes them changes what the log says, as it would in MaxText.
"""

import os
import resource
from pathlib import Path

from . import max_logging
from .device_clock import REFERENCE_SECONDS

GIB = 2**30


def pinned_versions(requirements: Path) -> dict[str, str]:
    """The `name==version` lines of a requirements file."""
    lines = [line.partition("#")[0].strip() for line in requirements.read_text(encoding="utf-8").splitlines()]
    return {name: version for name, found, version in (line.partition("==") for line in lines) if found}


def print_system_information(requirements: Path) -> None:
    """Say which versions this run has."""
    versions = pinned_versions(requirements)
    max_logging.log(f"System Information: Jax Version: {versions['jax']}")
    max_logging.log(f"System Information: Jaxlib Version: {versions['jaxlib']}")
    max_logging.log("System Information: Jax Backend: cpu")
    max_logging.log(
        "Simulated accelerator: its clock, of step times and of these lines, advances by CPU time in units "
        f"of a reference work, which takes {1e6 * REFERENCE_SECONDS:.0f} microseconds by definition"
    )


def print_waiting(seconds: float) -> None:
    """Say how far the simulated accelerator's clock is behind this machine's."""
    max_logging.log(
        f"Simulated accelerator: at the end its clock is {seconds:.3f} s behind this machine's, which also "
        "ran the references and waited for a processor"
    )


def print_compiled_memory(*, argument_bytes: int, temp_bytes: int) -> None:
    """Say what a step needs: parameters and optimizer state go in and out, the gradient is temporary."""
    total = (argument_bytes + temp_bytes) / GIB
    argument, temp = argument_bytes / GIB, temp_bytes / GIB
    max_logging.log(
        f"Total memory size: {total:.1f} GB, Output size: {argument:.1f} GB, Temp size: {temp:.1f} GB, "
        f"Argument size: {argument:.1f} GB, Host temp size: 0.0 GB."
    )


def print_memory_statistics(label: str) -> None:
    """Say how much of the machine's memory this process uses."""
    used = round(resident_bytes() / GIB, 2)
    limit = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB, 2)
    max_logging.log(f"\nMemstats: {label}:")
    max_logging.log(f"\tUsing (GB) {used} / {limit} ({used / limit:%}) on TFRT_CPU_0")


def resident_bytes() -> int:
    """How much memory this process has of its own, or at most had where the system does not say the former.

    The files that it shares with others, such as Python's own, are now in memory and now not.
    """
    try:
        resident, shared = Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3]
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
