"""Move workloads on the stand-in cluster as Kueue, JobSet and the nodes would.

A test moves single workloads with `Kubelet`; `Autopilot` moves every workload by itself.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.peers.kubernetes import JOBSETS, PODS, WORKLOADS, Cluster, Json, stamp, workload_of

CONTAINER = "jax-tpu"


@dataclass(frozen=True, slots=True)
class Kubelet:
    """Moves the workloads of one cluster; `processes` pods a slice where the JobSet's own number is too many.

    Moments are the real clock's, unless a test says how many seconds `ago` something was.
    """

    cluster: Cluster
    processes: int = 2

    def make(self, name: str, *, priority: str = "low", app: str = "1", image: str = "r/i@sha256:" + "0" * 64,
             command: str = "", ago: float = 0.0) -> Json:  # fmt: skip
        """A JobSet as XPK writes it, without XPK; gets its workload too."""
        container = {
            "name": CONTAINER,
            "image": image,
            "env": [{"name": "MAXVIEW_APP", "value": app}] if app else [],
            "command": ["bash", "-c", command],
        }
        labels = {"kueue.x-k8s.io/queue-name": "multislice-queue", "xpk.google.com/workload": name}
        pod = {"metadata": {}, "spec": {"priorityClassName": priority, "containers": [container]}}
        job = {"parallelism": 8, "completions": 8, "template": pod}
        jobset = self.cluster.put(
            JOBSETS,
            {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "metadata": {"name": name, "labels": labels, "creationTimestamp": stamp(time.time() - ago)},
                "spec": {"replicatedJobs": [{"name": "slice-job", "replicas": 1, "template": {"spec": job}}]},
            },
        )
        workload = workload_of(jobset)
        workload["metadata"]["creationTimestamp"] = jobset["metadata"]["creationTimestamp"]
        return self.cluster.put(WORKLOADS, workload)

    def admit(self, name: str, *, ago: float = 0.0) -> None:
        """Kueue lets it in."""
        message = "Admitted by ClusterQueue cluster-queue"
        for condition in ("QuotaReserved", "Admitted"):
            self._workload(name, condition, reason=condition, message=message, ago=ago)

    def pods(
        self, name: str, *, ago: float = 0.0, waits_for: str = "ContainerCreating", message: str = ""
    ) -> None:
        """JobSet makes the pods; their containers wait."""
        owner = self.cluster.named(JOBSETS)[name]["metadata"]["uid"]
        for process in range(self.processes):
            labels = {
                "jobset.sigs.k8s.io/jobset-name": name,
                "jobset.sigs.k8s.io/job-index": "0",
                "jobset.sigs.k8s.io/restart-attempt": "0",
                "batch.kubernetes.io/job-completion-index": str(process),
                "xpk.google.com/workload": name,
            }
            self.cluster.put(
                PODS,
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": self.pod(name, process),
                        "labels": labels,
                        "creationTimestamp": stamp(time.time() - ago),
                        "ownerReferences": [{"kind": "Job", "name": f"{name}-slice-job-0", "uid": owner}],
                    },
                    "spec": {"nodeName": f"gke-tpu-{process}", "containers": [{"name": CONTAINER}]},
                    "status": {
                        "phase": "Pending",
                        "containerStatuses": [
                            _container({"waiting": _without(reason=waits_for, message=message)})
                        ],
                    },
                },
            )

    def start(self, name: str, *, ago: float = 0.0) -> None:
        """The containers run."""
        for process in range(self.processes):
            self._pod(name, process, "Running", {"running": {"startedAt": stamp(time.time() - ago)}})
            self.cluster.logs[self.pod(name, process)] = b"XPK Start: Sat Apr 18 00:54:24 UTC 2026\n"

    def wait(self, name: str, reason: str, *, process: int = 0) -> None:
        """One process's container cannot start."""
        self._pod(name, process, "Pending", {"waiting": {"reason": reason}})

    def run(self, name: str, *, ago: float = 0.0) -> None:
        """From the queue to running."""
        self.admit(name, ago=ago)
        self.pods(name, ago=ago)
        self.start(name, ago=ago)

    def say(self, name: str, text: str, process: int = 0) -> None:
        """A process writes."""
        with self.cluster.lock:
            self.cluster.logs[self.pod(name, process)] += text.encode()

    def end(self, name: str, code: int = 0, *, process: int = 0, reason: str = "", ago: float = 0.0) -> None:
        """One process's container ends."""
        told = reason or ("Completed" if code == 0 else "Error")
        ended = {"exitCode": code, "reason": told, "finishedAt": stamp(time.time() - ago)}
        ended["startedAt"] = stamp(time.time() - ago - 60)
        self._pod(name, process, "Succeeded" if code == 0 else "Failed", {"terminated": ended})

    def finish(self, name: str) -> None:
        """Every process ends well, and so does the JobSet."""
        for process in range(self.processes):
            self.say(name, "XPK End: Sat Apr 18 00:58:24 UTC 2026\nEXIT_CODE=0\n", process)
            self.end(name, 0, process=process)
        self._jobset(name, "Completed", reason="AllJobsCompleted", message="jobset completed successfully")
        self._workload(name, "Finished", reason="Succeeded", message="jobset completed successfully")

    def fail(self, name: str, code: int = 1, *, process: int = 0, reason: str = "", ago: float = 0.0) -> None:
        """One process fails, and so the JobSet; its peers are taken down."""
        if reason != "OOMKilled":
            self.say(name, f"XPK End: Sat Apr 18 00:58:24 UTC 2026\nEXIT_CODE={code}\n", process)
        self.end(name, code, process=process, reason=reason, ago=ago)
        for other in set(range(self.processes)) - {process}:
            if "terminated" not in self.state(name, other):
                self.end(name, 137, process=other, ago=max(0.0, ago - 5))
        message = f"jobset failed due to one or more job failures (first failed job: {name}-slice-job-0)"
        self._jobset(name, "Failed", reason="FailJobSetFailurePolicyAction", message=message)
        self._workload(name, "Finished", reason="Failed", message=message)

    def preempt(self, name: str) -> None:
        """A workload of higher priority takes its place; it goes back into the queue."""
        message = "Preempted to accommodate a workload (UID: 1a2b) due to prioritization in the ClusterQueue"
        self._workload(name, "Evicted", reason="Preempted", message=message)
        self._workload(name, "Preempted", reason="InClusterQueue", message=message)
        for condition in ("QuotaReserved", "Admitted"):
            self._workload(name, condition, status="False", reason="Pending", message="Preempted")
        self.remove_pods(name)

    def readmit(self, name: str) -> None:
        """Kueue lets a preempted one in again, and remembers that it was thrown out."""
        self.admit(name)
        for condition in ("Evicted", "Preempted"):
            self._workload(
                name, condition, status="False", reason="QuotaReserved", message="Previously: Preempted"
            )

        def remember(found: Json) -> None:
            found["status"]["schedulingStats"] = {"evictions": [{"reason": "Preempted", "count": 1}]}

        self.cluster.change(WORKLOADS, self._of(name), remember)

    def give_back(self, name: str) -> None:
        """The devices could not be had after all: it waits for its turn again, without having run."""
        message = "At least one admission check is false"
        self._workload(name, "Evicted", reason="AdmissionCheck", message=message)
        for condition in ("QuotaReserved", "Admitted"):
            self._workload(name, condition, status="False", reason="Pending", message=message)
        count = {"reason": "AdmissionCheck", "count": 1}

        def remember(found: Json) -> None:
            found["status"]["schedulingStats"] = {"evictions": [count]}

        self.cluster.change(WORKLOADS, self._of(name), remember)

    def disrupt(self, name: str, reason: str, message: str, *, process: int = 0, ago: float = 0.0) -> None:
        """The cluster takes one pod away while it runs; the JobSet fails for it."""

        def taken(found: Json) -> None:
            _set(found, "DisruptionTarget", "True", reason=reason, message=message, ago=ago)

        self.cluster.change(PODS, self.pod(name, process), taken)
        self.fail(name, 143, process=process, ago=max(0.0, ago - 1))

    def evict(self, name: str, *, process: int = 0) -> None:
        """The node throws a pod out, as it does when it runs low."""

        def thrown_out(found: Json) -> None:
            found["status"] |= {
                "phase": "Failed",
                "reason": "Evicted",
                "message": "The node was low on resource: ephemeral-storage.",
            }

        self.cluster.change(PODS, self.pod(name, process), thrown_out)

    def lose_node(self, name: str, *, process: int = 0) -> None:
        """The node stops answering; what its container does nobody knows."""

        def unknown(found: Json) -> None:
            message = f"Node {found['spec']['nodeName']} which was running pod is unresponsive"
            found["status"] |= {"reason": "NodeLost", "message": message}

        self.cluster.change(PODS, self.pod(name, process), unknown)

    def remove_pods(self, name: str) -> None:
        """The pods are gone, and with them what they wrote."""
        for process in range(self.processes):
            self.cluster.remove(PODS, self.pod(name, process))
            self.cluster.logs.pop(self.pod(name, process), None)

    def pod(self, name: str, process: int = 0) -> str:
        """A pod's name, as JobSet makes it."""
        return f"{name}-slice-job-0-{process}-x7k2{process % 10}"

    def state(self, name: str, process: int = 0) -> Json:
        """How a process's container stands."""
        pod = self.cluster.named(PODS)[self.pod(name, process)]
        state: Json = pod["status"]["containerStatuses"][0]["state"]
        return state

    def _of(self, name: str) -> str:
        found = self.cluster.named(WORKLOADS)
        return next(
            key for key, one in found.items() if one["metadata"]["ownerReferences"][0]["name"] == name
        )

    def _workload(self, name: str, kind: str, *, status: str = "True", **said: Any) -> None:
        self.cluster.change(WORKLOADS, self._of(name), lambda found: _set(found, kind, status, **said))

    def _jobset(self, name: str, kind: str, **said: Any) -> None:
        self.cluster.change(JOBSETS, name, lambda found: _set(found, kind, "True", **said))

    def _pod(self, name: str, process: int, phase: str, state: Json) -> None:
        def edit(found: Json) -> None:
            found["status"] |= {"phase": phase, "containerStatuses": [_container(state)]}

        self.cluster.change(PODS, self.pod(name, process), edit)


