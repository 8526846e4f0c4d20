"""Reads JobSets, Kueue Workloads and Pods, and derives a job's `Observation` from them.

Pure. Texts are the cluster's: untrusted. A command that failed, or asked for more memory than there is,
is never the cluster's fault. Where the cluster took a node, an image or the admission away, it is, and
the job has ended for us: what the cluster would restart under the same name would be a second attempt
that resumes from the first one's checkpoint, and no measurement.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from bot.clusters.interface import ClusterFault, JobState, Observation

# An object of the Kubernetes API, as JSON.
KubernetesObject = Mapping[str, Any]

JOBSET_NAME_LABEL = "jobset.sigs.k8s.io/jobset-name"

SLICE_LABEL = "jobset.sigs.k8s.io/job-index"

PROCESS_LABEL = "batch.kubernetes.io/job-completion-index"

# XPK's names of the container that runs the command; others in the pod only serve it.
MAIN_CONTAINERS = ("jax-tpu", "gpu-image")

# Why Kueue evicts a workload before its pods run: the devices were not available after all, and it is
# queued again.
EVICTED_BEFORE_START = {"AdmissionCheck", "PodsReadyTimeout"}

# Set in the container's environment, and so part of the JobSet from its first moment.
APP_VARIABLE = "MAXVIEW_APP"

# Set on the JobSet once it exists: `xpk` has no option for labels.
APP_LABEL = "maxview/app"


class Condition(Struct, frozen=True, kw_only=True):
    """A condition of an object that is true. `since` is in Unix seconds."""

    type: str
    reason: str = ""
    message: str = ""
    since: float | None = None


Conditions = Mapping[str, Condition]


class JobSet(Struct, frozen=True, kw_only=True):
    """A workload as XPK made it. `app` is the installation that made it, empty where no MaxView did."""

    name: str
    app: str = ""
    labels: Mapping[str, str]
    created: float | None = None
    image: str = ""
    command: str = ""
    restarts: int = 0
    conditions: Conditions


class Workload(Struct, frozen=True, kw_only=True):
    """The same job in Kueue's queue. `evictions` counts how often it was evicted while it ran;
    `pending_message` is why it has no quota yet."""

    name: str
    job: str
    queue: str = ""
    priority: int = 0
    created: float | None = None
    evictions: int = 0
    pending_message: str = ""
    conditions: Conditions


class Pod(Struct, frozen=True, kw_only=True):
    """One process of a job. `exit_code`, `ended` and `ended_by` are those of the container that runs the
    command; `waiting_reason` and `waiting_message` say why it does not run yet."""

    name: str
    job: str
    slice: int = 0
    process: int = 0
    container: str = ""
    created: float | None = None
    phase: str = ""
    reason: str = ""
    message: str = ""
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    ended_by: str = ""
    waiting_reason: str = ""
    waiting_message: str = ""
    conditions: Conditions


def read_jobset(found: KubernetesObject) -> JobSet:
    """A JobSet's facts."""
    meta, container = _metadata(found), _main_container(next(_pod_specs(found), {}).get("containers") or ())
    environment = {one.get("name"): str(one.get("value", "")) for one in container.get("env") or ()}
    labels = {str(name): str(value) for name, value in (meta.get("labels") or {}).items()}
    return JobSet(
        name=str(meta.get("name", "")),
        app=labels.get(APP_LABEL) or environment.get(APP_VARIABLE, ""),
        labels=labels,
        created=_unix_time(meta.get("creationTimestamp")),
        image=str(container.get("image", "")),
        command=" ".join(str(word) for word in container.get("command") or ()),
        restarts=int(_status(found).get("restarts") or 0),
        conditions=_conditions(found),
    )


