"""The log of a job: from its pods, from Cloud Logging, and of several processes at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from google.auth import exceptions

from bot.errors import Missing, Told, TryLater
from bot.logs.read import LogReader
from bot.runs.clusters.port import JobState
from bot.runs.clusters.xpk import cloud_log, log
from bot.runs.clusters.xpk.cloud_log import CloudLog, text_of
from tests.peers.cloud_logging import CloudLogging, cloud_logging
from tests.runs.clusters.xpk.stage import JOB, NAME, PLACE, SHA, Stage, staged

START = "XPK Start: Sat Apr 18 00:54:24 UTC 2026"
END = "XPK End: Sat Apr 18 00:58:24 UTC 2026\nEXIT_CODE=0"


def step(number: int, thread: int = 7) -> str:
    """A step line of MaxText's."""
    stamp = f"I0418 00:55:{number:02}.824857 13668282919507{thread} metric_logger.py:196]"
    values = "TFLOP/s/device: 59.366, Tokens/s/device: 8948.3, total_weights: 65536, loss: 8.174"
    return f"{stamp} completed step: {number}, seconds: 1.000, {values}\n"


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudLogging]:
    """Cloud Logging, without credentials."""
    holds = CloudLogging()
    monkeypatch.setattr(cloud_log, "_session", requests.Session)
    with cloud_logging(holds) as address:
        monkeypatch.setattr(cloud_log, "LOGGING", address)
        yield holds


def on_stage(folder: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Stage], Awaitable[None]]) -> None:
    """Play with one job that runs on two hosts."""

    async def play() -> None:
        async with staged(folder, monkeypatch) as stage:
            await stage.far.launch(JOB)
            stage.kubelet.run(NAME)
            await stage.until(JobState.RUNNING)
            await act(stage)

    asyncio.run(play())


async def read(stage: Stage) -> str:
    """The job's log, read on a thread as the program reads it."""
    return await asyncio.to_thread(stage.log)


def test_a_log_is_process_0s_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: CloudLogging
) -> None:
    """Where it is whole, nothing is added and nothing else asked."""

    async def whole(stage: Stage) -> None:
        for number in range(3):
            stage.kubelet.say(NAME, step(number))
            stage.kubelet.say(NAME, step(number), process=1)
        stage.kubelet.finish(NAME)
        assert await read(stage) == f"{START}\n{step(0)}{step(1)}{step(2)}{END}\n"
        assert cloud.asked == []

    on_stage(tmp_path, monkeypatch, whole)


def test_missing_steps_are_found_on_another_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of another host says whose it is, and a reader takes them for one run."""

    async def holes(stage: Stage) -> None:
        for number in range(7):
            if number not in {3, 4}:
                stage.kubelet.say(NAME, step(number))
            stage.kubelet.say(NAME, step(number, thread=8), process=1)
        stage.kubelet.finish(NAME)
        said = await read(stage)
        mark = f"[pod/{stage.kubelet.pod(NAME, 1)}/jax-tpu] "
        assert f"{END}\n{mark}{step(0, thread=8)}{mark}" in said
        assert said.count("XPK Start") == 1
        reader = LogReader("log")
        reader.feed(said.encode())
        (run,) = reader.close()
        assert [one.step for one in run.steps] == list(range(7))
        assert run.hosts == 2

    on_stage(tmp_path, monkeypatch, holes)


def test_a_program_without_step_lines_is_process_0s_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other programs print other lines; unless another host printed what process 0 should have."""

    async def other(stage: Stage) -> None:
        for process in range(2):
            stage.kubelet.say(NAME, "iter 1: loss 8.1\n", process)
        stage.kubelet.say(NAME, "EXIT_CODE=0\n")
        assert await read(stage) == f"{START}\niter 1: loss 8.1\nEXIT_CODE=0\n"
        stage.kubelet.say(NAME, step(0), process=1)
        assert (await read(stage)).endswith(f"/jax-tpu] {step(0)}")

    on_stage(tmp_path, monkeypatch, other)


