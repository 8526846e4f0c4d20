"""All that one benchmark found, and the claims that are made of it.

In:  tallies of the experiments. Out: `Results`, `Claim`s with what was measured and whether it held.
Promises: a claim is met only where the measured figure says so; nothing is rounded in our favour.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.verdictbench.adversary import Patience
from tests.verdictbench.rivals import Call
from tests.verdictbench.rules import RULES, Rule, RuleOwner
from tests.verdictbench.simulation import BY_NAME, KINDS
from tests.verdictbench.trials import Share, Tally

TARGET_KINDS = tuple(kind.name for kind in KINDS if kind.target)

ADVERSARIES = {
    "adds": "adds runs",
    "replaces": "shows only the newest run",
}


@dataclass(slots=True, kw_only=True)
class Results:
    """By kind: tallies by rule with one run a side, with repeats; by kind, the adversary's by strategy."""

    single: dict[str, dict[str, Tally]] = field(default_factory=dict)
    repeats: dict[str, dict[str, Tally]] = field(default_factory=dict)
    adversary: dict[str, dict[str, Patience]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What ours is held to, what was measured, and whether that holds."""

    text: str
    measured: str
    met: bool


def figure(share: Share) -> str:
    """Write a share in percent with the reach of its 95 % interval, or the bound where nothing was hit."""
    low, high = share.interval
    if share.hits == 0:
        return f"0 (< {high:.2g})"
    if share.hits == share.tries:
        return f"100 (> {low:.3g})"
    digits = 2 if share.percent < 10 else 1
    return f"{share.percent:.{digits}f} ± {(high - low) / 2:.{digits}f}"


def claims(results: Results) -> Iterator[Claim]:
    """Hold the measured figures against the targets."""
    for name in TARGET_KINDS:
        yield _quiet(name, results.single[name]["ours"])
    yield _power(results.single["tpu"]["ours"])
    for name in TARGET_KINDS:
        yield _direction(name, results.single[name]["ours"])
    better = list(better_on_both(results.single))
    yield Claim(
        text="no rival, even fed our steady time, is better on both false flags and power at +5 %, "
        "on any noise, both with 30 main runs",
        measured="; ".join(better) or "none is",
        met=not better,
    )
    for name, strategies in results.adversary.items():
        for strategy, does in ADVERSARIES.items():
            yield from _patience(name, does, strategies[strategy])


def _quiet(name: str, tally: Tally) -> Claim:
    share = tally.false_reports
    return Claim(
        text=f"{BY_NAME[name].title}: at most 1 % of 25-case reports flagged at no change",
        measured=f"{figure(share)} %",
        met=share.percent <= 1,
    )


def _power(tally: Tally) -> Claim:
    share = tally.share(5.0, Call.SLOWER)
    return Claim(
        text="TPU-like, 20 steps, 20 main runs: at least 95 % power at +5 %",
        measured=f"{figure(share)} %",
        met=share.percent >= 95,
    )


def _direction(name: str, tally: Tally) -> Claim:
    share = tally.wrong_direction
    return Claim(
        text=f"{BY_NAME[name].title}: at most 0.1 % of slowdowns called faster",
        measured=f"{figure(share)} %",
        met=share.percent <= 0.1,
    )


def _patience(name: str, does: str, found: Patience) -> Iterator[Claim]:
    wishes = {"red": "false red a case", "red report": "false red a report", "green": "false green a case"}
    for wish, what in wishes.items():
        first, ever = (found.share(wish, patient=patient) for patient in (False, True))
        yield Claim(
            text=f"{BY_NAME[name].title}, adversary who {does}: {what} gains at most 1 point",
            measured=f"{first.percent:.2f} → {ever.percent:.2f} %",
            met=ever.percent - first.percent <= 1,
        )


def better_on_both(single: Mapping[str, Mapping[str, Tally]]) -> Iterator[str]:
    """Name the rivals that flag surely fewer reports at no change and see 5 % surely as often or more.

    Surely fewer: the 95 % intervals do not meet. As often: that of the rival's does not lie below ours.
    """
    for name, tallies in single.items():
        for rule in RULES:
            if rule.whose is RuleOwner.RIVAL and _is_better(tallies[rule.key], tallies["ours-many"]):
                yield f"{BY_NAME[name].title}: {label(rule)}"


def _is_better(rival: Tally, own: Tally) -> bool:
    quieter = _below(rival.false_reports, own.false_reports)
    return quieter and not _below(rival.share(5.0, Call.SLOWER), own.share(5.0, Call.SLOWER))


def _below(one: Share, other: Share) -> bool:
    return one.interval[1] < other.interval[0]


def label(rule: Rule) -> str:
    """Name a rule with what it is fed."""
    return f"{rule.name} on {rule.fed}" if rule.whose is RuleOwner.RIVAL else rule.name
