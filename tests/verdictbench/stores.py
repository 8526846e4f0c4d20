"""What a rule is shown of a run, and stores of runs for main's history.

In:  a kind and a case. Out: `Seen`; `Store`, whose draws are runs of unchanged code at any level.
Promises: base and head of a comparison are played afresh; only history (and repeats) come from a store.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from msgspec.structs import replace

from bot.logs.facts import RunLog
from bot.verdict.judgement import LoopTime, MeasuredRun, SteadyStepTime
from bot.verdict.loop_time import loop_time
from bot.verdict.measure import measure
from bot.verdict.plausibility import find_implausible, implausible_steps
from bot.verdict.timing import steady_step_time
from tests.verdictbench.simulation import TFLOP, Case, Kind, run_log, seeded

CASES = 5
"""Cases of a kind that differ in what a background save costs; reports of 25 hold each five times."""

STORED = 400
"""Runs of unchanged code stored of each case. Where no save tells the cases apart they share one store, five
times as large: 400 runs have a spread that is 3.5 % off by chance, and tails far out feel that."""

HISTORY = 30
"""Main runs a rule may look at: what rustc-perf asks for; ours takes the newest 20 of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """One run's figures: our steady time, the page's mean of printed seconds, the last line's seconds."""

    steady: SteadyStepTime
    printed_mean: float
    last_seconds: float
    loop: float | None = None

    @property
    def clean(self) -> float | None:
        """Our steady seconds, None where the run has none."""
        return self.steady.seconds

    @property
    def last_tflops(self) -> float:
        """TFLOP/s of the last line, as printed."""
        return round(TFLOP / self.last_seconds, 3)

    def at(self, level: float) -> "ShownRun":
        """Return the same run of a program whose step takes `level` times as long; what else the loop
        does stays as long as it was."""
        base = self.steady.seconds
        if level == 1 or base is None:
            return self
        more = (level - 1) * base
        return ShownRun(
            steady=replace(self.steady, seconds=level * base),
            printed_mean=self.printed_mean + more,
            last_seconds=self.last_seconds + more,
            loop=None if self.loop is None else self.loop + more,
        )


def shown_run(run: MeasuredRun) -> ShownRun:
    """Return what rules are shown of a run."""
    return _shown_run(run.log, run.measurements.steady, run.measurements.loop)


def _shown_run(log: RunLog, state: SteadyStepTime, loop: LoopTime | None) -> ShownRun:
    last = log.steps[-1].tflops_per_device or 0.001
    return ShownRun(
        steady=state,
        printed_mean=log.mean_seconds_after_first or 0.0,
        last_seconds=TFLOP / last,
        loop=loop.seconds if loop else None,
    )


def case_of(kind: Kind, index: int) -> Case:
    """Return one of the kind's cases: their saves cost from 9 to 28 s, evenly."""
    return Case(kind=kind, stall=9.0 + 19.0 * (index % CASES + 0.5) / CASES)


def stored_runs(kind: Kind, index: int, size: int = STORED) -> tuple[ShownRun, ...]:
    """Return runs of unchanged code of one case: whole logs played, and of them what `measure` finds of the
    steady step time, which is all that is stored."""
    return _stored_runs(kind, index % CASES if kind.stalls else 0, size)


@lru_cache(maxsize=64)
def _stored_runs(kind: Kind, index: int, size: int) -> tuple[ShownRun, ...]:
    case = case_of(kind, index)
    draws = seeded(kind.name, "store", index)
    many = size if kind.stalls else CASES * size
    logs = (run_log(case, factor=1.0, draws=draws) for _ in range(many))
    return tuple(map(_measured, logs))


def _measured(log: RunLog) -> ShownRun:
    unused = implausible_steps(find_implausible(log))
    steady = steady_step_time(log, unused)
    return _shown_run(log, steady, loop_time(log, steady, unused))


def history(kind: Kind, index: int, draws: Random, count: int = HISTORY) -> Sequence[ShownRun]:
    """Return main's newest runs, oldest first, moved as the kind says; also those without steady state."""
    runs = draws.choices(stored_runs(kind, index % CASES), k=count)
    return [run.at(_level(kind, count - place)) for place, run in enumerate(runs)]


def _level(kind: Kind, age: int) -> float:
    """Return how slow main was `age` runs ago, against its newest."""
    drifted = 1 - kind.drift * age / 20
    return drifted * (1 + kind.shift if age > kind.shift_age else 1.0)


def fresh_run(kind: Kind, index: int, *, factor: float, draws: Random) -> MeasuredRun:
    """Play and measure one new run."""
    log: RunLog = run_log(case_of(kind, index), factor=factor, draws=draws)
    return measure(log)
