"""What a job's objects on the cluster mean.

In:  the facts of a JobSet, its Workload and its Pods, everybody's place in the queue, the time.
Out: an `Observation`.
Promises: pure. A command that failed, or asked for more memory than there is, is never the cluster's fault;
where the cluster took a node, an image or the turn away, it is, and the job has ended for us: what the
cluster would start again under the same name would be a second attempt that resumes from the first one's
checkpoint, and no measurement.
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bot.runs.clusters.port import Fault, JobState, Observation
from bot.runs.clusters.xpk.facts import BEFORE_IT_RAN, Condition, JobSet, Pod, Workload

# An image may still be under way from the repository's own build; the devices are held meanwhile.
IMAGE_SECONDS = 300.0
# A JobSet that was let in makes its pods within seconds. One that cannot (a label beyond 63 letters, a
# template the API refuses) stays so for ever.
PODLESS_SECONDS = 600.0
# New nodes take up to a quarter of an hour; after twice that they will not come.
STARTING_SECONDS = 1800.0

NOTE_LENGTH = 300

_IMAGE_TROUBLE = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError"}

# Why Kubernetes took a running pod away: https://kubernetes.io/docs/concepts/workloads/pods/disruptions
_DISRUPTIONS = {
    "PreemptionByScheduler": Fault.PREEMPTED,
    "EvictionByEvictionAPI": Fault.EVICTED,
    "DeletionByTaintManager": Fault.BAD_NODE,
    "DeletionByPodGC": Fault.BAD_NODE,
    "TerminationByKubelet": Fault.EVICTED,
}
# SIGABRT, SIGKILL, SIGTERM.
_ECHOES = {134, 137, 143}
_LOST = {"NodeLost", "NodeShutdown", "Shutdown", "Terminated", "UnexpectedAdmissionError", "NodeAffinity"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the cluster shows of one job."""

    job: JobSet
    workload: Workload | None = None
    pods: tuple[Pod, ...] = ()


def observation(seen: Seen, *, queued: Iterable[Workload], now: float) -> Observation:
    """How the job stands. `queued` are the workloads of everybody."""
    done, failed = seen.job.conditions.get("Completed"), seen.job.conditions.get("Failed")
    if done is not None:
        return Observation(state=JobState.ENDED, exit_code=0)
    fault = _taken_away(seen) or _lost_a_pod(seen.pods)
    if fault is not None:
        return fault
    if failed is not None:
        return _failed(seen, failed)
    if not _let_in(seen):
        return _waits(seen, queued)
    return _starts(seen, now) or Observation(state=JobState.RUNNING, note=_image_note(seen.job))


def place_in_queue(own: Workload, everybody: Iterable[Workload]) -> int:
    """Counted from 1 in Kueue's order: higher priority first, then the older."""
    ahead = [
        other
        for other in everybody
        if other.queue == own.queue
        and other.name != own.name
        and not other.conditions.keys() & {"QuotaReserved", "Admitted", "Finished"}
        and _turn(other) < _turn(own)
    ]
    return len(ahead) + 1


def main_pod(pods: Collection[Pod]) -> Pod | None:
    """Process 0 of slice 0: the one whose log is read."""
    first = [pod for pod in pods if (pod.slice, pod.process) == (0, 0)]
    return max(first, key=lambda pod: pod.created or 0.0, default=None)


def one_line(text: str) -> str:
    """The cluster's words as one clause: no line ends, no control characters, not too long."""
    plain = re.sub(r"\s+", " ", "".join(char if char.isprintable() else " " for char in text)).strip()
    return plain if len(plain) <= NOTE_LENGTH else plain[: NOTE_LENGTH - 1].rstrip() + "…"


def _turn(one: Workload) -> tuple[float, float, str]:
    return -one.priority, one.created or 0.0, one.name


def _let_in(seen: Seen) -> bool:
    if seen.workload is None:
        return bool(seen.pods)
    return "Admitted" in seen.workload.conditions


def _waits(seen: Seen, queued: Iterable[Workload]) -> Observation:
    if seen.workload is None:
        return Observation(state=JobState.QUEUED)
    place = None
    if "QuotaReserved" not in seen.workload.conditions:
        place = place_in_queue(seen.workload, queued)
    note = one_line(seen.workload.waits_because)
    return Observation(state=JobState.QUEUED, queue_place=place, note=note)


