"""What to do next about one launched run.

In:  how the run stands in our books, what the cluster says of it, whether anybody wants it, the time.
Out: how it stands now, and the effects to perform on the job it stood for before.
Promises: pure. Perform the effects in their order and only then write the standing down: every effect may be
repeated, so a crash in between costs a repetition and nothing else. A terminal standing has no effects.

    PLANNED ─► LAUNCHED ─► QUEUED ─► RUNNING ─► ENDED       the log is to be collected
       ▲          ├──────────┴──────────┴─────► LOST        the cluster no longer knows of it, or it hangs
       └──────────┘ another attempt: the cluster failed the job, not the change
    unwanted ─────────────────────────────────► CANCELLED   once the cluster says that it is gone
"""

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import assert_never

from bot.runs.attempts import end, failed, failed_by_the_cluster, give_up, moved
from bot.runs.clusters.port import Fault, JobState, Observation
from bot.runs.effects import Collect, Decision, Delete, Launch, Settle, Wait
from bot.runs.holding import unseen
from bot.runs.records import RunState
from bot.runs.standing import KEPT_SIGHTINGS, SHARED_PACE, TERMINAL, Pace, RunStanding, Sighting


class Wish(StrEnum):
    """Whether any pull request wants the run."""

    WANTED = "wanted"
    UNWANTED = "unwanted"


def decide(
    run: RunStanding, observation: Observation, wish: Wish, now: float, pace: Pace = SHARED_PACE
) -> Decision:
    """Say how the run stands now and what to do."""
    if run.state in TERMINAL:
        return run, ()
    seen = _noted(_not_ahead(run, now, pace), observation, now)
    match Wish.UNWANTED if seen.withdrawn else wish:
        case Wish.UNWANTED:
            return _withdraw(seen, observation, now, pace)
        case Wish.WANTED:
            return _pursue(seen, observation, now, pace)
        case _:
            assert_never(wish)


def held_back(run: RunStanding, *, until: float, why: str) -> Decision:
    """The launch was not admitted: the run stands as it stood before, and says what it waits for."""
    return replace(run, why=why), (Wait(until=until),)


def orphans(names: Iterable[str], runs: Iterable[RunStanding]) -> frozenset[str]:
    """The jobs on the cluster that no open run of ours stands for: delete them.

    A launch that was repeated after its wish was withdrawn leaves one, and so does every job that ended.
    """
    return frozenset(names) - {run.name for run in runs if run.state not in TERMINAL}


def _not_ahead(run: RunStanding, now: float, pace: Pace) -> RunStanding:
    """Take moments in the future for now: a clock that was ahead and is put right must not stop ours. Count
    for the limits only what was looked on."""
    missing = None if run.missing_since is None else min(run.missing_since, now)
    faulty = None if run.faulty_since is None else min(run.faulty_since, now)
    longest = now + pace.back_off(run.attempt)
    passed = 0.0 if run.looked is None else min(max(0.0, now - run.looked), pace.gap)
    return replace(
        run,
        since=min(run.since, now),
        spent=run.spent + passed,
        looked=now,
        missing_since=missing,
        faulty_since=faulty,
        began=None if run.began is None else min(run.began, now),
        not_before=None if run.not_before is None else min(run.not_before, longest),
    )


def _noted(run: RunStanding, seen: Observation, now: float) -> RunStanding:
    """Keep what the cluster told; a later look may tell less than an earlier one."""
    heard = run.heard if seen.heard is None else min(seen.heard, now)
    faulty = seen.fault is not None
    return replace(
        run,
        exit_code=run.exit_code if seen.exit_code is None else seen.exit_code,
        log_uri=seen.log_uri or run.log_uri,
        last_step=run.last_step if seen.last_step is None else seen.last_step,
        expected_steps=run.expected_steps if seen.expected_steps is None else seen.expected_steps,
        heard=heard,
        queue_place=seen.queue_place,
        note=run.note if seen.state is JobState.ABSENT else seen.note,
        fault=seen.fault,
        faulty_since=(now if run.faulty_since is None else run.faulty_since) if faulty else None,
        faulty_looks=run.faulty_looks + 1 if faulty else 0,
        sightings=_sightings(run, seen, now if seen.heard is None else min(seen.heard, now)),
    )


