"""Jobs on a stand-in cluster, by way of its API.

Several workloads at once on a cluster that moves by itself, to their stored logs."""

import asyncio
import json
from pathlib import Path

import pytest

from bot.clusters.interface import ClusterFault, JobState, Observation
from bot.errors import TransientError, UserError
from bot.logs.reader import LogReader
from tests.clusters.xpk.stand_in_cluster import JOB, NAME, SHA, job_named, started_cluster
from tests.peers.kubelet import Autopilot, running_autopilot
from tests.peers.kubernetes import JOBSETS


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What the stage sets in the environment."""
    return monkeypatch


def test_a_job_goes_from_the_queue_to_its_end(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """Absent, queued with its place, running with its step, ended with its code, gone."""

    async def life() -> None:
        async with started_cluster(tmp_path, patch) as stage:
            assert await stage.xpk_cluster.observe(NAME) == Observation(state=JobState.ABSENT)
            await stage.xpk_cluster.launch(JOB)
            queued = await stage.xpk_cluster.observe(NAME)
            assert (queued.state, queued.queue_position) == (JobState.QUEUED, 1)
            assert queued.note.startswith("couldn't assign flavors")
            stage.kubelet.run(NAME)
            stage.kubelet.say(NAME, "completed step: 7, seconds: 0.1\n")
            running = await stage.until(JobState.RUNNING)
            assert (running.last_step, running.expected_steps, running.note) == (7, 30, "")
            assert running.last_output is not None
            stage.kubelet.finish(NAME)
            ended = await stage.until(JobState.ENDED)
            assert (ended.exit_code, ended.fault) == (0, None)
            assert await stage.xpk_cluster.names() == frozenset({NAME})
            await stage.xpk_cluster.delete(NAME)
            assert await stage.xpk_cluster.observe(NAME) == Observation(state=JobState.ABSENT)
            assert await stage.xpk_cluster.names() == frozenset()
            await stage.xpk_cluster.delete(NAME)

    asyncio.run(life())


def test_a_second_launch_of_a_name_does_nothing(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """Whoever launches again meets the workload, and sees to its labels."""

    async def twice() -> None:
        async with started_cluster(tmp_path, patch) as stage:
            await stage.xpk_cluster.launch(JOB)
            made = stage.cluster.named(JOBSETS)[NAME]["metadata"]
            assert made["labels"]["maxview/app"] == "1"
            assert made["labels"]["maxview/pull"] == "7"
            await asyncio.gather(*(stage.xpk_cluster.launch(JOB) for _ in range(3)))
            assert stage.cluster.named(JOBSETS)[NAME]["metadata"] == made
            calls = [json.loads(line)["words"] for line in (tmp_path / "calls").read_text().splitlines()]
            assert [words[1:3] for words in calls if words[0] == "quick-xpk"] == [["workload", "create"]]

    asyncio.run(twice())


def test_a_job_whose_labels_are_not_there_yet_is_ours_by_its_mark(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    """A crash between the workload and its labels loses nothing; what other people made stays theirs."""

    async def adopted() -> None:
        async with started_cluster(tmp_path, patch) as stage:
            stage.kubelet.make(NAME, app="1")
            stage.kubelet.make("mv-another-installations", app="2")
            stage.kubelet.make("mv-a-persons", app="")
            assert await stage.xpk_cluster.names() == frozenset({NAME})
            await stage.xpk_cluster.launch(JOB)
            assert stage.cluster.named(JOBSETS)[NAME]["metadata"]["labels"]["maxview/app"] == "1"
            for name in ("mv-another-installations", "mv-a-persons"):
                assert (await stage.xpk_cluster.observe(name)).state is JobState.ABSENT
                await stage.xpk_cluster.delete(name)
                assert name in stage.cluster.named(JOBSETS)
                with pytest.raises(UserError, match="did not make"):
                    await stage.xpk_cluster.launch(job_named(name))

    asyncio.run(adopted())


def test_a_job_that_xpk_made_and_then_failed_is_launched(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """What counts is the workload; where there is none, xpk's last words are handed on."""

    async def failing() -> None:
        async with started_cluster(tmp_path, patch) as stage:
            stage.cluster.trouble(500, "POST", times=1)
            with pytest.raises(TransientError, match="xpk workload create ended with 1"):
                await stage.xpk_cluster.launch(JOB)
            assert stage.cluster.named(JOBSETS) == {}
            stage.cluster.trouble(404, f"GET {_path(NAME)}", times=2)
            stage.kubelet.make(NAME)
            await stage.xpk_cluster.launch(JOB)
            assert await stage.xpk_cluster.names() == frozenset({NAME})

    asyncio.run(failing())


