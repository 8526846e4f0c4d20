"""What the rule is held to, on runs from the benchmark's stores with fixed seeds.

The page is made from ten times as many, whose base and head are played afresh.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from bot.verdict.thresholds import CONFIRMED_RUNS
from tests.verdictbench.rivals import ALARMS, Call
from tests.verdictbench.rules import CASES_OF_A_REPORT, RULES, FedMetric, Rule, RuleOwner, Trial, staged
from tests.verdictbench.simulation import BY_NAME, seeded
from tests.verdictbench.stores import history, stored_runs

pytestmark = pytest.mark.xdist_group("verdictbench")  # the trials are run once

REPORTS = 200

SLOWED = 500

JUDGES = {
    "ours": Rule(
        key="ours",
        name="ours",
        fed=FedMetric.STEADY,
        whose=RuleOwner.OURS,
        decide=lambda one: staged(one).call,
    ),
    **{rule.key: rule for rule in RULES if rule.key == "ours-many" or rule.key.endswith("/steady")},
}


def _trial(kind_name: str, report: int, index: int, percent: float) -> Trial:
    kind = BY_NAME[kind_name]
    draws = seeded(kind.name, "targets", report, index)
    base, *heads = draws.choices(stored_runs(kind, index % 5), k=1 + CONFIRMED_RUNS)
    head, *more = (one.at(1 + percent / 100) for one in heads)
    return Trial(kind=kind, base=[base], head=[head], past=history(kind, index, draws), more=((), more))


def _alarmed(kind: str, report: int) -> Iterator[str]:
    """Who flags any of a report's 25 cases at no change; a judge that did is not asked again."""
    quiet = dict(JUDGES)
    for index in range(CASES_OF_A_REPORT):
        trial = _trial(kind, report, index, 0.0)
        for judge in [name for name, rule in quiet.items() if rule.decide(trial) in ALARMS]:
            del quiet[judge]
            yield judge


@cache
def _reports(kind: str) -> Counter[str]:
    """Reports at no change in which any of 25 cases is flagged, by judge: each trial is made once for all."""
    return Counter(judge for report in range(REPORTS) for judge in _alarmed(kind, report))


def _flagged(kind: str, judge: str) -> int:
    return _reports(kind)[judge]


@cache
def _answers(kind: str) -> dict[str, list[Call]]:
    """What each judge says of heads that are 5 % slower."""
    said: dict[str, list[Call]] = {judge: [] for judge in JUDGES}
    for number in range(SLOWED):
        trial = _trial(kind, REPORTS + number, number % 5, 5.0)
        for judge, rule in JUDGES.items():
            said[judge].append(rule.decide(trial))
    return said


def _calls(kind: str, judge: str) -> list[Call]:
    return _answers(kind)[judge]


def _power(kind: str, judge: str) -> float:
    return _calls(kind, judge).count(Call.SLOWER) / SLOWED


@pytest.mark.parametrize("kind", ["tpu", "gpu"])
def test_at_most_one_report_in_a_hundred_is_flagged_at_no_change(kind: str) -> None:
    """25 cases each, 20 runs of main."""
    assert _flagged(kind, "ours") <= REPORTS // 100


def test_five_percent_is_seen_on_a_tpu() -> None:
    """In 95 of 100 comparisons with 20 steps, one run a side and 20 runs of main."""
    assert _power("tpu", "ours") >= 0.95


@pytest.mark.parametrize("kind", ["tpu", "gpu"])
def test_no_slowdown_is_called_faster(kind: str) -> None:
    """Not one."""
    assert Call.FASTER not in _calls(kind, "ours")


@pytest.mark.parametrize("judge", sorted(JUDGES.keys() - {"ours", "ours-many"}))
@pytest.mark.parametrize("kind", ["tpu", "gpu", "bimodal"])
def test_no_rival_is_quieter_and_sees_more(kind: str, judge: str) -> None:
    """Given as many runs of main and fed our steady time; 2 standard errors of the difference are chance."""
    flags, power = _flagged(kind, judge), _power(kind, judge)
    own_flags, own_power = _flagged(kind, "ours-many"), _power(kind, "ours-many")
    quieter = own_flags - flags > 2 * (own_flags + flags + 1) ** 0.5
    sees_more = power - own_power > -2 * (2 * 0.25 / SLOWED) ** 0.5
    assert not (quieter and sees_more)


def test_the_figures_could_have_failed() -> None:
    """A rule without a level for the report flags far more than one report in a hundred."""
    assert _flagged("gpu", "bencher/steady") > 10 * REPORTS // 100
