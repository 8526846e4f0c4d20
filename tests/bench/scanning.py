"""The log scan against grep and ripgrep.

In:  logs of several sizes and densities. Out: a table for each.

Every contender is a whole process and takes its turn in every round, so that a slow moment of the machine
meets all alike. grep and ripgrep count the step lines and nothing else; the reader reads what they say.
"""

import os
import shutil
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.logs import BenchLog, Noise, make
from tests.bench.measured import Measured, measured

NEEDLE = "completed step: "

SMALL = (
    BenchLog(name="noise-100mb", megabytes=100, between=10_000),
    BenchLog(name="dense-100mb", megabytes=100, between=4),
    BenchLog(name="chatty-20mb", megabytes=20, between=10_000, noise=Noise.CHATTY),
)
LARGE = (
    BenchLog(name="noise-2gb", megabytes=2000, between=10_000),
    BenchLog(name="mixed-2gb", megabytes=2000, between=100),
)
ROUNDS = {20: 3, 100: 5, 2000: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A program that reads a log."""

    title: str
    command: tuple[str, ...]


def contenders(path: Path) -> tuple[Contender, ...]:
    """All of them; those that are not installed are left out and said to be."""
    python = (sys.executable, "-m")
    found = [
        Contender(title="LogReader", command=(*python, "tests.bench.scan_log", str(path))),
        Contender(title="maxview parse", command=(*python, "bot", "parse", "--json", str(path))),
        Contender(title="LogReader, no log", command=(*python, "tests.bench.scan_log", os.devnull)),
    ]
    grep, ripgrep = shutil.which("grep"), _ripgrep()
    if grep:
        found.append(Contender(title="grep -F -c", command=(grep, "-F", "-c", NEEDLE, str(path))))
    if ripgrep:
        found.append(Contender(title="rg -c -F", command=(ripgrep, "-c", "-F", NEEDLE, str(path))))
    for name, there in (("grep", grep), ("ripgrep", ripgrep)):
        if not there:
            print(f"  {name} is not installed and left out")
    return tuple(found)


def _ripgrep() -> str | None:
    beside = Path(sys.executable).parent / "rg"
    return str(beside) if beside.exists() else shutil.which("rg")


def compare(wanted: BenchLog, folder: Path) -> None:
    """Measure all contenders on one log and print the table."""
    path = make(wanted, folder)
    # LC_ALL=C: grep compares bytes, as the reader does.
    environment = os.environ | {"LC_ALL": "C"}
    programs = contenders(path)
    results: dict[str, list[Measured]] = {program.title: [] for program in programs}
    for _ in range(ROUNDS[wanted.megabytes]):
        for program in programs:
            results[program.title].append(measured(program.command, environment=environment))
    _print_table(wanted, path.stat().st_size, results)


def _print_table(wanted: BenchLog, size: int, results: dict[str, list[Measured]]) -> None:
    rounds = ROUNDS[wanted.megabytes]
    print(f"\n{wanted.name}.log: {size / 1e6:.0f} MB, 1 step in {wanted.between + 1} lines, {rounds} rounds")
    print(f"  {'':20} {'wall s':>8} {'GB/s':>6} {'x grep':>7} {'x rg':>7} {'cpu s':>7} {'peak MB':>8}  steps")
    for title, runs in results.items():
        wall = statistics.median(run.wall for run in runs)
        speed = f"{size / wall / 1e9:6.2f}" if title != "LogReader, no log" else f"{'':6}"
        print(
            f"  {title:20} {wall:8.3f} {speed} {_ratio(runs, results.get('grep -F -c'))} "
            f"{_ratio(runs, results.get('rg -c -F'))} {statistics.median(run.cpu for run in runs):7.3f} "
            f"{max(run.peak_mb for run in runs):8.1f}  {_steps(runs)}"
        )


def _ratio(runs: Sequence[Measured], peer: Sequence[Measured] | None) -> str:
    """The median over the rounds of wall time against the peer's in the same round."""
    if not peer:
        return f"{'':7}"
    return f"{statistics.median(a.wall / b.wall for a, b in zip(runs, peer, strict=True)):7.2f}"


def _steps(runs: Sequence[Measured]) -> str:
    answers = {run.output if run.output.isdigit() else "" for run in runs}
    return " ".join(sorted(answers))
