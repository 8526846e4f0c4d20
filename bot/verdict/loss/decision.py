"""Did the change alter what the model learns: the whole loss curve of base against head's.

An unchanged program repeats its loss to the last bit. Another compilation of the same mathematics rounds
differently, and such differences grow about a hundredfold in 20 steps; the tolerances follow that growth.
"""

from collections.abc import Sequence
from math import exp, expm1, inf, isfinite
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from bot.logs.facts import RunLog
from bot.verdict.hardware import DeviceFamily, Precision, device_family, parse_precision
from bot.verdict.judgement import LossDecision, LossRepeat, LossTrace, LossVerdict
from bot.verdict.loss.curve import (
    LossCurve,
    LossPair,
    best_loss,
    has_perplexity,
    loss_digest,
    loss_pair,
    prints_again,
    read_loss_curve,
    thin_steps,
)
from bot.verdict.loss.repeatability import (
    MIN_BAND_FREEDOM,
    SHIFT_FLOOR,
    LossBand,
    current_level,
    find_shift,
    is_systematic,
    loss_band,
    loss_repeat,
    shift_steps,
)

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


class LossEvidence(Struct, frozen=True, kw_only=True):
    """The curves of both sides on their common steps, and the number format. `repeat` says whether equal runs
    print equal losses, `band` how far they lie apart where they do not."""

    base: Sequence[LossCurve]
    head: Sequence[LossCurve]
    steps: Sequence[int]
    precision: Precision
    repeat: LossRepeat
    band: LossBand | None = None


class AlignedCurves(Struct, frozen=True, kw_only=True):
    """Both sides at each step that is compared, and how far apart they may be there."""

    pairs: Sequence[LossPair]
    allowed: Sequence[float]


def compare_loss(
    base: Sequence[RunLog], head: Sequence[RunLog], main: Sequence[LossTrace] = ()
) -> LossDecision:
    """Compare the loss curves of two sides; `main` holds those of main's runs, oldest first.

    Where equal runs print equal losses, the first run of each side is judged by the tolerances, and by the
    mean of the last steps. Where they do not, all runs are judged by how far main's own lie apart. Where
    nobody knows, a difference beyond the tolerances is no verdict.
    """
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
    precision, precision_remark = _loss_precision(base, head)
    repeat = loss_repeat(_repeats_agree(first, second), current_level(main), loss_family(base, head))
    varies = repeat is LossRepeat.VARIES
    steps = thin_steps(common) if varies else common
    evidence = LossEvidence(
        base=first,
        head=second,
        steps=steps,
        precision=precision,
        repeat=repeat,
        band=_band(first, second, main, steps) if varies else None,
    )
    remarks = [precision_remark, _range_remark(one, other, len(common)), _repeat_remark(evidence)]
    decision = _judge_shift(_judge_curves(evidence), evidence)
    return replace(decision, reason="; ".join(text for text in (decision.reason, *remarks) if text))


def loss_family(base: Sequence[RunLog], head: Sequence[RunLog]) -> DeviceFamily | None:
    """Return the family of device of all runs, None where they differ or one does not name its device."""
    families = {device_family(run.environment.device_kind) for run in (*base, *head)}
    return families.pop() if len(families) == 1 else None


def _repeats_agree(*sides: Sequence[LossCurve]) -> list[bool]:
    """Tell of each repeat whether it prints what the first run of its side does, on their common steps."""
    return [
        all(prints_again(point, other.points.get(step)) for step, point in side[0].points.items())
        for side in sides
        for other in side[1:]
    ]


def _band(
    base: Sequence[LossCurve], head: Sequence[LossCurve], main: Sequence[LossTrace], steps: Sequence[int]
) -> LossBand | None:
    """Return how far equal runs lie apart on these steps; a run of base that is also main's counts once."""
    wanted = set(steps)
    groups = [
        [[best_loss(curve, step) for step in steps] for curve in side if curve.points.keys() >= wanted]
        for side in (base, head)
    ]
    own = {loss_digest(curve) for curve in base}
    past = [one.points() for one in current_level(main) if one.digest not in own]
    groups.append([[points[step] for step in steps] for points in past if points.keys() >= wanted])
    if not all(0 < loss < inf for group in groups for curve in group for loss in curve):
        return None
    return loss_band(*groups)


def _align_curves(evidence: LossEvidence) -> AlignedCurves:
    """Return both sides, step by step: the first run of each, or the mean of all where the band is known."""
    one, other, band = evidence.base[0], evidence.head[0], evidence.band
    pairs = [loss_pair(one, other, step) for step in evidence.steps]
    if band is not None:
        pairs = [
            item._replace(base=exp(level), head=exp(level + apart))
            for item, level, apart in zip(pairs, band.level, band.apart, strict=True)
        ]
    wide = [0.0] * len(pairs) if band is None else band.allowed
    allowed = [
        max(
            rounding_tolerance(evidence.precision, item.step) * item.smaller,
            2 * item.rounding,
            expm1(width) * item.smaller,
        )
        for item, width in zip(pairs, wide, strict=True)
    ]
    return AlignedCurves(pairs=pairs, allowed=allowed)


