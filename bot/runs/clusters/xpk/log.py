"""The log of a job on the cluster: from its pods while they are there, from Cloud Logging afterwards.

In:  an opened API and a job's name. Out: the log's bytes, piece by piece; how far the job is.
Promises: constant memory. Process 0's log comes first and stands alone; where step lines are missing in it,
the other processes' follow, each line marked with its pod, so that a reader can tell them apart.
"""

import json
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from bot.errors import Missing, Told
from bot.runs.clusters.progress import last_step
from bot.runs.clusters.xpk import facts
from bot.runs.clusters.xpk.api import KubernetesApi
from bot.runs.clusters.xpk.cloud_log import CloudLog, Processes
from bot.runs.clusters.xpk.facts import Pod
from bot.runs.clusters.xpk.lines import Completeness, marked
from bot.runs.clusters.xpk.mirror import PODS
from bot.runs.clusters.xpk.standing import main_pod

TAIL_LINES = 40
TAIL_BYTES = 1 << 20

MOST_OTHERS = 16
"""Processes read besides the first, where its log is not enough: slices have up to thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a job last said: its newest step, and when it wrote its last line (Unix seconds)."""

    last_step: int | None = None
    at: float | None = None


async def newest_line(api: KubernetesApi, pod: Pod, before: Heard) -> Heard:
    """What the end of a pod's log adds to what was known."""
    tail = await api.text(
        f"{PODS}/{pod.name}/log",
        container=pod.container,
        tailLines=str(TAIL_LINES),
        limitBytes=str(TAIL_BYTES),
        timestamps="true",
    )
    lines = tail.splitlines()
    if not lines:
        return before
    step = last_step(tail)
    return Heard(last_step=before.last_step if step is None else step, at=_stamp(lines[-1]) or before.at)


def _stamp(line: bytes) -> float | None:
    """2026-04-21T10:17:39.824857123Z completed step: 7, …"""
    try:
        return datetime.fromisoformat(line.split(b" ", 1)[0].decode("ascii")).timestamp()
    except ValueError:
        return None


@contextmanager
def open_log(api: KubernetesApi, cloud: CloudLog) -> Iterator[Iterator[bytes]]:
    """The job's log, to be used in a `with` statement on a thread; raises `Missing` where there is none."""
    pods = _pods(api, cloud.name)
    main = main_pod(pods)
    if main is not None and _begins(api, main):
        yield _from_pods(api, main, pods)
        return
    # No pods any more, or so much was written that the node threw the beginning away.
    pieces = _from_cloud(cloud)
    try:
        first = next(pieces, None)
    except Told:
        if main is None:
            raise
        first = None
    if first is not None:
        yield chain((first,), pieces)
    elif main is not None:
        yield _from_pods(api, main, pods)
    else:
        raise Missing(f"{cloud.name} left no log: no pods, and nothing in Cloud Logging.")


def _pods(api: KubernetesApi, name: str) -> list[Pod]:
    with api.stream(PODS, labelSelector=f"{facts.JOB_NAME}={name}") as pieces:
        items = json.loads(b"".join(pieces))["items"]
    found = [pod for one in items if (pod := facts.pod(one))]
    return sorted(found, key=lambda pod: (pod.slice, pod.process, -(pod.created or 0.0)))


def _begins(api: KubernetesApi, pod: Pod) -> bool:
    """Whether the node still has the log's beginning: it keeps the newest 10 MB or so."""
    with suppress(Missing), _pod_log(api, pod, limitBytes="4096") as pieces:
        return b"XPK Start:" in b"".join(pieces)
    return False


def _pod_log(api: KubernetesApi, pod: Pod, **query: str) -> AbstractContextManager[Iterator[bytes]]:
    return api.stream(f"{PODS}/{pod.name}/log", container=pod.container, **query)


def _from_pods(api: KubernetesApi, main: Pod, pods: list[Pod]) -> Iterator[bytes]:
    seen = Completeness()
    with _pod_log(api, main) as pieces:
        yield from seen.watch(pieces)
    others = [pod for pod in pods if (pod.slice, pod.process) != (main.slice, main.process)]
    if seen.whole or (seen.stepless and not _names_steps(api, others[:1])):
        return
    for pod in others[:MOST_OTHERS]:
        seen = Completeness()
        with suppress(Missing), _pod_log(api, pod) as pieces:
            yield from marked(seen.watch(pieces), pod.name, pod.container)
        if seen.whole:
            return


def _names_steps(api: KubernetesApi, pods: list[Pod]) -> bool:
    seen = Completeness()
    for pod in pods:
        with suppress(Missing), _pod_log(api, pod) as pieces:
            deque(seen.watch(pieces), maxlen=0)
    return seen.names_steps


def _from_cloud(cloud: CloudLog) -> Iterator[bytes]:
    seen = Completeness()
    yield from seen.watch(cloud.read(Processes.FIRST))
    if not seen.whole and not seen.stepless:
        yield from cloud.read(Processes.OTHERS)
