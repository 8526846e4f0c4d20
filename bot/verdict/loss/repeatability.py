"""Does main repeat its loss, and how far do its runs differ where it does not.

Programs that repeat every digit are judged by the tolerances of `bot.verdict.loss`. Of programs that do not
(GPU kernels that add in any order, data that is shuffled without a seed) the runs of main themselves say how
far two equal runs may lie apart: a band over the whole curve, and a band for the mean of its last steps.

The mean of the last signed differences tells a change from rounding. Rounding pushes a loss up as often as
down; a learning rate that is 1 % higher pushes it one way, by 1 % of what training has gained so far.
Measured on a small language model with Adam: 1 % of the learning rate moves the mean by 0.7 to 1.4 % of the
gain within 200 steps, another order of addition in bf16 by at most 0.02 %.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, inf, log, sqrt
from statistics import fmean, stdev
from typing import assert_never

from msgspec import Struct

from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import LossRepeat, LossTrace
from bot.verdict.noise import since_last_change
from bot.verdict.statistics import t_quantile

MIN_VARYING_RUNS = 4
"""Runs of main on different commits that must all differ before a program is said not to repeat itself: each
commit may have changed the numbers."""

BAND_ALPHA = 0.004
"""The chance that equal runs leave the band at any step, by Bonferroni over the steps."""

SHIFT_ALPHA = 0.004
"""The chance that the mean of the last steps of equal runs leaves its band. Together below 1 in 100."""

MIN_BAND_FREEDOM = 4
"""Degrees of freedom needed for a band, as for the noise of the step time: with fewer it is as wide as it
likes, and nothing can be said."""

SMOOTHED_STEPS = 5
"""Neighbours whose variances are averaged: one step's own, of a handful of runs, is itself noise."""

SHIFT_SHARE = 0.002
"""A shift of the mean by more than this share of what training has gained is a change: ten times what another
order of addition did, a fifth of what 1 % of the learning rate does."""

SHIFT_Z = 4.0
"""And by more than this many standard errors of its own differences."""

SHIFT_FLOOR = 0.01
"""And by more than this share of the tolerance of a single step."""

MIN_SHIFT_STEPS, MAX_SHIFT_STEPS = 5, 50
"""Last steps that are averaged: half of the curve, within these."""

MIN_COMMON_STEPS = 3
"""Common steps of runs of different length that must agree before the runs count as equal."""


def loss_repeat(equal: Sequence[bool], main: Sequence[LossTrace], family: DeviceFamily | None) -> LossRepeat:
    """Tell whether equal runs print equal losses.

    `equal` says of pairs of runs of one commit whether they agree, `main` holds main's runs, oldest first.
    Runs of one commit decide; where there are none, main's runs one after another: half of them equal is a
    program that repeats itself and was changed now and then. Where nobody saw two runs, the device decides.
    """
    commits = {one.sha for one in main if one.sha}
    groups = [[one for one in main if one.sha == sha] for sha in commits]
    again = [_prints_the_same(group[0], other) for group in groups for other in group[1:]]
    if equal or again:
        return LossRepeat.REPEATS if all(equal) and all(again) else LossRepeat.VARIES
    following = [_prints_the_same(one, other) for one, other in pairwise(main)]
    if any(following) and 2 * sum(following) >= len(following):
        return LossRepeat.REPEATS
    if len(main) >= MIN_VARYING_RUNS and not any(following):
        return LossRepeat.VARIES
    match family:
        case DeviceFamily.TPU | DeviceFamily.CPU:
            return LossRepeat.ASSUMED
        case DeviceFamily.GPU | None:
            return LossRepeat.UNKNOWN
        case _:
            assert_never(family)


def _prints_the_same(one: LossTrace, other: LossTrace) -> bool:
    """Tell whether two runs print the same losses; of runs of different length the common steps count."""
    if one.digest == other.digest or one.steps == other.steps:
        return one.digest == other.digest
    known = other.points()
    common = [(loss, known[step]) for step, loss in one.points().items() if step in known]
    return len(common) >= MIN_COMMON_STEPS and all(first == second for first, second in common)


def current_level(main: Sequence[LossTrace]) -> Sequence[LossTrace]:
    """Return the newest runs of main since its losses last changed, oldest first."""
    usable = [one for one in main if one.losses and all(0 < loss < inf for loss in one.losses)]
    means = [exp(_tail_mean([log(loss) for loss in one.losses])) for one in usable]
    return usable[len(usable) - len(since_last_change(means)) :]


