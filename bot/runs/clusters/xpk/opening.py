"""Reaches a cluster's control plane the way xpk does.

In:  a place, the tool. Out: an opened API and a mirror on it.
Promises: what is not a cluster of XPK's is told as such; nothing stays open where it fails.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bot.errors import Told, TryLater
from bot.runs import naming
from bot.runs.clusters.port import Place
from bot.runs.clusters.xpk.api import KubernetesApi
from bot.runs.clusters.xpk.mirror import NAMESPACE, Mirror
from bot.runs.clusters.xpk.tool import Endpoint, Tool

JOBSET = "/apis/jobset.x-k8s.io/v1alpha2"
KUEUE = "/apis/kueue.x-k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A cluster that answers; `at` is since when (Unix seconds)."""

    api: KubernetesApi
    mirror: Mirror
    at: float

    async def aclose(self) -> None:
        """Close it."""
        await self.mirror.aclose()
        await self.api.aclose()


async def open_cluster(place: Place, tool: Tool, now: Callable[[], float]) -> Opened:
    """Get credentials and see that it is a cluster of XPK's; raises `Told` or `TryLater`."""
    api = await _reach(place, tool)
    try:
        workloads = await _workloads(api, place)
    except BaseException:
        await api.aclose()
        raise
    mirror = Mirror(api, workloads=workloads, prefix=naming.PREFIX, now=now)
    return Opened(api=api, mirror=mirror, at=now())


async def _reach(place: Place, tool: Tool) -> KubernetesApi:
    """By the endpoint that answers: clusters differ in which one they have."""
    problem: TryLater | None = None
    for endpoint in Endpoint:
        api: KubernetesApi | None = None
        try:
            api = KubernetesApi(await tool.kubeconfig(place, endpoint))
            await api.get("/version")
        except TryLater as failed:
            problem = problem or failed
            if api is not None:
                await api.aclose()
        else:
            return api
    raise problem or TryLater("No endpoint answers", after=60.0)


async def _workloads(api: KubernetesApi, place: Place) -> str:
    """Where Kueue's workloads are listed, in the version that this cluster prefers."""
    made = "it was not made by `xpk cluster create`"
    if await api.get(JOBSET) is None:
        raise Told(f"The cluster {place.name} knows no JobSet: {made}.")
    kueue = await api.get(KUEUE)
    if kueue is None:
        raise Told(f"The cluster {place.name} has no Kueue: {made}.")
    return f"{KUEUE}/{kueue['preferredVersion']['version']}/namespaces/{NAMESPACE}/workloads"
