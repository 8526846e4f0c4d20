"""The cluster that XPK runs: workloads made and deleted by `xpk`, seen through the Kubernetes API.

In:  jobs with a place and an image. Out: observations and logs.
Promises: as `Cluster`. A job is known by its name and by whose it is: the installation's mark is part of the
workload from its first moment, and its labels follow; one without our mark is never touched.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import replace

from bot.errors import Missing, Told, TryLater
from bot.runs.clusters.port import Job, JobState, Observation, Place
from bot.runs.clusters.progress import expected_steps
from bot.runs.clusters.xpk import facts, order
from bot.runs.clusters.xpk.api import KubernetesApi
from bot.runs.clusters.xpk.cloud_log import CloudLog
from bot.runs.clusters.xpk.log import Heard, newest_line, open_log
from bot.runs.clusters.xpk.mirror import JOBSETS, Mirror
from bot.runs.clusters.xpk.opening import Opened, open_cluster
from bot.runs.clusters.xpk.standing import Seen, main_pod, observation
from bot.runs.clusters.xpk.tool import Tool

TAIL_SECONDS = 60.0
"""How old the newest step may be: a comment is edited no more often."""

TAILS_AT_ONCE = 4

REOPEN_SECONDS = 600.0


class XpkCluster:
    """One cluster of one project; `app` names this installation among those that share the cluster."""

    def __init__(self, place: Place, *, tool: Tool, app: str, now: Callable[[], float] = time.time) -> None:
        order.check_place(place)
        self._place = place
        self._tool = tool
        self._app = app
        self._now = now
        self._opening = asyncio.Lock()
        self._opened: Opened | None = None
        self._heard: dict[str, tuple[float, Heard]] = {}
        self._tails = asyncio.Semaphore(TAILS_AT_ONCE)

    async def launch(self, job: Job) -> None:
        """As `Cluster.launch`: `xpk workload create`, unless there is a workload of this name.

        Raises `Told` where the job cannot be written down, or the name is somebody else's.
        """
        place = job.place or self._place
        # What cannot be written down is told before anybody is asked.
        order.create(job, place, image=job.image, app=self._app, project_number="0")
        async with self._cluster() as (api, mirror):
            if await self._adopt(api, mirror, job) is None:
                await self._create(api, job, place)
                if await self._adopt(api, mirror, job) is None:
                    raise TryLater(f"xpk made no workload {job.name}", after=30.0, may_have_acted=True)

    async def observe(self, name: str) -> Observation:
        """As `Cluster.observe`."""
        async with self._cluster() as (api, mirror):
            view = await mirror.view()
            seen = view.of(name)
            if seen is None or seen.job.app != self._app:
                self._heard.pop(name, None)
                return Observation(state=JobState.ABSENT)
            stands = observation(seen, queued=view.workloads.values(), now=self._now())
            stands = replace(stands, expected_steps=expected_steps(seen.job.command))
            if stands.state is not JobState.RUNNING:
                return stands
            heard = await self._newest(api, seen)
            return replace(stands, last_step=heard.last_step, heard=heard.at)

    async def delete(self, name: str) -> None:
        """As `Cluster.delete`: `xpk workload delete --workload NAME`, where the workload is ours."""
        order.check_name(name)
        async with self._cluster() as (api, mirror):
            found = await api.get(f"{JOBSETS}/{name}")
            if found is not None and facts.jobset(found).app == self._app:
                await mirror.deactivate(name)
                try:
                    await self._tool.call_xpk(order.delete(name, self._place))
                except TryLater:
                    # Whoever was faster has done it: then kubectl finds nothing, and says so as an error.
                    if await api.get(f"{JOBSETS}/{name}") is not None:
                        raise
            mirror.drop(name)
            self._heard.pop(name, None)

    async def names(self) -> frozenset[str]:
        """As `Cluster.names`: what carries this installation's mark."""
        async with self._cluster() as (_, mirror):
            view = await mirror.view()
            return frozenset(name for name, job in view.jobs.items() if job.app == self._app)

    def open_log(self, name: str) -> AbstractContextManager[Iterator[bytes]]:
        """As `Cluster.open_log`: from the pods, or from Cloud Logging where they are gone."""
        order.check_name(name)
        if self._opened is None:
            raise TryLater("The cluster was not asked yet", after=1.0)
        return open_log(self._opened.api, CloudLog(place=self._place, name=name))

    async def aclose(self) -> None:
        """Let go of the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.aclose()

    async def _create(self, api: KubernetesApi, job: Job, place: Place) -> None:
        image = await self._tool.pinned(job.image, place.project)
        number = await self._tool.project_number(place.project)
        words = order.create(job, place, image=image, app=self._app, project_number=number)
        try:
            await self._tool.call_xpk(words)
        except (Told, TryLater):
            # What counts is whether the workload is there: xpk does more after it made one.
            if await api.get(f"{JOBSETS}/{job.name}") is None:
                raise

    async def _adopt(self, api: KubernetesApi, mirror: Mirror, job: Job) -> facts.JobSet | None:
        """Find the job's workload and see to its labels; None where there is none."""
        found = await api.get(f"{JOBSETS}/{job.name}")
        if found is None:
            return None
        there = facts.jobset(found)
        if there.app != self._app:
            raise Told(f"{self._place.name} has a workload {job.name} that this MaxView did not make.")
        labels = order.labels(job, self._app)
        if not labels.items() <= there.labels.items():
            with suppress(Missing):
                patch = {"metadata": {"labels": labels}}
                there = facts.jobset(await api.merge(f"{JOBSETS}/{job.name}", patch))
        mirror.put(there)
        return there

    async def _newest(self, api: KubernetesApi, seen: Seen) -> Heard:
        """What the job last said, asked for at most once a minute."""
        at, heard = self._heard.get(seen.job.name, (0.0, Heard()))
        pod = main_pod(seen.pods)
        if pod is None or self._now() - at < TAIL_SECONDS:
            return heard
        async with self._tails:
            # Progress is a kindness: where a node does not hand out its log, the last known step stays.
            with suppress(Missing, TryLater):
                heard = await newest_line(api, pod, heard)
        self._heard[seen.job.name] = (self._now(), heard)
        return heard

    @asynccontextmanager
    async def _cluster(self) -> AsyncIterator[tuple[KubernetesApi, Mirror]]:
        """The opened cluster. One that does not answer is opened anew: its address may be another."""
        async with self._opening:
            if self._opened is None:
                self._opened = await open_cluster(self._place, self._tool, self._now)
            opened = self._opened
        try:
            yield opened.api, opened.mirror
        except (TryLater, Missing):
            if self._now() - opened.at > REOPEN_SECONDS and self._opened is opened:
                await self.aclose()
            raise
