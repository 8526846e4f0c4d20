"""Keeps a snapshot of a cluster's jobs up to date by watch streams, for any number of callers.

Three requests a minute, however many jobs are asked about. A snapshot that could not be renewed for two
minutes is not shown: asking raises the reason. The streams end when nobody has asked for a while.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from typing import Generic, TypeVar

from msgspec import Struct, field

from bot.clusters.xpk import workload_status
from bot.clusters.xpk.api import Json, KubernetesApi, WatchExpired
from bot.clusters.xpk.workload_status import JobObjects, JobSet, Pod, Workload
from bot.errors import InternalError, NotFound, TransientError, UserError

FIRST_LISTING_SECONDS = 25.0
"""How long the first caller waits for the first listing."""

STALE_SECONDS = 120.0
"""Twice the time of one watch stream."""

IDLE_SECONDS = 900.0

MIN_PAUSE = 1.0
"""Between two streams."""

MAX_PAUSE = 120.0
"""Between two tries where a cluster keeps failing."""

NAMESPACE = "default"
"""Where xpk makes workloads by default."""

JOBSETS = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets"

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"

T = TypeVar("T")


class ClusterSnapshot(Struct, frozen=True, kw_only=True):
    """The cluster's objects by name."""

    jobs: Mapping[str, JobSet]
    workloads: Mapping[str, Workload]
    pods: Mapping[str, Pod]

    def objects_of(self, name: str) -> JobObjects | None:
        """The objects of one job; None where it does not exist."""
        job = self.jobs.get(name)
        if job is None:
            return None
        own = [one for one in self.workloads.values() if one.job == name]
        return JobObjects(
            job=job,
            workload=max(own, key=lambda one: one.created or 0.0, default=None),
            pods=tuple(one for one in self.pods.values() if one.job == name),
        )


class _WatchedKind(Struct, Generic[T], kw_only=True):
    """One kind of object: where it is listed, what we keep of it, and when the server last answered. A
    JobSet's name is the prefix of its pods' names."""

    path: str
    read: Callable[[Json], T | None]
    prefix: str = ""
    query: dict[str, str] = field(default_factory=dict)
    kept: dict[str, T] = field(default_factory=dict)
    updated: float | None = None
    problem: Exception | None = None
    task: "asyncio.Task[None] | None" = None


class WatchCache:
    """A snapshot of one cluster. `prefix` is that of our jobs' names: other people's pods are not kept."""

    def __init__(self, api: KubernetesApi, *, workloads: str, prefix: str, now: Callable[[], float]) -> None:
        self._api = api
        self._now = now
        self._last_call = now()
        self._jobs = _WatchedKind(path=JOBSETS, read=workload_status.read_jobset, prefix=prefix)
        self._workloads = _WatchedKind(path=workloads, read=workload_status.read_workload)
        self._pods = _WatchedKind(
            path=PODS,
            read=workload_status.read_pod,
            prefix=prefix,
            query={"labelSelector": workload_status.JOBSET_NAME_LABEL},
        )
        self._changed = asyncio.Event()

    async def snapshot(self) -> ClusterSnapshot:
        """The snapshot now; raises the error that prevents it."""
        self._last_call = self._now()
        self._keep_watching(self._jobs)
        self._keep_watching(self._workloads)
        self._keep_watching(self._pods)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._first_listing(), FIRST_LISTING_SECONDS)
        for kind in (self._jobs, self._workloads, self._pods):
            if kind.updated is None or self._now() - kind.updated > STALE_SECONDS:
                raise kind.problem or TransientError("The cluster has not answered yet", after=10.0)
        return ClusterSnapshot(jobs=self._jobs.kept, workloads=self._workloads.kept, pods=self._pods.kept)

    def put(self, job: JobSet) -> None:
        """Add what a direct answer showed, without waiting for the watch."""
        self._jobs.kept[job.name] = job

    def drop(self, name: str) -> None:
        """Remove what a direct answer showed to be gone."""
        self._jobs.kept.pop(name, None)

    async def deactivate(self, name: str) -> None:
        """Have Kueue free the job's devices at once: xpk takes 15 seconds to delete it."""
        for one in [one for one in self._workloads.kept.values() if one.job == name]:
            with suppress(NotFound):
                await self._api.merge(f"{self._workloads.path}/{one.name}", {"spec": {"active": False}})

    async def aclose(self) -> None:
        """End the streams."""
        tasks = [kind.task for kind in (self._jobs, self._workloads, self._pods) if kind.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep_watching(self, kind: "_WatchedKind[T]") -> None:
        """Keep this kind watched; a watcher that crashed is reported once and replaced."""
        task = kind.task
        if task is not None and not task.done():
            return
        kind.updated = kind.problem = None
        kind.task = asyncio.create_task(self._follow(kind))
        if task is not None and not task.cancelled() and (fell := task.exception()):
            raise InternalError(f"Watching {kind.path} failed: {fell!r}") from fell

    async def _first_listing(self) -> None:
        """Wait until every kind was listed once or failed."""
        kinds = (self._jobs, self._workloads, self._pods)
        while any(kind.updated is None and kind.problem is None for kind in kinds):
            self._changed.clear()
            await self._changed.wait()

    async def _follow(self, kind: "_WatchedKind[T]") -> None:
        """List, then watch, as long as anybody asks."""
        pause, since = MIN_PAUSE, ""
        while self._now() - self._last_call < IDLE_SECONDS:
            try:
                since = since or await self._list(kind)
                since = await self._watch(kind, since)
                pause = MIN_PAUSE
                await asyncio.sleep(MIN_PAUSE)
            except WatchExpired:
                since = ""
                await asyncio.sleep(MIN_PAUSE)
            except (UserError, InternalError) as problem:
                # Raised to callers; the streams go on, because most errors pass.
                kind.problem = problem
                asked = problem.after if isinstance(problem, TransientError) else pause
                pause = min(2 * pause, MAX_PAUSE)
                self._changed.set()
                await asyncio.sleep(max(asked, pause) * random.uniform(0.8, 1.2))  # noqa: S311

    async def _list(self, kind: "_WatchedKind[T]") -> str:
        found: dict[str, T] = {}
        version = ""
        async with aclosing(self._api.listing(kind.path, **kind.query)) as pages:
            async for page in pages:
                version = version or str(page["metadata"]["resourceVersion"])
                for one in page["items"]:
                    _update_object(kind, found, one)
        kind.kept = found
        self._mark_updated(kind)
        return version

    async def _watch(self, kind: "_WatchedKind[T]", since: str) -> str:
        """Follow one stream to its end; returns the last version."""
        async with self._api.changes(kind.path, since=since, **kind.query) as events:
            self._mark_updated(kind)
            async for event in events:
                since = str(event["object"]["metadata"].get("resourceVersion") or since)
                match event["type"]:
                    case "DELETED":
                        kind.kept.pop(str(event["object"]["metadata"]["name"]), None)
                    case "ADDED" | "MODIFIED":
                        _update_object(kind, kind.kept, event["object"])
                self._mark_updated(kind)
        self._mark_updated(kind)
        return since

    def _mark_updated(self, kind: "_WatchedKind[T]") -> None:
        kind.updated, kind.problem = self._now(), None
        self._changed.set()


def _update_object(kind: "_WatchedKind[T]", kept: dict[str, T], found: Json) -> None:
    name = str(found["metadata"]["name"])
    read = kind.read(found) if name.startswith(kind.prefix) else None
    if read is None:
        kept.pop(name, None)
    else:
        kept[name] = read
