"""A run's loss curve as numbers that can be compared, and how finely they are known.

In:  a `RunLog`. Out: `Curve`: loss and perplexity by step.
Promises: of a step printed twice (a restart) the last one counts; what is not printed is absent.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite, isnan, log
from typing import NamedTuple

from bot.logs.facts import RunLog, Step
from bot.verdict.digits import printed_decimals

LEAST_DECIMALS = 3
"""What MaxText prints; a handful of round values must not pass for a coarser log."""

HALF_A_DIGIT = 0.51
"""Half of the last digit, and a little for binary rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Step lines that state a loss, by step; `decimals` is how many the loss is printed with, `exact` holds
    the losses that their perplexities tell, where these belong to them."""

    points: Mapping[int, Step]
    decimals: int
    exact: Mapping[int, float]


class Pair(NamedTuple):
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


def curve(log: RunLog) -> Curve:
    """Return the loss curve of a run."""
    points = {step.step: step for step in log.steps if step.loss is not None}
    decimals = _decimals(points.values())
    told = ((step, _exact(point, decimals)) for step, point in points.items())
    return Curve(
        points=points, decimals=decimals, exact={step: loss for step, loss in told if loss is not None}
    )


def pair(base: Curve, head: Curve, step: int) -> Pair:
    """Return one step on both sides, from the perplexity where both print one that belongs to the loss.

    ln(perplexity) holds the loss to 1e-7 where the loss itself has three decimals.
    """
    one, other = base.points[step], head.points[step]
    same = _same(one.loss, other.loss) and _same_where_both(_perplexity(one), _perplexity(other))
    first, second = base.exact.get(step), head.exact.get(step)
    if first is not None and second is not None:
        least = min(one.perplexity or 1.0, other.perplexity or 1.0)
        rounding = HALF_A_DIGIT * 10.0**-LEAST_DECIMALS / least
        return Pair(step=step, base=first, head=second, rounding=rounding, same_digits=same)
    decimals = min(base.decimals, head.decimals)
    return Pair(
        step=step,
        base=one.loss if one.loss is not None else 0.0,
        head=other.loss if other.loss is not None else 0.0,
        rounding=HALF_A_DIGIT * 10.0**-decimals,
        same_digits=same,
    )


def has_perplexity(loss_curve: Curve, steps: Iterable[int]) -> bool:
    """Tell whether every one of these steps prints a perplexity."""
    return all(_perplexity(loss_curve.points[step]) is not None for step in steps)


def goes_bad(log: RunLog) -> bool:
    """Tell whether any step's loss is NaN or infinite."""
    return any(step.loss is not None and not isfinite(step.loss) for step in log.steps)


def _decimals(points: Iterable[Step]) -> int:
    losses = [point.loss for point in points if point.loss is not None and isfinite(point.loss)]
    return printed_decimals(losses, at_least=LEAST_DECIMALS)


def _exact(point: Step, decimals: int) -> float | None:
    """Return the loss from the perplexity, None where that belongs to another loss (without aux terms)."""
    perplexity = _perplexity(point)
    if perplexity is None or not isfinite(perplexity) or point.loss is None:
        return None
    loss = log(perplexity)
    resolution = HALF_A_DIGIT * (10.0**-decimals + 10.0**-LEAST_DECIMALS / perplexity)
    return loss if abs(loss - point.loss) <= resolution else None


def _perplexity(point: Step) -> float | None:
    """Return the perplexity; MaxText prints 0.000 for one it was not given."""
    return point.perplexity if point.perplexity is None or not point.perplexity <= 0 else None


def _same_where_both(one: float | None, other: float | None) -> bool:
    return one is None or other is None or _same(one, other)


def _same(one: float | None, other: float | None) -> bool:
    both_nan = one is not None and other is not None and isnan(one) and isnan(other)
    return both_nan or one == other
