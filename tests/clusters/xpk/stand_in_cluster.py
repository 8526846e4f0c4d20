"""A stand-in cluster with the bot's own cluster on it, and everything in between real but the cloud.

In:  a folder. Out: a `Stage`: the cluster, what moves its workloads, and an `XpkCluster` to ask.
"""

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


def named(name: str) -> Job:
    """The job under another name."""
    return replace(JOB, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a test moves and asks."""

    cluster: Cluster
    kubelet: Kubelet
    far: XpkCluster
    folder: Path

    async def until(self, state: JobState, name: str = NAME) -> Observation:
        """Look until the job is in this state."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            seen = await self.far.observe(name)
            if seen.state is state:
                return seen
            await asyncio.sleep(0.02)
        raise AssertionError(f"{name} did not come to {state}: {seen}")

    def log(self, name: str = NAME) -> str:
        """The whole log, as whoever stores it reads it."""
        with self.far.open_log(name) as pieces:
            return b"".join(pieces).decode()


@asynccontextmanager
async def staged(folder: Path, monkeypatch: pytest.MonkeyPatch, *, xpk: str = "quick-xpk",
                 images: str = "", app: str = APP) -> AsyncIterator[Stage]:  # fmt: skip
    """Set the stage; `xpk` is which program makes workloads, `images` a pattern of those in the registry."""
    cluster = Cluster()
    with kubernetes(cluster) as address:
        programs = install(folder / "bin", address, images=images, log=folder / "calls")
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        tool = XpkCli(xpk=[xpk], folder=folder / "tool")
        far = XpkCluster(PLACE, programs=tool, app=app)
        try:
            yield Stage(cluster=cluster, kubelet=Kubelet(cluster), far=far, folder=folder)
        finally:
            await far.aclose()
