"""When a run is tried again, and when it is given up: the cluster's faults against the change's own.

In:  how a run stands, what the cluster says of it. Out: another attempt, or the end with its reason. Pure.
"""

from dataclasses import replace
from typing import assert_never

from bot.runs.clusters.port import Fault, JobState, Observation
from bot.runs.effects import Decision, Delete, Keep, Settle, Wait
from bot.runs.naming import name_of_attempt
from bot.runs.records import RunState
from bot.runs.standing import FAULT_WORDS, Pace, PastAttempt, RunStanding


def moved(run: RunStanding, state: RunState, now: float) -> RunStanding:
    """The run in this state since now, or since before where it is there already."""
    return run if run.state is state else replace(run, state=state, since=now, spent=0.0)


def lost(run: RunStanding, why: str, now: float) -> RunStanding:
    """The run is given up, with the reason in one clause."""
    return replace(moved(run, RunState.LOST, now), why=why)


def another_attempt(run: RunStanding, *, why: str, now: float, wait: float = 0.0) -> RunStanding:
    """The run from its beginning under a new job name; what became of the old one is remembered."""
    first = run.past[0].name if run.past else run.name
    over = PastAttempt(
        number=run.attempt,
        name=run.name,
        why=why,
        note=run.note,
        began=run.began,
        ended=now,
        last_step=run.last_step,
        kept=run.kept,
    )
    return RunStanding(
        name=name_of_attempt(first, run.attempt + 1),
        timeout_seconds=run.timeout_seconds,
        since=now,
        attempt=run.attempt + 1,
        not_before=now + wait,
        past=(*run.past, over),
    )


def failed_by_the_cluster(run: RunStanding, seen: Observation, pace: Pace, now: float) -> bool:
    """Whether the job is over, or will never be, through no doing of the change.

    A program that ended with 0 did its work whatever happened to its node. A job that is back in the queue
    after it ran would go on from its own checkpoint, which is no measurement of a whole run.
    """
    if seen.fault is None or run.state is RunState.PLANNED:
        return seen.fault is not None and seen.state is JobState.ENDED and seen.exit_code != 0
    match seen.state:
        case JobState.ENDED:
            return seen.exit_code != 0
        case JobState.ABSENT:
            return True
        case JobState.QUEUED if seen.fault in {Fault.PREEMPTED, Fault.EVICTED}:
            return run.began is not None
        case JobState.QUEUED | JobState.RUNNING:
            since = now if run.faulty_since is None else run.faulty_since
            return now - since >= pace.stuck and run.faulty_looks >= pace.looks
        case _:
            assert_never(seen.state)


def failed(run: RunStanding, fault: Fault, now: float, pace: Pace) -> Decision:
    """The cluster failed this attempt: another follows, or none where there were enough."""
    words = FAULT_WORDS[fault]
    if run.attempt < pace.attempts:
        return give_up(replace(run, again=True), words, now)
    return give_up(run, f"the cluster failed all {run.attempt} attempts, the last because {words}", now)


def give_up(run: RunStanding, why: str, now: float) -> Decision:
    """Write down that and why the attempt is to be ended, and come back at once to do it."""
    return replace(run, given_up=why), (Keep(), Wait(until=now))


def end(run: RunStanding, now: float, pace: Pace) -> Decision:
    """End an attempt that was given up. The old job is gone before another is started."""
    if not run.again:
        return lost(run, run.given_up, now), (Delete(), Settle())
    wait = pace.back_off(run.attempt + 1)
    following = another_attempt(run, why=run.given_up, now=now, wait=wait)
    return following, (Delete(), Settle(), Wait(until=now + wait))
