"""How long a run will still take: a range of what was seen, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.domain.run import RunState
from bot.runs.eta import DurationRange, remaining_time, silent_for, typical_duration
from bot.runs.run_status import ObservedStep, RunStatus

NOW = 1_000_000.0

RUNNING = RunStatus(name="mv-a", timeout_seconds=600, state=RunState.RUNNING, began=NOW - 100)


def _stepping(*paces: float, last: int = 5, expected: int | None = 10) -> RunStatus:
    """A run whose last steps took so many seconds each, the newest of them right now."""
    ats = [NOW - sum(paces[n:]) for n in range(len(paces) + 1)]
    seen = tuple(ObservedStep(step=last - len(paces) + n, at=at) for n, at in enumerate(ats))
    return replace(RUNNING, last_step=last, expected_steps=expected, sightings=seen)


def test_nothing_known_is_no_time() -> None:
    """Neither steps nor earlier runs: no guess."""
    assert remaining_time(RUNNING, [], NOW) is None
    assert typical_duration([]) is None
    assert remaining_time(_stepping(20, 30, expected=None), [], NOW) is None


def test_a_run_that_has_not_begun_takes_as_long_as_earlier_ones() -> None:
    """From the shortest of them to the longest."""
    assert typical_duration([300, 420, 360]) == DurationRange(low=300, high=420)


def test_steps_that_are_left_take_as_long_as_the_ones_seen() -> None:
    """Four steps are left of ten after step 5, at 20 to 30 s each."""
    assert remaining_time(_stepping(20, 30), [], NOW) == DurationRange(low=80, high=120)
    assert remaining_time(_stepping(20, 30), [], NOW + 10) == DurationRange(low=70, high=110)


def test_earlier_runs_tell_of_what_follows_the_steps() -> None:
    """A last checkpoint is in their times and not in the steps: the later of both counts."""
    assert remaining_time(RUNNING, [300, 420], NOW) == DurationRange(low=200, high=320)
    assert remaining_time(_stepping(20, 30), [300, 420], NOW) == DurationRange(low=200, high=320)
    assert remaining_time(_stepping(90, 100), [300, 420], NOW) == DurationRange(low=360, high=400)


def test_a_run_that_takes_longer_than_all_before_it_has_no_time_but_that_of_its_steps() -> None:
    """What did not come true is not repeated."""
    assert remaining_time(RUNNING, [50, 90], NOW) is None
    assert remaining_time(_stepping(20, 30), [50, 90], NOW) == DurationRange(low=80, high=120)


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=8), st.lists(st.floats(1, 1e5), max_size=5))
def test_a_range_is_one(paces: list[float], durations: list[float]) -> None:
    """Low is not above high, and neither is negative."""
    span = remaining_time(_stepping(*paces, last=20, expected=50), durations, NOW)
    assert span is not None
    assert 0 <= span.low <= span.high


@pytest.mark.parametrize(
    ("heard", "paces", "silent"),
    [(599, (), None), (600, (), 600), (840, (10, 12), 840), (840, (50, 20), None), (1000, (50, 20), 1000)],
)
def test_silence_is_longer_than_ten_minutes_and_twenty_steps(
    heard: float, paces: tuple[float, ...], silent: float | None
) -> None:
    """A job of slow steps may be silent for longer."""
    run = replace(_stepping(*paces) if paces else RUNNING, last_output=NOW - heard, began=NOW - 1e4)
    assert silent_for(run, NOW) == silent


def test_only_a_running_job_that_was_heard_can_be_silent() -> None:
    """A queued one has nothing to say, and a cluster that does not tell is not taken for silence."""
    assert silent_for(replace(RUNNING, last_output=None), NOW) is None
    assert silent_for(replace(RUNNING, last_output=NOW - 1e4, state=RunState.QUEUED), NOW) is None
