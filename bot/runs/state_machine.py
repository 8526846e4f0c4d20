"""What to do next about one launched run: `decide(status, observation, demand, now)` gives the new status
and effects.

Perform the effects in order and only then store the status: every effect may be repeated, so a crash in
between costs a repetition and nothing else. A terminal status has no effects.

    PLANNED ─► LAUNCHED ─► QUEUED ─► RUNNING ─► ENDED       the log is to be collected
       ▲          ├──────────┴──────────┴─────► LOST        the cluster lost it, or it hangs
       └──────────┘ another attempt: the cluster failed the job, not the change
    unwanted ─────────────────────────────────► CANCELLED   once the cluster says that it is gone
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from bot.clusters.interface import ClusterFault, JobState, Observation
from bot.domain.run import RunState
from bot.runs.naming import attempt_job_name
from bot.runs.run_status import (
    FAULT_REASONS,
    KEPT_SIGHTINGS,
    SHARED_TIMEOUTS,
    TERMINAL_STATES,
    ObservedStep,
    PastAttempt,
    RunStatus,
    RunTimeouts,
)


class LaunchJob(Struct, frozen=True):
    """Ask the cluster for the job, if the limits admit it."""


class DeleteJob(Struct, frozen=True):
    """End the job and forget its name on the cluster."""


class CollectLog(Struct, frozen=True):
    """Read what the job left: its log."""


class KeepLog(Struct, frozen=True):
    """Keep the log of a job that is given up, for people to read; nothing is measured."""


class SettleAttempt(Struct, frozen=True):
    """Say that this attempt is over, and what it cost."""


class CheckAgain(Struct, frozen=True):
    """Look again at `until`, in Unix seconds."""

    until: float


RunEffect = LaunchJob | DeleteJob | CollectLog | KeepLog | SettleAttempt | CheckAgain

RunDecision = tuple[RunStatus, tuple[RunEffect, ...]]


class Demand(StrEnum):
    """Whether any pull request wants the run."""

    WANTED = "wanted"
    UNWANTED = "unwanted"


def decide(
    run: RunStatus, observation: Observation, wish: Demand, now: float, pace: RunTimeouts = SHARED_TIMEOUTS
) -> RunDecision:
    """Say how the run stands now and what to do."""
    if run.state in TERMINAL_STATES:
        return run, ()
    seen = _record_observation(_clamp_times(run, now, pace), observation, now)
    match Demand.UNWANTED if seen.withdrawn else wish:
        case Demand.UNWANTED:
            return _cancel(seen, observation, now, pace)
        case Demand.WANTED:
            return _advance(seen, observation, now, pace)
        case _:
            assert_never(wish)


def hold_launch(run: RunStatus, *, until: float, why: str) -> RunDecision:
    """The launch was not admitted: the run stands as it stood before, and says what it waits for."""
    return replace(run, why=why), (CheckAgain(until=until),)


def orphaned_jobs(names: Iterable[str], runs: Iterable[RunStatus]) -> frozenset[str]:
    """The jobs on the cluster that no open run of ours stands for: delete them.

    A launch that was repeated after its wish was withdrawn leaves one, and so does every job that ended.
    """
    return frozenset(names) - {run.name for run in runs if run.state not in TERMINAL_STATES}


def _clamp_times(run: RunStatus, now: float, pace: RunTimeouts) -> RunStatus:
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


def _record_observation(run: RunStatus, seen: Observation, now: float) -> RunStatus:
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
        sightings=_newest_sightings(run, seen, now if seen.heard is None else min(seen.heard, now)),
    )


def _newest_sightings(run: RunStatus, seen: Observation, at: float) -> tuple[ObservedStep, ...]:
    """The newest moments at which a later step was seen than before."""
    if seen.last_step is None or (run.sightings and seen.last_step <= run.sightings[-1].step):
        return run.sightings
    return (*run.sightings, ObservedStep(step=seen.last_step, at=at))[-KEPT_SIGHTINGS:]


def _cancel(run: RunStatus, observation: Observation, now: float, pace: RunTimeouts) -> RunDecision:
    """Nobody wants it: delete until the cluster says that it is gone. What ended anyway is kept.

    Who wants it again meanwhile has it started anew from the plan, when it is gone.
    """
    if observation.state is JobState.ENDED and not cluster_failed(run, observation, pace, now):
        return with_state(run, RunState.ENDED, now), (CollectLog(), SettleAttempt())
    if not run.withdrawn:
        return replace(run, withdrawn=True), (CheckAgain(until=now),)
    match observation.state:
        case JobState.ABSENT | JobState.ENDED:
            return with_state(run, RunState.CANCELLED, now), (DeleteJob(), SettleAttempt())
        case JobState.QUEUED | JobState.RUNNING:
            return run, (DeleteJob(), CheckAgain(until=now + pace.poll))
        case _:
            assert_never(observation.state)


def _advance(run: RunStatus, observation: Observation, now: float, pace: RunTimeouts) -> RunDecision:
    if observation.state is not JobState.ABSENT:
        run = _clear_absence(run)
    if run.given_up:
        return finish_attempt(run, now, pace)
    if cluster_failed(run, observation, pace, now):
        return retry_or_give_up(run, observation.fault or ClusterFault.NOT_STARTED, now, pace)
    match observation.state:
        case JobState.ABSENT:
            return _when_absent(run, now, pace)
        case JobState.QUEUED:
            return _when_queued(run, now, pace)
        case JobState.RUNNING:
            return _when_running(run, now, pace)
        case JobState.ENDED:
            return with_state(run, RunState.ENDED, now), (CollectLog(), SettleAttempt())
        case _:
            assert_never(observation.state)


def _when_absent(run: RunStatus, now: float, pace: RunTimeouts) -> RunDecision:
    """The cluster knows nothing of it: not launched yet, not listed yet, or gone."""
    if run.state is RunState.PLANNED:
        if run.not_before is not None and now < run.not_before:
            return run, (CheckAgain(until=run.not_before),)
        launched = replace(clear_missing(with_state(run, RunState.LAUNCHED, now)), why="")
        return launched, (LaunchJob(), CheckAgain(until=now + pace.poll))
    since = now if run.missing_since is None else run.missing_since
    run = replace(run, missing_since=since, missing_looks=run.missing_looks + 1)
    if now - since >= pace.unseen and run.missing_looks >= pace.looks:
        return _give_up_missing(run, now, pace)
    wait = CheckAgain(until=now + pace.poll)
    # The call may have been lost on its way. A job that was seen once is not launched again: it may have
    # ended and been cleared away, and would run a second time.
    return run, (LaunchJob(), wait) if run.state is RunState.LAUNCHED else (wait,)


def _give_up_missing(run: RunStatus, now: float, pace: RunTimeouts) -> RunDecision:
    """Deleted as well: if the cluster was wrong, nothing may go on running under a name we gave up."""
    if run.state is RunState.LAUNCHED and not run.why:
        return retry_or_give_up(run, ClusterFault.NOT_STARTED, now, pace)
    return give_up(run, run.why or "its cluster no longer knows of it", now)


def _when_queued(run: RunStatus, now: float, pace: RunTimeouts) -> RunDecision:
    """It stands in the cluster's queue. An old answer does not turn a running job back into a waiting one."""
    if run.state is not RunState.RUNNING:
        run = with_state(run, RunState.QUEUED, now)
    return _enforce_time_limit(run, now, pace)