def test_a_log_whose_pods_are_gone_comes_from_cloud_logging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: CloudLogging
) -> None:
    """In the order of time, with the stamps that the agent took off, page by page."""
    text = step(0).rstrip("\n")
    cloud.log(NAME, 0, "2026-04-18T00:58:24.2Z", textPayload=END)
    cloud.log(NAME, 0, "2026-04-18T00:54:24.1Z", textPayload=START + "\n")
    cloud.log(NAME, 0, "2026-04-18T00:54:25Z", textPayload=f'BENCH_META {{"sha": "{SHA}"}}')
    cloud.log(
        NAME,
        0,
        "2026-04-18T00:55:00.824857Z",
        severity="INFO",
        jsonPayload={"message": text.split("] ", 1)[1], "pid": "136682829195077"},
        sourceLocation={"file": "metric_logger.py", "line": "196"},
    )
    cloud.log("mv-other", 0, "2026-04-18T00:55:01Z", textPayload="another job's")

    async def gone(stage: Stage) -> None:
        stage.kubelet.remove_pods(NAME)
        assert await read(stage) == f'{START}\nBENCH_META {{"sha": "{SHA}"}}\n{text}\n{END}\n'
        assert [page.get("pageToken") for page in cloud.asked] == [None, "3"]
        for part in ("my-project", "v6e-bench", "timestamp>="):
            assert part in cloud.asked[0]["filter"]

    on_stage(tmp_path, monkeypatch, gone)


def test_a_log_whose_beginning_the_node_threw_away_comes_from_cloud_logging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: CloudLogging
) -> None:
    """A node keeps the newest ten megabytes; where the cloud has nothing, they are better than nothing."""

    async def cut(stage: Stage) -> None:
        pod = stage.kubelet.pod(NAME)
        stage.cluster.logs[pod] = (step(5) + END + "\n").encode()
        assert (await read(stage)).startswith(step(5))
        cloud.log(NAME, 0, "2026-04-18T00:54:24Z", textPayload=START)
        cloud.log(NAME, 0, "2026-04-18T00:54:25Z", textPayload=step(0))
        assert await read(stage) == f"{START}\n{step(0)}"

    on_stage(tmp_path, monkeypatch, cut)


def test_no_log_anywhere_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: CloudLogging
) -> None:
    """Nothing was written, or nobody may see it, or the cloud is busy: three different things."""

    async def nothing(stage: Stage) -> None:
        stage.kubelet.remove_pods(NAME)
        with pytest.raises(Missing, match="left no log"):
            await read(stage)
        cloud.statuses = [403]
        with pytest.raises(Told, match=r"roles/logging\.viewer"):
            await read(stage)
        cloud.statuses = [429]
        with pytest.raises(TryLater, match="busy"):
            await read(stage)

    on_stage(tmp_path, monkeypatch, nothing)


def test_a_pod_that_never_ran_has_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: CloudLogging
) -> None:
    """The API refuses the log of a container that waits."""

    async def waiting(stage: Stage) -> None:
        stage.kubelet.remove_pods(NAME)
        stage.kubelet.pods(NAME)
        with pytest.raises(Missing, match="waiting to start"):
            await read(stage)

    on_stage(tmp_path, monkeypatch, waiting)


def test_a_machine_without_google_credentials_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is for the operator to give it some."""

    def none(**_: object) -> object:
        error: Any = exceptions.DefaultCredentialsError  # without types
        raise error("no credentials")

    monkeypatch.setattr("google.auth.default", none)
    with pytest.raises(Told, match="needs Google credentials"):
        next(CloudLog(place=PLACE, name=NAME).read(cloud_log.Processes.FIRST))


def test_the_newest_step_is_asked_for_once_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the job is looked at; and a node that hands out no log costs nothing but the step."""

    async def often(stage: Stage) -> None:
        stage.kubelet.say(NAME, step(4))
        monkeypatch.setattr("bot.runs.clusters.xpk.cluster.TAIL_SECONDS", 0.0)
        assert (await stage.far.observe(NAME)).last_step == 4
        monkeypatch.setattr("bot.runs.clusters.xpk.cluster.TAIL_SECONDS", 60.0)
        asked = len(stage.cluster.asked)
        stage.kubelet.say(NAME, step(5))
        for _ in range(10):
            assert (await stage.far.observe(NAME)).last_step == 4
        assert asked == len(stage.cluster.asked)
        monkeypatch.setattr("bot.runs.clusters.xpk.cluster.TAIL_SECONDS", 0.0)
        stage.cluster.trouble(500, "/log")
        seen = await stage.far.observe(NAME)
        assert (seen.state, seen.last_step) == (JobState.RUNNING, 4)
        assert (await stage.far.observe(NAME)).last_step == 5

    on_stage(tmp_path, monkeypatch, often)


def test_a_payload_without_a_message_is_kept_as_it_is() -> None:
    """A program may log JSON of its own."""
    assert text_of({"jsonPayload": {"loss": 1}}) == '{"loss": 1}\n'
    assert text_of({"jsonPayload": {"message": "m\n"}}) == "m\n"
    assert log.MOST_OTHERS > 0
