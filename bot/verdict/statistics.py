"""Student's t and the normal distribution, to about ten digits, without SciPy."""

import math
from functools import lru_cache
from statistics import NormalDist

LENTZ_TINY = 1e-300
"""Replaces a zero denominator in Lentz's method; far below any value that matters."""

CONVERGED = 1e-15
"""A factor this close to 1 no longer changes a float."""

MAX_TERMS = 500
"""The fraction needs about sqrt(max(a, b)) terms: this covers more than 100,000 degrees of freedom."""


def normal_quantile(p: float) -> float:
    """Return z with P(Z <= z) = p, for 0 < p < 1."""
    return NormalDist().inv_cdf(p)


@lru_cache(maxsize=1024)
def t_quantile(p: float, nu: float) -> float:
    """Return t with P(T <= t) = p for `nu` degrees of freedom, by bisection on the distribution.

    Raises ValueError unless 0 < p < 1 and nu > 0.
    """
    if not 0 < p < 1 or nu <= 0:
        raise ValueError(f"no t quantile for p={p}, nu={nu}")
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -t_quantile(1 - p, nu)
    low, high = 0.0, 1.0
    while upper_tail(high, nu) > 1 - p:
        low, high = high, high * 2
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if upper_tail(middle, nu) > 1 - p else (low, middle)
    return (low + high) / 2


def upper_tail(t: float, nu: float) -> float:
    """Return P(T > t) for t >= 0: half of I_x(nu/2, 1/2) at x = nu / (nu + t^2).

    Source: Abramowitz and Stegun, 26.7.1 and 26.5.27.
    """
    if math.isinf(t):
        return 0.0
    if t * t < nu:  # x is close to 1: its small complement keeps the digits
        return 0.5 - incomplete_beta(t * t / (nu + t * t), 0.5, nu / 2) / 2
    return incomplete_beta(nu / (nu + t * t), nu / 2, 0.5) / 2


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b) for 0 <= x <= 1.

    Source: Abramowitz and Stegun, 26.5.8, on the side of the mean where the fraction converges fast.
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / a * _beta_fraction(x, a, b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of 26.5.8 by Lentz's method."""
    c = 1.0
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < CONVERGED:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > LENTZ_TINY else LENTZ_TINY
