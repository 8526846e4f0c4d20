"""The picture of a cluster: kept by change streams, through all that a control plane does to them."""

import asyncio
from pathlib import Path

import pytest

from bot.clusters.interface import JobState
from bot.clusters.xpk import api, watch
from bot.errors import TransientError, UserError
from tests.clusters.xpk.stand_in_cluster import NAME, started_cluster
from tests.peers.kubernetes import JOBSETS


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MIN_PAUSE", 0.05)
    monkeypatch.setattr(api, "BUSY_SECONDS", 0.05)


def _streams(asked: list[str]) -> int:
    return sum("watch=true" in line for line in asked)


def test_a_hundred_jobs_cost_three_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking about more jobs asks the cluster nothing more."""

    async def many() -> None:
        async with started_cluster(tmp_path, monkeypatch) as stage:
            names = [f"mv-{number}" for number in range(100)]
            for name in names:
                stage.kubelet.make(name)
            stage.cluster.page = 30
            seen = await asyncio.gather(*(stage.xpk_cluster.observe(name) for name in names))
            assert {one.state for one in seen} == {JobState.QUEUED}
            assert sorted(one.queue_position or 0 for one in seen) == list(range(1, 101))
            await asyncio.sleep(0.1)
            before = len(stage.cluster.asked)
            await asyncio.gather(*(stage.xpk_cluster.observe(name) for name in names))
            assert len(stage.cluster.asked) == before
            assert _streams(stage.cluster.asked) == 3

    asyncio.run(many())


@pytest.mark.parametrize("trouble", ["restart", "forget and restart", "409", "429", "500", "503 text"])
def test_a_broken_stream_is_taken_up_again(
    trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changed meanwhile is seen: a new job, a moved one, and that one is gone."""

    async def broken() -> None:
        async with started_cluster(tmp_path, monkeypatch) as stage:
            stage.kubelet.make(NAME)
            stage.kubelet.make("mv-gone")
            await stage.until(JobState.QUEUED, "mv-gone")
            match trouble:
                case "409" | "429" | "500":
                    stage.cluster.trouble(int(trouble), "watch=true", times=3, headers={"retry-after": "1"})
                case "503 text":
                    stage.cluster.trouble(503, "watch=true", times=3, body=b"upstream connect error")
            stage.cluster.restart()
            stage.cluster.remove(JOBSETS, "mv-gone")
            stage.kubelet.run(NAME)
            stage.kubelet.make("mv-new")
            if trouble.startswith("forget"):
                stage.cluster.forget()
                stage.cluster.restart()
            await stage.until(JobState.RUNNING)
            await stage.until(JobState.QUEUED, "mv-new")
            await stage.until(JobState.ABSENT, "mv-gone")

    asyncio.run(broken())


def test_a_stream_goes_on_where_it_broke_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restart costs no new listing; a forgotten history costs one."""

    async def resumed() -> None:
        async with started_cluster(tmp_path, monkeypatch) as stage:
            stage.kubelet.make(NAME)
            await stage.until(JobState.QUEUED)
            lists = [line for line in stage.cluster.asked if "limit=500" in line]
            stage.cluster.restart()
            stage.kubelet.run(NAME)
            await stage.until(JobState.RUNNING)
            assert lists == [line for line in stage.cluster.asked if "limit=500" in line]

    asyncio.run(resumed())


def test_an_old_picture_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks is told why, and when to ask again."""
    monkeypatch.setattr(watch, "STALE_SECONDS", 0.2)

    async def stale() -> None:
        async with started_cluster(tmp_path, monkeypatch) as stage:
            stage.kubelet.make(NAME)
            await stage.until(JobState.QUEUED)
            stage.cluster.trouble(500, "watch=true", times=10**6)
            stage.cluster.restart()
            await asyncio.sleep(0.4)
            with pytest.raises(TransientError, match="The cluster is busy: trouble of the test"):
                await stage.xpk_cluster.observe(NAME)

    asyncio.run(stale())


def test_a_cluster_that_refuses_us_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing role is for a person to give."""

    async def refused() -> None:
        async with started_cluster(tmp_path, monkeypatch) as stage:
            stage.cluster.trouble(403, "/workloads", times=10**6)
            with pytest.raises(UserError, match=r"Give its account roles/container\.developer"):
                await stage.xpk_cluster.observe(NAME)

    asyncio.run(refused())


def test_a_cluster_that_is_none_of_xpks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without JobSet or Kueue nothing could run."""

    async def other() -> None:
        async with started_cluster(tmp_path, monkeypatch) as stage:
            stage.cluster.trouble(404, "/apis/jobset")
            with pytest.raises(UserError, match="knows no JobSet"):
                await stage.xpk_cluster.observe(NAME)
            stage.cluster.trouble(404, "/apis/kueue")
            with pytest.raises(UserError, match="has no Kueue"):
                await stage.xpk_cluster.observe(NAME)
            assert (await stage.xpk_cluster.observe(NAME)).state is JobState.ABSENT

    asyncio.run(other())