def shift_steps(count: int) -> int:
    """Return over how many of `count` last steps the mean is taken: half of them, within bounds."""
    return min(count, max(MIN_SHIFT_STEPS, min(MAX_SHIFT_STEPS, count // 2)))


class LossShift(Struct, frozen=True, kw_only=True):
    """How far the mean loss of the last steps moved: `mean` is the relative difference with its sign, `error`
    the standard error of it, `share` that of what training gained, `steps` how many were averaged."""

    mean: float
    error: float
    share: float
    steps: int


def find_shift(base: Sequence[float], head: Sequence[float]) -> LossShift | None:
    """Return how the last losses of head lie to base's; the curves hold the same steps. None where the curve
    is too short, or does not gain anything that the shift could be held against."""
    count = shift_steps(len(base))
    if len(base) < 2 * MIN_SHIFT_STEPS or not all(0 < loss < inf for loss in (*base, *head)):
        return None
    apart = [log(other / one) for one, other in zip(base[-count:], head[-count:], strict=True)]
    gained = log(base[0]) - fmean(log(one) for one in base[-count:])
    if gained <= 0:
        return None
    mean = fmean(apart)
    return LossShift(mean=mean, error=stdev(apart) / sqrt(count), share=abs(mean) / gained, steps=count)


def is_systematic(shift: LossShift, tolerance: float) -> bool:
    """Tell whether a shift is too large and too steady for rounding; `tolerance` is that of one step."""
    return (
        shift.share > SHIFT_SHARE
        and abs(shift.mean) > SHIFT_Z * shift.error
        and abs(shift.mean) > SHIFT_FLOOR * tolerance
    )


class LossBand(Struct, frozen=True, kw_only=True):
    """How far head may lie from runs of unchanged code, on the log scale.

    `allowed` is that at each step, `shift_allowed` that of the mean of the last ones; `apart` and `shift` say
    how far it lies. `level` is the mean curve of base and main together, of `runs` runs.
    """

    level: Sequence[float]
    allowed: Sequence[float]
    apart: Sequence[float]
    shift: float
    shift_allowed: float
    runs: int


def loss_band(
    base: Sequence[Sequence[float]], head: Sequence[Sequence[float]], main: Sequence[Sequence[float]]
) -> LossBand | None:
    """Return the band of runs of one program around base's and main's mean curve.

    All curves hold the same steps, losses above zero. The scatter is pooled over base's, head's and main's
    runs, each about its own mean, and smoothed over neighbouring steps. At each step the band is a t interval
    at a level that all steps share (Bonferroni), so that it holds for the whole curve at once. None where too
    few runs show the scatter.
    """
    groups = [[[log(loss) for loss in curve] for curve in group] for group in (base, head, main)]
    freedom = sum(max(0, len(group) - 1) for group in groups)
    if freedom < MIN_BAND_FREEDOM:
        return None
    known = [*groups[0], *groups[2]]
    size = sqrt(1 / len(known) + 1 / len(head))
    steps = len(known[0])
    variances = [
        sum(_squares([curve[at] for curve in group]) for group in groups) / freedom for at in range(steps)
    ]
    t = t_quantile(1 - BAND_ALPHA / (2 * steps), freedom)
    middle, reached = _mean_curve(known), _mean_curve(groups[1])
    tails = [[_tail_mean(curve) for curve in group] for group in groups]
    tail_variance = sum(_squares(group) for group in tails) / freedom
    return LossBand(
        level=middle,
        allowed=[t * sqrt(one) * size for one in _smoothed(variances)],
        apart=[other - one for one, other in zip(middle, reached, strict=True)],
        shift=fmean(tails[1]) - fmean([*tails[0], *tails[2]]),
        shift_allowed=t_quantile(1 - SHIFT_ALPHA / 2, freedom) * sqrt(tail_variance) * size,
        runs=len(known),
    )


def _tail_mean(logs: Sequence[float]) -> float:
    return fmean(logs[-shift_steps(len(logs)) :])


def _mean_curve(curves: Sequence[Sequence[float]]) -> list[float]:
    return [fmean(at) for at in zip(*curves, strict=True)]


def _squares(values: Sequence[float]) -> float:
    """Return the squared deviations from the mean, 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _smoothed(variances: Sequence[float]) -> list[float]:
    """Return the mean variance of each step's neighbours; a step where all runs agree stays at 0."""
    half = SMOOTHED_STEPS // 2
    return [
        fmean(variances[max(0, at - half) : at + half + 1]) if one > 0 else 0.0
        for at, one in enumerate(variances)
    ]
