"""The cluster that XPK runs: workloads made and deleted by `xpk`, watched through the Kubernetes API.

A job is known by its name and by its installation: the installation's mark is part of the workload from
its first moment, and its labels follow. A workload without our mark is never touched.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, suppress

from msgspec import Struct
from msgspec.structs import replace

from bot.clusters import interface
from bot.clusters.command import expected_steps
from bot.clusters.interface import ClusterPlace, Job, JobState, Observation
from bot.clusters.xpk import cli, workload_status
from bot.clusters.xpk.api import KubernetesApi
from bot.clusters.xpk.cli import Endpoint, XpkCli
from bot.clusters.xpk.log import CloudLog, JobProgress, open_log, read_progress
from bot.clusters.xpk.watch import JOBSETS, NAMESPACE, WatchCache
from bot.clusters.xpk.workload_status import JobObjects, job_observation, main_pod
from bot.errors import NotFound, TransientError, UserError

TAIL_SECONDS = 60.0
"""How old the newest step may be: a comment is not edited more often."""

TAILS_AT_ONCE = 4

REOPEN_SECONDS = 600.0


class XpkCluster:
    """One cluster of one project; `app` names this installation among those that share the cluster."""

    def __init__(
        self, place: ClusterPlace, *, programs: XpkCli, app: str, now: Callable[[], float] = time.time
    ) -> None:
        cli.check_place(place)
        self._place = place
        self._programs = programs
        self._app = app
        self._now = now
        self._opening = asyncio.Lock()
        self._opened: OpenCluster | None = None
        self._progress: dict[str, tuple[float, JobProgress]] = {}
        self._tails = asyncio.Semaphore(TAILS_AT_ONCE)

    async def launch(self, job: Job) -> None:
        """As `Cluster.launch`: `xpk workload create`, unless there is a workload of this name.

        Raises `UserError` where the job cannot be written down, or the name is taken by somebody else.
        """
        place = job.place or self._place
        # A job that cannot be written down is refused before any call.
        cli.create_arguments(job, place, image=job.image, app=self._app, project_number="0")
        async with self._cluster() as (api, watch):
            if await self._adopt(api, watch, job) is None:
                await self._create(api, job, place)
                if await self._adopt(api, watch, job) is None:
                    raise TransientError(f"xpk made no workload {job.name}", after=30.0, may_have_acted=True)

    async def observe(self, name: str) -> Observation:
        """As `Cluster.observe`."""
        async with self._cluster() as (api, watch):
            snapshot = await watch.snapshot()
            seen = snapshot.objects_of(name)
            if seen is None or seen.job.app != self._app:
                self._progress.pop(name, None)
                return Observation(state=JobState.ABSENT)
            observed = job_observation(seen, queued=snapshot.workloads.values(), now=self._now())
            observed = replace(observed, expected_steps=expected_steps(seen.job.command))
            if observed.state is not JobState.RUNNING:
                return observed
            progress = await self._read_progress(api, seen)
            return replace(observed, last_step=progress.last_step, last_output=progress.at)

    async def delete(self, name: str) -> None:
        """As `Cluster.delete`: `xpk workload delete --workload NAME`, where the workload is ours."""
        cli.check_name(name)
        async with self._cluster() as (api, watch):
            found = await api.get(f"{JOBSETS}/{name}")
            if found is not None and workload_status.read_jobset(found).app == self._app:
                await watch.deactivate(name)
                try:
                    await self._programs.call_xpk(cli.delete_arguments(name, self._place))
                except TransientError:
                    # Another process deleted it first: then kubectl finds nothing, and reports an error.
                    if await api.get(f"{JOBSETS}/{name}") is not None:
                        raise
            watch.drop(name)
            self._progress.pop(name, None)

    async def names(self) -> frozenset[str]:
        """As `Cluster.names`: the workloads with this installation's mark."""
        async with self._cluster() as (_, watch):
            snapshot = await watch.snapshot()
            return frozenset(name for name, job in snapshot.jobs.items() if job.app == self._app)

    def open_log(self, name: str) -> AbstractContextManager[Iterator[bytes]]:
        """As `Cluster.open_log`: from the pods, or from Cloud Logging where the pods are gone."""
        cli.check_name(name)
        if self._opened is None:
            raise TransientError("The cluster was not asked yet", after=1.0)
        return open_log(self._opened.api, CloudLog(place=self._place, name=name))

    async def aclose(self) -> None:
        """As `Cluster.aclose`."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.aclose()

    async def _create(self, api: KubernetesApi, job: Job, place: ClusterPlace) -> None:
        image = await self._programs.resolve_image(job.image, place.project)
        number = await self._programs.project_number(place.project)
        words = cli.create_arguments(job, place, image=image, app=self._app, project_number=number)
        try:
            await self._programs.call_xpk(words)
        except (UserError, TransientError):
            # What counts is whether the workload exists: xpk does more after it made one.
            if await api.get(f"{JOBSETS}/{job.name}") is None:
                raise

    async def _adopt(self, api: KubernetesApi, watch: WatchCache, job: Job) -> workload_status.JobSet | None:
        """Find the job's workload and set its labels; None where there is none."""
        found = await api.get(f"{JOBSETS}/{job.name}")
        if found is None:
            return None
        there = workload_status.read_jobset(found)
        if there.app != self._app:
            raise UserError(f"{self._place.name} has a workload {job.name} that this MaxView did not make.")
        labels = cli.workload_labels(job, self._app)
        if not labels.items() <= there.labels.items():
            with suppress(NotFound):
                patch = {"metadata": {"labels": labels}}
                there = workload_status.read_jobset(await api.merge(f"{JOBSETS}/{job.name}", patch))
        watch.put(there)
        return there

    async def _read_progress(self, api: KubernetesApi, seen: JobObjects) -> JobProgress:
        """The job's progress, asked for at most once a minute."""
        at, progress = self._progress.get(seen.job.name, (0.0, JobProgress()))
        pod = main_pod(seen.pods)
        if pod is None or self._now() - at < TAIL_SECONDS:
            return progress
        async with self._tails:
            # Progress is optional: where a node does not serve its log, the last known step stays.
            with suppress(NotFound, TransientError):
                progress = await read_progress(api, pod, progress)
        self._progress[seen.job.name] = (self._now(), progress)
        return progress

    @asynccontextmanager
    async def _cluster(self) -> AsyncIterator[tuple[KubernetesApi, WatchCache]]:
        """The open cluster. One that does not answer is opened anew: its address may have changed."""
        async with self._opening:
            if self._opened is None:
                self._opened = await open_cluster(self._place, self._programs, self._now)
            opened = self._opened
        try:
            yield opened.api, opened.watch
        except (TransientError, NotFound):
            if self._now() - opened.opened_at > REOPEN_SECONDS and self._opened is opened:
                await self.aclose()
            raise


