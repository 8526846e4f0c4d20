"""One program as a whole process: how long, how much of the processor, how much memory.

In:  a command. Out: `Measured`.
"""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Wall and processor seconds, peak resident megabytes (10^6 bytes), and what it printed."""

    wall: float
    cpu: float
    peak_mb: float
    output: str


def measured(command: Sequence[str], *, environment: Mapping[str, str]) -> Measured:
    """Run the command to its end; raises where it fails."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(environment)) as process:
        peak = _Peak(process.pid)
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        peak.join()
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    return Measured(
        wall=wall,
        cpu=usage.ru_utime + usage.ru_stime,
        peak_mb=(peak.kilobytes or usage.ru_maxrss) * 1024 / 1e6,
        output=output.decode().strip(),
    )


class _Peak(threading.Thread):
    """Watches a process's high-water mark.

    The kernel's own figure after the end, `ru_maxrss`, counts what the parent held before the program was
    loaded, so a small program would be charged for this one.
    """

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._status = Path(f"/proc/{process}/status")
        self.kilobytes = 0
        self.start()

    def run(self) -> None:
        """Read until the process is gone."""
        while (found := self._high_water_mark()) is not None:
            self.kilobytes = max(self.kilobytes, found)
            time.sleep(SAMPLE_SECONDS)

    def _high_water_mark(self) -> int | None:
        # VmHWM:	   13052 kB
        try:
            lines = self._status.read_text().splitlines()
        except OSError:
            return None
        marks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return int(marks[0]) if marks else None
