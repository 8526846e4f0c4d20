"""What we keep of Kubernetes' objects: the few fields that say how a job stands.

In:  JobSets, Kueue Workloads and Pods as the API gives them. Out: small values, or None for what is not ours.
Promises: pure; a field that is not there is absent here too. Texts are the cluster's: untrusted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# One of their objects, as JSON.
Object = Mapping[str, Any]

JOB_NAME = "jobset.sigs.k8s.io/jobset-name"
SLICE = "jobset.sigs.k8s.io/job-index"
PROCESS = "batch.kubernetes.io/job-completion-index"

# XPK names the container that runs the command so; others in the pod only serve it.
MAIN_CONTAINERS = ("jax-tpu", "gpu-image")

# Why Kueue takes a workload back before its pods run: the devices could not be had after all, and it waits
# for its turn again.
BEFORE_IT_RAN = {"AdmissionCheck", "PodsReadyTimeout"}

# Put into the container's environment, and so into the JobSet in the moment it is made.
MARK = "MAXVIEW_APP"
# Put on the JobSet once it is there: `xpk` has no option for labels.
LABEL = "maxview/app"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One of an object's conditions that holds. `since` is in Unix seconds."""

    type: str
    reason: str = ""
    message: str = ""
    since: float | None = None


Conditions = Mapping[str, Condition]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSet:
    """A workload as XPK made it. `app` is the installation that had it made, "" where no MaxView did."""

    name: str
    app: str = ""
    labels: Mapping[str, str]
    created: float | None = None
    image: str = ""
    command: str = ""
    restarts: int = 0
    conditions: Conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The same job in Kueue's queue. `evictions` counts how often it was thrown out while it ran;
    `waits_because` is why it has no quota yet."""

    name: str
    job: str
    queue: str = ""
    priority: int = 0
    created: float | None = None
    evictions: int = 0
    waits_because: str = ""
    conditions: Conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One process of a job. `exit_code`, `ended` and `died_of` speak of the container that runs the command;
    `waits_for` is why it does not run yet."""

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
    died_of: str = ""
    waits_for: str = ""
    waits_because: str = ""
    conditions: Conditions


def jobset(found: Object) -> JobSet:
    """A JobSet's facts."""
    meta, container = _meta(found), _main(next(_pod_specs(found), {}).get("containers") or ())
    environment = {one.get("name"): str(one.get("value", "")) for one in container.get("env") or ()}
    labels = {str(name): str(value) for name, value in (meta.get("labels") or {}).items()}
    return JobSet(
        name=str(meta.get("name", "")),
        app=labels.get(LABEL) or environment.get(MARK, ""),
        labels=labels,
        created=_time(meta.get("creationTimestamp")),
        image=str(container.get("image", "")),
        command=" ".join(str(word) for word in container.get("command") or ()),
        restarts=int(_status(found).get("restarts") or 0),
        conditions=_conditions(found),
    )


def workload(found: Object) -> Workload | None:
    """A Kueue Workload's facts, None where it stands for something else than a JobSet."""
    meta, spec = _meta(found), found.get("spec") or {}
    owners = [one for one in meta.get("ownerReferences") or () if one.get("kind") == "JobSet"]
    if not owners:
        return None
    evictions = (_status(found).get("schedulingStats") or {}).get("evictions") or ()
    evictions = [one for one in evictions if one.get("reason") not in BEFORE_IT_RAN]
    waits = [one.get("message") for one in _status(found).get("conditions") or () if _is_refusal(one)]
    return Workload(
        name=str(meta.get("name", "")),
        job=str(owners[0].get("name", "")),
        queue=str(spec.get("queueName", "")),
        priority=int(spec.get("priority") or 0),
        created=_time(meta.get("creationTimestamp")),
        evictions=sum(
            int(one.get("count") or 0) for one in evictions if one.get("reason") not in BEFORE_IT_RAN
        ),
        waits_because=str(waits[0]) if waits else "",
        conditions=_conditions(found),
    )


def pod(found: Object) -> Pod | None:
    """A Pod's facts, None where it belongs to no JobSet."""
    meta, status = _meta(found), _status(found)
    labels = meta.get("labels") or {}
    if JOB_NAME not in labels:
        return None
    seen = _main(status.get("containerStatuses") or ())
    state = seen.get("state") or {}
    ended, waits = state.get("terminated") or {}, state.get("waiting") or {}
    running = state.get("running") or ended
    return Pod(
        name=str(meta.get("name", "")),
        job=str(labels[JOB_NAME]),
        slice=_number(labels.get(SLICE)),
        process=_number(labels.get(PROCESS)),
        container=str(_main((found.get("spec") or {}).get("containers") or ()).get("name", "")),
        created=_time(meta.get("creationTimestamp")),
        phase=str(status.get("phase", "")),
        reason=str(status.get("reason", "")),
        message=str(status.get("message", "")),
        started=_time(running.get("startedAt")),
        ended=_time(ended.get("finishedAt")),
        exit_code=ended.get("exitCode"),
        died_of=str(ended.get("reason", "")),
        waits_for=str(waits.get("reason", "")),
        waits_because=str(waits.get("message", "")),
        conditions=_conditions(found),
    )


def _meta(found: Object) -> Object:
    return found.get("metadata") or {}


def _status(found: Object) -> Object:
    return found.get("status") or {}


def _pod_specs(found: Object) -> Iterator[Object]:
    for part in (found.get("spec") or {}).get("replicatedJobs") or ():
        inner = part
        for name in ("template", "spec", "template", "spec"):
            inner = inner.get(name) or {}
        yield inner


def _main(containers: Any) -> Object:
    """The container that runs the command: known by name, else the first."""
    named = [one for one in containers if one.get("name") in MAIN_CONTAINERS]
    return next(iter([*named, *containers]), {})


def _conditions(found: Object) -> Conditions:
    """The conditions that hold, by type."""
    return {
        str(one.get("type")): Condition(
            type=str(one.get("type")),
            reason=str(one.get("reason", "")),
            message=str(one.get("message", "")),
            since=_time(one.get("lastTransitionTime")),
        )
        for one in _status(found).get("conditions") or ()
        if one.get("status") == "True"
    }


def _is_refusal(one: Object) -> bool:
    return one.get("type") == "QuotaReserved" and one.get("status") == "False" and bool(one.get("message"))


def _number(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() else 0


def _time(text: Any) -> float | None:
    return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
