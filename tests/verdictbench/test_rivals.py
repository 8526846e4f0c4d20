"""Each rival rule does what its documentation says; the rank tests agree with SciPy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu  # type: ignore[import-untyped]

from tests.verdictbench.rivals import (
    PINPOINT_HIGH,
    Call,
    CaseFigures,
    any_difference,
    bencher,
    benchstat,
    codspeed,
    codspeed_strict,
    conbench,
    kolmogorov_smirnov,
    mann_whitney,
    pinpoint,
    rustc_perf,
)
from tests.verdictbench.simulation import seeded

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
    draws = seeded("ranks", shift)
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
    draws = seeded("ks")
    hits = sum(
        kolmogorov_smirnov([draws.random() for _ in range(10)], [draws.random() for _ in range(10)]) <= 0.01
        for _ in range(4000)
    )
    assert 5 <= hits <= 80


@pytest.mark.parametrize("runs", [10, 20])
def test_pinpoints_upper_thresholds_are_what_defines_them(runs: int) -> None:
    """The 99th percentile of p between normal samples one interquartile range, 1.349 SD, apart."""
    draws = seeded("pinpoint", runs)
    found = sorted(
        mann_whitney([draws.gauss(0, 1) for _ in range(runs)], [draws.gauss(1.349, 1) for _ in range(runs)])
        for _ in range(2500)
    )
    assert found[int(0.99 * len(found))] == pytest.approx(PINPOINT_HIGH[runs], rel=0.35)


WAVE = [100.0, 101.0, 100.0, 99.0] * 8  # adjacent changes of about 1 %; mean 100, SD 0.72


def _one(head: float, history: list[float] | None = None) -> CaseFigures:
    return CaseFigures(base=[100.0], head=[head], history=WAVE[:30] if history is None else history)


@pytest.mark.parametrize(("head", "call"), [(100.9, Call.SAME), (101.1, Call.SLOWER), (98.9, Call.FASTER)])
def test_rustc_perf_fences_the_changes_between_commits(head: float, call: Call) -> None:
    """Q3 is 1.01 %, Q1 0.99 %: the fence stands at 1.06 %."""
    assert rustc_perf(_one(head)) is call


@pytest.mark.parametrize(("head", "call"), [(100.1, Call.SAME), (100.3, Call.SLOWER)])
def test_rustc_perf_without_history_takes_0_2_percent(head: float, call: Call) -> None:
    """Its default threshold."""
    assert rustc_perf(_one(head, [])) is call


@pytest.mark.parametrize(("head", "call"), [(101.6, Call.SAME), (101.9, Call.SLOWER), (98.0, Call.FASTER)])
def test_bencher_draws_a_prediction_interval(head: float, call: Call) -> None:
    """t(0.99, 30) = 2.457, SD 0.72, n = 31: 1.8."""
    assert bencher(_one(head)) is call


@pytest.mark.parametrize(("head", "call"), [(103.4, Call.SAME), (103.8, Call.SLOWER), (96.2, Call.FASTER)])
def test_conbench_asks_for_five_standard_deviations(head: float, call: Call) -> None:
    """5 x 0.72 = 3.6."""
    assert conbench(_one(head)) is call


@pytest.mark.parametrize(("head", "calls"), [(104.0, "ss"), (106.0, "sS"), (111.0, "SS"), (89.0, "FF")])
def test_codspeed_is_a_flat_percentage(head: float, calls: str) -> None:
    """10 %, and 5 % where people set it so."""
    words = {"s": Call.SAME, "S": Call.SLOWER, "F": Call.FASTER}
    assert [words[c] for c in calls] == [codspeed(_one(head)), codspeed_strict(_one(head))]


def test_the_page_colours_whatever_differs() -> None:
    """A thousandth is a difference."""
    heads = [100.0, 100.001, 99.999]
    assert [Call.SAME, Call.SLOWER, Call.FASTER] == [any_difference(_one(head)) for head in heads]


def test_benchstat_needs_four_runs_a_side() -> None:
    """With three the smallest possible p is 0.1."""
    three, four = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]
    assert benchstat(CaseFigures(base=three, head=[11.0, 12.0, 13.0])) is Call.INCONCLUSIVE
    assert benchstat(CaseFigures(base=four, head=[11.0, 12.0, 13.0, 14.0])) is Call.SLOWER
    assert benchstat(CaseFigures(base=four, head=[1.5, 2.5, 3.5, 4.5])) is Call.SAME


def test_pinpoint_runs_more_while_it_does_not_know() -> None:
    """Ten clear ones settle it; a suspicious ten are not enough where there are no more."""
    low = [float(n) for n in range(40)]
    assert pinpoint(CaseFigures(base=low, head=[value + 100 for value in low])) is Call.SLOWER
    assert pinpoint(CaseFigures(base=low, head=[value - 100 for value in low])) is Call.FASTER
    assert pinpoint(CaseFigures(base=low, head=[value + 0.5 for value in low])) is Call.SAME
    suspicious = CaseFigures(base=low[:10], head=[value + 2.5 for value in low[:10]])
    assert pinpoint(suspicious) is Call.INCONCLUSIVE
