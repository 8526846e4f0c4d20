"""Student's t, the normal distribution, derivatives of ln gamma and the error of a median, without SciPy."""

import math
from collections.abc import Sequence
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


ASYMPTOTIC_FROM = 8.0
"""From here on the asymptotic series below are good to 1e-13; smaller arguments are shifted up to it."""


def digamma(x: float) -> float:
    """Return the derivative of ln gamma for x > 0. Source: Abramowitz and Stegun, 6.3.5 and 6.3.18."""
    shift = 0.0
    while x < ASYMPTOTIC_FROM:
        shift -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (
        1 / 12
        - square
        * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132 - square * 691 / 32760))))
    )
    return shift + math.log(x) - 1 / (2 * x) - series


def trigamma(x: float) -> float:
    """Return the second derivative of ln gamma for x > 0. Source: Abramowitz and Stegun, 6.4.6 and 6.4.12."""
    shift = 0.0
    while x < ASYMPTOTIC_FROM:
        shift += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    tail = 1 / 30 - square * (1 / 42 - square * (1 / 30 - square * (5 / 66 - square * 691 / 2730)))
    series = square / x * (1 / 6 - square * tail)
    return shift + 1 / x + square / 2 + series


def inverse_trigamma(y: float) -> float:
    """Return x with trigamma(x) = y, for y > 0. Source: Smyth (2004), appendix: Newton on 1 / trigamma, which
    is convex, so that it converges from any start above."""
    if y > 1e7:
        return 1 / math.sqrt(y)
    if y < 1e-6:
        return 1 / y
    x = 0.5 + 1 / y
    for _ in range(50):
        value = trigamma(x)
        step = value * (1 - value / y) / _tetragamma(x)
        x += step
        if -step / x < 1e-12:
            break
    return x


def _tetragamma(x: float) -> float:
    """Return the third derivative of ln gamma. Source: Abramowitz and Stegun, 6.4.6 and 6.4.13."""
    shift = 0.0
    while x < ASYMPTOTIC_FROM:
        shift -= 2 / x**3
        x += 1
    square = 1 / (x * x)
    tail = 1 / 6 - square * (1 / 6 - square * (3 / 10 - square * 5 / 6))
    series = square * square * (1 / 2 - square * tail)
    return shift - square - square / x - series


MEDIAN_PLACES_Z = 1.2816
"""Places that bound an 80 % interval of the median: of sixteen intervals the sixth and the eleventh, so that
five of them may be of another length. McKean and Schrader's 99 % takes the third and the fourteenth, and sees
every fourth step that is longer."""


def median_standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a median from two order statistics; 0 for fewer than two values.

    Source: McKean and Schrader (1984): the distance of the two values that bound an interval of the median,
    in normal deviations of their places. It sees only what lies near the median, so that steps which
    alternate between two lengths leave it small while the median lies among one of them.
    """
    ordered, count = sorted(values), len(values)
    if count < 2:
        return 0.0
    place = max(1, round((count + 1) / 2 - MEDIAN_PLACES_Z * math.sqrt(count) / 2))
    deviations = (count + 1 - 2 * place) / math.sqrt(count)
    return (ordered[count - place] - ordered[place - 1]) / (2 * deviations)
