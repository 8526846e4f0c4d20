"""A planned run that its cluster cannot start: what it waits for, and when it is given up.

In:  how the run stands, what is in its way, the time. Out: how it stands now, and when to try again. Pure.
"""

from dataclasses import replace

from bot.runs.attempts import lost
from bot.runs.effects import Decision, Wait
from bot.runs.standing import Pace, RunStanding

LONGEST_HOLD_SECONDS = 600.0
"""How seldom at most a run that cannot be started is tried again."""

MORE_SECONDS = 30.0
"""By how much every wait is longer than the one before it: an image takes minutes to build."""

TRIES = 300
"""How often a start is tried: some two days. Tries are counted and not hours, since a clock may jump."""


def held_up(run: RunStanding, problem: str, *, soonest: float, now: float) -> Decision:
    """The run stays planned, says what is in its way, and is tried again after `soonest` seconds or later."""
    tries = run.hindered + 1
    if tries >= TRIES:
        return lost(run, f"it could not be started in {tries} tries: {clause(problem)}", now), ()
    wait = max(soonest, min(MORE_SECONDS * tries, LONGEST_HOLD_SECONDS))
    return replace(run, why=clause(problem), hindered=tries), (Wait(until=now + wait),)


def refused(run: RunStanding, *, again: bool, now: float, pace: Pace) -> RunStanding:
    """How a run stands whose start was refused; `missing_since` is None where no job of it can be there.

    An earlier call (`again`) may have made one that the cluster does not show yet: as with every job that is
    given up, the looks that it must be missing are followed by one more.
    """
    since = now if run.missing_since is None else min(run.missing_since, now)
    looks = run.missing_looks + 1
    if again and (now - since < pace.unseen or looks <= pace.looks):
        return replace(run, missing_since=since, missing_looks=looks)
    return unseen(run)


def unseen(run: RunStanding) -> RunStanding:
    """The run whose job the cluster has not been seen to deny yet."""
    return replace(run, missing_since=None, missing_looks=0)


def clause(sentence: str) -> str:
    """`The image x is not there yet.` as `the image x is not there yet`; names keep their capitals."""
    begins = sentence[:1].isupper() and (sentence[1:2].islower() or sentence[1:2] == " ")
    return (sentence[:1].lower() + sentence[1:] if begins else sentence).rstrip(".")
