"""Persisted run status, and the timeouts of each kind of cluster."""

from msgspec import Struct

from bot.clusters.interface import ClusterFault, ClusterPlace
from bot.domain.run import RunState

TERMINAL_STATES = frozenset({RunState.ENDED, RunState.LOST, RunState.CANCELLED})

KEPT_SIGHTINGS = 12
"""Newest moments at which a later step was seen: enough for a range of the pace, few enough for one row."""


class RunTimeouts(Struct, frozen=True, kw_only=True):
    """How often to look and how long to believe, in seconds. The defaults suit a shared cluster.

    `unseen` is how long a job may be missing: a cluster's listing lags behind its launches. `queue` is how
    long a job may wait for its turn, and `overdue` how long it may run past its own limit before we end it.
    `looks` is how often in a row it must be missing: a clock that jumps is not evidence. `stuck` is how long
    a living job may suffer one fault (an image that cannot be pulled) before it counts as failed.

    `gap` is the most that may pass for the limits between two looks: a machine that slept, a bot that was
    away or a clock that was put ahead must not end what runs well.

    `attempts` is how often a run is started at most: three faults of a cluster in a row are an outage, and
    more would pay for it in chip-hours. `again` is the wait before the second attempt, four times as long
    before every further one: whoever preempted us needs a while.
    """

    poll: float = 15.0
    unseen: float = 180.0
    queue: float = 48 * 3600.0
    overdue: float = 900.0
    looks: int = 3
    stuck: float = 300.0
    gap: float = 900.0
    attempts: int = 3
    again: float = 60.0

    def back_off(self, attempt: int) -> float:
        """Seconds to wait before this attempt (2 or more) is started."""
        return self.again * 4.0 ** max(0, attempt - 2)


SHARED_TIMEOUTS = RunTimeouts()

# On this machine a look costs a few system calls, and the answer is never stale.
LOCAL_TIMEOUTS = RunTimeouts(poll=0.25, unseen=5.0, overdue=30.0, stuck=30.0, gap=30.0, again=2.0)


def timeouts_for(place: ClusterPlace | None) -> RunTimeouts:
    """The pace of a place; None is this machine."""
    return LOCAL_TIMEOUTS if place is None else SHARED_TIMEOUTS


class PastAttempt(Struct, frozen=True, kw_only=True):
    """An attempt that is over and was followed by another. `began` is when it was first seen running, None
    where it never was, `ended` when we gave it up (Unix seconds); `why` is one clause in our words, `note`
    the cluster's own (untrusted). `kept` is where its log is kept."""

    number: int
    name: str
    ended: float
    why: str
    began: float | None = None
    last_step: int | None = None
    note: str = ""
    kept: str | None = None


class ObservedStep(Struct, frozen=True, kw_only=True):
    """A step that was seen in the log, and when it was written or first seen (Unix seconds)."""

    step: int
    at: float


class RunStatus(Struct, frozen=True, kw_only=True):
    """A run in our books. `name` is the job of the attempt that counts, numbered from 1.

    `since` is when it came into its state, `spent` how many seconds of that we looked on, the last time at
    `looked`. `missing_since` is when the cluster first denied it, `faulty_since` when a fault was first seen
    on a living job, `began` when it was first seen running, `not_before` when this attempt may be started;
    all in Unix seconds. `exit_code`, `log_uri`, `expected_steps`, `heard` and `queue_place` are the cluster's
    last word, `note` its own clause (untrusted). `why` is ours: what a planned run waits for, or how a run
    was lost. `given_up` is why this attempt is to be ended, and `again` whether another one follows: written
    down before the job is deleted, since afterwards nobody could tell any more. So is `withdrawn`, that
    nobody wanted it. `kept` is where its log is kept. `hindered` counts how often its start was prevented.
    """

    name: str
    timeout_seconds: float
    state: RunState = RunState.PLANNED
    since: float = 0.0
    spent: float = 0.0
    looked: float | None = None
    missing_since: float | None = None
    missing_looks: int = 0
    exit_code: int | None = None
    log_uri: str | None = None
    last_step: int | None = None
    expected_steps: int | None = None
    heard: float | None = None
    queue_place: int | None = None
    note: str = ""
    why: str = ""
    began: float | None = None
    not_before: float | None = None
    fault: ClusterFault | None = None
    faulty_since: float | None = None
    faulty_looks: int = 0
    given_up: str = ""
    again: bool = False
    withdrawn: bool = False
    kept: str | None = None
    hindered: int = 0
    sightings: tuple[ObservedStep, ...] = ()
    attempt: int = 1
    past: tuple[PastAttempt, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of the jobs of all its attempts."""
        return frozenset({self.name, *(one.name for one in self.past)})


FAULT_REASONS = {
    ClusterFault.PREEMPTED: "it was preempted",
    ClusterFault.EVICTED: "it was evicted",
    ClusterFault.BAD_NODE: "a node failed",
    ClusterFault.IMAGE_PULL: "its image could not be pulled",
    ClusterFault.NOT_STARTED: "the cluster did not start it",
}
"""What the cluster did, as one clause."""
