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
    """Launch the job on the cluster, if the limits admit it."""


class DeleteJob(Struct, frozen=True):
    """Kill the job and delete it from the cluster."""


class CollectLog(Struct, frozen=True):
    """Read and measure the job's log."""


class KeepLog(Struct, frozen=True):
    """Keep the log of a job that is given up, for people to read; it is not measured."""


class SettleAttempt(Struct, frozen=True):
    """Record that this attempt is over, and what it cost."""


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
    run: RunStatus,
    observation: Observation,
    demand: Demand,
    now: float,
    timeouts: RunTimeouts = SHARED_TIMEOUTS,
) -> RunDecision:
    """The run's new status, and the effects to perform."""
    if run.state in TERMINAL_STATES:
        return run, ()
    observed = _record_observation(_clamp_times(run, now, timeouts), observation, now)
    match Demand.UNWANTED if observed.cancelled else demand:
        case Demand.UNWANTED:
            return _cancel(observed, observation, now, timeouts)
        case Demand.WANTED:
            return _advance(observed, observation, now, timeouts)
        case _:
            assert_never(demand)


def hold_launch(run: RunStatus, *, until: float, why: str) -> RunDecision:
    """The launch was not admitted: the run keeps its status and says what it waits for."""
    return replace(run, why=why), (CheckAgain(until=until),)


def orphaned_jobs(names: Iterable[str], runs: Iterable[RunStatus]) -> frozenset[str]:
    """The jobs on the cluster that belong to no open run: delete them.

    A launch that was repeated after its run was cancelled leaves one, and so does every job that ended.
    """
    return frozenset(names) - {run.name for run in runs if run.state not in TERMINAL_STATES}


def _clamp_times(run: RunStatus, now: float, timeouts: RunTimeouts) -> RunStatus:
    """Take times in the future for now: a clock that was ahead and is corrected must not stop the run. Only
    time that we watched counts towards the limits."""
    missing = None if run.missing_since is None else min(run.missing_since, now)
    faulty = None if run.faulty_since is None else min(run.faulty_since, now)
    longest = now + timeouts.retry_delay(run.attempt)
    passed = 0.0 if run.last_look is None else min(max(0.0, now - run.last_look), timeouts.max_gap_seconds)
    return replace(
        run,
        since=min(run.since, now),
        watched_seconds=run.watched_seconds + passed,
        last_look=now,
        missing_since=missing,
        faulty_since=faulty,
        began=None if run.began is None else min(run.began, now),
        not_before=None if run.not_before is None else min(run.not_before, longest),
    )


def _record_observation(run: RunStatus, observed: Observation, now: float) -> RunStatus:
    """Keep what the cluster answered; a later answer may say less than an earlier one."""
    heard = run.last_output if observed.last_output is None else min(observed.last_output, now)
    faulty = observed.fault is not None
    return replace(
        run,
        exit_code=run.exit_code if observed.exit_code is None else observed.exit_code,
        log_uri=observed.log_uri or run.log_uri,
        last_step=run.last_step if observed.last_step is None else observed.last_step,
        expected_steps=run.expected_steps if observed.expected_steps is None else observed.expected_steps,
        last_output=heard,
        queue_position=observed.queue_position,
        note=run.note if observed.state is JobState.ABSENT else observed.note,
        fault=observed.fault,
        faulty_since=(now if run.faulty_since is None else run.faulty_since) if faulty else None,
        faulty_looks=run.faulty_looks + 1 if faulty else 0,
        sightings=_newest_sightings(
            run, observed, now if observed.last_output is None else min(observed.last_output, now)
        ),
    )


def _newest_sightings(run: RunStatus, observed: Observation, at: float) -> tuple[ObservedStep, ...]:
    """The sightings, with a step that is later than all before; the newest are kept."""
    if observed.last_step is None or (run.sightings and observed.last_step <= run.sightings[-1].step):
        return run.sightings
    return (*run.sightings, ObservedStep(step=observed.last_step, at=at))[-KEPT_SIGHTINGS:]


def _cancel(run: RunStatus, observation: Observation, now: float, timeouts: RunTimeouts) -> RunDecision:
    """Nobody wants the run: delete its job until the cluster says that it is gone. A job that ended is kept.

    A run that is wanted again meanwhile is planned anew once the job is gone.
    """
    if observation.state is JobState.ENDED and not cluster_failed(run, observation, timeouts, now):
        return with_state(run, RunState.ENDED, now), (CollectLog(), SettleAttempt())
    if not run.cancelled:
        return replace(run, cancelled=True), (CheckAgain(until=now),)
    match observation.state:
        case JobState.ABSENT | JobState.ENDED:
            return with_state(run, RunState.CANCELLED, now), (DeleteJob(), SettleAttempt())
        case JobState.QUEUED | JobState.RUNNING:
            return run, (DeleteJob(), CheckAgain(until=now + timeouts.poll_seconds))
        case _:
            assert_never(observation.state)


