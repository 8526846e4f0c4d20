"""Where the noise between runs is taken from."""

from math import exp
from statistics import stdev

import pytest

from bot.verdict.change_points import ALPHA, NEVER_CERTAIN, change_points, since_last_change
from bot.verdict.judgement import Spread
from bot.verdict.noise import Noise, clean_history, run_to_run
from bot.verdict.peaks import Family
from bot.verdict.student import upper_tail
from tests.verdict.samples import normals


def _series(count: int, *, seed: int, sd: float = 0.0015, level: float = 0.147) -> list[float]:
    return [level * exp(sd * z) for z in normals(count, seed)]


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (Family.TPU, Noise(sd=0.004, nu=0, spread=Spread.DEVICE_DEFAULT)),
        (Family.GPU, Noise(sd=0.01, nu=0, spread=Spread.DEVICE_DEFAULT)),
        (Family.CPU, Noise(sd=None, nu=0, spread=Spread.UNKNOWN)),
        (None, Noise(sd=None, nu=0, spread=Spread.UNKNOWN)),
    ],
)
def test_one_run_a_side_takes_the_devices_default(family: Family | None, expected: Noise) -> None:
    """A CPU has none, nor has a device that the log does not name."""
    assert run_to_run([0.1], [0.1], [], family) == expected


def test_three_runs_a_side_measure_it() -> None:
    """Two degrees of freedom a side, pooled."""
    found = run_to_run([1.0, exp(0.01), exp(0.02)], [2.0, 2.0, 2.0], [], Family.CPU)
    assert (found.nu, found.spread) == (4, Spread.MEASURED)
    assert found.sd == pytest.approx(0.01 / 2**0.5)


def test_the_history_measures_it_alone() -> None:
    """The thirty newest main runs give twenty-nine degrees of freedom."""
    past = _series(40, seed=4)
    found = run_to_run([0.147], [0.147], past, Family.TPU)
    assert (found.nu, found.history, found.spread) == (29, 30, Spread.MEASURED)
    assert found.sd == pytest.approx(stdev(past[-30:]) / 0.147, rel=0.02)


def test_a_base_run_in_the_history_counts_once() -> None:
    """Base runs are main runs: their spread must not be counted twice."""
    past = _series(20, seed=4)
    assert run_to_run(past[-3:], [0.147], past, Family.TPU).nu == 19


def test_a_short_history_is_not_used() -> None:
    """Fourteen runs do not estimate a tail."""
    assert clean_history(_series(14, seed=2)) == ()


def test_glitches_are_dropped() -> None:
    """One bad night does not widen the band for weeks."""
    past = _series(20, seed=8)
    assert 0.16 not in clean_history([*past[:9], 0.16, *past[9:]])


def test_what_happens_twice_is_no_glitch() -> None:
    """A quarter of the runs on slower slices is how the case is, and how head may be."""
    past = [seconds * (1.015 if place % 4 == 0 else 1) for place, seconds in enumerate(_series(20, seed=8))]
    assert len(clean_history(past)) >= 19


def test_identical_runs_are_all_kept() -> None:
    """Without any deviation nothing deviates too much."""
    assert len(clean_history([0.147] * 18)) == 18


def test_impossible_figures_are_left_out() -> None:
    """A zero or a NaN is not a step time."""
    assert clean_history([0.0, float("nan"), -1.0, *[0.147] * 15]) == (0.147,) * 15


def test_the_history_begins_at_the_last_change() -> None:
    """A level shift of 2 % is not noise."""
    past = [*_series(20, seed=1), *_series(16, seed=2, level=0.150)]
    assert change_points(past) == (20,)
    assert list(since_last_change(past)) == past[20:]
    assert set(clean_history(past)) <= set(past[20:])


def test_noise_is_no_change() -> None:
    """At most 1 in 1000 series of pure noise is cut; of these 200, none."""
    assert [seed for seed in range(200) if change_points(_series(40, seed=seed))] == []


def test_a_glitch_is_no_change() -> None:
    """One run 3 % off changes nothing."""
    past = _series(40, seed=3)
    assert change_points([*past[:20], past[20] * 1.03, *past[21:]]) == ()


def test_a_shift_below_the_margin_is_merged() -> None:
    """Half a percent is clearly seen here, but nobody would act on it."""
    past = [*_series(20, seed=1, sd=0.0002), *_series(20, seed=2, sd=0.0002, level=0.1477)]
    assert change_points(past) == ()


def test_a_noiseless_shift_is_a_change() -> None:
    """Figures without any noise have an infinite t."""
    assert change_points([1.0] * 6 + [2.0] * 6 + [3.0] * 6) == (6, 12)


@pytest.mark.parametrize("count", range(8))
def test_a_short_series_has_no_change(count: int) -> None:
    """Four runs on each side are needed."""
    assert list(since_last_change([1.0 + place for place in range(count)])) == [
        1.0 + place for place in range(count)
    ]


@pytest.mark.parametrize("freedom", [6, 18, 38, 1e4, 1e6])
def test_a_split_that_is_not_tested_could_not_have_been_one(freedom: float) -> None:
    """Even a single split with so small a t is likelier by chance than a change may be."""
    assert 2 * upper_tail(NEVER_CERTAIN, freedom) > 2 * ALPHA