def read_workload(found: KubernetesObject) -> Workload | None:
    """A Kueue Workload's facts; None where it is not a JobSet's."""
    meta, spec = _metadata(found), found.get("spec") or {}
    owners = [one for one in meta.get("ownerReferences") or () if one.get("kind") == "JobSet"]
    if not owners:
        return None
    evictions = (_status(found).get("schedulingStats") or {}).get("evictions") or ()
    evictions = [one for one in evictions if one.get("reason") not in EVICTED_BEFORE_START]
    waits = [one.get("message") for one in _status(found).get("conditions") or () if _is_quota_refusal(one)]
    return Workload(
        name=str(meta.get("name", "")),
        job=str(owners[0].get("name", "")),
        queue=str(spec.get("queueName", "")),
        priority=int(spec.get("priority") or 0),
        created=_unix_time(meta.get("creationTimestamp")),
        evictions=sum(
            int(one.get("count") or 0) for one in evictions if one.get("reason") not in EVICTED_BEFORE_START
        ),
        pending_message=str(waits[0]) if waits else "",
        conditions=_conditions(found),
    )


def read_pod(found: KubernetesObject) -> Pod | None:
    """A Pod's facts; None where it is not a JobSet's."""
    meta, status = _metadata(found), _status(found)
    labels = meta.get("labels") or {}
    if JOBSET_NAME_LABEL not in labels:
        return None
    container = _main_container(status.get("containerStatuses") or ())
    state = container.get("state") or {}
    ended, waits = state.get("terminated") or {}, state.get("waiting") or {}
    running = state.get("running") or ended
    return Pod(
        name=str(meta.get("name", "")),
        job=str(labels[JOBSET_NAME_LABEL]),
        slice=_index(labels.get(SLICE_LABEL)),
        process=_index(labels.get(PROCESS_LABEL)),
        container=str(_main_container((found.get("spec") or {}).get("containers") or ()).get("name", "")),
        created=_unix_time(meta.get("creationTimestamp")),
        phase=str(status.get("phase", "")),
        reason=str(status.get("reason", "")),
        message=str(status.get("message", "")),
        started=_unix_time(running.get("startedAt")),
        ended=_unix_time(ended.get("finishedAt")),
        exit_code=ended.get("exitCode"),
        ended_by=str(ended.get("reason", "")),
        waiting_reason=str(waits.get("reason", "")),
        waiting_message=str(waits.get("message", "")),
        conditions=_conditions(found),
    )


def _metadata(found: KubernetesObject) -> KubernetesObject:
    return found.get("metadata") or {}


def _status(found: KubernetesObject) -> KubernetesObject:
    return found.get("status") or {}


def _pod_specs(found: KubernetesObject) -> Iterator[KubernetesObject]:
    for part in (found.get("spec") or {}).get("replicatedJobs") or ():
        inner = part
        for name in ("template", "spec", "template", "spec"):
            inner = inner.get(name) or {}
        yield inner


def _main_container(containers: Any) -> KubernetesObject:
    """The container that runs the command: by its name, else the first."""
    named = [one for one in containers if one.get("name") in MAIN_CONTAINERS]
    return next(iter([*named, *containers]), {})


def _conditions(found: KubernetesObject) -> Conditions:
    """The true conditions, by type."""
    return {
        str(one.get("type")): Condition(
            type=str(one.get("type")),
            reason=str(one.get("reason", "")),
            message=str(one.get("message", "")),
            since=_unix_time(one.get("lastTransitionTime")),
        )
        for one in _status(found).get("conditions") or ()
        if one.get("status") == "True"
    }


def _is_quota_refusal(one: KubernetesObject) -> bool:
    return one.get("type") == "QuotaReserved" and one.get("status") == "False" and bool(one.get("message"))