def _when_running(run: RunStatus, now: float, pace: RunTimeouts) -> RunDecision:
    run = replace(with_state(run, RunState.RUNNING, now), began=now if run.began is None else run.began)
    return _enforce_time_limit(run, now, pace)


def _enforce_time_limit(run: RunStatus, now: float, pace: RunTimeouts) -> RunDecision:
    allowed = pace.queue if run.state is RunState.QUEUED else run.timeout_seconds + pace.overdue
    if run.spent < allowed:
        return run, (CheckAgain(until=now + pace.poll),)
    if run.state is RunState.QUEUED:
        why = f"it was taken back after {pace.queue / 3600:.0f} h in the queue"
    else:
        why = f"it was ended at its time limit of {run.timeout_seconds / 60:.0f} min"
    return give_up(run, why, now)


def _clear_absence(run: RunStatus) -> RunStatus:
    """It is there. Where it was given up because it was missing, it was only overlooked."""
    if run.missing_since is not None:
        run = replace(clear_missing(run), given_up="", again=False)
    return replace(run, why="")


def with_state(run: RunStatus, state: RunState, now: float) -> RunStatus:
    """The run in this state since now, or since before where it is there already."""
    return run if run.state is state else replace(run, state=state, since=now, spent=0.0)


def mark_lost(run: RunStatus, why: str, now: float) -> RunStatus:
    """The run is given up, with the reason in one clause."""
    return replace(with_state(run, RunState.LOST, now), why=why)


