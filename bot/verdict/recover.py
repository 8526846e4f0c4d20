"""The digits that a log's `seconds` lost: recovered from the throughput printed beside them.

In:  step lines. Out: tokens and TFLOP per step and device, and each step's seconds to about 1e-7.
Promises: a recovered value that contradicts the printed one is not used; what cannot be recovered stays as
printed.

`seconds` has millisecond resolution, 0.7 % of a 70 ms step; `Tokens/s/device` is a constant divided by the
same number and carries it in full. The constant is read from the lines on which rounding weighs least.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

from bot.logs.facts import Step

TOO_BLURRED = 0.002
"""A rate such as 0.003 TFLOP/s holds one digit: a constant that rounding may have moved more is not known."""

CLEAREST = 3
"""Lines that a constant is read from: the median of three survives one odd line."""

HALF_A_DIGIT = 0.0006
"""Half the last printed digit, 0.001, of `seconds` and of the rates, and a little for binary rounding."""

SAME_NUMBER = 0.01
"""A recovered value this close to the printed one is the same number with more digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What one step does on one device: tokens and TFLOP, None where the lines do not tell."""

    tokens: float | None = None
    tflop: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A duration and the rate printed with it; `exact` where the duration is not itself rounded."""

    seconds: float
    rate: float
    exact: bool = False


def constants(steps: Sequence[Step], devices: int | None) -> Constants:
    """Return the work of one step on one device, as its lines' rates imply it."""
    tokens = _tokens(steps, devices)
    work = Constants(tokens=tokens)
    products = [
        Product(
            seconds=recovered_seconds(step, work) or 0, rate=step.tflops_per_device or 0, exact=bool(tokens)
        )
        for step in steps
    ]
    return Constants(tokens=tokens, tflop=_constant(products))


def recovered_seconds(step: Step, work: Constants) -> float | None:
    """Return a step's seconds with every digit that its line holds, None where it prints none above zero."""
    if step.seconds is None or not _is_positive(step.seconds):
        return None
    for amount, rate in ((work.tokens, step.tokens_per_device), (work.tflop, step.tflops_per_device)):
        if amount and rate is not None and _is_positive(rate):
            exact = amount / rate
            if abs(exact - step.seconds) <= HALF_A_DIGIT + SAME_NUMBER * step.seconds:
                return exact
    return step.seconds


def _tokens(steps: Sequence[Step], devices: int | None) -> float | None:
    """Return total_weights / devices where the lines agree with it, else what they imply, rounded.

    They disagree on real data, where padding has no weight.
    """
    products = [Product(seconds=step.seconds or 0, rate=step.tokens_per_device or 0) for step in steps]
    clearest = _clearest(products)
    if not clearest:
        return None
    implied, blur = _middle(clearest), max(map(_blur, clearest))
    weighed = _weighed(steps, devices)
    if weighed is not None and abs(weighed / implied - 1) <= blur:
        return weighed
    return None if blur > TOO_BLURRED else float(round(implied)) or implied


def _weighed(steps: Sequence[Step], devices: int | None) -> float | None:
    """Return total_weights / devices where all lines state the same weights."""
    weights = {step.total_weights for step in steps}
    weight = weights.pop() if len(weights) == 1 else None
    return weight / devices if weight and devices else None


def _constant(products: Sequence[Product]) -> float | None:
    clearest = _clearest(products)
    if not clearest or max(map(_blur, clearest)) > TOO_BLURRED:
        return None
    return _middle(clearest)


def _middle(products: Sequence[Product]) -> float:
    return median(product.seconds * product.rate for product in products)


def _clearest(products: Sequence[Product]) -> Sequence[Product]:
    positive = (one for one in products if _is_positive(one.seconds) and _is_positive(one.rate))
    usable = (one for one in positive if _is_positive(one.seconds * one.rate))
    return sorted(usable, key=_blur)[:CLEAREST]


def _is_positive(figure: float) -> bool:
    return isfinite(figure) and figure > 0


def _blur(product: Product) -> float:
    """Return how far, relatively, rounding may have moved a product."""
    of_seconds = 0.0 if product.exact else HALF_A_DIGIT / product.seconds
    return of_seconds + HALF_A_DIGIT / product.rate
