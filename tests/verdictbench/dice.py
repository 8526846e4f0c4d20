"""Draws that repeat: the same words give the same numbers on every machine and in every process.

In:  what the draws are for. Out: `random.Random`, and the few distributions that the standard library lacks.
"""

import random
from math import sqrt


def dice(*purpose: object) -> random.Random:
    """Return a generator seeded by its purpose, such as ("tpu", "history", 3)."""
    return random.Random("/".join(map(str, purpose)))  # noqa: S311 - repeatable noise, no secret


def student(draws: random.Random, freedom: float) -> float:
    """Draw from Student's t scaled to a standard deviation of 1; `freedom` > 2."""
    chi = draws.gammavariate(freedom / 2, 2)
    return draws.gauss(0, 1) / sqrt(chi / freedom) * sqrt((freedom - 2) / freedom)