def next_attempt(run: RunStatus, *, why: str, now: float, wait: float = 0.0) -> RunStatus:
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
    return RunStatus(
        name=attempt_job_name(first, run.attempt + 1),
        timeout_seconds=run.timeout_seconds,
        since=now,
        attempt=run.attempt + 1,
        not_before=now + wait,
        past=(*run.past, over),
    )


def cluster_failed(run: RunStatus, seen: Observation, pace: RunTimeouts, now: float) -> bool:
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
        case JobState.QUEUED if seen.fault in {ClusterFault.PREEMPTED, ClusterFault.EVICTED}:
            return run.began is not None
        case JobState.QUEUED | JobState.RUNNING:
            since = now if run.faulty_since is None else run.faulty_since
            return now - since >= pace.stuck and run.faulty_looks >= pace.looks
        case _:
            assert_never(seen.state)


def retry_or_give_up(run: RunStatus, fault: ClusterFault, now: float, pace: RunTimeouts) -> RunDecision:
    """The cluster failed this attempt: another follows, or none where there were enough."""
    words = FAULT_REASONS[fault]
    if run.attempt < pace.attempts:
        return give_up(replace(run, again=True), words, now)
    return give_up(run, f"the cluster failed all {run.attempt} attempts, the last because {words}", now)


def give_up(run: RunStatus, why: str, now: float) -> RunDecision:
    """Write down that and why the attempt is to be ended, and come back at once to do it."""
    return replace(run, given_up=why), (KeepLog(), CheckAgain(until=now))


def finish_attempt(run: RunStatus, now: float, pace: RunTimeouts) -> RunDecision:
    """End an attempt that was given up. The old job is gone before another is started."""
    if not run.again:
        return mark_lost(run, run.given_up, now), (DeleteJob(), SettleAttempt())
    wait = pace.back_off(run.attempt + 1)
    following = next_attempt(run, why=run.given_up, now=now, wait=wait)
    return following, (DeleteJob(), SettleAttempt(), CheckAgain(until=now + wait))


MAX_LAUNCH_BACKOFF_SECONDS = 600.0
"""How seldom at most a run that cannot be started is tried again."""

LAUNCH_BACKOFF_STEP_SECONDS = 30.0
"""By how much every wait is longer than the one before it: an image takes minutes to build."""

MAX_LAUNCH_TRIES = 300
"""How often a start is tried: some two days. Tries are counted and not hours, since a clock may jump."""


def back_off_launch(run: RunStatus, problem: str, *, soonest: float, now: float) -> RunDecision:
    """The run stays planned, says what is in its way, and is tried again after `soonest` seconds or later."""
    tries = run.hindered + 1
    if tries >= MAX_LAUNCH_TRIES:
        return mark_lost(run, f"it could not be started in {tries} tries: {as_clause(problem)}", now), ()
    wait = max(soonest, min(LAUNCH_BACKOFF_STEP_SECONDS * tries, MAX_LAUNCH_BACKOFF_SECONDS))
    return replace(run, why=as_clause(problem), hindered=tries), (CheckAgain(until=now + wait),)


def launch_refused(run: RunStatus, *, again: bool, now: float, pace: RunTimeouts) -> RunStatus:
    """How a run stands whose start was refused; `missing_since` is None where no job of it can be there.

    An earlier call (`again`) may have made one that the cluster does not show yet: as with every job that is
    given up, the looks that it must be missing are followed by one more.
    """
    since = now if run.missing_since is None else min(run.missing_since, now)
    looks = run.missing_looks + 1
    if again and (now - since < pace.unseen or looks <= pace.looks):
        return replace(run, missing_since=since, missing_looks=looks)
    return clear_missing(run)


def clear_missing(run: RunStatus) -> RunStatus:
    """The run whose job the cluster has not been seen to deny yet."""
    return replace(run, missing_since=None, missing_looks=0)


def as_clause(sentence: str) -> str:
    """`The image x is not there yet.` as `the image x is not there yet`; names keep their capitals."""
    begins = sentence[:1].isupper() and (sentence[1:2].islower() or sentence[1:2] == " ")
    return (sentence[:1].lower() + sentence[1:] if begins else sentence).rstrip(".")
