"""Did the change alter what the model learns: the whole loss curve of base against head's.

In:  the runs of both sides. Out: `Loss`.
Promises: the last value alone decides nothing; a curve that cannot be compared is never called identical.

An unchanged program repeats its loss to the last bit; another compilation of the same mathematics rounds
differently, and such differences grow about a hundredfold in 20 steps. The tolerances follow that growth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from bot.logs.facts import RunLog
from bot.verdict.curve import Curve, Pair, curve, has_perplexity, pair
from bot.verdict.judgement import Loss, LossVerdict
from bot.verdict.precision import Precision, precision

TOLERANCE: dict[Precision, tuple[float, float, float, float]] = {
    Precision.F32: (1e-5, 1e-5, 1e-4, 1e-3),
    Precision.BF16: (1e-4, 1e-3, 5e-3, 2e-2),
    Precision.INT8: (2e-4, 2e-3, 1e-2, 3e-2),
    Precision.FP8: (2e-4, 2e-3, 1e-2, 3e-2),
}
"""Relative tolerance at step 0, to 10, to 30, and later: about 250 times the rounding differences measured at
10 steps on one recipe compiled in different ways, 2 to 7 times those at 30 to 60."""

STEP_BOUNDS = (0, 10, 30)

DIVERGED = 0.05
"""Past 5 % no rounding explains it; Megatron's own tests use the same bound."""

SAME_WEIGHTS = 1e-6
"""total_weights counts tokens: anything but print rounding is other data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The pairs of all common steps, how far apart each may be, and remarks on how they were compared."""

    pairs: Sequence[Pair]
    allowed: Sequence[float]
    digits: str
    remarks: Sequence[str]


def compare_loss(base: Sequence[RunLog], head: Sequence[RunLog]) -> Loss:
    """Return what the loss curves of the first run of each side say; repeats can only widen the tolerance."""
    if not base or not head:
        return _not_comparable("a side has no run")
    first, second = ([curve(run) for run in side] for side in (base, head))
    one, other = first[0], second[0]
    common = sorted(one.points.keys() & other.points.keys())
    if not common:
        return _not_comparable(_nothing_common(one, other))
    odd = next((step for step in common if _weights_differ(one, other, step)), None)
    if odd is not None:
        return _not_comparable(
            f"total_weights differ at step {odd}: the sides did not train on the same data"
        )
    return _judge(_prepare(first, second, common, _precision(base, head)), one, other)


def _prepare(
    base: Sequence[Curve], head: Sequence[Curve], common: Sequence[int], stated: tuple[Precision, str]
) -> Judged:
    one, other = base[0], head[0]
    pairs = [pair(one, other, step) for step in common]
    numbers, number_remark = stated
    wide_base, wide_head = spread(base, common), spread(head, common)
    allowed = [
        max(
            tolerance(numbers, item.step) * item.smaller,
            2 * item.rounding,
            min(max(wider), DIVERGED) * item.smaller,
        )
        for item, *wider in zip(pairs, wide_base, wide_head, strict=True)
    ]
    remarks = [number_remark, _range_remark(one, other, len(common))]
    remarks += [_spread_remark("base", wide_base), _spread_remark("head", wide_head)]
    exact = has_perplexity(one, common) and has_perplexity(other, common)
    digits = "perplexity" if exact else f"loss to {min(one.decimals, other.decimals)} decimals"
    return Judged(pairs=pairs, allowed=allowed, digits=digits, remarks=[text for text in remarks if text])


def _judge(judged: Judged, base: Curve, head: Curve) -> Loss:
    """Choose the verdict, worst first."""
    pairs = judged.pairs
    different = next((item.step for item in pairs if not item.same_digits), None)
    outside = [
        item.step for item, allowed in zip(pairs, judged.allowed, strict=True) if _is_outside(item, allowed)
    ]
    finite = [place for place, item in enumerate(pairs) if item.finite]
    place = max(finite, key=lambda place: _relative(pairs[place]), default=None)
    worst = None if place is None else pairs[place]
    bad = _bad_step(base, head)
    starts_together = pairs[0].step == min(base.points) == min(head.points)
    if bad is not None or any(_is_outside(item, DIVERGED * item.smaller) for item in pairs if _is_far(item)):
        verdict = LossVerdict.DIVERGED
    elif outside and outside[0] == pairs[0].step and starts_together:
        verdict = LossVerdict.DIFFERENT_START
    elif outside:
        verdict = LossVerdict.DRIFTED
    else:
        verdict = LossVerdict.IDENTICAL if different is None else LossVerdict.WITHIN_TOLERANCE
    remarks = [*_bad_remark(bad), *judged.remarks]
    return Loss(
        verdict=verdict,
        first_difference_step=different,
        first_outside_step=outside[0] if outside else bad,
        max_relative=None if worst is None else _relative(worst),
        worst_step=None if worst is None else worst.step,
        allowed_relative=judged.allowed[place] / worst.smaller
        if place is not None and worst is not None and worst.smaller
        else None,
        compared_steps=len(pairs),
        digits=judged.digits,
        reason="; ".join(remarks),
    )