def _sightings(run: RunStanding, seen: Observation, at: float) -> tuple[Sighting, ...]:
    """The newest moments at which a later step was seen than before."""
    if seen.last_step is None or (run.sightings and seen.last_step <= run.sightings[-1].step):
        return run.sightings
    return (*run.sightings, Sighting(step=seen.last_step, at=at))[-KEPT_SIGHTINGS:]


def _withdraw(run: RunStanding, observation: Observation, now: float, pace: Pace) -> Decision:
    """Nobody wants it: delete until the cluster says that it is gone. What ended anyway is kept.

    Who wants it again meanwhile has it started anew from the plan, when it is gone.
    """
    if observation.state is JobState.ENDED and not failed_by_the_cluster(run, observation, pace, now):
        return moved(run, RunState.ENDED, now), (Collect(), Settle())
    if not run.withdrawn:
        return replace(run, withdrawn=True), (Wait(until=now),)
    match observation.state:
        case JobState.ABSENT | JobState.ENDED:
            return moved(run, RunState.CANCELLED, now), (Delete(), Settle())
        case JobState.QUEUED | JobState.RUNNING:
            return run, (Delete(), Wait(until=now + pace.poll))
        case _:
            assert_never(observation.state)


def _pursue(run: RunStanding, observation: Observation, now: float, pace: Pace) -> Decision:
    if observation.state is not JobState.ABSENT:
        run = _found(run)
    if run.given_up:
        return end(run, now, pace)
    if failed_by_the_cluster(run, observation, pace, now):
        return failed(run, observation.fault or Fault.NOT_STARTED, now, pace)
    match observation.state:
        case JobState.ABSENT:
            return _missing(run, now, pace)
        case JobState.QUEUED:
            return _waiting(run, now, pace)
        case JobState.RUNNING:
            return _working(run, now, pace)
        case JobState.ENDED:
            return moved(run, RunState.ENDED, now), (Collect(), Settle())
        case _:
            assert_never(observation.state)


def _missing(run: RunStanding, now: float, pace: Pace) -> Decision:
    """The cluster knows nothing of it: not launched yet, not listed yet, or gone."""
    if run.state is RunState.PLANNED:
        if run.not_before is not None and now < run.not_before:
            return run, (Wait(until=run.not_before),)
        launched = replace(unseen(moved(run, RunState.LAUNCHED, now)), why="")
        return launched, (Launch(), Wait(until=now + pace.poll))
    since = now if run.missing_since is None else run.missing_since
    run = replace(run, missing_since=since, missing_looks=run.missing_looks + 1)
    if now - since >= pace.unseen and run.missing_looks >= pace.looks:
        return _given_up(run, now, pace)
    wait = Wait(until=now + pace.poll)
    # The call may have been lost on its way. A job that was seen once is not launched again: it may have
    # ended and been cleared away, and would run a second time.
    return run, (Launch(), wait) if run.state is RunState.LAUNCHED else (wait,)


def _given_up(run: RunStanding, now: float, pace: Pace) -> Decision:
    """Deleted as well: if the cluster was wrong, nothing may go on running under a name we gave up."""
    if run.state is RunState.LAUNCHED and not run.why:
        return failed(run, Fault.NOT_STARTED, now, pace)
    return give_up(run, run.why or "its cluster no longer knows of it", now)


def _waiting(run: RunStanding, now: float, pace: Pace) -> Decision:
    """It stands in the cluster's queue. An old answer does not turn a running job back into a waiting one."""
    if run.state is not RunState.RUNNING:
        run = moved(run, RunState.QUEUED, now)
    return _unless_overdue(run, now, pace)


def _working(run: RunStanding, now: float, pace: Pace) -> Decision:
    run = replace(moved(run, RunState.RUNNING, now), began=now if run.began is None else run.began)
    return _unless_overdue(run, now, pace)


def _unless_overdue(run: RunStanding, now: float, pace: Pace) -> Decision:
    allowed = pace.queue if run.state is RunState.QUEUED else run.timeout_seconds + pace.overdue
    if run.spent < allowed:
        return run, (Wait(until=now + pace.poll),)
    if run.state is RunState.QUEUED:
        why = f"it was taken back after {pace.queue / 3600:.0f} h in the queue"
    else:
        why = f"it was ended at its time limit of {run.timeout_seconds / 60:.0f} min"
    return give_up(run, why, now)


def _found(run: RunStanding) -> RunStanding:
    """It is there. Where it was given up because it was missing, it was only overlooked."""
    if run.missing_since is not None:
        run = replace(unseen(run), given_up="", again=False)
    return replace(run, why="")
