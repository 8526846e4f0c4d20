"""The loss curve of a run, as exactly as its log states it."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from math import isfinite, isnan, log, nan
from typing import NamedTuple

from msgspec import Struct

from bot.logs.facts import RunLog, Step
from bot.verdict.judgement import LossTrace
from bot.verdict.timing import printed_decimals

MAX_TRACE_STEPS = 128
"""Steps of a stored loss curve: about 1 kB a run, and runs are kept for years."""

TRACE_TAIL = 64
"""Of these the last ones, whose mean is compared; the rest lie evenly over what comes before."""

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


def thin_steps(steps: Sequence[int]) -> Sequence[int]:
    """Return at most `MAX_TRACE_STEPS` of these steps: the last ones, and others evenly before them.

    Runs that log the same steps keep the same ones.
    """
    if len(steps) <= MAX_TRACE_STEPS:
        return steps
    early, late = steps[:-TRACE_TAIL], steps[-TRACE_TAIL:]
    wanted = MAX_TRACE_STEPS - TRACE_TAIL
    return [*(early[place * len(early) // wanted] for place in range(wanted)), *late]


def loss_trace(log: RunLog, sha: str | None = None) -> LossTrace | None:
    """Return the loss curve of a run as it is stored; None where the run prints no loss."""
    curve = read_loss_curve(log)
    if not curve.points:
        return None
    kept = thin_steps(sorted(curve.points))
    return LossTrace(
        digest=loss_digest(curve),
        steps=tuple(kept),
        losses=tuple(best_loss(curve, step) for step in kept),
        sha=sha,
    )


def loss_digest(curve: LossCurve) -> str:
    """Return a digest of all that a run printed of its loss."""
    printed = "\n".join(
        f"{step} {point.loss!r} {_stated_perplexity(point)!r}" for step, point in sorted(curve.points.items())
    )
    return blake2b(printed.encode(), digest_size=12).hexdigest()


def best_loss(curve: LossCurve, step: int) -> float:
    """Return the loss with every digit that its line holds."""
    loss = curve.points[step].loss
    return curve.exact.get(step, nan if loss is None else loss)


def prints_again(point: Step, again: Step | None) -> bool:
    """Tell whether a repeat prints the same at a step, or nothing."""
    return again is None or (
        _same_number(point.loss, again.loss) and _same_if_both(point.perplexity, again.perplexity)
    )
