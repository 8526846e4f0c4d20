"""What to do next about one launched run.

In:  how the run stands in our books, what the cluster says of it, whether anybody wants it, the time.
Out: how it stands now, and the effects to perform.
Promises: pure. Perform the effects in their order and only then write the standing down: every effect may be
repeated, so a crash in between costs a repetition and nothing else. A terminal standing has no effects.

    PLANNED ─► LAUNCHED ─► QUEUED ─► RUNNING ─► ENDED       the log is to be collected
                  └──────────┴──────────┴─────► LOST        the cluster no longer knows of it, or it hangs
    unwanted ─────────────────────────────────► CANCELLED   once the cluster says that it is gone
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from bot.runs.clusters.port import JobState, Observation
from bot.runs.records import RunState

TERMINAL = frozenset({RunState.ENDED, RunState.LOST, RunState.CANCELLED})


class Wish(StrEnum):
    """Whether any pull request wants the run."""

    WANTED = "wanted"
    UNWANTED = "unwanted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often to look and how long to believe, in seconds. The defaults suit a shared cluster.

    `unseen` is how long a job may be missing: a cluster's listing lags behind its launches. `queue` is how
    long a job may wait for its turn, and `overdue` how long it may run past its own limit before we end it.
    `looks` is how often in a row it must be missing: a clock that jumps is not evidence.
    """

    poll: float = 15.0
    unseen: float = 180.0
    queue: float = 48 * 3600.0
    overdue: float = 900.0
    looks: int = 3


# On this machine a look costs a few system calls, and the answer is never stale.
LOCAL_PACE = Pace(poll=0.25, unseen=5.0, overdue=30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """A run in our books. `since` is when it came into its state, `missing_since` when the cluster first
    denied it; both in Unix seconds. `exit_code` and `log_uri` are the cluster's last word."""

    name: str
    timeout_seconds: float
    state: RunState = RunState.PLANNED
    since: float = 0.0
    missing_since: float | None = None
    missing_looks: int = 0
    exit_code: int | None = None
    log_uri: str | None = None
    last_step: int | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """Ask the cluster for the job."""


@dataclass(frozen=True, slots=True)
class Delete:
    """End the job and forget its name on the cluster."""


@dataclass(frozen=True, slots=True)
class Collect:
    """Read what the job left: its log."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Look again at `until`, in Unix seconds."""

    until: float


Effect = Launch | Delete | Collect | Wait
Decision = tuple[RunStanding, tuple[Effect, ...]]


def decide(
    run: RunStanding, observation: Observation, wish: Wish, now: float, pace: Pace = Pace()
) -> Decision:
    """Say how the run stands now and what to do."""
    if run.state in TERMINAL:
        return run, ()
    seen = _noted(_not_ahead(run, now), observation)
    match wish:
        case Wish.UNWANTED:
            return _withdraw(seen, observation, now, pace)
        case Wish.WANTED:
            return _pursue(seen, observation, now, pace)
        case _:
            assert_never(wish)


def orphans(names: Iterable[str], runs: Iterable[RunStanding]) -> frozenset[str]:
    """The jobs on the cluster that no open run of ours stands for: delete them.

    A launch that was repeated after its wish was withdrawn leaves one, and so does every job that ended.
    """
    return frozenset(names) - {run.name for run in runs if run.state not in TERMINAL}


def _not_ahead(run: RunStanding, now: float) -> RunStanding:
    """Take moments in the future for now: a clock that was ahead and is put right must not stop ours."""
    missing = None if run.missing_since is None else min(run.missing_since, now)
    return replace(run, since=min(run.since, now), missing_since=missing)


def _noted(run: RunStanding, observation: Observation) -> RunStanding:
    """Keep what the cluster told; a later look may tell less than an earlier one."""
    return replace(
        run,
        exit_code=run.exit_code if observation.exit_code is None else observation.exit_code,
        log_uri=observation.log_uri or run.log_uri,
        last_step=run.last_step if observation.last_step is None else observation.last_step,
    )


def _withdraw(run: RunStanding, observation: Observation, now: float, pace: Pace) -> Decision:
    """Nobody wants it: delete until the cluster says that it is gone. What ended anyway is kept."""
    match observation.state:
        case JobState.ABSENT:
            return _to(run, RunState.CANCELLED, now), (Delete(),)
        case JobState.ENDED:
            return _to(run, RunState.ENDED, now), (Collect(), Delete())
        case JobState.QUEUED | JobState.RUNNING:
            return run, (Delete(), Wait(until=now + pace.poll))
        case _:
            assert_never(observation.state)


def _pursue(run: RunStanding, observation: Observation, now: float, pace: Pace) -> Decision:
    match observation.state:
        case JobState.ABSENT:
            return _missing(run, now, pace)
        case JobState.QUEUED:
            return _waiting(_found(run), now, pace)
        case JobState.RUNNING:
            return _working(_found(run), now, pace)
        case JobState.ENDED:
            return _to(_found(run), RunState.ENDED, now), (Collect(),)
        case _:
            assert_never(observation.state)


def _missing(run: RunStanding, now: float, pace: Pace) -> Decision:
    """The cluster knows nothing of it: not launched yet, not listed yet, or gone."""
    if run.state is RunState.PLANNED:
        return _to(run, RunState.LAUNCHED, now), (Launch(), Wait(until=now + pace.poll))
    since = now if run.missing_since is None else run.missing_since
    run = replace(run, missing_since=since, missing_looks=run.missing_looks + 1)
    if now - since >= pace.unseen and run.missing_looks >= pace.looks:
        # Deleted as well: if the cluster was wrong, nothing may go on running under a name we gave up.
        return _to(run, RunState.LOST, now), (Delete(),)
    wait = Wait(until=now + pace.poll)
    # The call may have been lost on its way. A job that was seen once is not launched again: it may have
    # ended and been cleared away, and would run a second time.
    return run, (Launch(), wait) if run.state is RunState.LAUNCHED else (wait,)


def _waiting(run: RunStanding, now: float, pace: Pace) -> Decision:
    """It stands in the cluster's queue. An old answer does not turn a running job back into a waiting one."""
    if run.state is not RunState.RUNNING:
        run = _to(run, RunState.QUEUED, now)
    return _unless_overdue(run, now, pace)


def _working(run: RunStanding, now: float, pace: Pace) -> Decision:
    return _unless_overdue(_to(run, RunState.RUNNING, now), now, pace)


def _unless_overdue(run: RunStanding, now: float, pace: Pace) -> Decision:
    allowed = pace.queue if run.state is RunState.QUEUED else run.timeout_seconds + pace.overdue
    if now - run.since >= allowed:
        return _to(run, RunState.LOST, now), (Delete(),)
    return run, (Wait(until=now + pace.poll),)


def _found(run: RunStanding) -> RunStanding:
    return replace(run, missing_since=None, missing_looks=0)


def _to(run: RunStanding, state: RunState, now: float) -> RunStanding:
    return run if run.state is state else replace(run, state=state, since=now)