def _taken_away(seen: Seen) -> Observation | None:
    """Kueue threw it out while it ran, now or before: what runs after that is a second attempt."""
    if seen.workload is None:
        return None
    evicted, preempted = (seen.workload.conditions.get(one) for one in ("Evicted", "Preempted"))
    if evicted is not None and evicted.reason in BEFORE_IT_RAN:
        evicted = None
    if evicted is None and preempted is None and not seen.workload.evictions:
        return None
    why = preempted or evicted or Condition(type="Evicted", message="it was evicted and let in again")
    taken = preempted is not None or why.reason == "Preempted"
    return _ended(Fault.PREEMPTED if taken else Fault.EVICTED, why.message or why.reason)


def _lost_a_pod(pods: Sequence[Pod]) -> Observation | None:
    """The first thing that went wrong is the cause: peers of a lost process fail too, a little later."""
    lost = [(_fell(pod), fault, pod) for pod in pods if (fault := _fault(pod))]
    if not lost:
        return None
    when, fault, pod = min(lost, key=lambda one: one[0])
    own = [other.ended or 0.0 for other in pods if not _fault(other) and _failed_by_itself(other)]
    if own and min(own) < when:
        return None
    said = pod.conditions.get("DisruptionTarget")
    return _ended(fault, (said.message if said else "") or pod.message or pod.reason)


def _failed_by_itself(pod: Pod) -> bool:
    """Not as the echo of another process's end: JAX aborts where a peer is missing, JobSet ends the rest."""
    return bool(pod.exit_code) and (pod.exit_code not in _ECHOES or pod.died_of == "OOMKilled")


def _fault(pod: Pod) -> Fault | None:
    if pod.died_of == "OOMKilled":
        return None
    disrupted = pod.conditions.get("DisruptionTarget")
    if disrupted is not None:
        return _DISRUPTIONS.get(disrupted.reason, Fault.EVICTED)
    if pod.reason in _LOST:
        return Fault.BAD_NODE
    return Fault.EVICTED if pod.reason == "Evicted" else None


def _fell(pod: Pod) -> float:
    """When it was taken away; a node that was lost does not say, and then any other failure came before."""
    disrupted = pod.conditions.get("DisruptionTarget")
    return (disrupted.since if disrupted else None) or pod.ended or math.inf


def _failed(seen: Seen, failed: Condition) -> Observation:
    """The exit code of the process that failed first; its peers' codes are echoes."""
    bad = [pod for pod in seen.pods if pod.exit_code]
    first = min(bad, key=lambda pod: (not _failed_by_itself(pod), pod.ended or math.inf), default=None)
    if first is None:
        return Observation(state=JobState.ENDED, note=one_line(failed.message))
    note = "" if first.died_of in {"", "Error"} else f"the container ended with {first.died_of}"
    return Observation(state=JobState.ENDED, exit_code=first.exit_code, note=one_line(note))


def _starts(seen: Seen, now: float) -> Observation | None:
    """It was let in and does not run yet, or not on all hosts; None once the command runs."""
    stuck = next((pod for pod in seen.pods if pod.waits_for in _IMAGE_TROUBLE), None)
    runs = any(pod.started is not None for pod in seen.pods)
    if stuck is not None and not (runs and _is_patient(stuck, now)):
        return _image_trouble(stuck, now)
    if runs:
        return None
    admitted = seen.workload.conditions["Admitted"].since if seen.workload else seen.job.created
    waited = now - (admitted or now)
    if waited >= (STARTING_SECONDS if seen.pods else PODLESS_SECONDS):
        why = _why_not_started(seen.pods) or "the cluster made no pods for it"
        return _ended(Fault.NOT_STARTED, f"{why}, {waited / 60:.0f} min after it was let in")
    note = _why_not_started(seen.pods) or "its pods are made"
    return Observation(state=JobState.QUEUED, note=one_line(note))


def _image_trouble(pod: Pod, now: float) -> Observation:
    why = f"{pod.waits_for}: {pod.waits_because}" if pod.waits_because else pod.waits_for
    if _is_patient(pod, now):
        return Observation(state=JobState.QUEUED, note=one_line(why))
    return _ended(Fault.IMAGE_PULL, why)


def _is_patient(pod: Pod, now: float) -> bool:
    return pod.waits_for != "InvalidImageName" and now - (pod.created or now) < IMAGE_SECONDS


def _why_not_started(pods: Sequence[Pod]) -> str:
    reasons = [pod.waits_because or pod.waits_for for pod in pods if pod.waits_for]
    if reasons:
        return f"its container waits: {reasons[0]}"
    return "its pods wait for nodes" if pods else ""


def _image_note(job: JobSet) -> str:
    """A tag may point to another image tomorrow: then the run cannot be repeated."""
    return "" if "@sha256:" in job.image else "its image is named by a tag, whose digest was not to be had"


def _ended(fault: Fault, note: str) -> Observation:
    return Observation(state=JobState.ENDED, fault=fault, note=one_line(note))