def _advance(run: RunStatus, observation: Observation, now: float, timeouts: RunTimeouts) -> RunDecision:
    if observation.state is not JobState.ABSENT:
        run = _clear_absence(run)
    if run.give_up_reason:
        return finish_attempt(run, now, timeouts)
    if cluster_failed(run, observation, timeouts, now):
        return retry_or_give_up(run, observation.fault or ClusterFault.NOT_STARTED, now, timeouts)
    match observation.state:
        case JobState.ABSENT:
            return _when_absent(run, now, timeouts)
        case JobState.QUEUED:
            return _when_queued(run, now, timeouts)
        case JobState.RUNNING:
            return _when_running(run, now, timeouts)
        case JobState.ENDED:
            return with_state(run, RunState.ENDED, now), (CollectLog(), SettleAttempt())
        case _:
            assert_never(observation.state)


def _when_absent(run: RunStatus, now: float, timeouts: RunTimeouts) -> RunDecision:
    """The cluster does not know the job: it is not launched yet, not listed yet, or gone."""
    if run.state is RunState.PLANNED:
        if run.not_before is not None and now < run.not_before:
            return run, (CheckAgain(until=run.not_before),)
        launched = replace(clear_missing(with_state(run, RunState.LAUNCHED, now)), why="")
        return launched, (LaunchJob(), CheckAgain(until=now + timeouts.poll_seconds))
    since = now if run.missing_since is None else run.missing_since
    run = replace(run, missing_since=since, missing_looks=run.missing_looks + 1)
    if now - since >= timeouts.missing_seconds and run.missing_looks >= timeouts.min_looks:
        return _give_up_missing(run, now, timeouts)
    wait = CheckAgain(until=now + timeouts.poll_seconds)
    # The launch call may have been lost. A job that was seen once is not launched again: it may have ended
    # and been removed, and would run a second time.
    return run, (LaunchJob(), wait) if run.state is RunState.LAUNCHED else (wait,)


def _give_up_missing(run: RunStatus, now: float, timeouts: RunTimeouts) -> RunDecision:
    """Give a missing job up. It is deleted as well: if the cluster was wrong, it must not go on running."""
    if run.state is RunState.LAUNCHED and not run.why:
        return retry_or_give_up(run, ClusterFault.NOT_STARTED, now, timeouts)
    return give_up(run, run.why or "its cluster no longer knows of it", now)


def _when_queued(run: RunStatus, now: float, timeouts: RunTimeouts) -> RunDecision:
    """The job is in the cluster's queue. An old answer does not turn a running job back into a queued one."""
    if run.state is not RunState.RUNNING:
        run = with_state(run, RunState.QUEUED, now)
    return _enforce_time_limit(run, now, timeouts)


def _when_running(run: RunStatus, now: float, timeouts: RunTimeouts) -> RunDecision:
    run = replace(with_state(run, RunState.RUNNING, now), began=now if run.began is None else run.began)
    return _enforce_time_limit(run, now, timeouts)


def _enforce_time_limit(run: RunStatus, now: float, timeouts: RunTimeouts) -> RunDecision:
    allowed = (
        timeouts.queue_seconds
        if run.state is RunState.QUEUED
        else run.timeout_seconds + timeouts.overrun_seconds
    )
    if run.watched_seconds < allowed:
        return run, (CheckAgain(until=now + timeouts.poll_seconds),)
    if run.state is RunState.QUEUED:
        why = f"it was taken back after {timeouts.queue_seconds / 3600:.0f} h in the queue"
    else:
        why = f"it was ended at its time limit of {run.timeout_seconds / 60:.0f} min"
    return give_up(run, why, now)


def _clear_absence(run: RunStatus) -> RunStatus:
    """The job is there. Where it was given up because it was missing, it was only overlooked."""
    if run.missing_since is not None:
        run = replace(clear_missing(run), give_up_reason="", retry=False)
    return replace(run, why="")


def with_state(run: RunStatus, state: RunState, now: float) -> RunStatus:
    """The run in this state since now; unchanged where it is in that state already."""
    return run if run.state is state else replace(run, state=state, since=now, watched_seconds=0.0)


def mark_lost(run: RunStatus, why: str, now: float) -> RunStatus:
    """The run is lost, with the reason in one clause."""
    return replace(with_state(run, RunState.LOST, now), why=why)