JOBSET_API = "/apis/jobset.x-k8s.io/v1alpha2"

KUEUE_API = "/apis/kueue.x-k8s.io"


class OpenCluster(Struct, frozen=True, kw_only=True):
    """An open cluster; `opened_at` is in Unix seconds."""

    api: KubernetesApi
    watch: WatchCache
    opened_at: float

    async def aclose(self) -> None:
        """Close it."""
        await self.watch.aclose()
        await self.api.aclose()


async def open_cluster(place: ClusterPlace, programs: XpkCli, now: Callable[[], float]) -> OpenCluster:
    """Get credentials and check that XPK made the cluster; raises `UserError` or `TransientError`."""
    api = await _connect(place, programs)
    try:
        workloads = await _workloads_path(api, place)
    except BaseException:
        await api.aclose()
        raise
    watch = WatchCache(api, workloads=workloads, prefix=interface.JOB_PREFIX, now=now)
    return OpenCluster(api=api, watch=watch, opened_at=now())


async def _connect(place: ClusterPlace, programs: XpkCli) -> KubernetesApi:
    """Connect to the endpoint that answers: clusters differ in which one they have."""
    problem: TransientError | None = None
    for endpoint in Endpoint:
        api: KubernetesApi | None = None
        try:
            api = KubernetesApi(await programs.kubeconfig(place, endpoint))
            await api.get("/version")
        except TransientError as failed:
            problem = problem or failed
            if api is not None:
                await api.aclose()
        else:
            return api
    raise problem or TransientError("No endpoint answers", after=60.0)


async def _workloads_path(api: KubernetesApi, place: ClusterPlace) -> str:
    """The path of Kueue's workloads, in the version that this cluster prefers."""
    made = "it was not made by `xpk cluster create`"
    if await api.get(JOBSET_API) is None:
        raise UserError(f"The cluster {place.name} knows no JobSet: {made}.")
    kueue = await api.get(KUEUE_API)
    if kueue is None:
        raise UserError(f"The cluster {place.name} has no Kueue: {made}.")
    return f"{KUEUE_API}/{kueue['preferredVersion']['version']}/namespaces/{NAMESPACE}/workloads"
