"""Main's runs over time: which tell today's noise, and where main moved."""

import random
from dataclasses import replace
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.verdict.conditions import conditions, devices_in
from bot.verdict.history import Past, PastRun, past, shifts
from bot.verdict.judgement import MeasuredRun, Measurements
from bot.verdict.noise import HISTORY, clean_history
from tests.verdict.samples import Shape, run_log

DAY = 86_400.0


def _series(*levels: tuple[float, int], seed: int = 1, noise: float = 0.0015) -> list[PastRun]:
    """So many runs on each level, a day apart, every commit measured once."""
    dice = random.Random(seed)  # noqa: S311 - repeatable noise, no secret
    times = [seconds for seconds, count in levels for _ in range(count)]
    return [
        PastRun(seconds=seconds * (1 + dice.gauss(0, noise)), sha=f"{n:07x}", started=n * DAY)
        for n, seconds in enumerate(times)
    ]


def test_a_shift_names_the_commits_between_and_the_runs_after() -> None:
    """Main got 2.1 % slower between two commits, twelve runs ago."""
    (shift,) = shifts(_series((0.2, 15), (0.2042, 12)))
    assert shift.change == pytest.approx(log(1.021), abs=0.002)
    assert (shift.before, shift.at, shift.runs_before, shift.runs_after) == ("000000e", "000000f", 15, 12)
    assert shift.started == 15 * DAY


def test_several_shifts_come_oldest_first_each_on_its_own_levels() -> None:
    """Slower, then faster again: the second is measured against the level before it alone."""
    slower, faster = shifts(_series((0.2, 12), (0.22, 10), (0.21, 8)))
    assert (slower.runs_before, slower.runs_after) == (12, 10)
    assert (faster.runs_before, faster.runs_after) == (10, 8)
    assert slower.change > 0 > faster.change


def test_one_glitch_does_not_hide_a_shift() -> None:
    """A run that took half as long again leaves a shift of 5 % to be found in 190 of 200 series."""
    found = 0
    for seed in range(200):
        runs = _series((0.2, 20), (0.21, 15), seed=seed)
        runs[seed % 35] = replace(runs[seed % 35], seconds=0.3)
        found += any(abs(shift.runs_before - 20) <= 1 for shift in shifts(runs))
    assert found >= 190


@given(st.integers(0, 400))
def test_a_steady_main_has_not_moved(seed: int) -> None:
    """Noise of real TPUs alone is no shift."""
    assert shifts(_series((0.2, 40), seed=seed)) == ()


def test_nothing_and_little_have_not_moved() -> None:
    """Without runs, and with too few for a level, nothing is said."""
    assert [shifts(_series((0.2, count))) for count in (0, 1, 7)] == [(), (), ()]
    assert past(_series((0.2, 14))) == Past(runs=0)


def test_the_past_is_exactly_what_the_noise_was_measured_from() -> None:
    """The newest 30 runs of the present level, without the one glitch; the oldest of them gives the age."""
    runs = _series((0.2, 12), (0.21, 35), seed=3)
    runs[30] = replace(runs[30], seconds=0.3)
    found = past(runs)
    assert found.runs == len(clean_history([run.seconds for run in runs])) == HISTORY - 1
    assert found.oldest_started == 17 * DAY
    assert found.follows == shifts(runs)[0]


def _run(**environment: object) -> MeasuredRun:
    log_ = run_log(Shape())
    changed = replace(log_.environment, **environment)  # type: ignore[arg-type]  # single fields of it
    return MeasuredRun(log=replace(log_, environment=changed), measurements=Measurements())


@pytest.mark.parametrize(
    "other",
    [
        {"device_kind": "TPU v5p"},
        {"devices": 64},
        {"mesh": (2, 16)},
        {"jax": "0.9.9"},
        {"jaxlib": "0.9.9"},
        {"libtpu": "cl/1"},
        {"libtpu": None},
    ],
)
def test_runs_under_other_conditions_have_another_key(other: dict[str, object]) -> None:
    """Device, mesh and versions each move step times; so may what a log does not state."""
    assert conditions(_run()) != conditions(_run(**other))


def test_what_differs_from_run_to_run_is_not_in_the_key() -> None:
    """Names, processes and commits leave the conditions as they are."""
    assert conditions(_run()) == conditions(_run(process=3, run_name="x", workload="y", commit="abc1234"))


@pytest.mark.parametrize(
    ("said", "devices"),
    [
        ({}, ("TPU v6 lite", 32)),
        ({"device_kind": None}, (None, 32)),
        ({"devices": None}, ("TPU v6 lite", None)),
        ({"device_kind": "a · b"}, ("a", None)),
    ],
)
def test_conditions_tell_the_devices(said: dict[str, object], devices: object) -> None:
    """What a log did not state is absent, and an odd name is no number."""
    assert devices_in(conditions(_run(**said))) == devices
