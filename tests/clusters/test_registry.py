"""The registry of clusters."""

from pathlib import Path

import pytest

from bot.clusters.interface import ClusterPlace
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.registry import ClusterRegistry
from bot.errors import NotFound
from tests.clusters.local_bench import LocalBench, run_async


class CountingCluster(LocalCluster):
    """A cluster that counts how often it is closed."""

    closed = 0

    async def aclose(self) -> None:
        """Count."""
        CountingCluster.closed += 1


def place(*, cluster: str = "bench", priority: str = "low") -> ClusterPlace:
    """A cluster of one project."""
    return ClusterPlace(project="p", zone="z", cluster=cluster, device_type="v6e-32", priority=priority)


def test_a_cluster_is_opened_once_whatever_its_jobs_priorities(tmp_path: Path) -> None:
    """None is this machine; a name is one cluster; all are let go of together."""
    local = LocalCluster(tmp_path)
    opened: list[str] = []

    def open_place(one: ClusterPlace) -> CountingCluster:
        opened.append(one.name)
        return CountingCluster(tmp_path / one.cluster)

    clusters = ClusterRegistry(local=local, open_place=open_place)
    assert clusters.at(None) is local
    assert clusters.at(place()) is clusters.at(place(priority="high"))
    assert clusters.at(place(cluster="other")) is not clusters.at(place())
    assert opened == ["p/z/bench", "p/z/other"]
    run_async(clusters.aclose())
    assert CountingCluster.closed == 2


def test_a_local_log_is_read_after_its_job_was_deleted(bench: LocalBench) -> None:
    """The pieces are the file; a name that never ran has none."""
    bench.launch("mv-a", "echo one")
    bench.ended("mv-a")
    run_async(bench.cluster.delete("mv-a"))
    with bench.cluster.open_log("mv-a") as pieces:
        assert b"".join(pieces).decode() == bench.log("mv-a")
    with pytest.raises(NotFound, match="mv-b has no log"), bench.cluster.open_log("mv-b"):
        pass