def _judge_curves(evidence: LossEvidence) -> LossDecision:
    """Return the worst verdict that applies to any step."""
    aligned = _align_curves(evidence)
    base, head = evidence.base[0], evidence.head[0]
    pairs = aligned.pairs
    different = next((item.step for item in pairs if not item.same_digits), None)
    outside = [
        item for item, allowed in zip(pairs, aligned.allowed, strict=True) if _is_outside(item, allowed)
    ]
    finite = [place for place, item in enumerate(pairs) if item.finite]
    place = max(finite, key=lambda place: _relative_difference(pairs[place]), default=None)
    worst = None if place is None else pairs[place]
    bad = _nonfinite_step(base, head)
    starts_together = pairs[0].step == min(base.points) == min(head.points)
    reason = "" if bad is None else f"one side's loss is NaN or infinite from step {bad} on"
    if bad is not None:
        verdict = LossVerdict.DIVERGED
    elif outside and _is_unjudged(evidence):
        verdict = LossVerdict.NOT_COMPARABLE
        reason = _unjudged_reason(evidence, outside[0].step, worst)
    elif any(_is_outside(item, DIVERGED_SHARE * item.smaller) for item in outside):
        verdict = LossVerdict.DIVERGED
    elif outside and outside[0].step == pairs[0].step and starts_together:
        verdict = LossVerdict.DIFFERENT_START
    elif outside:
        verdict = LossVerdict.DRIFTED
    else:
        verdict = LossVerdict.IDENTICAL if different is None else LossVerdict.WITHIN_TOLERANCE
    return LossDecision(
        verdict=verdict,
        first_difference_step=different,
        first_outside_step=outside[0].step if outside else bad,
        max_relative=None if worst is None else _relative_difference(worst),
        worst_step=None if worst is None else worst.step,
        allowed_relative=aligned.allowed[place] / worst.smaller
        if place is not None and worst is not None and worst.smaller
        else None,
        compared_steps=len(pairs),
        digits=_compared_digits(evidence),
        repeat=evidence.repeat,
        reason=reason,
    )


def _judge_shift(decision: LossDecision, evidence: LossEvidence) -> LossDecision:
    """Judge the mean of the last steps, where no single step decided."""
    if decision.verdict is not LossVerdict.WITHIN_TOLERANCE:
        return decision
    band = evidence.band
    if band is not None:
        moved = abs(band.shift) > max(band.shift_allowed, _last_tolerance(evidence) * SHIFT_FLOOR)
        steps = shift_steps(len(evidence.steps))
        found = replace(
            decision, shift=expm1(band.shift), shift_allowed=expm1(band.shift_allowed), shift_steps=steps
        )
        return _drifted(found, evidence.steps[-steps]) if moved else found
    curves = [
        [best_loss(side[0], step) for step in evidence.steps] for side in (evidence.base, evidence.head)
    ]
    shift = find_shift(*curves)
    if shift is None:
        return decision
    found = replace(decision, shift=expm1(shift.mean), shift_steps=shift.steps)
    if not is_systematic(shift, _last_tolerance(evidence)):
        return found
    start = evidence.steps[-shift.steps]
    if not _is_unjudged(evidence):
        return _drifted(found, start)
    return replace(found, verdict=LossVerdict.NOT_COMPARABLE, reason=_unjudged_reason(evidence, start, None))


def _drifted(decision: LossDecision, step: int) -> LossDecision:
    return replace(decision, verdict=LossVerdict.DRIFTED, first_outside_step=step)


def _last_tolerance(evidence: LossEvidence) -> float:
    return rounding_tolerance(evidence.precision, evidence.steps[-1])


def _is_unjudged(evidence: LossEvidence) -> bool:
    """Tell whether nobody knows how far equal runs of this program lie apart."""
    match evidence.repeat:
        case LossRepeat.REPEATS | LossRepeat.ASSUMED:
            return False
        case LossRepeat.VARIES:
            return evidence.band is None
        case LossRepeat.UNKNOWN:
            return True
        case _:
            assert_never(evidence.repeat)


def _unjudged_reason(evidence: LossEvidence, step: int, worst: LossPair | None) -> str:
    size = "" if worst is None else f" by up to {100 * _relative_difference(worst):.2g} %"
    known = (
        "equal runs differ too" if evidence.repeat is LossRepeat.VARIES else "equal runs may differ as much"
    )
    return (
        f"the losses differ{size} from step {step} on, but {known}, and too few runs show by how much: "
        f"{MIN_BAND_FREEDOM + 1} runs of main would"
    )


def _repeat_remark(evidence: LossEvidence) -> str:
    band = evidence.band
    if evidence.repeat is not LossRepeat.VARIES or band is None:
        return ""
    return (
        f"equal runs of this case print different losses: {band.runs} runs of base and main set the tolerance"
    )


def _compared_digits(evidence: LossEvidence) -> str:
    one, other = evidence.base[0], evidence.head[0]
    exact = all(has_perplexity(side, evidence.steps) for side in (one, other))
    return "perplexity" if exact else f"loss to {min(one.decimals, other.decimals)} decimals"


def rounding_tolerance(precision: Precision, step: int) -> float:
    """Return the relative difference that rounding alone may have made by this step."""
    place = sum(step > bound for bound in TOLERANCE_STEPS)
    return LOSS_TOLERANCE[precision][place]


def _relative_difference(item: LossPair) -> float:
    return abs(item.head / item.base - 1) if item.base else item.apart


def _is_outside(item: LossPair, allowed: float) -> bool:
    if item.finite:
        return item.apart > allowed
    return not item.same_digits


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


def _no_common_step(base: LossCurve, head: LossCurve) -> str:
    silent = [name for name, side in (("base", base), ("head", head)) if not side.points]
    if silent:
        return f"no loss is printed on {' and '.join(silent)}"
    return f"no common step: base has {_step_range(base)}, head has {_step_range(head)}"


def _not_comparable(reason: str) -> LossDecision:
    return LossDecision(verdict=LossVerdict.NOT_COMPARABLE, reason=reason)
