"""Every cluster that executes jobs, each opened when it is first asked for."""

from collections.abc import Callable

from bot.clusters.interface import Cluster, ClusterPlace


class ClusterRegistry:
    """This machine, and the clusters that `open_place` opens: one for each name. Devices and priorities are
    not the cluster's but each job's own."""

    def __init__(self, *, local: Cluster, open_place: Callable[[ClusterPlace], Cluster]) -> None:
        self._local = local
        self._open = open_place
        self._opened: dict[str, Cluster] = {}

    def at(self, place: ClusterPlace | None) -> Cluster:
        """The cluster of this place; None is this machine."""
        if place is None:
            return self._local
        if place.name not in self._opened:
            self._opened[place.name] = self._open(place)
        return self._opened[place.name]

    async def aclose(self) -> None:
        """Close every cluster."""
        opened, self._opened = self._opened, {}
        for cluster in (self._local, *opened.values()):
            await cluster.aclose()
