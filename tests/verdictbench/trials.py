"""Comparisons of known truth, put to every rule.

In:  a `Task`: a kind, an experiment, which reports of it. Out: `Tally` by rule.
Promises: a task's numbers depend on nothing but the task: any worker, any order gives the same tables.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from tests.verdictbench.dice import dice
from tests.verdictbench.kinds import BY_NAME, Kind
from tests.verdictbench.ours import CASES_OF_A_REPORT
from tests.verdictbench.rivals import ALARMS, PINPOINT_HIGH
from tests.verdictbench.rules import REPEATED, RULES, Rule, Trial
from tests.verdictbench.seen import fresh, history, seen, store
from tests.verdictbench.tally import Tally

EFFECTS = (1.0, 2.0, 5.0, 10.0)
"""True slowdowns, percent."""

BENCHSTAT_RUNS = 10
"""Runs a side that benchstat's documentation advises; Pinpoint begins with as many."""


class Experiment(StrEnum):
    """What is put to the rules."""

    SINGLE = "single"
    REPEATS = "repeats"
    ADVERSARY = "adversary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Reports first … first + reports - 1 of an experiment; of each, `with_effects` cases in turn also run
    slowed."""

    experiment: Experiment
    kind: str
    first: int
    reports: int
    with_effects: int = 5


Tallies = Mapping[str, Tally]


def single(task: Task) -> Tallies:
    """One run a side, whole logs of both played afresh, and main's history."""
    kind, tallies = BY_NAME[task.kind], _empty()
    for report in range(task.first, task.first + task.reports):
        alarms: dict[str, bool] = defaultdict(bool)
        for index in range(CASES_OF_A_REPORT):
            draws = dice(kind.name, "single", report, index)
            effects = EFFECTS if (index - report) % CASES_OF_A_REPORT < task.with_effects else ()
            for effect, trial in _pairs(kind, index, draws, effects):
                _ask(RULES, trial, effect, tallies, alarms)
        _close(RULES, tallies, alarms)
    return tallies


def _pairs(kind: Kind, index: int, draws: Random, effects: Sequence[float]) -> Sequence[tuple[float, Trial]]:
    """Return the case at no change, and the same base and history against slowed heads."""
    past = history(kind, index, draws)
    base = fresh(kind, index, factor=1.0, draws=draws)
    found = []
    for effect in (0.0, *effects):
        head = fresh(kind, index, factor=1 + effect / 100, draws=draws)
        trial = Trial(kind=kind, base=[seen(base)], head=[seen(head)], past=past, logs=(base, head))
        found.append((effect, trial))
    return found


def repeats(task: Task) -> Tallies:
    """Ten runs a side (Pinpoint: up to forty), drawn from stored logs of unchanged code and slowed."""
    kind, tallies = BY_NAME[task.kind], _empty()
    for report in range(task.first, task.first + task.reports):
        alarms: dict[str, bool] = defaultdict(bool)
        for index in range(CASES_OF_A_REPORT):
            draws = dice(kind.name, "repeats", report, index)
            for effect in (0.0, *(EFFECTS if index < task.with_effects else ())):
                _ask_repeated(_many(kind, index, draws, effect), effect, tallies, alarms)
        _close(REPEATED, tallies, alarms)
    return tallies


def _many(kind: Kind, index: int, draws: Random, effect: float) -> Trial:
    most = max(PINPOINT_HIGH)
    runs = store(kind, index % 5)
    return Trial(
        kind=kind,
        base=draws.choices(runs, k=most),
        head=[run.at(1 + effect / 100) for run in draws.choices(runs, k=most)],
        past=history(kind, index, draws),
    )


def _ask_repeated(trial: Trial, effect: float, tallies: dict[str, Tally], alarms: dict[str, bool]) -> None:
    """Pinpoint may take all runs, the others their ten."""
    ten = Trial(
        kind=trial.kind,
        base=trial.base[:BENCHSTAT_RUNS],
        head=trial.head[:BENCHSTAT_RUNS],
        past=trial.past,
    )
    takes_all = [rule for rule in REPEATED if rule.key.startswith("pinpoint")]
    _ask(takes_all, trial, effect, tallies, alarms)
    _ask([rule for rule in REPEATED if rule not in takes_all], ten, effect, tallies, alarms)


def _ask(
    rules: Sequence[Rule],
    trial: Trial,
    effect: float,
    tallies: dict[str, Tally],
    alarms: dict[str, bool],
) -> None:
    for rule in rules:
        call = rule.decide(trial)
        tallies[rule.key].calls[effect, call] += 1
        if effect == 0 and call in ALARMS:
            alarms[rule.key] = True


def _close(rules: Sequence[Rule], tallies: dict[str, Tally], alarms: Mapping[str, bool]) -> None:
    """Count the report, and whether the rule raised any alarm in it."""
    for rule in rules:
        tallies[rule.key].reports += 1
        tallies[rule.key].flagged += alarms.get(rule.key, False)


def _empty() -> dict[str, Tally]:
    return defaultdict(Tally)
