"""A stand-in Kubernetes cluster with our own `XpkCluster` on it; everything but the cloud is real."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.clusters.interface import ClusterPlace, Job, JobState, Observation
from bot.clusters.xpk.cli import XpkCli
from bot.clusters.xpk.cluster import XpkCluster
from tests.peers.kubelet import Kubelet
from tests.peers.kubernetes import Cluster, kubernetes
from tests.peers.kubernetes_programs import install

PATIENCE = 20.0

NAME = "mv-04-int8-3f9a0c1d2e4b5a67"

SHA = "ab" * 20

APP = "1"

PLACE = ClusterPlace(
    project="my-project", zone="us-east5-b", cluster="v6e-bench", device_type="v6e-32", priority="low"
)

JOB = Job(
    name=NAME,
    repository="",
    sha=SHA,
    case="04_int8",
    variant="linen",
    command="python3 -m train steps=30 run_name={run_name}",
    run_name="linen_main_04",
    timeout_seconds=2700,
    place=PLACE,
    image=f"gcr.io/my-project/maxtext:{SHA}",
    labels=(("maxview/pull", "7"),),
)


def job_named(name: str) -> Job:
    """The job under another name."""
    return replace(JOB, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandInCluster:
    """The stand-in cluster, its kubelet, and our own cluster on it."""

    cluster: Cluster
    kubelet: Kubelet
    xpk_cluster: XpkCluster
    folder: Path

    async def until(self, state: JobState, name: str = NAME) -> Observation:
        """Look until the job is in this state."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            seen = await self.xpk_cluster.observe(name)
            if seen.state is state:
                return seen
            await asyncio.sleep(0.02)
        raise AssertionError(f"{name} did not come to {state}: {seen}")

    def log(self, name: str = NAME) -> str:
        """The whole log."""
        with self.xpk_cluster.open_log(name) as pieces:
            return b"".join(pieces).decode()


@asynccontextmanager
async def started_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch, *, xpk: str = "quick-xpk",
                 images: str = "", app: str = APP) -> AsyncIterator[StandInCluster]:  # fmt: skip
    """Start it; `xpk` is the program that makes workloads, `images` a pattern of those in the registry."""
    cluster = Cluster()
    with kubernetes(cluster) as address:
        programs = install(folder / "bin", address, images=images, log=folder / "calls")
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        tool = XpkCli(xpk=[xpk], folder=folder / "tool")
        xpk_cluster = XpkCluster(PLACE, programs=tool, app=app)
        try:
            yield StandInCluster(
                cluster=cluster, kubelet=Kubelet(cluster), xpk_cluster=xpk_cluster, folder=folder
            )
        finally:
            await xpk_cluster.aclose()
