"""Our own rule as a rule among the others, and what it would be with two of its constants otherwise.

In:  runs of base and head, main's steady seconds. Out: `Call`.
Promises: `whole` and `clock` ask the product itself; `proposed` says in its text what it changes.
"""

from collections.abc import Sequence
from math import log, log1p, sqrt
from statistics import fmean

from bot.verdict.compare import compare
from bot.verdict.decide import decide
from bot.verdict.judgement import Margins, MeasuredRun, Spread, Steady, Timing, TimingVerdict, Verdict
from bot.verdict.noise import clean_history, run_to_run
from bot.verdict.peaks import Family
from bot.verdict.student import normal_quantile, t_quantile
from tests.verdictbench.kinds import GPU, TPU, Kind
from tests.verdictbench.rivals import Call

CASES_OF_A_REPORT = 25
"""Cases of the reports that are counted; ours shares its level among them, as in the product."""

MAIN_RUNS = 20
"""Main runs that ours is given, the base run the newest of them."""

STRICT = 0.01
"""The proposal's level of a report where the noise is measured."""

STRICTEST = 0.005
"""The same, and a half for what the filter of glitches and the cut at change points take from the noise."""

NEAR = 8
"""The proposal's newest main runs, base among them, whose mean stands for base."""


def family(kind: Kind) -> Family:
    """Return the device family of a kind, as the product reads it from a log."""
    return {TPU: Family.TPU, GPU: Family.GPU}.get(kind.device, Family.CPU)


def whole(base: MeasuredRun, head: MeasuredRun, past: Sequence[float]) -> Call:
    """The product's verdict on the case: gate, loss, clock and all."""
    found = compare([base], [head], history=past, comparable_cases=CASES_OF_A_REPORT)
    match found.verdict:
        case Verdict.SLOWER:
            return Call.SLOWER
        case Verdict.FASTER:
            return Call.FASTER
        case Verdict.SAME:
            return Call.SAME
        case _:
            return Call.INCONCLUSIVE


def clock(
    base: Sequence[Steady], head: Sequence[Steady], past: Sequence[float], kind: Kind, *, look: int = 1
) -> Call:
    """The product's timing decision alone."""
    return _call(
        decide(base, head, family=family(kind), history=past, comparable_cases=CASES_OF_A_REPORT, look=look)
    )


def _call(timing: Timing) -> Call:
    match timing.verdict:
        case TimingVerdict.SLOWER:
            return Call.SLOWER
        case TimingVerdict.FASTER:
            return Call.FASTER
        case TimingVerdict.SAME:
            return Call.SAME
        case _:
            return Call.INCONCLUSIVE


def proposed(
    base: Sequence[Steady],
    head: Sequence[Steady],
    past: Sequence[float],
    kind: Kind,
    *,
    alpha: float = STRICT,
    near: int = NEAR,
) -> Call:
    """The product's rule with measured noise held to `alpha` a report, and `near` main runs as its base."""
    bases, heads = _logs(base), _logs(head)
    if not bases or not heads:
        return Call.INCONCLUSIVE
    noise = run_to_run(_seconds(base), _seconds(head), past, family(kind))
    if noise.sd is None or noise.spread is not Spread.MEASURED:
        return clock(base, head, past, kind)
    level = [log(seconds) for seconds in clean_history(past)[-near:]] if near else []
    level = level if len(level) > len(bases) else bases
    between = noise.sd**2 * (1 / len(level) + 1 / len(heads))
    within = _within(base) / len(level) + _within(head) / len(heads)
    se = sqrt(within if within > 9 * between else between)
    return _ruled(fmean(heads) - fmean(level), se, t_quantile(1 - alpha / 2 / CASES_OF_A_REPORT, noise.nu))


def _ruled(change: float, se: float, quantile: float) -> Call:
    margins = Margins()
    if abs(change) >= max(log1p(margins.practical_percent / 100), quantile * se):
        return Call.SLOWER if change > 0 else Call.FASTER
    held = abs(change) + normal_quantile(0.95) * se <= log1p(margins.equivalence_percent / 100)
    return Call.SAME if held else Call.INCONCLUSIVE


def _seconds(side: Sequence[Steady]) -> list[float]:
    return [one.seconds for one in side if one.seconds is not None]


def _logs(side: Sequence[Steady]) -> list[float]:
    return [log(seconds) for seconds in _seconds(side)]


def _within(side: Sequence[Steady]) -> float:
    return fmean((one.se or 0.0) ** 2 for one in side)
