"""A run that cannot be started is tried ever less often, and at last given up."""

from itertools import pairwise

import pytest

from bot.runs.effects import Wait
from bot.runs.holding import LONGEST_HOLD_SECONDS, TRIES, clause, held_up
from bot.runs.records import RunState
from bot.runs.standing import RunStanding


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
