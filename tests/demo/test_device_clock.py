"""The clock of the demonstration's simulated accelerator: it counts work, whatever else the machine does."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest

from bot.clusters.checkout import check_out
from bot.demo.repository import make_repository
from bot.demo.training.device_clock import REFERENCE_SECONDS, DeviceClock, Reference
from bot.logs.facts import RunLog
from bot.logs.reader import read_log
from bot.verdict.judgement import StepClock
from bot.verdict.timing import steady_step_time


@contextmanager
def busy_machine(programs: int) -> Iterator[None]:
    """Programs that want every processor, and its caches, as long as the block lasts."""
    loop = "held = list(range(200_000))\nwhile True:\n  held.sort(key=lambda one: -one)\n"
    started = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(programs)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def wall_and_device_seconds(examples: int = 200, repeats: int = 9) -> tuple[float, float]:
    """What a fixed piece of work takes on either clock, the median of some repeats."""
    clock, work = DeviceClock(), Reference()
    walls, devices = [], []
    for _ in range(repeats):
        wall, device = time.perf_counter(), clock.now()
        for _ in range(examples):
            work.run()
            clock.tick()
        walls.append(time.perf_counter() - wall)
        devices.append(clock.now() - device)
    return median(walls), median(devices)


def test_waiting_takes_no_time_on_the_device() -> None:
    """Neither sleep nor the references advance its clock."""
    clock = DeviceClock()
    before = clock.now()
    time.sleep(0.3)
    for _ in range(50):
        clock.tick()
    assert clock.now() - before < 20 * REFERENCE_SECONDS


def test_work_takes_as_long_on_a_busy_machine() -> None:
    """The unit is the reference, so that as many pieces of the same work take as many units."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with busy_machine(3 * processors):
        wall, device = wall_and_device_seconds()
    assert wall > 1.5 * 200 * 2 * min_reference_seconds()
    assert device == pytest.approx(200 * REFERENCE_SECONDS, rel=0.1)
    _, alone = wall_and_device_seconds()
    assert alone == pytest.approx(device, rel=0.1)


def min_reference_seconds() -> float:
    """The CPU time of a reference where nothing disturbs it."""
    work = Reference()
    spent = []
    for _ in range(300):
        before = time.process_time()
        work.run()
        spent.append(time.process_time() - before)
    return min(spent)


def test_the_clock_never_runs_back_and_the_program_ends_after_it() -> None:
    """Where the machine is faster than the accelerator, it waits for it."""
    clock = DeviceClock()
    moments = [clock.now() for _ in range(100)]
    assert moments == sorted(moments)
    assert clock.wait() >= 0.0
    assert time.time() >= clock.now() - 0.001


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunLog]:
    """A run of main and of the pull request that makes it slower, read as any log is."""
    folder = tmp_path_factory.mktemp("demo")
    repository = make_repository(folder / "r.git")
    slower = repository.branches[1]
    return {
        "main": trained(repository.path, repository.main.sha, folder / "main"),
        "slower": trained(repository.path, slower.commit.sha, folder / "slower"),
    }


def trained(repository: Path, sha: str, into: Path) -> RunLog:
    """The log of a commit's own first case."""
    check_out(repository, sha, into)
    words = (sys.executable, "-m", "training.train", "configs/01_base.json", "run_name=test")
    done = subprocess.run(
        words, cwd=into, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, timeout=60
    )
    (run,) = read_log([done.stdout], "log")
    return run


def test_step_lines_and_seconds_are_of_one_clock(runs: dict[str, RunLog]) -> None:
    """So the completion clock and the printed seconds agree, and nothing is a stall."""
    for run in runs.values():
        steady = steady_step_time(run)
        assert (steady.problem, steady.clock) == (None, StepClock.COMPLETION)
        assert steady.seconds is not None
        assert len(steady.kept_steps) >= 0.8 * len(steady.candidate_steps)
        printed = [step.seconds for step in run.steps[3:-1] if step.seconds is not None]
        assert median(printed) == pytest.approx(steady.seconds, rel=0.05, abs=0.0005)


def test_what_a_change_costs_does_not_change_the_unit(runs: dict[str, RunLog]) -> None:
    """The slower model is slower on the device's clock: the reference shares no code with it."""
    main, slower = (steady_step_time(runs[name]).seconds or 0.0 for name in ("main", "slower"))
    assert slower > 1.3 * main
