"""The digits that a log's `seconds` lost: recovered from the throughput printed beside them.

In:  step lines. Out: tokens and TFLOP per step and device, and each step's seconds to about 1e-7.
Promises: a recovered value that contradicts the printed one is not used; what cannot be recovered stays as
printed.

`seconds` has millisecond resolution, 0.7 % of a 70 ms step; `Tokens/s/device` is a constant divided by the
same number and carries it in full. The constant is read from the lines on which rounding weighs least.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import inf
from operator import itemgetter
from statistics import median
from typing import NamedTuple

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


class Product(NamedTuple):
    """A duration times the rate beside it; `blur` is how far, relatively, rounding may have moved it."""

    blur: float
    work: float


def constants(steps: Sequence[Step], devices: int | None) -> Constants:
    """Return the work of one step on one device, as its lines' rates imply it."""
    tokens = _tokens(steps, devices)
    work = Constants(tokens=tokens)
    exact = bool(tokens)
    seconds = [recovered_seconds(step, work) if exact else step.seconds for step in steps]
    rates = [step.tflops_per_device for step in steps]
    return Constants(
        tokens=tokens, tflop=_constant(_clearest(seconds, rates, off=0.0 if exact else HALF_A_DIGIT))
    )


def recovered_seconds(step: Step, work: Constants) -> float | None:
    """Return a step's seconds with every digit that its line holds, None where it prints none above zero."""
    seconds = step.seconds
    if seconds is None or not 0 < seconds < inf:
        return None
    for amount, rate in ((work.tokens, step.tokens_per_device), (work.tflop, step.tflops_per_device)):
        if amount and rate is not None and 0 < rate < inf:
            exact = amount / rate
            if abs(exact - seconds) <= HALF_A_DIGIT + SAME_NUMBER * seconds:
                return exact
    return seconds


def _tokens(steps: Sequence[Step], devices: int | None) -> float | None:
    """Return total_weights / devices where the lines agree with it, else what they imply, rounded.

    They disagree on real data, where padding has no weight.
    """
    clearest = _clearest(
        [step.seconds for step in steps], [step.tokens_per_device for step in steps], off=HALF_A_DIGIT
    )
    if not clearest:
        return None
    implied, blur = _middle(clearest), clearest[-1].blur
    weighed = _weighed(steps, devices)
    if weighed is not None and abs(weighed / implied - 1) <= blur:
        return weighed
    known = blur <= TOO_BLURRED and _are_most_lines(steps, implied)
    return (float(round(implied)) or implied) if known else None


def _are_most_lines(steps: Sequence[Step], tokens: float) -> bool:
    """Whether half of the lines or more print these tokens over their seconds as their rate: one that is the
    same on every line, whatever they took, is nobody's measurement of them."""
    printed = [
        (step.seconds, step.tokens_per_device)
        for step in steps
        if step.seconds is not None and step.tokens_per_device is not None
        if 0 < step.seconds < inf and 0 < step.tokens_per_device < inf
    ]
    agree = sum(
        abs(tokens / rate - seconds) <= HALF_A_DIGIT + SAME_NUMBER * seconds for seconds, rate in printed
    )
    return 2 * agree >= len(printed)


def _weighed(steps: Sequence[Step], devices: int | None) -> float | None:
    """Return total_weights / devices where all lines state the same weights."""
    weights = {step.total_weights for step in steps}
    weight = weights.pop() if len(weights) == 1 else None
    return weight / devices if weight and devices else None


def _constant(clearest: Sequence[Product]) -> float | None:
    return _middle(clearest) if clearest and clearest[-1].blur <= TOO_BLURRED else None


def _middle(products: Sequence[Product]) -> float:
    return median(product.work for product in products)


def _clearest(
    durations: Iterable[float | None], rates: Iterable[float | None], *, off: float
) -> Sequence[Product]:
    """Return the products on which rounding weighs least, the clearest first; a duration was rounded by at
    most `off` seconds."""
    found = []
    for seconds, rate in zip(durations, rates, strict=True):
        if seconds is None or rate is None or not (0 < seconds < inf and 0 < rate < inf):
            continue
        work = seconds * rate
        if 0 < work < inf:
            found.append(Product(off / seconds + HALF_A_DIGIT / rate, work))
    return nsmallest(CLEAREST, found, key=itemgetter(0))
