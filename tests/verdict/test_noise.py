"""Where the noise between runs is taken from, and where main moved."""

import random
from math import exp, log
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import NoiseSource
from bot.verdict.noise import (
    CHANGE_ALPHA,
    MAX_HISTORY,
    MIN_CHANGE_T,
    Noise,
    NoiseHistory,
    NoisePrior,
    PastRun,
    change_points,
    clean_history,
    fit_prior,
    level_shifts,
    noise_history,
    noise_prior,
    run_to_run_noise,
    since_last_change,
)
from bot.verdict.statistics import upper_tail
from tests.verdict.made_runs import normals


def _steady_series(count: int, *, seed: int, sd: float = 0.0015, level: float = 0.147) -> list[float]:
    return [level * exp(sd * z) for z in normals(count, seed)]


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (DeviceFamily.TPU, Noise(sd=0.004, degrees_of_freedom=0, source=NoiseSource.DEVICE_DEFAULT)),
        (DeviceFamily.GPU, Noise(sd=0.01, degrees_of_freedom=0, source=NoiseSource.DEVICE_DEFAULT)),
        (DeviceFamily.CPU, Noise(sd=None, degrees_of_freedom=0, source=NoiseSource.UNKNOWN)),
        (None, Noise(sd=None, degrees_of_freedom=0, source=NoiseSource.UNKNOWN)),
    ],
)
def test_one_run_a_side_takes_the_devices_default(family: DeviceFamily | None, expected: Noise) -> None:
    """A CPU has none, nor has a device that the log does not name."""
    assert run_to_run_noise([0.1], [0.1], [], family) == expected


def test_three_runs_a_side_measure_it() -> None:
    """Two degrees of freedom a side, pooled."""
    found = run_to_run_noise([1.0, exp(0.01), exp(0.02)], [2.0, 2.0, 2.0], [], DeviceFamily.CPU)
    assert (found.degrees_of_freedom, found.source) == (4, NoiseSource.MEASURED)
    assert found.sd == pytest.approx(0.01 / 2**0.5)


def test_the_history_measures_it_alone() -> None:
    """The thirty newest main runs give twenty-nine degrees of freedom."""
    past = _steady_series(40, seed=4)
    found = run_to_run_noise([0.147], [0.147], past, DeviceFamily.TPU)
    assert (found.degrees_of_freedom, found.history, found.source) == (29, 30, NoiseSource.MEASURED)
    assert found.sd == pytest.approx(stdev(past[-30:]) / 0.147, rel=0.02)


def test_a_base_run_in_the_history_counts_once() -> None:
    """Base runs are main runs: their spread must not be counted twice."""
    past = _steady_series(20, seed=4)
    assert run_to_run_noise(past[-3:], [0.147], past, DeviceFamily.TPU).degrees_of_freedom == 19


def test_a_short_history_is_not_used() -> None:
    """Fourteen runs do not estimate a tail."""
    assert clean_history(_steady_series(14, seed=2)) == ()


def test_glitches_are_dropped() -> None:
    """One bad night does not raise the threshold for weeks."""
    past = _steady_series(20, seed=8)
    assert 0.16 not in clean_history([*past[:9], 0.16, *past[9:]])


def test_what_happens_twice_is_no_glitch() -> None:
    """A quarter of the runs on slower slices is normal for the case, so head may be slow too."""
    past = [
        seconds * (1.015 if place % 4 == 0 else 1) for place, seconds in enumerate(_steady_series(20, seed=8))
    ]
    assert len(clean_history(past)) >= 19


def test_identical_runs_are_all_kept() -> None:
    """Without deviation there is no outlier."""
    assert len(clean_history([0.147] * 18)) == 18


def test_impossible_figures_are_left_out() -> None:
    """A zero or a NaN is not a step time."""
    assert clean_history([0.0, float("nan"), -1.0, *[0.147] * 15]) == (0.147,) * 15


def test_the_history_begins_at_the_last_change() -> None:
    """A level shift of 2 % is not noise."""
    past = [*_steady_series(20, seed=1), *_steady_series(16, seed=2, level=0.150)]
    assert change_points(past) == (20,)
    assert list(since_last_change(past)) == past[20:]
    assert set(clean_history(past)) <= set(past[20:])


def test_noise_is_no_change() -> None:
    """At most 1 in 1000 series of pure noise is cut; of these 200, none."""
    assert [seed for seed in range(200) if change_points(_steady_series(40, seed=seed))] == []


def test_a_glitch_is_no_change() -> None:
    """One run 3 % off changes nothing."""
    past = _steady_series(40, seed=3)
    assert change_points([*past[:20], past[20] * 1.03, *past[21:]]) == ()


def test_a_shift_below_the_margin_is_merged() -> None:
    """Half a percent is significant here, but nobody would act on it."""
    past = [*_steady_series(20, seed=1, sd=0.0002), *_steady_series(20, seed=2, sd=0.0002, level=0.1477)]
    assert change_points(past) == ()


