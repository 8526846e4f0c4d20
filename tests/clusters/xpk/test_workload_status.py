"""What a job's objects on the cluster mean: each as the real controllers write them."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.clusters.interface import ClusterFault, JobState, Observation
from bot.clusters.xpk import workload_status
from bot.clusters.xpk.workload_status import NOTE_LENGTH, JobObjects, job_observation, one_line
from tests.peers.kubelet import Kubelet
from tests.peers.kubernetes import JOBSETS, PODS, WORKLOADS, Cluster

NAME = "mv-a"


def seen(kubelet: Kubelet, name: str = NAME) -> Observation:
    """What is said of a job now."""
    workloads = [
        one
        for each in kubelet.cluster.named(WORKLOADS).values()
        if (one := workload_status.read_workload(each))
    ]
    pods = [pod for each in kubelet.cluster.named(PODS).values() if (pod := workload_status.read_pod(each))]
    shown = JobObjects(
        job=workload_status.read_jobset(kubelet.cluster.named(JOBSETS)[name]),
        workload=next((one for one in workloads if one.job == name), None),
        pods=tuple(one for one in pods if one.job == name),
    )
    return job_observation(shown, queued=workloads, now=time.time())


@pytest.fixture
def kubelet() -> Kubelet:
    """A cluster with one workload of ours."""
    made = Kubelet(Cluster())
    made.make(NAME)
    return made


Scene = Callable[[Kubelet], None]


def running(kubelet: Kubelet) -> None:
    """The job runs since two minutes ago."""
    kubelet.run(NAME, ago=120)


def scene(*moves: Callable[[Kubelet], object]) -> Scene:
    """One move after the other."""

    def play(kubelet: Kubelet) -> None:
        for move in moves:
            move(kubelet)

    return play


SCENES: dict[str, tuple[Scene, JobState, int | None, ClusterFault | None, str]] = {
    "in the queue": (scene(), JobState.QUEUED, None, None, "couldn't assign flavors"),
    "let in": (scene(lambda k: k.admit(NAME)), JobState.QUEUED, None, None, "its pods are made"),
    "containers are made": (
        scene(lambda k: k.admit(NAME), lambda k: k.pods(NAME)),
        JobState.QUEUED, None, None, "its container waits: ContainerCreating",
    ),
    "runs": (scene(running), JobState.RUNNING, None, None, ""),
    "ends well": (scene(running, lambda k: k.finish(NAME)), JobState.ENDED, 0, None, ""),
    "fails by itself": (scene(running, lambda k: k.fail(NAME, 1)), JobState.ENDED, 1, None, ""),
    "over time": (scene(running, lambda k: k.fail(NAME, 124)), JobState.ENDED, 124, None, ""),
    "fails on another host": (
        scene(running, lambda k: k.fail(NAME, 3, process=1, ago=30)), JobState.ENDED, 3, None, "",
    ),
    "out of memory": (
        scene(running, lambda k: k.fail(NAME, 137, reason="OOMKilled")),
        JobState.ENDED, 137, None, "the container ended with OOMKilled",
    ),
    "cannot start": (
        scene(running, lambda k: k.fail(NAME, 128, reason="StartError")),
        JobState.ENDED, 128, None, "the container ended with StartError",
    ),
    "preempted": (
        scene(running, lambda k: k.preempt(NAME)), JobState.ENDED, None, ClusterFault.PREEMPTED,
        "Preempted to",
    ),
    "preempted, then let in again": (
        scene(running, lambda k: k.preempt(NAME), lambda k: k.readmit(NAME), running),
        JobState.ENDED, None, ClusterFault.EVICTED, "it was evicted and let in again",
    ),
    "given back before it ran": (
        scene(lambda k: k.admit(NAME), lambda k: k.give_back(NAME)),
        JobState.QUEUED, None, None, "At least one admission check is false",
    ),
    "given back, then run": (
        scene(lambda k: k.admit(NAME), lambda k: k.give_back(NAME), running),
        JobState.RUNNING, None, None, "",
    ),
    "one host has no image": (
        scene(running, lambda k: k.wait(NAME, "ImagePullBackOff", process=1)),
        JobState.RUNNING, None, None, "",
    ),
    "one host has no image for long": (
        scene(lambda k: k.run(NAME, ago=400), lambda k: k.wait(NAME, "ImagePullBackOff", process=1)),
        JobState.ENDED, None, ClusterFault.IMAGE_PULL, "ImagePullBackOff",
    ),
    "node drained": (
        scene(running, lambda k: k.disrupt(NAME, "EvictionByEvictionAPI", "Eviction API: evicting", ago=20)),
        JobState.ENDED, None, ClusterFault.EVICTED, "Eviction API",
    ),
    "node lost": (
        scene(running, lambda k: k.disrupt(NAME, "DeletionByTaintManager", "Taint manager: gone", ago=20)),
        JobState.ENDED, None, ClusterFault.BAD_NODE, "Taint manager",
    ),
    "taken by the scheduler": (
        scene(running, lambda k: k.disrupt(NAME, "PreemptionByScheduler", "default-scheduler: preempting")),
        JobState.ENDED, None, ClusterFault.PREEMPTED, "default-scheduler",
    ),
    "thrown off its node": (
        scene(running, lambda k: k.evict(NAME)), JobState.ENDED, None, ClusterFault.EVICTED,
        "The node was low",
    ),
    "node lost, and its peers abort": (
        scene(running, lambda k: k.lose_node(NAME), lambda k: k.end(NAME, 134, process=1)),
        JobState.ENDED, None, ClusterFault.BAD_NODE, "Node gke-tpu-0 which was running pod",
    ),
    "killed first, failed later": (
        scene(running, lambda k: k.end(NAME, 137, ago=9), lambda k: k.fail(NAME, 2, process=1, ago=5)),
        JobState.ENDED, 2, None, "",
    ),
    "failed by itself, then its node went": (
        scene(
            running,
            lambda k: k.end(NAME, 1, process=1, ago=60),
            lambda k: k.disrupt(NAME, "DeletionByPodGC", "gone", ago=20),
        ),
        JobState.ENDED, 1, None, "",
    ),
    "image pull begins to fail": (
        scene(lambda k: k.admit(NAME), lambda k: k.pods(NAME, waits_for="ErrImagePull", message="not found")),
        JobState.QUEUED, None, None, "ErrImagePull: not found",
    ),
    "image pull goes on failing": (
        scene(lambda k: k.admit(NAME), lambda k: k.pods(NAME, waits_for="ImagePullBackOff", ago=400)),
        JobState.ENDED, None, ClusterFault.IMAGE_PULL, "ImagePullBackOff",
    ),
    "image name is none": (
        scene(lambda k: k.admit(NAME), lambda k: k.pods(NAME, waits_for="InvalidImageName")),
        JobState.ENDED, None, ClusterFault.IMAGE_PULL, "InvalidImageName",
    ),
    "no pods are made": (
        scene(lambda k: k.admit(NAME, ago=700)),
        JobState.ENDED, None, ClusterFault.NOT_STARTED, "the cluster made no pods for it, 12 min after",
    ),
    "nodes do not come": (
        scene(lambda k: k.admit(NAME, ago=1900), lambda k: k.pods(NAME, ago=1890, waits_for="")),
        JobState.ENDED, None, ClusterFault.NOT_STARTED, "its pods wait for nodes, 32 min after",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_every_standing_is_told_apart(name: str, kubelet: Kubelet) -> None:
    """The state, the command's exit code, whose fault it is, and a clause for people."""
    play, state, code, fault, note = SCENES[name]
    play(kubelet)
    said = seen(kubelet)
    assert (state, code, fault) == (said.state, said.exit_code, said.fault)
    assert said.note.startswith(note)
    assert bool(said.note) is bool(note)


