"""Did the change alter what the model learns: the whole loss curve of base against head's.

An unchanged program repeats its loss to the last bit. Another compilation of the same mathematics rounds
differently, and such differences grow about a hundredfold in 20 steps; the tolerances follow that growth.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan, log
from typing import NamedTuple

from msgspec import Struct

from bot.logs.facts import RunLog, Step
from bot.verdict.hardware import Precision, parse_precision
from bot.verdict.judgement import LossDecision, LossVerdict
from bot.verdict.timing import printed_decimals

MIN_LOSS_DECIMALS = 3
"""What MaxText prints; a handful of round values must not pass for a coarser log."""

HALF_LOSS_DIGIT = 0.51
"""Half of the last digit, and a little for binary rounding."""


class LossCurve(Struct, frozen=True, kw_only=True):
    """Step lines that state a loss, by step. `decimals` is how many the loss is printed with; `exact` holds
    the losses computed from the perplexities, where these belong to the loss."""

    points: Mapping[int, Step]
    decimals: int
    exact: Mapping[int, float]


class LossPair(NamedTuple):
    """One step on both sides: the loss as exactly as both know it, and the size of a rounding error."""

    step: int
    base: float
    head: float
    rounding: float
    same_digits: bool

    @property
    def finite(self) -> bool:
        """Whether both sides are numbers."""
        return isfinite(self.base) and isfinite(self.head)

    @property
    def apart(self) -> float:
        """The absolute difference."""
        return abs(self.head - self.base)

    @property
    def smaller(self) -> float:
        """The smaller magnitude: tolerances are shares of it, so that swapping the sides changes nothing."""
        return min(abs(self.base), abs(self.head))


def read_loss_curve(log: RunLog) -> LossCurve:
    """Return the loss curve of a run."""
    points = {step.step: step for step in log.steps if step.loss is not None}
    decimals = _loss_decimals(points.values())
    exact = ((step, _exact_loss(point, decimals)) for step, point in points.items())
    return LossCurve(
        points=points, decimals=decimals, exact={step: loss for step, loss in exact if loss is not None}
    )


def loss_pair(base: LossCurve, head: LossCurve, step: int) -> LossPair:
    """Return one step on both sides, from the perplexity where both print one that belongs to the loss.

    ln(perplexity) holds the loss to 1e-7 where the loss itself has three decimals.
    """
    one, other = base.points[step], head.points[step]
    same = _same_number(one.loss, other.loss) and _same_if_both(
        _stated_perplexity(one), _stated_perplexity(other)
    )
    first, second = base.exact.get(step), head.exact.get(step)
    if first is not None and second is not None:
        least = min(one.perplexity or 1.0, other.perplexity or 1.0)
        rounding = HALF_LOSS_DIGIT * 10.0**-MIN_LOSS_DECIMALS / least
        return LossPair(step=step, base=first, head=second, rounding=rounding, same_digits=same)
    decimals = min(base.decimals, head.decimals)
    return LossPair(
        step=step,
        base=one.loss if one.loss is not None else 0.0,
        head=other.loss if other.loss is not None else 0.0,
        rounding=HALF_LOSS_DIGIT * 10.0**-decimals,
        same_digits=same,
    )


def has_perplexity(loss_curve: LossCurve, steps: Iterable[int]) -> bool:
    """Tell whether every one of these steps prints a perplexity."""
    return all(_stated_perplexity(loss_curve.points[step]) is not None for step in steps)


def prints_nonfinite_loss(log: RunLog) -> bool:
    """Tell whether any step's loss is NaN or infinite."""
    return any(step.loss is not None and not isfinite(step.loss) for step in log.steps)


def _loss_decimals(points: Iterable[Step]) -> int:
    losses = [point.loss for point in points if point.loss is not None and isfinite(point.loss)]
    return printed_decimals(losses, at_least=MIN_LOSS_DECIMALS)


def _exact_loss(point: Step, decimals: int) -> float | None:
    """Return the loss from the perplexity, None where that belongs to another loss (without aux terms)."""
    perplexity = _stated_perplexity(point)
    if perplexity is None or not isfinite(perplexity) or point.loss is None:
        return None
    loss = log(perplexity)
    resolution = HALF_LOSS_DIGIT * (10.0**-decimals + 10.0**-MIN_LOSS_DECIMALS / perplexity)
    return loss if abs(loss - point.loss) <= resolution else None


def _stated_perplexity(point: Step) -> float | None:
    """Return the perplexity; MaxText prints 0.000 for a missing one."""
    return point.perplexity if point.perplexity is None or not point.perplexity <= 0 else None


