"""Persisted run status, and the timeouts of each kind of cluster."""

from msgspec import Struct, field

from bot.clusters.interface import ClusterFault, ClusterPlace
from bot.domain.run import RunState

TERMINAL_STATES = frozenset({RunState.ENDED, RunState.LOST, RunState.CANCELLED})

KEPT_SIGHTINGS = 12
"""Newest sightings of a later step: enough for a range of the speed, few enough for one row."""


class RunTimeouts(Struct, frozen=True, kw_only=True):
    """How often to poll a run's job, and how long to believe its cluster, in seconds. The defaults suit a
    shared cluster.

    `missing_seconds` is how long a job may be missing: a cluster's listing lags behind its launches.
    `queue_seconds` is how long a job may be queued, and `overrun_seconds` how long it may run past its own
    time limit before we end it. `min_looks` is how often in a row it must be missing, or faulty: a clock that
    jumps is not evidence. `fault_seconds` is how long a living job may have one fault (an image that cannot
    be pulled) before it counts as failed.

    `max_gap_seconds` is the most that counts towards the limits between two looks: a machine that slept, a
    bot that was down or a clock that was put ahead must not end a healthy run.

    `max_attempts` is how often a run is started at most: three faults in a row are an outage, and more
    attempts would pay for it in chip-hours. `retry_seconds` is the delay before the second attempt, four
    times as long before each further one: the job that preempted ours needs a while.
    """

    poll_seconds: float = 15.0
    missing_seconds: float = 180.0
    queue_seconds: float = 48 * 3600.0
    overrun_seconds: float = 900.0
    min_looks: int = 3
    fault_seconds: float = 300.0
    max_gap_seconds: float = 900.0
    max_attempts: int = 3
    retry_seconds: float = 60.0

    def retry_delay(self, attempt: int) -> float:
        """Seconds to wait before this attempt (2 or more) is started."""
        return self.retry_seconds * 4.0 ** max(0, attempt - 2)


SHARED_TIMEOUTS = RunTimeouts()

LOCAL_TIMEOUTS = RunTimeouts(
    poll_seconds=0.25,
    missing_seconds=5.0,
    overrun_seconds=30.0,
    fault_seconds=30.0,
    max_gap_seconds=30.0,
    retry_seconds=2.0,
)
"""For this machine: a look costs a few system calls, and the answer is never stale."""


def timeouts_for(place: ClusterPlace | None) -> RunTimeouts:
    """The timeouts of a place; None is this machine."""
    return LOCAL_TIMEOUTS if place is None else SHARED_TIMEOUTS


class PastAttempt(Struct, frozen=True, kw_only=True):
    """An attempt that ended and was followed by another. `began` is when it was first seen running, None
    where it never was, `ended` when we gave it up (Unix seconds). `why` is one clause of ours, `note`
    one of the cluster's (untrusted). `kept_log` is where its log is kept."""

    number: int
    name: str
    ended: float
    why: str
    began: float | None = None
    last_step: int | None = None
    note: str = ""
    kept_log: str | None = field(default=None, name="kept")


class ObservedStep(Struct, frozen=True, kw_only=True):
    """A step in the log, and when it was written or first seen (Unix seconds)."""

    step: int
    at: float


class RunStatus(Struct, frozen=True, kw_only=True):
    """What we know of a launched run. `name` is the job of the current attempt; attempts count from 1.

    `since` is when it came into its state; `watched_seconds` is how much of the time since then we looked on,
    the last time at `last_look`. `missing_since` is when the cluster first did not know it, `faulty_since`
    when a fault was first seen on a living job, `began` when it was first seen running, `not_before` when
    this attempt may start; all in Unix seconds. `exit_code`, `log_uri`, `expected_steps`, `last_output` and
    `queue_position` are the newest of the cluster's answers, `note` its own clause (untrusted). `why` is
    ours: what a planned run waits for, or how a run was lost.

    `give_up_reason` is why this attempt is to be ended, and `retry` whether another one follows. Both are
    stored before the job is deleted, since they cannot be known afterwards; so is `cancelled`: nobody wants
    the run. `kept_log` is where its log is kept. `launch_tries` counts the launches that were prevented.
    """

    name: str
    timeout_seconds: float
    state: RunState = RunState.PLANNED
    since: float = 0.0
    watched_seconds: float = field(default=0.0, name="spent")
    last_look: float | None = field(default=None, name="looked")
    missing_since: float | None = None
    missing_looks: int = 0
    exit_code: int | None = None
    log_uri: str | None = None
    last_step: int | None = None
    expected_steps: int | None = None
    last_output: float | None = field(default=None, name="heard")
    queue_position: int | None = field(default=None, name="queue_place")
    note: str = ""
    why: str = ""
    began: float | None = None
    not_before: float | None = None
    fault: ClusterFault | None = None
    faulty_since: float | None = None
    faulty_looks: int = 0
    give_up_reason: str = field(default="", name="given_up")
    retry: bool = field(default=False, name="again")
    cancelled: bool = field(default=False, name="withdrawn")
    kept_log: str | None = field(default=None, name="kept")
    launch_tries: int = field(default=0, name="hindered")
    sightings: tuple[ObservedStep, ...] = ()
    attempt: int = 1
    past: tuple[PastAttempt, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The job names of all attempts."""
        return frozenset({self.name, *(one.name for one in self.past)})


FAULT_REASONS = {
    ClusterFault.PREEMPTED: "it was preempted",
    ClusterFault.EVICTED: "it was evicted",
    ClusterFault.BAD_NODE: "a node failed",
    ClusterFault.IMAGE_PULL: "its image could not be pulled",
    ClusterFault.NOT_STARTED: "the cluster did not start it",
}
"""The fault of the cluster, as one clause."""
