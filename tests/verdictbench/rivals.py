"""The rules of other tools, written from their documentation, with the two rank tests they need."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from math import comb, exp, sqrt
from statistics import NormalDist, fmean, median, stdev

from bot.verdict.statistics import t_quantile

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


class Call(StrEnum):
    """What a rule says of a case."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


ALARMS = frozenset({Call.SLOWER, Call.FASTER})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFigures:
    """A metric's values; `history` is main's, oldest first, the base runs not among them."""

    base: Sequence[float]
    head: Sequence[float]
    history: Sequence[float] = ()


@lru_cache(maxsize=2)
def _mean_and_deviation(past: tuple[float, ...]) -> tuple[float, float]:
    """Return both of two values or more; remembered, since rules ask for those of one history in turn."""
    return fmean(past), stdev(past)


def _moved(change: float, *, at_least: float) -> Call:
    if abs(change) < at_least:
        return Call.SAME
    return Call.SLOWER if change > 0 else Call.FASTER


# rustc-perf, docs/comparison-analysis.md and site/src/comparison.rs
RUSTC_COMMITS = 30  # NUM_PREVIOUS_COMMITS

RUSTC_FENCE = 3.0  # IQR_MULTIPLIER

RUSTC_DEFAULT = 0.002  # the significance threshold where there is no history


def rustc_perf(shown: CaseFigures) -> Call:
    """A change is significant past Q3 + 3 IQR of the relative changes between adjacent commits of main.

    Q3 and Q1 are the medians of the upper and the lower half. One run a commit.
    """
    past = [*shown.history, shown.base[-1]][-RUSTC_COMMITS:]
    deltas = sorted(abs(after / before - 1) for before, after in pairwise(past))
    fence = RUSTC_DEFAULT
    if len(deltas) >= 4:
        half = len(deltas) // 2
        low, high = median(deltas[:half]), median(deltas[-half:])
        fence = high + RUSTC_FENCE * (high - low)
    return _moved(shown.head[-1] / shown.base[-1] - 1, at_least=fence)


# Bencher, explanation/thresholds: Student's t-test; its example has these two
BENCHER_BOUNDARY = 0.99

BENCHER_SAMPLES = 64


def bencher(shown: CaseFigures) -> Call:
    """An alert is a new value outside the prediction interval of main's: mean and t quantile."""
    past = [*shown.history, *shown.base][-BENCHER_SAMPLES:]
    if len(past) < 2:
        return Call.SAME
    mean, deviation = _mean_and_deviation(tuple(past))
    reach = t_quantile(BENCHER_BOUNDARY, len(past) - 1) * deviation * sqrt(1 + 1 / len(past))
    return _moved(shown.head[-1] - mean, at_least=reach)


# Conbench, docs/pages/lookback_zscore.md
CONBENCH_COMMITS = 100  # DISTRIBUTION_COMMITS

CONBENCH_Z = 5.0  # the default threshold


def conbench(shown: CaseFigures) -> Call:
    """A regression is a z-score past 5 against the base commit and its ancestors."""
    past = [*shown.history, *shown.base][-CONBENCH_COMMITS:]
    mean, deviation = _mean_and_deviation(tuple(past)) if len(past) >= 2 else (0.0, 0.0)
    if deviation == 0:
        return Call.SAME
    return _moved((shown.head[-1] - mean) / deviation, at_least=CONBENCH_Z)


# CodSpeed, features/customization: the regression threshold
CODSPEED_DEFAULT = 0.10

CODSPEED_STRICT = 0.05  # a stricter setting that its users choose


def codspeed(shown: CaseFigures) -> Call:
    """A flat percentage, 10 % unless set otherwise."""
    return _moved(fmean(shown.head) / fmean(shown.base) - 1, at_least=CODSPEED_DEFAULT)


def codspeed_strict(shown: CaseFigures) -> Call:
    """A flat percentage of 5 %."""
    return _moved(fmean(shown.head) / fmean(shown.base) - 1, at_least=CODSPEED_STRICT)


def any_difference(shown: CaseFigures) -> Call:
    """Today's page: whatever differs in the printed digits is coloured."""
    change = shown.head[-1] - shown.base[-1]
    return _moved(change, at_least=1e-9)


# benchstat, cmd/benchstat/main.go
BENCHSTAT_ALPHA = 0.05

BENCHSTAT_LEAST = 4  # "need >= 4 samples to detect a difference at alpha level 0.05"


def benchstat(shown: CaseFigures) -> Call:
    """Mann-Whitney U at 0.05 on the runs of both sides; with fewer than four a side it cannot tell."""
    if min(len(shown.base), len(shown.head)) < BENCHSTAT_LEAST:
        return Call.INCONCLUSIVE
    if mann_whitney(shown.base, shown.head) >= BENCHSTAT_ALPHA:
        return Call.SAME
    return _moved(median(shown.head) - median(shown.base), at_least=0.0)


# Pinpoint, models/compare/compare.py, thresholds.py, models/job_state.py
PINPOINT_LOW = 0.01

PINPOINT_FIRST = 10  # attempts a side at first, doubled while unknown

PINPOINT_HIGH = {10: 0.57, 20: 0.086, 40: 0.003}
"""The 99th percentile of Mann-Whitney's p between normal samples 1.0 IQR apart, by attempts a side: the
definition of thresholds_performance.py; a test computes them again. At 40 it lies below the low threshold."""


def pinpoint(shown: CaseFigures) -> Call:
    """The smaller p of Kolmogorov-Smirnov and Mann-Whitney: different up to 0.01, the same past the upper
    threshold, between them unknown, and the attempts are doubled. `shown` holds 40 runs a side to take from.
    """
    for attempts, high in PINPOINT_HIGH.items():
        base, head = shown.base[:attempts], shown.head[:attempts]
        if len(base) < attempts or len(head) < attempts:
            return Call.INCONCLUSIVE
        p = min(kolmogorov_smirnov(base, head), mann_whitney(base, head))
        if p <= PINPOINT_LOW:
            return _moved(median(head) - median(base), at_least=0.0)
        if p > high:
            return Call.SAME
    return Call.SAME
