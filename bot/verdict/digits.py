"""How finely a log prints its numbers, told from the numbers themselves.

In:  values as read. Out: a count of decimals, or the last digit of timestamps.
Promises: no assumption about who wrote the log.
"""

from collections.abc import Iterable, Sequence
from math import sqrt

MOST_DECIMALS = 9
"""Finer than any trainer prints; past it a float's own error would be counted as digits."""

ENOUGH_VALUES = 4
"""Every tenth value ends in 0 by chance: with four values a digit is overlooked once in 10,000 logs."""


def printed_decimals(values: Iterable[float], *, at_least: int = 0) -> int:
    """Return the decimals that `values` were printed with, at least `at_least` where they are few."""
    known = list(values)
    shown = 0
    for value in known:  # what a value before it was not printed with need not be tried again
        shown = _decimals(value, shown)
    return max(shown, at_least) if len(known) < ENOUGH_VALUES else shown


def time_digit(times: Sequence[float]) -> float:
    """Return the seconds of the last digit of timestamps (Unix seconds)."""
    return next((digit for digit in (1.0, 0.1, 0.01, 0.001) if _are_multiples(times, digit)), 1e-6)


def time_resolution(times: Sequence[float]) -> float:
    """Return what the last digit of timestamps does to a gap, which two of them bound, in seconds."""
    return sqrt(2) * time_digit(times)


def _are_multiples(times: Sequence[float], digit: float) -> bool:
    """Tell whether all times are whole numbers of a digit; a float of today's date is good to 1e-6 s."""
    return all(abs(time / digit - round(time / digit)) * digit < 2e-6 for time in times)


def _decimals(value: float, least: int) -> int:
    for count in range(least, MOST_DECIMALS):
        if abs(round(value, count) - value) <= 1e-12 * abs(value):
            return count
    return MOST_DECIMALS
