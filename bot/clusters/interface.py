"""What the program asks of a cluster that executes jobs: the `Cluster` protocol and its values.

Every call may be repeated. The name alone says which job is meant, so nothing is started twice. The
regular expressions say what a place and an image may be made of: xpk pastes them into shell commands and
YAML without quotes, so nothing they allow means anything to either.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

PROJECT_REGEX = r"[a-z0-9](?:[a-z0-9.:-]{0,98}[a-z0-9])?"
ZONE_REGEX = r"[a-z][a-z0-9-]{0,40}"
CLUSTER_REGEX = r"[a-z][a-z0-9-]{0,62}"
DEVICE_TYPE_REGEX = r"[a-z0-9][a-z0-9-]{0,40}"
PRIORITIES = ("very-low", "low", "medium", "high", "very-high")
DIGEST_REGEX = r"(?:@sha256:[0-9a-f]{64})?"
IMAGE_REGEX = rf"[a-z0-9][A-Za-z0-9._/:-]{{0,400}}{DIGEST_REGEX}"
IMAGE_TEMPLATE_REGEX = rf"[a-z0-9](?:[A-Za-z0-9._/:-]|\{{sha\}}){{0,400}}{DIGEST_REGEX}"

# "mv-" tells our jobs from other people's in a listing, and starts the name with a letter.
JOB_PREFIX = "mv-"


class JobState(StrEnum):
    """The state of a job, as its cluster knows it."""

    ABSENT = "absent"
    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"


class ClusterFault(StrEnum):
    """A fault of the cluster that ended a job. The change did not cause it, so the job may be retried."""

    PREEMPTED = "preempted"
    EVICTED = "evicted"
    BAD_NODE = "bad_node"
    IMAGE_PULL = "image_pull"
    NOT_STARTED = "not_started"


class Isolation(StrEnum):
    """How far a job on the server's own machine is kept from the server: the operator's policy says it."""

    SANDBOXED = "sandboxed"
    UNSANDBOXED = "unsandboxed"


class ClusterPlace(Struct, frozen=True, kw_only=True):
    """An XPK cluster, and how workloads are made on it: each uses `slices` slices of a device type."""

    project: str
    zone: str
    cluster: str
    device_type: str
    priority: str
    slices: int = 1

    @property
    def name(self) -> str:
        """`project/zone/cluster`: limits and listings are per name."""
        return f"{self.project}/{self.zone}/{self.cluster}"


class Job(Struct, frozen=True, kw_only=True):
    """One execution of one case.

    `repository` is where the cluster reads the code from (a path for the local cluster), `sha` the exact
    commit. `command` may hold the placeholders {run_name}, {sha}, {case} and {variant}. `memory_mb` None is
    no limit. `environment` is added to the few variables that every job sees. `place` None is this machine;
    elsewhere `image` holds the code, and `labels` are put on the workload. `isolation` is for this machine
    alone; it is set right before each launch.
    """

    name: str
    repository: str
    sha: str
    case: str
    variant: str
    command: str
    run_name: str
    timeout_seconds: float
    memory_mb: int | None = None
    environment: tuple[tuple[str, str], ...] = ()
    place: ClusterPlace | None = None
    image: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    isolation: Isolation = Isolation.SANDBOXED


class Observation(Struct, frozen=True, kw_only=True):
    """A cluster's answer about one job.

    `exit_code` is None unless the job ended and the cluster saw how. `log_uri` names the log once there is
    one (`file:///…` or `gs://…`). `last_step` is the newest step in the log, of `expected_steps`, where that
    is cheap to know; `last_output` is when the job last wrote (Unix seconds). `fault` is what the cluster did
    to the job, `note` one clause for people (untrusted), `queue_position` its position in the queue, from 1.
    """

    state: JobState
    exit_code: int | None = None
    log_uri: str | None = None
    last_step: int | None = None
    expected_steps: int | None = None
    last_output: float | None = None
    fault: ClusterFault | None = None
    note: str = ""
    queue_position: int | None = None


class Cluster(Protocol):
    """A cluster that executes jobs. `UserError`: a person must act. `InternalError`: a retry may help."""

    async def launch(self, job: Job) -> None:
        """Start the job, now or when its turn comes. A second call with the same name does nothing."""
        ...

    async def observe(self, name: str) -> Observation:
        """The state of the job of this name."""
        ...

    async def delete(self, name: str) -> None:
        """Kill the job with all its processes and forget its name. Its log stays. An unknown name is fine."""
        ...

    async def names(self) -> frozenset[str]:
        """Every job that we started here and did not delete, ended ones included."""
        ...

    def open_log(self, name: str) -> AbstractContextManager[Iterator[bytes]]:
        """The job's log so far, in chunks, for a `with` statement on a thread: it blocks.

        A local log outlives its job; elsewhere collect it before deleting the job. Raises `NotFound` where
        there is no log.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections; the jobs go on."""
        ...
