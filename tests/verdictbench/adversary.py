"""Somebody who runs again, up to ten times, until the answer pleases.

In:  a `Task`. Out: `Tally` by strategy: what the first look said and what any of ten said.
Promises: for red the code is unchanged and any alarm pleases; for green it is 5 % slower and "same" does.

Against ours each run is a new look, and the looks are counted as the product counts them: `adds` keeps every
run of head, `replaces` shows only the newest. A rival knows no looks: its newest answer stands.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from bot.verdict.judgement import SteadyStepTime
from tests.verdictbench import rules
from tests.verdictbench.rivals import ALARMS, Call
from tests.verdictbench.rules import CASES_OF_A_REPORT, RULES, Trial, main_runs
from tests.verdictbench.simulation import BY_NAME, Kind, seeded
from tests.verdictbench.stores import ShownRun, history, stored_runs
from tests.verdictbench.trials import Share

LOOKS = 10

SLOWDOWN = 5.0

RIVALS = ("codspeed5/steady", "rustc/steady", "bencher/steady", "conbench/steady", "page/last")
"""Rivals that the adversary also tries: each its fairest variant, and the page."""

Judge = Callable[[Trial, int], Call]


@dataclass(slots=True, kw_only=True)
class Patience:
    """How often the wish came true at the first look, and within ten; by case, and for red by report."""

    cases: int = 0
    first: Counter[str] = field(default_factory=Counter)
    ever: Counter[str] = field(default_factory=Counter)
    reports: int = 0
    reports_first: int = 0
    reports_ever: int = 0

    def add(self, other: "Patience") -> None:
        """Take in another count of the same strategy."""
        self.cases += other.cases
        self.first.update(other.first)
        self.ever.update(other.ever)
        self.reports += other.reports
        self.reports_first += other.reports_first
        self.reports_ever += other.reports_ever

    def share(self, wish: str, *, patient: bool) -> Share:
        """Return how often a wish came true, a case; "red report" a report."""
        if wish == "red report":
            return Share(hits=self.reports_ever if patient else self.reports_first, tries=self.reports)
        return Share(hits=(self.ever if patient else self.first)[wish], tries=self.cases)


def adds(trial: Trial, look: int) -> Call:
    """Ours, every run of head kept."""
    return rules.judge_times(*_steady(trial), main_runs(trial), trial.kind, look=look)


def replaces(trial: Trial, look: int) -> Call:
    """Ours, only the newest run of head shown."""
    return adds(_newest(trial), look)


def uncounted(trial: Trial, _look: int) -> Call:
    """Ours, only the newest run of head shown, each time as if it were the first: what counting the looks by
    the very runs they saw prevents, also where the number of runs stays one."""
    return adds(_newest(trial), 1)


def adds_alone(trial: Trial, look: int) -> Call:
    """Ours without history, every run of head kept."""
    return rules.judge_times(*_steady(trial), (), trial.kind, look=look)


def _rival(key: str) -> Judge:
    rule = next(rule for rule in RULES if rule.key == key)
    return lambda trial, _look: rule.decide(_newest(trial))


def _newest(trial: Trial) -> Trial:
    return Trial(kind=trial.kind, base=trial.base, head=trial.head[-1:], past=trial.past)


def _steady(trial: Trial) -> tuple[list[SteadyStepTime], list[SteadyStepTime]]:
    return [run.steady for run in trial.base], [run.steady for run in trial.head]


STRATEGIES: dict[str, Judge] = {
    "adds": adds,
    "replaces": replaces,
    "uncounted": uncounted,
    "adds-alone": adds_alone,
    **{key: _rival(key) for key in RIVALS},
}


def rerun_until_pleased(kind_name: str, first: int, reports: int) -> dict[str, Patience]:
    """Let the adversary at every case of some reports."""
    kind, found = BY_NAME[kind_name], defaultdict[str, Patience](Patience)
    for report in range(first, first + reports):
        reds: dict[str, list[int | None]] = defaultdict(list)
        for index in range(CASES_OF_A_REPORT):
            draws = seeded(kind.name, "adversary", report, index)
            for wish, slowdown in (("red", 0.0), ("green", SLOWDOWN)):
                looks = _looks(kind, index, draws, slowdown)
                for name, judge in STRATEGIES.items():
                    when = _look_that_pleases(judge, looks, wish)
                    found[name].first[wish] += when == 1
                    found[name].ever[wish] += when is not None
                    if wish == "red":
                        reds[name].append(when)
        for name, whens in reds.items():
            found[name].cases += CASES_OF_A_REPORT
            found[name].reports += 1
            found[name].reports_first += 1 in whens
            found[name].reports_ever += any(when is not None for when in whens)
    return found


def _looks(kind: Kind, index: int, draws: Random, slowdown: float) -> Sequence[Trial]:
    """Return the trial as it stands after 1 … 10 runs of head; base and main stay."""
    runs = stored_runs(kind, index % 5)
    base, past = draws.choices(runs), history(kind, index, draws)
    head: list[ShownRun] = [run.at(1 + slowdown / 100) for run in draws.choices(runs, k=LOOKS)]
    return [Trial(kind=kind, base=base, head=head[:n], past=past) for n in range(1, LOOKS + 1)]


def _look_that_pleases(judge: Judge, looks: Sequence[Trial], wish: str) -> int | None:
    """Return the look at which the wish came true, None where ten did not help."""
    wanted = ALARMS if wish == "red" else {Call.SAME}
    return next((n for n, trial in enumerate(looks, start=1) if judge(trial, n) in wanted), None)