def _container(state: Json) -> Json:
    return {"name": CONTAINER, "state": state, "restartCount": 0, "ready": "running" in state}


def _without(**values: str) -> Json:
    return {name: value for name, value in values.items() if value}


def _set(found: Json, kind: str, status: str, *, reason: str, message: str, ago: float = 0.0) -> None:
    conditions = found.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [one for one in conditions if one["type"] != kind]
    at = stamp(time.time() - ago)
    conditions.append(
        {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}
    )


Steps = Callable[[str, int], str]
"""What a workload of this name prints at this step, with the line's end."""


def maxtext_step(name: str, step: int) -> str:
    """A step line of MaxText's, half a second after the one before."""
    seconds = step / 2
    clock = f"{int(seconds) // 60:02}:{seconds % 60:09.6f}"
    stamp = f"I0418 01:{clock} 136682829195077 metric_logger.py:196]"
    values = "TFLOP/s/device: 59.366, Tokens/s/device: 8948.3, total_weights: 65536"
    return f"{stamp} completed step: {step}, seconds: 0.500, {values}, loss: {10 - step / 100:.3f}\n"


@dataclass(slots=True, kw_only=True)
class Autopilot:
    """How workloads go: `steps` lines, `pause` seconds apart, `at_once` workloads at a time.

    Names in `stuck` stay where they are; `moved` counts how often each name was started.
    """

    cluster: Cluster
    steps: int = 12
    pause: float = 0.02
    at_once: int = 4
    prints: Steps = maxtext_step
    stuck: set[str] = field(default_factory=set)
    moved: dict[str, int] = field(default_factory=dict)
    _printed: dict[str, int] = field(default_factory=dict)

    def turn(self) -> None:
        """Move every workload a little."""
        kubelet = Kubelet(self.cluster, processes=1)
        found = self.cluster.named(JOBSETS)
        for name in self._printed.keys() - found.keys():
            del self._printed[name]
        open_ones = [name for name, one in found.items() if not _has_ended(one) and name not in self.stuck]
        for name in open_ones[: self.at_once]:
            try:
                self._move(kubelet, name, found[name])
            except (KeyError, StopIteration):
                # It was deleted in the middle of the move.
                continue

    def _move(self, kubelet: Kubelet, name: str, jobset: Json) -> None:
        printed = self._printed.get(name)
        if printed is None:
            self._printed[name] = 0
            self.moved[name] = self.moved.get(name, 0) + 1
            kubelet.run(name)
            kubelet.say(name, _bench_meta_line(jobset))
        elif printed < self.steps:
            kubelet.say(name, self.prints(name, printed))
            self._printed[name] = printed + 1
        else:
            kubelet.finish(name)


@contextmanager
def running_autopilot(autopilot: Autopilot) -> Iterator[Autopilot]:
    """Let it move the workloads until the end of the `with` statement."""
    landed = threading.Event()

    def fly() -> None:
        while not landed.is_set():
            autopilot.turn()
            time.sleep(autopilot.pause)

    thread = threading.Thread(target=fly)
    thread.start()
    try:
        yield autopilot
    finally:
        landed.set()
        thread.join()


def _has_ended(jobset: Json) -> bool:
    conditions = jobset.get("status", {}).get("conditions", ())
    return any(one["type"] in {"Completed", "Failed"} for one in conditions)


def _bench_meta_line(jobset: Json) -> str:
    """The line that the workload's own command prints first."""
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    found = re.search(r"echo '(BENCH_META \{.*?\})'", pod["containers"][0]["command"][2])
    return f"{found[1]}\n" if found else ""