def next_attempt(run: RunStatus, *, why: str, now: float, wait: float = 0.0) -> RunStatus:
    """The run from its beginning under a new job name; the old attempt is kept among the past ones."""
    first = run.past[0].name if run.past else run.name
    over = PastAttempt(
        number=run.attempt,
        name=run.name,
        why=why,
        note=run.note,
        began=run.began,
        ended=now,
        last_step=run.last_step,
        kept_log=run.kept_log,
    )
    return RunStatus(
        name=attempt_job_name(first, run.attempt + 1),
        timeout_seconds=run.timeout_seconds,
        since=now,
        attempt=run.attempt + 1,
        not_before=now + wait,
        past=(*run.past, over),
    )


def cluster_failed(run: RunStatus, observed: Observation, timeouts: RunTimeouts, now: float) -> bool:
    """Whether the cluster ended the job, or keeps it from ever ending.

    A program that ended with 0 did its work whatever happened to its node. A job that is queued again after
    it ran would resume from its own checkpoint, which is no measurement of a whole run.
    """
    if observed.fault is None or run.state is RunState.PLANNED:
        return observed.fault is not None and observed.state is JobState.ENDED and observed.exit_code != 0
    match observed.state:
        case JobState.ENDED:
            return observed.exit_code != 0
        case JobState.ABSENT:
            return True
        case JobState.QUEUED if observed.fault in {ClusterFault.PREEMPTED, ClusterFault.EVICTED}:
            return run.began is not None
        case JobState.QUEUED | JobState.RUNNING:
            since = now if run.faulty_since is None else run.faulty_since
            return now - since >= timeouts.fault_seconds and run.faulty_looks >= timeouts.min_looks
        case _:
            assert_never(observed.state)


def retry_or_give_up(run: RunStatus, fault: ClusterFault, now: float, timeouts: RunTimeouts) -> RunDecision:
    """The cluster failed this attempt: another follows, up to the maximum."""
    reason = FAULT_REASONS[fault]
    if run.attempt < timeouts.max_attempts:
        return give_up(replace(run, retry=True), reason, now)
    return give_up(run, f"the cluster failed all {run.attempt} attempts, the last because {reason}", now)


def give_up(run: RunStatus, why: str, now: float) -> RunDecision:
    """Store that and why the attempt is to be ended, and come back at once to end it."""
    return replace(run, give_up_reason=why), (KeepLog(), CheckAgain(until=now))


def finish_attempt(run: RunStatus, now: float, timeouts: RunTimeouts) -> RunDecision:
    """End an attempt that was given up. Its job is deleted before another is started."""
    if not run.retry:
        return mark_lost(run, run.give_up_reason, now), (DeleteJob(), SettleAttempt())
    wait = timeouts.retry_delay(run.attempt + 1)
    following = next_attempt(run, why=run.give_up_reason, now=now, wait=wait)
    return following, (DeleteJob(), SettleAttempt(), CheckAgain(until=now + wait))


MAX_LAUNCH_BACKOFF_SECONDS = 600.0
"""The longest delay between two launches of a run that cannot be started."""

LAUNCH_BACKOFF_STEP_SECONDS = 30.0
"""By how much each delay is longer than the one before: an image takes minutes to build."""

MAX_LAUNCH_TRIES = 300
"""Launches at most: some two days. They are counted instead of hours, since a clock may jump."""


def back_off_launch(run: RunStatus, problem: str, *, soonest: float, now: float) -> RunDecision:
    """The run stays planned, says what prevents it, and is launched again in `soonest` seconds or later."""
    tries = run.launch_tries + 1
    if tries >= MAX_LAUNCH_TRIES:
        return mark_lost(run, f"it could not be started in {tries} tries: {as_clause(problem)}", now), ()
    wait = max(soonest, min(LAUNCH_BACKOFF_STEP_SECONDS * tries, MAX_LAUNCH_BACKOFF_SECONDS))
    return replace(run, why=as_clause(problem), launch_tries=tries), (CheckAgain(until=now + wait),)


def launch_refused(run: RunStatus, *, repeated: bool, now: float, timeouts: RunTimeouts) -> RunStatus:
    """The run after its launch was refused; `missing_since` is None where no job of it can exist.

    An earlier call (`repeated`) may have made a job that the cluster does not show yet: as with every job
    that is given up, the looks at which it must be missing are followed by one more.
    """
    since = now if run.missing_since is None else min(run.missing_since, now)
    looks = run.missing_looks + 1
    if repeated and (now - since < timeouts.missing_seconds or looks <= timeouts.min_looks):
        return replace(run, missing_since=since, missing_looks=looks)
    return clear_missing(run)


def clear_missing(run: RunStatus) -> RunStatus:
    """The run without the record of a missing job."""
    return replace(run, missing_since=None, missing_looks=0)


def as_clause(sentence: str) -> str:
    """`The image x is not there yet.` becomes `the image x is not there yet`; names keep their capitals."""
    begins = sentence[:1].isupper() and (sentence[1:2].islower() or sentence[1:2] == " ")
    return (sentence[:1].lower() + sentence[1:] if begins else sentence).rstrip(".")