def test_an_image_that_is_not_there_is_waited_for(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """The repository's own build may take longer than the push that started us."""

    async def missing() -> None:
        async with started_cluster(tmp_path, patch, images="other") as stage:
            with pytest.raises(TransientError, match=r"image gcr.io/my-project/maxtext:\w+ is not there yet"):
                await stage.xpk_cluster.launch(JOB)
            assert stage.cluster.named(JOBSETS) == {}

    asyncio.run(missing())


def test_a_workload_runs_in_the_image_by_its_digest(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """A tag may point elsewhere tomorrow; the log records what was run."""

    async def pinned() -> None:
        async with started_cluster(tmp_path, patch) as stage:
            await stage.xpk_cluster.launch(JOB)
            spec = stage.cluster.named(JOBSETS)[NAME]["spec"]["replicatedJobs"][0]["template"]["spec"]
            container = spec["template"]["spec"]["containers"][0]
            image = "gcr.io/my-project/maxtext@sha256:" + "5e" * 32
            assert container["image"] == image
            assert f'"image": "{image}"' in container["command"][2]

    asyncio.run(pinned())


def test_a_preempted_job_has_ended_even_where_the_cluster_goes_on_with_it(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    """A second life under the same name resumes from the first one's checkpoint: that is no measurement."""

    async def preempted() -> None:
        async with started_cluster(tmp_path, patch) as stage:
            await stage.xpk_cluster.launch(JOB)
            stage.kubelet.run(NAME)
            await stage.until(JobState.RUNNING)
            stage.kubelet.preempt(NAME)
            seen = await stage.until(JobState.ENDED)
            assert (seen.fault, seen.exit_code) == (ClusterFault.PREEMPTED, None)
            assert seen.note.startswith("Preempted to accommodate a workload")
            stage.kubelet.readmit(NAME)
            stage.kubelet.pods(NAME)
            stage.kubelet.start(NAME)
            assert (await stage.xpk_cluster.observe(NAME)).state is JobState.ENDED

    asyncio.run(preempted())


def test_deleting_stops_the_devices_before_xpk_is_done(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """xpk takes a while; a cancelled run is to cost nothing meanwhile."""

    async def cancelled() -> None:
        async with started_cluster(tmp_path, patch) as stage:
            await stage.xpk_cluster.launch(JOB)
            await stage.xpk_cluster.observe(NAME)
            await stage.xpk_cluster.delete(NAME)
            stopped = next(i for i, line in enumerate(stage.cluster.asked) if "PATCH /apis/kueue" in line)
            deleted = next(i for i, line in enumerate(stage.cluster.asked) if line.startswith("DELETE"))
            assert stopped < deleted
            assert stage.cluster.named(JOBSETS) == {}

    asyncio.run(cancelled())


def _path(name: str) -> str:
    return f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/{name}"


def test_workloads_run_to_their_ends_and_leave_logs_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is started once, prints its steps, records its commit, and is gone after its deletion."""

    async def fly() -> None:
        async with started_cluster(tmp_path, monkeypatch) as stage:
            names = [f"mv-{letter}" for letter in "abc"]
            await asyncio.gather(*(stage.xpk_cluster.launch(job_named(name)) for name in names))
            with running_autopilot(Autopilot(cluster=stage.cluster, steps=6)) as autopilot:
                for name in names:
                    assert (await stage.until(JobState.ENDED, name)).exit_code == 0
                    reader = LogReader(name)
                    reader.feed((await asyncio.to_thread(stage.log, name)).encode())
                    (run,) = reader.close()
                    assert (len(run.steps), run.outcome.exit_code) == (6, 0)
                    assert run.environment.commit == SHA
                    await stage.xpk_cluster.delete(name)
            assert autopilot.moved == dict.fromkeys(names, 1)
            assert await stage.xpk_cluster.names() == frozenset()

    asyncio.run(fly())