def test_a_noiseless_shift_is_a_change() -> None:
    """Values without noise have an infinite t."""
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
    assert 2 * upper_tail(MIN_CHANGE_T, freedom) > 2 * CHANGE_ALPHA


DAY = 86_400.0


def _main_runs(*levels: tuple[float, int], seed: int = 1, noise: float = 0.0015) -> list[PastRun]:
    """So many runs on each level, a day apart, every commit measured once."""
    dice = random.Random(seed)  # noqa: S311 - repeatable noise, no secret
    times = [seconds for seconds, count in levels for _ in range(count)]
    return [
        PastRun(seconds=seconds * (1 + dice.gauss(0, noise)), sha=f"{n:07x}", started=n * DAY)
        for n, seconds in enumerate(times)
    ]


def test_a_shift_names_the_commits_between_and_the_runs_after() -> None:
    """Main got 2.1 % slower between two commits, twelve runs ago."""
    (shift,) = level_shifts(_main_runs((0.2, 15), (0.2042, 12)))
    assert shift.change == pytest.approx(log(1.021), abs=0.002)
    assert (shift.before, shift.at, shift.runs_before, shift.runs_after) == ("000000e", "000000f", 15, 12)
    assert shift.started == 15 * DAY


def test_several_shifts_come_oldest_first_each_on_its_own_levels() -> None:
    """Slower, then faster again: the second is measured against the level before it alone."""
    slower, faster = level_shifts(_main_runs((0.2, 12), (0.22, 10), (0.21, 8)))
    assert (slower.runs_before, slower.runs_after) == (12, 10)
    assert (faster.runs_before, faster.runs_after) == (10, 8)
    assert slower.change > 0 > faster.change


def test_one_glitch_does_not_hide_a_shift() -> None:
    """With one run that took 50 % longer, a shift of 5 % is found in 190 of 200 series."""
    found = 0
    for seed in range(200):
        runs = _main_runs((0.2, 20), (0.21, 15), seed=seed)
        runs[seed % 35] = replace(runs[seed % 35], seconds=0.3)
        found += any(abs(shift.runs_before - 20) <= 1 for shift in level_shifts(runs))
    assert found >= 190


@given(st.integers(0, 400))
def test_a_steady_main_has_not_moved(seed: int) -> None:
    """Noise of real TPUs alone is no shift."""
    assert level_shifts(_main_runs((0.2, 40), seed=seed)) == ()


def test_short_histories_have_no_shift() -> None:
    """No runs, or too few for a level, give no shift."""
    assert [level_shifts(_main_runs((0.2, count))) for count in (0, 1, 7)] == [(), (), ()]
    assert noise_history(_main_runs((0.2, 14))) == NoiseHistory(runs=0)


def test_the_noise_history_names_exactly_the_runs_used() -> None:
    """The newest 30 runs of the present level, without the one glitch; the oldest of them gives the age."""
    runs = _main_runs((0.2, 12), (0.21, 35), seed=3)
    runs[30] = replace(runs[30], seconds=0.3)
    found = noise_history(runs)
    assert found.runs == len(clean_history([run.seconds for run in runs])) == MAX_HISTORY - 1
    assert found.oldest_started == 17 * DAY
    assert found.follows == level_shifts(runs)[0]


def test_the_prior_of_cases_that_differ_is_found_again() -> None:
    """Variances drawn from an inverse chi-square law of 8 degrees of freedom, with 19 of their own."""
    draws = random.Random(7)  # noqa: S311 - repeatable noise, no secret
    found = []
    for _ in range(3000):
        variance = 8 * 1e-4 / draws.gammavariate(4, 2)
        found.append((variance * draws.gammavariate(9.5, 2) / 19, 19))
    prior = fit_prior(found)
    assert prior.degrees_of_freedom == pytest.approx(8, rel=0.15)
    assert prior.variance == pytest.approx(1e-4, rel=0.05)


def test_cases_that_are_alike_lend_as_much_as_they_may() -> None:
    """They differ by no more than chance."""
    histories = [[0.147 * exp(0.002 * z) for z in normals(20, seed)] for seed in range(25)]
    prior = noise_prior(histories)
    assert prior is not None
    assert (prior.cases, prior.variance**0.5) == (25, pytest.approx(0.002, rel=0.1))
    assert prior.degrees_of_freedom > 50
    assert noise_prior(histories[:3]) is None
    assert noise_prior([one[:10] for one in histories]) is None


def test_a_case_is_moderated_by_the_others() -> None:
    """Its own variance and theirs, by their degrees of freedom."""
    prior = NoisePrior(variance=4e-6, degrees_of_freedom=19.0, cases=25)
    own = [exp(0.001 * z) for z in normals(20, 3)]
    alone = run_to_run_noise([1.0], [1.0], own, DeviceFamily.TPU)
    found = run_to_run_noise([1.0], [1.0], own, DeviceFamily.TPU, prior)
    assert ((found.sd or 0) ** 2) == pytest.approx(((alone.sd or 0) ** 2 + 4e-6) / 2)
    assert found.degrees_of_freedom == 38
