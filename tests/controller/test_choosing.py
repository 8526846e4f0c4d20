"""Which of main's runs tell the noise of a case."""

from dataclasses import replace

from bot.controller.choosing import main_runs
from bot.runs.records import RunRecord, RunState
from bot.storage.runs import Figures
from bot.verdict.history import PastRun

V6E = Figures(steady_seconds=0.2, conditions="TPU v6 lite · 32 · 0.9.2", fingerprint=None)
RUNS = tuple(
    RunRecord(id=f"r{n}", repository="acme/x", case="a", variant="", sha=f"{n:07x}", started=100.0 * n)
    for n in range(6)
)


def _past(n: int, seconds: float = 0.2) -> PastRun:
    return PastRun(seconds=seconds, sha=f"{n:07x}", started=100.0 * n)


def test_only_runs_under_the_baselines_conditions_count() -> None:
    """Other devices and versions, runs without a steady state and runs not read are left out."""
    figures = {
        "r0": replace(V6E, steady_seconds=0.19),
        "r1": replace(V6E, conditions="TPU v6 lite · 32 · 0.8.1"),
        "r2": V6E,
        "r3": replace(V6E, conditions="TPU v5p · 32 · 0.9.2"),
        "r4": replace(V6E, steady_seconds=None),
    }
    assert main_runs(RUNS, figures, like=[RUNS[5], RUNS[2]]) == (_past(0, 0.19), _past(2))
    assert main_runs(RUNS, figures, like=[RUNS[3]]) == (_past(3),)


def test_without_a_measured_baseline_there_is_no_history() -> None:
    """What the baseline ran on is then not known, and no other runs stand in for it."""
    assert main_runs(RUNS, {"r0": V6E}, like=[RUNS[1]]) == ()
    assert main_runs(RUNS, {"r0": V6E}, like=[]) == ()


def test_runs_that_have_not_ended_are_no_history() -> None:
    """A run that is still printing may be anything."""
    runs = (replace(RUNS[0], state=RunState.RUNNING), RUNS[1])
    assert main_runs(runs, {"r0": V6E, "r1": V6E}, like=[RUNS[1]]) == (_past(1),)
