"""The quantiles and the derivatives of ln gamma agree with SciPy's; the error of a median with draws."""

from importlib import import_module
from statistics import fmean, median, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.verdict.statistics import (
    digamma,
    inverse_trigamma,
    median_standard_error,
    normal_quantile,
    t_quantile,
    trigamma,
    upper_tail,
)
from tests.verdict.made_runs import normals

stats = import_module("scipy.stats")  # it ships no types

special = import_module("scipy.special")

PROBABILITIES = (0.0005, 0.01, 0.3, 0.6, 0.9, 0.975, 0.9995, 0.99999)


@pytest.mark.parametrize("nu", [1, 2, 3, 4, 5, 7, 14, 19, 38, 100, 1000, 100_000])
@pytest.mark.parametrize("p", PROBABILITIES)
def test_the_t_quantile_is_scipys(p: float, nu: int) -> None:
    """To nine digits, from one degree of freedom to a hundred thousand."""
    assert t_quantile(p, nu) == pytest.approx(stats.t.ppf(p, nu), rel=1e-9)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_the_normal_quantile_is_scipys(p: float) -> None:
    """The default noise of a device is judged with it."""
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-9)


@pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 5.0, 60.0, float("inf")])
def test_the_upper_tail_is_scipys(t: float) -> None:
    """The change point detector asks for it."""
    assert upper_tail(t, 9) == pytest.approx(stats.t.sf(t, 9), rel=1e-9)


def test_the_median_is_zero() -> None:
    """Half of the distribution lies below 0."""
    assert t_quantile(0.5, 3) == 0.0


@pytest.mark.parametrize(("p", "nu"), [(0.0, 3), (1.0, 3), (0.9, 0), (float("nan"), 3)])
def test_an_impossible_quantile_is_refused(p: float, nu: int) -> None:
    """No probability of 0 or 1, no distribution without freedom."""
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(p, nu)


@given(st.floats(1e-3, 1e5))
def test_the_derivatives_of_ln_gamma_are_scipys(x: float) -> None:
    """And the inverse of the second finds its way back."""
    assert digamma(x) == pytest.approx(float(special.digamma(x)), rel=1e-9, abs=1e-9)
    assert trigamma(x) == pytest.approx(float(special.polygamma(1, x)), rel=1e-9)
    assert inverse_trigamma(trigamma(x)) == pytest.approx(x, rel=1e-6)


def test_the_error_of_a_median_is_that_of_normal_draws() -> None:
    """Within a tenth on average, for twenty draws and more."""
    for count in (20, 60):
        draws = normals(count * 400, count)
        groups = [draws[place : place + count] for place in range(0, len(draws), count)]
        spread = stdev(map(median, groups))
        assert fmean(map(median_standard_error, groups)) == pytest.approx(spread, rel=0.15)


def test_steps_of_two_lengths_leave_the_error_of_the_median_small() -> None:
    """Every fourth of sixteen is 30 % longer: the mean's law would say 4 %."""
    lengths = [1.3 if place % 4 == 3 else 1 + 0.001 * place for place in range(16)]
    assert median_standard_error(lengths) < 0.01
    assert median_standard_error([1.0]) == 0.0
