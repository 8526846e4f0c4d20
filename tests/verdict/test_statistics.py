"""The quantiles agree with SciPy's."""

from importlib import import_module

import pytest

from bot.verdict.statistics import normal_quantile, t_quantile, upper_tail

stats = import_module("scipy.stats")  # it ships no types

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