def _index(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() else 0


def _unix_time(text: Any) -> float | None:
    return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None


# An image may still be in the repository's own build; the devices are held meanwhile.
IMAGE_SECONDS = 300.0

# An admitted JobSet makes its pods within seconds. One that cannot (a label beyond 63 letters, a template
# that the API refuses) never will.
PODLESS_SECONDS = 600.0

# New nodes take up to a quarter of an hour; after twice that they do not come.
STARTING_SECONDS = 1800.0

NOTE_LENGTH = 300

_IMAGE_ERRORS = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError"}

# Why Kubernetes disrupted a running pod: https://kubernetes.io/docs/concepts/workloads/pods/disruptions
_DISRUPTIONS = {
    "PreemptionByScheduler": ClusterFault.PREEMPTED,
    "EvictionByEvictionAPI": ClusterFault.EVICTED,
    "DeletionByTaintManager": ClusterFault.BAD_NODE,
    "DeletionByPodGC": ClusterFault.BAD_NODE,
    "TerminationByKubelet": ClusterFault.EVICTED,
}

# SIGABRT, SIGKILL, SIGTERM.
_ECHO_EXIT_CODES = {134, 137, 143}

_NODE_LOST_REASONS = {
    "NodeLost",
    "NodeShutdown",
    "Shutdown",
    "Terminated",
    "UnexpectedAdmissionError",
    "NodeAffinity",
}


class JobObjects(Struct, frozen=True, kw_only=True):
    """All objects of one job on the cluster."""

    job: JobSet
    workload: Workload | None = None
    pods: tuple[Pod, ...] = ()


def job_observation(objects: JobObjects, *, queued: Iterable[Workload], now: float) -> Observation:
    """The job's observation. `queued` are all workloads of the cluster."""
    done, failed = objects.job.conditions.get("Completed"), objects.job.conditions.get("Failed")
    if done is not None:
        return Observation(state=JobState.ENDED, exit_code=0)
    fault = _evicted(objects) or _pod_lost(objects.pods)
    if fault is not None:
        return fault
    if failed is not None:
        return _command_failed(objects, failed)
    if not _is_admitted(objects):
        return _queued(objects, queued)
    return _starting(objects, now) or Observation(state=JobState.RUNNING, note=_image_note(objects.job))


def queue_position(own: Workload, everybody: Iterable[Workload]) -> int:
    """The position in Kueue's queue, from 1: higher priority first, then the older."""
    ahead = [
        other
        for other in everybody
        if other.queue == own.queue
        and other.name != own.name
        and not other.conditions.keys() & {"QuotaReserved", "Admitted", "Finished"}
        and _queue_order(other) < _queue_order(own)
    ]
    return len(ahead) + 1


def main_pod(pods: Collection[Pod]) -> Pod | None:
    """Process 0 of slice 0, whose log is read."""
    first = [pod for pod in pods if (pod.slice, pod.process) == (0, 0)]
    return max(first, key=lambda pod: pod.created or 0.0, default=None)


def one_line(text: str) -> str:
    """A message of the cluster as one clause: no line ends, no control characters, not too long."""
    plain = re.sub(r"\s+", " ", "".join(char if char.isprintable() else " " for char in text)).strip()
    return plain if len(plain) <= NOTE_LENGTH else plain[: NOTE_LENGTH - 1].rstrip() + "…"


def _queue_order(one: Workload) -> tuple[float, float, str]:
    return -one.priority, one.created or 0.0, one.name


def _is_admitted(objects: JobObjects) -> bool:
    if objects.workload is None:
        return bool(objects.pods)
    return "Admitted" in objects.workload.conditions


def _queued(objects: JobObjects, queued: Iterable[Workload]) -> Observation:
    if objects.workload is None:
        return Observation(state=JobState.QUEUED)
    place = None
    if "QuotaReserved" not in objects.workload.conditions:
        place = queue_position(objects.workload, queued)
    note = one_line(objects.workload.pending_message)
    return Observation(state=JobState.QUEUED, queue_position=place, note=note)


def _evicted(objects: JobObjects) -> Observation | None:
    """Kueue evicted it while it ran, now or before: what runs after that is a second attempt."""
    if objects.workload is None:
        return None
    evicted, preempted = (objects.workload.conditions.get(one) for one in ("Evicted", "Preempted"))
    if evicted is not None and evicted.reason in EVICTED_BEFORE_START:
        evicted = None
    if evicted is None and preempted is None and not objects.workload.evictions:
        return None
    why = preempted or evicted or Condition(type="Evicted", message="it was evicted and let in again")
    taken = preempted is not None or why.reason == "Preempted"
    return _ended_by_cluster(
        ClusterFault.PREEMPTED if taken else ClusterFault.EVICTED, why.message or why.reason
    )


def _pod_lost(pods: Sequence[Pod]) -> Observation | None:
    """A pod was lost. The first failure is the cause: peers of a lost process fail too, a little later."""
    lost = [(_lost_at(pod), fault, pod) for pod in pods if (fault := _pod_fault(pod))]
    if not lost:
        return None
    when, fault, pod = min(lost, key=lambda one: one[0])
    own = [other.ended or 0.0 for other in pods if not _pod_fault(other) and _is_own_failure(other)]
    if own and min(own) < when:
        return None
    said = pod.conditions.get("DisruptionTarget")
    return _ended_by_cluster(fault, (said.message if said else "") or pod.message or pod.reason)


def _is_own_failure(pod: Pod) -> bool:
    """Whether it did not fail because of another process: JAX aborts where a peer is missing, JobSet ends the
    rest."""
    return bool(pod.exit_code) and (pod.exit_code not in _ECHO_EXIT_CODES or pod.ended_by == "OOMKilled")


def _pod_fault(pod: Pod) -> ClusterFault | None:
    if pod.ended_by == "OOMKilled":
        return None
    disrupted = pod.conditions.get("DisruptionTarget")
    if disrupted is not None:
        return _DISRUPTIONS.get(disrupted.reason, ClusterFault.EVICTED)
    if pod.reason in _NODE_LOST_REASONS:
        return ClusterFault.BAD_NODE
    return ClusterFault.EVICTED if pod.reason == "Evicted" else None


def _lost_at(pod: Pod) -> float:
    """When the pod was lost. A lost node does not say; then any other failure counts as earlier."""
    disrupted = pod.conditions.get("DisruptionTarget")
    return (disrupted.since if disrupted else None) or pod.ended or math.inf


def _command_failed(objects: JobObjects, failed: Condition) -> Observation:
    """The exit code of the process that failed first; its peers fail because of it."""
    bad = [pod for pod in objects.pods if pod.exit_code]
    first = min(bad, key=lambda pod: (not _is_own_failure(pod), pod.ended or math.inf), default=None)
    if first is None:
        return Observation(state=JobState.ENDED, note=one_line(failed.message))
    note = "" if first.ended_by in {"", "Error"} else f"the container ended with {first.ended_by}"
    return Observation(state=JobState.ENDED, exit_code=first.exit_code, note=one_line(note))


def _starting(objects: JobObjects, now: float) -> Observation | None:
    """It is admitted and does not run yet, or not on all hosts; None once the command runs."""
    stuck = next((pod for pod in objects.pods if pod.waiting_reason in _IMAGE_ERRORS), None)
    runs = any(pod.started is not None for pod in objects.pods)
    if stuck is not None and not (runs and _may_still_appear(stuck, now)):
        return _image_error(stuck, now)
    if runs:
        return None
    admitted = objects.workload.conditions["Admitted"].since if objects.workload else objects.job.created
    waited = now - (admitted or now)
    if waited >= (STARTING_SECONDS if objects.pods else PODLESS_SECONDS):
        why = _why_not_started(objects.pods) or "the cluster made no pods for it"
        return _ended_by_cluster(
            ClusterFault.NOT_STARTED, f"{why}, {waited / 60:.0f} min after it was let in"
        )
    note = _why_not_started(objects.pods) or "its pods are made"
    return Observation(state=JobState.QUEUED, note=one_line(note))


def _image_error(pod: Pod, now: float) -> Observation:
    why = f"{pod.waiting_reason}: {pod.waiting_message}" if pod.waiting_message else pod.waiting_reason
    if _may_still_appear(pod, now):
        return Observation(state=JobState.QUEUED, note=one_line(why))
    return _ended_by_cluster(ClusterFault.IMAGE_PULL, why)


def _may_still_appear(pod: Pod, now: float) -> bool:
    return pod.waiting_reason != "InvalidImageName" and now - (pod.created or now) < IMAGE_SECONDS


def _why_not_started(pods: Sequence[Pod]) -> str:
    reasons = [pod.waiting_message or pod.waiting_reason for pod in pods if pod.waiting_reason]
    if reasons:
        return f"its container waits: {reasons[0]}"
    return "its pods wait for nodes" if pods else ""


def _image_note(job: JobSet) -> str:
    """A note where the image is named by a tag: it may point to another image tomorrow."""
    return "" if "@sha256:" in job.image else "its image is named by a tag, whose digest was not to be had"


def _ended_by_cluster(fault: ClusterFault, note: str) -> Observation:
    return Observation(state=JobState.ENDED, fault=fault, note=one_line(note))