def _same_if_both(one: float | None, other: float | None) -> bool:
    return one is None or other is None or _same_number(one, other)


def _same_number(one: float | None, other: float | None) -> bool:
    both_nan = one is not None and other is not None and isnan(one) and isnan(other)
    return both_nan or one == other


LOSS_TOLERANCE: dict[Precision, tuple[float, float, float, float]] = {
    Precision.F32: (1e-5, 1e-5, 1e-4, 1e-3),
    Precision.BF16: (1e-4, 1e-3, 5e-3, 2e-2),
    Precision.INT8: (2e-4, 2e-3, 1e-2, 3e-2),
    Precision.FP8: (2e-4, 2e-3, 1e-2, 3e-2),
}
"""Relative tolerance at step 0, to 10, to 30, and later: about 250 times the rounding differences measured at
10 steps on one recipe compiled in different ways, 2 to 7 times those at 30 to 60."""

TOLERANCE_STEPS = (0, 10, 30)

DIVERGED_SHARE = 0.05
"""Rounding explains no difference above 5 %; Megatron's own tests use the same bound."""

WEIGHTS_TOLERANCE = 1e-6
"""total_weights counts tokens: a difference beyond print rounding means other data."""


class AlignedCurves(Struct, frozen=True, kw_only=True):
    """The pairs of all common steps, how far apart each may be, and remarks on how they were compared."""

    pairs: Sequence[LossPair]
    allowed: Sequence[float]
    digits: str
    remarks: Sequence[str]


def compare_loss(base: Sequence[RunLog], head: Sequence[RunLog]) -> LossDecision:
    """Compare the loss curves of the first run of each side; repeats can only widen the tolerance."""
    if not base or not head:
        return _not_comparable("a side has no run")
    first, second = ([read_loss_curve(run) for run in side] for side in (base, head))
    one, other = first[0], second[0]
    common = sorted(one.points.keys() & other.points.keys())
    if not common:
        return _not_comparable(_no_common_step(one, other))
    odd = next((step for step in common if _weights_differ(one, other, step)), None)
    if odd is not None:
        return _not_comparable(
            f"total_weights differ at step {odd}: the sides did not train on the same data"
        )
    return _judge_curves(_align_curves(first, second, common, _loss_precision(base, head)), one, other)


def _align_curves(
    base: Sequence[LossCurve], head: Sequence[LossCurve], common: Sequence[int], stated: tuple[Precision, str]
) -> AlignedCurves:
    one, other = base[0], head[0]
    pairs = [loss_pair(one, other, step) for step in common]
    precision, precision_remark = stated
    wide_base, wide_head = repeat_spread(base, common), repeat_spread(head, common)
    allowed = [
        max(
            rounding_tolerance(precision, item.step) * item.smaller,
            2 * item.rounding,
            min(max(wider), DIVERGED_SHARE) * item.smaller,
        )
        for item, *wider in zip(pairs, wide_base, wide_head, strict=True)
    ]
    remarks = [precision_remark, _range_remark(one, other, len(common))]
    remarks += [_spread_remark("base", wide_base), _spread_remark("head", wide_head)]
    exact = has_perplexity(one, common) and has_perplexity(other, common)
    digits = "perplexity" if exact else f"loss to {min(one.decimals, other.decimals)} decimals"
    return AlignedCurves(
        pairs=pairs, allowed=allowed, digits=digits, remarks=[text for text in remarks if text]
    )


def _judge_curves(aligned: AlignedCurves, base: LossCurve, head: LossCurve) -> LossDecision:
    """Return the worst verdict that applies."""
    pairs = aligned.pairs
    different = next((item.step for item in pairs if not item.same_digits), None)
    outside = [
        item.step for item, allowed in zip(pairs, aligned.allowed, strict=True) if _is_outside(item, allowed)
    ]
    finite = [place for place, item in enumerate(pairs) if item.finite]
    place = max(finite, key=lambda place: _relative_difference(pairs[place]), default=None)
    worst = None if place is None else pairs[place]
    bad = _nonfinite_step(base, head)
    starts_together = pairs[0].step == min(base.points) == min(head.points)
    if bad is not None or any(
        _is_outside(item, DIVERGED_SHARE * item.smaller) for item in pairs if _beyond_rounding(item)
    ):
        verdict = LossVerdict.DIVERGED
    elif outside and outside[0] == pairs[0].step and starts_together:
        verdict = LossVerdict.DIFFERENT_START
    elif outside:
        verdict = LossVerdict.DRIFTED
    else:
        verdict = LossVerdict.IDENTICAL if different is None else LossVerdict.WITHIN_TOLERANCE
    remarks = [*_nonfinite_remark(bad), *aligned.remarks]
    return LossDecision(
        verdict=verdict,
        first_difference_step=different,
        first_outside_step=outside[0] if outside else bad,
        max_relative=None if worst is None else _relative_difference(worst),
        worst_step=None if worst is None else worst.step,
        allowed_relative=aligned.allowed[place] / worst.smaller
        if place is not None and worst is not None and worst.smaller
        else None,
        compared_steps=len(pairs),
        digits=aligned.digits,
        reason="; ".join(remarks),
    )


