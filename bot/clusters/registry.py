"""Every cluster that executes jobs, each opened when it is first asked for."""

from collections.abc import Callable
from typing import Protocol

from bot.clusters.interface import Cluster, ClusterPlace


class RemoteCluster(Cluster, Protocol):
    """A cluster that holds connections open."""

    async def aclose(self) -> None:
        """Close its connections; its jobs go on."""
        ...


class ClusterRegistry:
    """This machine, and the clusters that `open_place` opens: one for each name. Devices and priorities are
    not the cluster's but each job's own."""

    def __init__(self, *, local: Cluster, open_place: Callable[[ClusterPlace], RemoteCluster]) -> None:
        self._local = local
        self._open = open_place
        self._opened: dict[str, RemoteCluster] = {}

    def at(self, place: ClusterPlace | None) -> Cluster:
        """As `Clusters.at`."""
        if place is None:
            return self._local
        if place.name not in self._opened:
            self._opened[place.name] = self._open(place)
        return self._opened[place.name]

    async def aclose(self) -> None:
        """Close every cluster."""
        opened, self._opened = self._opened, {}
        for cluster in opened.values():
            await cluster.aclose()
