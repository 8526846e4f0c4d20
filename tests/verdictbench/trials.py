"""Comparisons of known truth, put to every rule, and counts of the answers."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from math import sqrt
from random import Random

from tests.verdictbench.rivals import ALARMS, PINPOINT_HIGH, Call
from tests.verdictbench.rules import CASES_OF_A_REPORT, REPEATED, RULES, Rule, Trial
from tests.verdictbench.simulation import BY_NAME, Kind, seeded
from tests.verdictbench.stores import fresh_run, history, shown_run, stored_runs

Z95 = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`hits` of `tries`, with the 95 % interval that the binomial law allows (Wilson's)."""

    hits: int
    tries: int

    @property
    def percent(self) -> float:
        """The share, in percent."""
        return 100 * self.hits / self.tries if self.tries else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end, in percent. Source: Wilson (1927)."""
        n = self.tries
        if not n:
            return 0.0, 100.0
        p, square = self.hits / n, Z95**2 / n
        middle, reach = p + square / 2, Z95 * sqrt(p * (1 - p) / n + square / (4 * n))
        return (
            100 * max(0.0, (middle - reach) / (1 + square)),
            100 * min(1.0, (middle + reach) / (1 + square)),
        )

    def __add__(self, other: "Share") -> "Share":
        return Share(hits=self.hits + other.hits, tries=self.tries + other.tries)


@dataclass(slots=True, kw_only=True)
class Tally:
    """What one rule said: counts of calls by true effect (percent), and of reports with any alarm."""

    calls: Counter[tuple[float, Call]] = field(default_factory=Counter)
    reports: int = 0
    flagged: int = 0

    def add(self, other: "Tally") -> None:
        """Take in another tally of the same rule."""
        self.calls.update(other.calls)
        self.reports += other.reports
        self.flagged += other.flagged

    def share(self, effect: float, *wanted: Call) -> Share:
        """Return how often any of the wanted calls was made at a true effect."""
        tries = sum(count for (at, _), count in self.calls.items() if at == effect)
        return Share(hits=sum(self.calls[effect, call] for call in wanted), tries=tries)

    @property
    def false_flags(self) -> Share:
        """Alarms a comparison at no change."""
        return self.share(0.0, *ALARMS)

    @property
    def false_reports(self) -> Share:
        """Reports with any alarm at no change."""
        return Share(hits=self.flagged, tries=self.reports)

    @property
    def wrong_direction(self) -> Share:
        """Slowdowns, of whatever size, that were called faster."""
        effects = sorted({at for at, _ in self.calls if at > 0})
        return sum((self.share(at, Call.FASTER) for at in effects), Share(hits=0, tries=0))


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
            draws = seeded(kind.name, "single", report, index)
            effects = EFFECTS if (index - report) % CASES_OF_A_REPORT < task.with_effects else ()
            for effect, trial in _pairs(kind, index, draws, effects):
                _ask(RULES, trial, effect, tallies, alarms)
        _count_reports(RULES, tallies, alarms)
    return tallies


def _pairs(kind: Kind, index: int, draws: Random, effects: Sequence[float]) -> Sequence[tuple[float, Trial]]:
    """Return the case at no change, and the same base and history against slowed heads."""
    past = history(kind, index, draws)
    base = fresh_run(kind, index, factor=1.0, draws=draws)
    further_bases = draws.choices(stored_runs(kind, index), k=1)
    found = []
    for effect in (0.0, *effects):
        play = partial(fresh_run, kind, index, factor=1 + effect / 100, draws=draws)
        head = play()
        more = [run.at(1 + effect / 100) for run in draws.choices(stored_runs(kind, index), k=2)]
        trial = Trial(
            kind=kind,
            base=[shown_run(base)],
            head=[shown_run(head)],
            past=past,
            logs=(base, head, play),
            more=(further_bases, more),
        )
        found.append((effect, trial))
    return found


def repeats(task: Task) -> Tallies:
    """Ten runs a side (Pinpoint: up to forty), drawn from stored logs of unchanged code and slowed."""
    kind, tallies = BY_NAME[task.kind], _empty()
    for report in range(task.first, task.first + task.reports):
        alarms: dict[str, bool] = defaultdict(bool)
        for index in range(CASES_OF_A_REPORT):
            draws = seeded(kind.name, "repeats", report, index)
            for effect in (0.0, *(EFFECTS if index < task.with_effects else ())):
                _ask_repeated(_many(kind, index, draws, effect), effect, tallies, alarms)
        _count_reports(REPEATED, tallies, alarms)
    return tallies


def _many(kind: Kind, index: int, draws: Random, effect: float) -> Trial:
    most = max(PINPOINT_HIGH)
    runs = stored_runs(kind, index % 5)
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


def _count_reports(rules: Sequence[Rule], tallies: dict[str, Tally], alarms: Mapping[str, bool]) -> None:
    """Count the report, and whether the rule raised any alarm in it."""
    for rule in rules:
        tallies[rule.key].reports += 1
        tallies[rule.key].flagged += alarms.get(rule.key, False)


def _empty() -> dict[str, Tally]:
    return defaultdict(Tally)