def _bad_remark(step: int | None) -> list[str]:
    return [] if step is None else [f"one side's loss is NaN or infinite from step {step} on"]


def tolerance(numbers: Precision, step: int) -> float:
    """Return the relative difference that rounding alone may have made by this step."""
    place = sum(step > bound for bound in STEP_BOUNDS)
    return TOLERANCE[numbers][place]


def spread(curves: Sequence[Curve], steps: Sequence[int]) -> list[float]:
    """Return how far repeats of one side were apart, relatively, up to each step; 0 if only by rounding."""
    unlike = [other for other in curves[1:] if not all(_repeats(curves[0], other, step) for step in steps)]
    if not unlike:
        return [0.0] * len(steps)
    widest, found = 0.0, []
    for step in steps:
        repeats = [pair(curves[0], other, step) for other in unlike if step in other.points]
        apart = [_relative(item) for item in repeats if item.finite and item.apart > 2 * item.rounding]
        widest = max([widest, *apart])
        found.append(widest)
    return found


def _repeats(one: Curve, other: Curve, step: int) -> bool:
    """Tell at once what most repeats do at every step: they print the very same, or nothing."""
    point, again = one.points[step], other.points.get(step)
    return again is None or (point.loss, point.perplexity) == (again.loss, again.perplexity)


def _relative(item: Pair) -> float:
    return abs(item.head / item.base - 1) if item.base else item.apart


def _is_outside(item: Pair, allowed: float) -> bool:
    if item.finite:
        return item.apart > allowed
    return not item.same_digits


def _is_far(item: Pair) -> bool:
    return not item.finite or item.apart > 2 * item.rounding


def _bad_step(base: Curve, head: Curve) -> int | None:
    """Return the first step whose loss is NaN or infinite where only one side has such a step."""
    bad = [
        [step for step, point in sorted(side.points.items()) if not isfinite(point.loss or 0.0)]
        for side in (base, head)
    ]
    if bool(bad[0]) == bool(bad[1]):
        return None
    return (bad[0] or bad[1])[0]


def _precision(base: Sequence[RunLog], head: Sequence[RunLog]) -> tuple[Precision, str]:
    stated = {precision(run.environment.dtype) for run in (*base, *head)} - {None}
    known = [numbers for numbers in Precision if numbers in stated]
    if not known:
        return Precision.BF16, "the log does not state its number format: tolerances for bf16"
    return max(known, key=lambda numbers: TOLERANCE[numbers]), ""


def _weights_differ(base: Curve, head: Curve, step: int) -> bool:
    one, other = base.points[step].total_weights, head.points[step].total_weights
    return one is not None and other is not None and abs(one - other) > SAME_WEIGHTS * abs(one)


def _range_remark(base: Curve, head: Curve, common: int) -> str:
    if base.points.keys() == head.points.keys():
        return ""
    return f"base has {_range(base)}, head has {_range(head)}: the {common} in common are compared"


def _range(side: Curve) -> str:
    return f"{len(side.points)} steps from {min(side.points)} to {max(side.points)}"


def _spread_remark(name: str, spreads: Sequence[float]) -> str:
    widest = max(spreads, default=0.0)
    if widest == 0:
        return ""
    return (
        f"repeats of {name} differ among themselves by up to {100 * widest:.2g} %: tolerance widened by that"
    )


def _nothing_common(base: Curve, head: Curve) -> str:
    silent = [name for name, side in (("base", base), ("head", head)) if not side.points]
    if silent:
        return f"no loss is printed on {' and '.join(silent)}"
    return f"no common step: base has {_range(base)}, head has {_range(head)}"


def _not_comparable(reason: str) -> Loss:
    return Loss(verdict=LossVerdict.NOT_COMPARABLE, reason=reason)