def test_the_place_in_the_queue_is_kueues(kubelet: Kubelet) -> None:
    """Higher priority first, then the older; who was let in or ended stands in no queue."""
    kubelet.make("mv-old", ago=60)
    kubelet.make("somebodys-high", app="", priority="high")
    kubelet.make("let-in", app="", priority="very-high")
    kubelet.admit("let-in")
    kubelet.make("mv-lowest", priority="very-low", ago=600)
    places = {
        name: seen(kubelet, name).queue_position for name in ("somebodys-high", "mv-old", NAME, "mv-lowest")
    }
    assert places == {"somebodys-high": 1, "mv-old": 2, NAME: 3, "mv-lowest": 4}


def test_an_image_named_by_tag_is_told_while_it_runs() -> None:
    """Such a run cannot be repeated with certainty."""
    kubelet = Kubelet(Cluster())
    kubelet.make(NAME, image="registry.example/maxtext:latest")
    kubelet.run(NAME)
    assert seen(kubelet).note == "its image is named by a tag, whose digest was not to be had"


def test_the_clusters_words_are_one_short_line() -> None:
    """What stands in a message ends up in a comment."""
    assert one_line("a\n  b\x1b[31m\u2028c\x00") == "a b [31m c"
    assert len(one_line("x" * 1000)) == NOTE_LENGTH


def without(found: Any, choose: random.Random) -> Any:
    """The object with some of its fields left out, or null."""
    match found:
        case dict():
            kept = {name: without(value, choose) for name, value in found.items() if choose.random() > 0.1}
            return {name: None if choose.random() < 0.05 else value for name, value in kept.items()}
        case list():
            return [without(one, choose) for one in found if choose.random() > 0.1]
        case _:
            return found


@given(choose=st.randoms(use_true_random=False), name=st.sampled_from(sorted(SCENES)))
def test_whatever_is_left_out_of_an_object_it_can_be_read(choose: random.Random, name: str) -> None:
    """One odd workload of somebody's must not blind us for all others."""
    kubelet = Kubelet(Cluster())
    kubelet.make(NAME)
    SCENES[name][0](kubelet)
    show = {where: list(kubelet.cluster.named(where).values()) for where in (JOBSETS, WORKLOADS, PODS)}
    jobs = [workload_status.read_jobset(without(one, choose)) for one in show[JOBSETS]]
    workloads = [
        one for each in show[WORKLOADS] if (one := workload_status.read_workload(without(each, choose)))
    ]
    pods = tuple(pod for each in show[PODS] if (pod := workload_status.read_pod(without(each, choose))))
    for job in jobs:
        workload = next(iter(workloads), None)
        said = job_observation(
            JobObjects(job=job, workload=workload, pods=pods), queued=workloads, now=time.time()
        )
        assert said.state in set(JobState)


def test_objects_without_the_usual_fields_are_read() -> None:
    """A JobSet a second after it was made has no status, and a workload may stand for a plain Job."""
    bare = workload_status.read_jobset({"metadata": {"name": "mv-b"}, "spec": {}})
    assert job_observation(JobObjects(job=bare), queued=(), now=0) == Observation(state=JobState.QUEUED)
    assert (
        workload_status.read_workload({"metadata": {"name": "w", "ownerReferences": [{"kind": "Job"}]}})
        is None
    )
    assert workload_status.read_pod({"metadata": {"name": "p"}}) is None
