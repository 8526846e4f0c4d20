"""Two rank tests on small samples: Mann-Whitney U and Kolmogorov-Smirnov, two-sided.

In:  two samples. Out: p values; a test holds both against SciPy.
Promises: exact for the sizes used here where no values are equal; else the usual approximations.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import comb, exp, sqrt
from statistics import NormalDist

EXACT = 20
"""Runs a side up to which U's distribution is counted out; beyond, the normal law is as good."""


def mann_whitney(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the two-sided p of U. Source: Mann and Whitney (1947); with ties the normal approximation."""
    pooled = sorted((*one, *other))
    tied = any(a == b for a, b in pairwise(pooled))
    u = sum((a > b) + 0.5 * (a == b) for a in one for b in other)
    larger = max(u, len(one) * len(other) - u)
    if not tied and max(len(one), len(other)) <= EXACT:
        return min(1.0, 2 * _upper(len(one), len(other), round(larger)))
    return _approximate(one, other, larger, pooled)


def _upper(n: int, m: int, u: int) -> float:
    """Return P(U >= u) under no difference."""
    return sum(_counts(n, m)[u:]) / comb(n + m, n)


@lru_cache(maxsize=64)
def _counts(n: int, m: int) -> tuple[int, ...]:
    """Return how many orders of n + m values give each U: the coefficients of a Gaussian binomial."""
    row = [1] + [0] * (n * m)
    for k in range(1, n + 1):
        for u in range(n * m, m + k - 1, -1):
            row[u] -= row[u - m - k]
        for u in range(k, n * m + 1):
            row[u] += row[u - k]
    return tuple(row)


def _approximate(
    one: Sequence[float], other: Sequence[float], larger: float, pooled: Sequence[float]
) -> float:
    n, m = len(one), len(other)
    total = n + m
    ties = sum(pooled.count(value) ** 3 - pooled.count(value) for value in set(pooled))
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    z = (larger - n * m / 2 - 0.5) / sqrt(variance)
    return min(1.0, 2 * (1 - NormalDist().cdf(z)))


def kolmogorov_smirnov(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the two-sided p of the largest gap between two distributions.

    Source: the asymptotic law with Stephens' correction for small samples (1970).
    """
    places = sorted({*one, *other})
    gap = max(abs(_share(one, place) - _share(other, place)) for place in places)
    n = sqrt(len(one) * len(other) / (len(one) + len(other)))
    x = (n + 0.12 + 0.11 / n) * gap
    if x < 0.2:
        return 1.0
    return min(1.0, max(0.0, 2 * sum((1 if k % 2 else -1) * exp(-2 * (k * x) ** 2) for k in range(1, 50))))


def _share(sample: Sequence[float], up_to: float) -> float:
    return sum(value <= up_to for value in sample) / len(sample)
