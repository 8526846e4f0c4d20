"""A run that cannot be started is tried ever less often, and at last given up."""

from dataclasses import replace
from itertools import pairwise

import pytest

from bot.runs.effects import Wait
from bot.runs.holding import LONGEST_HOLD_SECONDS, TRIES, clause, held_up, refused
from bot.runs.records import RunState
from bot.runs.standing import Pace, RunStanding

PACE = Pace(unseen=60.0, looks=3)


def test_what_cannot_be_started_is_tried_ever_less_often_and_given_up() -> None:
    """For two days, at last every ten minutes; then it is lost, and says of what."""
    run, now, moments = RunStanding(name="mv-a", timeout_seconds=600.0), 0.0, [0.0]
    while run.state is RunState.PLANNED:
        run, effects = held_up(run, "No such image.", soonest=5.0, now=now)
        for effect in effects:
            assert isinstance(effect, Wait)
            now = effect.until
            moments.append(now)
    waits = [later - earlier for earlier, later in pairwise(moments)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1], len(waits)) == (30.0, LONGEST_HOLD_SECONDS, TRIES - 1)
    assert 47 < now / 3600 < 49
    assert (run.state, run.why) == (RunState.LOST, "it could not be started in 300 tries: no such image")


def test_whoever_says_when_is_not_asked_before() -> None:
    """A registry's own pause counts where it is longer."""
    run, effects = held_up(RunStanding(name="a", timeout_seconds=1.0), "Busy", soonest=120.0, now=5.0)
    assert (run.why, effects) == ("busy", (Wait(until=125.0),))


def test_a_job_that_an_earlier_call_may_have_made_is_looked_for() -> None:
    """It takes time and four looks, as with every job that is given up, until nothing of it can be there."""
    run, stands = RunStanding(name="a", timeout_seconds=1.0), []
    for now in (0.0, 20.0, 40.0, 59.0, 60.0):
        run = refused(run, again=True, now=now, pace=PACE)
        stands.append((run.missing_since, run.missing_looks))
    assert stands == [(0.0, 1), (0.0, 2), (0.0, 3), (0.0, 4), (None, 0)]
    late = replace(run, missing_since=0.0, missing_looks=2)
    assert refused(late, again=True, now=1e6, pace=PACE).missing_looks == 3
    assert refused(replace(late, missing_looks=3), again=True, now=1e6, pace=PACE).missing_since is None


def test_a_job_that_no_call_was_made_for_is_not_looked_for() -> None:
    """Its first start was refused: nothing of it can be there."""
    run = RunStanding(name="a", timeout_seconds=1.0)
    assert refused(run, again=False, now=5.0, pace=PACE) == run


def test_a_clock_that_was_ahead_frees_what_is_held_all_the_same() -> None:
    """A moment in the future counts as now."""
    ahead = RunStanding(name="a", timeout_seconds=1.0, missing_since=1e9, missing_looks=1)
    assert refused(ahead, again=True, now=5.0, pace=PACE).missing_since == 5.0


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The image x is not there yet.", "the image x is not there yet"),
        ("A name", "a name"),
        ("XPK is away", "XPK is away"),
        ("xpk ended with 1", "xpk ended with 1"),
        ("", ""),
    ],
)
def test_a_sentence_becomes_a_clause(sentence: str, expected: str) -> None:
    """Names keep their capitals."""
    assert clause(sentence) == expected
