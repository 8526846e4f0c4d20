"""The rank tests, held against SciPy's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu  # type: ignore[import-untyped]

from tests.verdictbench.dice import dice
from tests.verdictbench.ranks import kolmogorov_smirnov, mann_whitney
from tests.verdictbench.rivals import PINPOINT_HIGH

samples = st.lists(st.integers(0, 10**9).map(float), min_size=4, max_size=12, unique=True)


@settings(max_examples=60, deadline=None)
@given(samples, samples)
def test_mann_whitney_is_exact(one: list[float], other: list[float]) -> None:
    """Counted out, as SciPy does where nothing is tied."""
    other = [value + 0.5 for value in other]
    assert mann_whitney(one, other) == pytest.approx(
        float(mannwhitneyu(one, other, method="exact").pvalue), rel=1e-9
    )


@pytest.mark.parametrize("shift", [0.0, 0.4, 1.0])
def test_mann_whitney_of_many_is_normal(shift: float) -> None:
    """Forty a side, and ties."""
    draws = dice("ranks", shift)
    one = [round(draws.gauss(0, 1), 1) for _ in range(40)]
    other = [round(draws.gauss(shift, 1), 1) for _ in range(40)]
    assert mann_whitney(one, other) == pytest.approx(
        float(mannwhitneyu(one, other, method="asymptotic").pvalue), rel=1e-9
    )


def test_equal_samples_do_not_differ() -> None:
    """No variance, no evidence."""
    assert (1.0, 1.0) == (mann_whitney([1.0] * 5, [1.0] * 5), kolmogorov_smirnov([1.0] * 5, [1.0] * 5))


def test_kolmogorov_smirnov_has_its_level() -> None:
    """At no change its p lies below 0.01 in about 1 of 100 comparisons of ten runs a side."""
    draws = dice("ks")
    hits = sum(
        kolmogorov_smirnov([draws.random() for _ in range(10)], [draws.random() for _ in range(10)]) <= 0.01
        for _ in range(4000)
    )
    assert 5 <= hits <= 80


@pytest.mark.parametrize("runs", [10, 20])
def test_pinpoints_upper_thresholds_are_what_defines_them(runs: int) -> None:
    """The 99th percentile of p between normal samples one interquartile range, 1.349 SD, apart."""
    draws = dice("pinpoint", runs)
    found = sorted(
        mann_whitney([draws.gauss(0, 1) for _ in range(runs)], [draws.gauss(1.349, 1) for _ in range(runs)])
        for _ in range(2500)
    )
    assert found[int(0.99 * len(found))] == pytest.approx(PINPOINT_HIGH[runs], rel=0.35)