def _nonfinite_remark(step: int | None) -> list[str]:
    return [] if step is None else [f"one side's loss is NaN or infinite from step {step} on"]


def rounding_tolerance(precision: Precision, step: int) -> float:
    """Return the relative difference that rounding alone may have made by this step."""
    place = sum(step > bound for bound in TOLERANCE_STEPS)
    return LOSS_TOLERANCE[precision][place]


def repeat_spread(curves: Sequence[LossCurve], steps: Sequence[int]) -> list[float]:
    """Return the largest relative difference between repeats up to each step; 0 if only rounding differs."""
    unlike = [
        other for other in curves[1:] if not all(_repeats_print(curves[0], other, step) for step in steps)
    ]
    if not unlike:
        return [0.0] * len(steps)
    widest, found = 0.0, []
    for step in steps:
        repeats = [loss_pair(curves[0], other, step) for other in unlike if step in other.points]
        apart = [
            _relative_difference(item) for item in repeats if item.finite and item.apart > 2 * item.rounding
        ]
        widest = max([widest, *apart])
        found.append(widest)
    return found


def _repeats_print(one: LossCurve, other: LossCurve, step: int) -> bool:
    """Tell cheaply that a repeat prints the same, or nothing, at a step: most do at every one."""
    point, again = one.points[step], other.points.get(step)
    return again is None or (point.loss, point.perplexity) == (again.loss, again.perplexity)


def _relative_difference(item: LossPair) -> float:
    return abs(item.head / item.base - 1) if item.base else item.apart


def _is_outside(item: LossPair, allowed: float) -> bool:
    if item.finite:
        return item.apart > allowed
    return not item.same_digits


def _beyond_rounding(item: LossPair) -> bool:
    return not item.finite or item.apart > 2 * item.rounding


def _nonfinite_step(base: LossCurve, head: LossCurve) -> int | None:
    """Return the first step whose loss is NaN or infinite where only one side has such a step."""
    bad = [
        [step for step, point in sorted(side.points.items()) if not isfinite(point.loss or 0.0)]
        for side in (base, head)
    ]
    if bool(bad[0]) == bool(bad[1]):
        return None
    return (bad[0] or bad[1])[0]


def _loss_precision(base: Sequence[RunLog], head: Sequence[RunLog]) -> tuple[Precision, str]:
    stated = {parse_precision(run.environment.dtype) for run in (*base, *head)} - {None}
    known = [precision for precision in Precision if precision in stated]
    if not known:
        return Precision.BF16, "the log does not state its number format: tolerances for bf16"
    return max(known, key=lambda precision: LOSS_TOLERANCE[precision]), ""


def _weights_differ(base: LossCurve, head: LossCurve, step: int) -> bool:
    one, other = base.points[step].total_weights, head.points[step].total_weights
    return one is not None and other is not None and abs(one - other) > WEIGHTS_TOLERANCE * abs(one)


def _range_remark(base: LossCurve, head: LossCurve, common: int) -> str:
    if base.points.keys() == head.points.keys():
        return ""
    return f"base has {_step_range(base)}, head has {_step_range(head)}: the {common} in common are compared"


def _step_range(side: LossCurve) -> str:
    return f"{len(side.points)} steps from {min(side.points)} to {max(side.points)}"


def _spread_remark(name: str, spreads: Sequence[float]) -> str:
    widest = max(spreads, default=0.0)
    if widest == 0:
        return ""
    return (
        f"repeats of {name} differ among themselves by up to {100 * widest:.2g} %: tolerance widened by that"
    )


def _no_common_step(base: LossCurve, head: LossCurve) -> str:
    silent = [name for name, side in (("base", base), ("head", head)) if not side.points]
    if silent:
        return f"no loss is printed on {' and '.join(silent)}"
    return f"no common step: base has {_step_range(base)}, head has {_step_range(head)}"


def _not_comparable(reason: str) -> LossDecision:
    return LossDecision(verdict=LossVerdict.NOT_COMPARABLE, reason=reason)
