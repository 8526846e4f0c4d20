"""The log of a job: from its pods, from Cloud Logging, and of several processes at once.

Joining the logs of several processes, however their bytes come in pieces."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import requests
from google.auth import exceptions
from hypothesis import given
from hypothesis import strategies as st

from bot.clusters.command import expected_steps
from bot.clusters.interface import JobState
from bot.clusters.job_log import last_step
from bot.clusters.xpk import log
from bot.clusters.xpk.log import CloudLog, LogCompleteness, entry_text, prefix_lines
from bot.errors import NotFound, TransientError, UserError
from bot.logs.reader import LogReader
from tests.clusters.xpk.stand_in_cluster import JOB, NAME, PLACE, SHA, StandInCluster, started_cluster
from tests.peers.cloud_logging import CloudLogging, cloud_logging

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
    monkeypatch.setattr(log, "_cloud_session", requests.Session)
    with cloud_logging(holds) as address:
        monkeypatch.setattr(log, "CLOUD_LOGGING_URL", address)
        yield holds


def on_stage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[StandInCluster], Awaitable[None]]
) -> None:
    """Play with one job that runs on two hosts."""

    async def play() -> None:
        async with started_cluster(folder, monkeypatch) as stage:
            await stage.xpk_cluster.launch(JOB)
            stage.kubelet.run(NAME)
            await stage.until(JobState.RUNNING)
            await act(stage)

    asyncio.run(play())


async def read(stage: StandInCluster) -> str:
    """The job's log, read on a thread as the program reads it."""
    return await asyncio.to_thread(stage.log)


def test_a_log_is_process_0s_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: CloudLogging
) -> None:
    """Where it is whole, nothing is added and nothing else asked."""

    async def whole(stage: StandInCluster) -> None:
        for number in range(3):
            stage.kubelet.say(NAME, step(number))
            stage.kubelet.say(NAME, step(number), process=1)
        stage.kubelet.finish(NAME)
        assert await read(stage) == f"{START}\n{step(0)}{step(1)}{step(2)}{END}\n"
        assert cloud.asked == []

    on_stage(tmp_path, monkeypatch, whole)


def test_missing_steps_are_found_on_another_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of another host says whose it is, and a reader takes them for one run."""

    async def holes(stage: StandInCluster) -> None:
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

    async def other(stage: StandInCluster) -> None:
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

    async def gone(stage: StandInCluster) -> None:
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

    async def cut(stage: StandInCluster) -> None:
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

    async def nothing(stage: StandInCluster) -> None:
        stage.kubelet.remove_pods(NAME)
        with pytest.raises(NotFound, match="left no log"):
            await read(stage)
        cloud.statuses = [403]
        with pytest.raises(UserError, match=r"roles/logging\.viewer"):
            await read(stage)
        cloud.statuses = [429]
        with pytest.raises(TransientError, match="busy"):
            await read(stage)

    on_stage(tmp_path, monkeypatch, nothing)


def test_a_pod_that_never_ran_has_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: CloudLogging
) -> None:
    """The API refuses the log of a container that waits."""

    async def waiting(stage: StandInCluster) -> None:
        stage.kubelet.remove_pods(NAME)
        stage.kubelet.pods(NAME)
        with pytest.raises(NotFound, match="waiting to start"):
            await read(stage)

    on_stage(tmp_path, monkeypatch, waiting)


def test_a_machine_without_google_credentials_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is for the operator to give it some."""

    def none(**_: object) -> object:
        error: Any = exceptions.DefaultCredentialsError  # without types
        raise error("no credentials")

    monkeypatch.setattr("google.auth.default", none)
    with pytest.raises(UserError, match="needs Google credentials"):
        next(CloudLog(place=PLACE, name=NAME).read(log.ProcessGroup.FIRST))


def test_the_newest_step_is_asked_for_once_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the job is looked at; and a node that hands out no log costs nothing but the step."""

    async def often(stage: StandInCluster) -> None:
        stage.kubelet.say(NAME, step(4))
        monkeypatch.setattr("bot.clusters.xpk.cluster.TAIL_SECONDS", 0.0)
        assert (await stage.xpk_cluster.observe(NAME)).last_step == 4
        monkeypatch.setattr("bot.clusters.xpk.cluster.TAIL_SECONDS", 60.0)
        asked = len(stage.cluster.asked)
        stage.kubelet.say(NAME, step(5))
        for _ in range(10):
            assert (await stage.xpk_cluster.observe(NAME)).last_step == 4
        assert asked == len(stage.cluster.asked)
        monkeypatch.setattr("bot.clusters.xpk.cluster.TAIL_SECONDS", 0.0)
        stage.cluster.trouble(500, "/log")
        seen = await stage.xpk_cluster.observe(NAME)
        assert (seen.state, seen.last_step) == (JobState.RUNNING, 4)
        assert (await stage.xpk_cluster.observe(NAME)).last_step == 5

    on_stage(tmp_path, monkeypatch, often)


def test_a_payload_without_a_message_is_kept_as_it_is() -> None:
    """A program may log JSON of its own."""
    assert entry_text({"jsonPayload": {"loss": 1}}) == '{"loss": 1}\n'
    assert entry_text({"jsonPayload": {"message": "m\n"}}) == "m\n"
    assert log.MAX_OTHER_PROCESSES > 0


MARK = "[pod/p/jax-tpu] "

LINES = st.lists(
    st.sampled_from(["", "a", "XPK Start: now", "XPK End: now", "EXIT_CODE=0", "BENCH_META {}", "é" * 50])
)


def pieces(text: bytes, cuts: list[int]) -> list[bytes]:
    """The text in pieces."""
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(places)]


@given(lines=LINES, cuts=st.lists(st.integers(0, 500), max_size=8))
def test_every_line_is_marked_but_the_frame(lines: list[str], cuts: list[int]) -> None:
    """Where the pieces are cut makes no difference."""
    text = "".join(line + "\n" for line in lines)
    expected = "".join(
        f"{MARK}{line}\n" for line in lines if not line.startswith(("XPK ", "EXIT_CODE=", "BENCH_META "))
    )
    assert expected == b"".join(prefix_lines(pieces(text.encode(), cuts), "p", "jax-tpu")).decode()


def test_a_line_without_an_end_gets_one_and_a_long_one_one_mark() -> None:
    """A killed process leaves half a line; a progress bar leaves one of megabytes."""
    assert list(prefix_lines([b"a"], "p", "jax-tpu")) == [b"[pod/p/jax-tpu] a\n"]
    long = b"".join(prefix_lines([b"x" * 50_000] * 4 + [b"\nb\n"], "p", "jax-tpu")).decode()
    assert long == f"{MARK}{'x' * 200_000}\n{MARK}b\n"


@given(
    steps=st.lists(st.integers(0, 30), max_size=12),
    cuts=st.lists(st.integers(0, 900), max_size=8),
    noise=st.sampled_from(["", "noise\n" * 40]),
)
def test_a_log_is_whole_where_no_step_is_left_out(steps: list[int], cuts: list[int], noise: str) -> None:
    """Steps that repeat or go back are a restart, not a hole; none at all is no log of steps."""
    text = "".join(f"I0418 x] completed step: {number}, seconds: 1\n{noise}" for number in steps).encode()
    seen = LogCompleteness()
    assert text == b"".join(seen.watch(pieces(text, cuts)))
    holes = any(after > before + 1 for before, after in pairwise(steps))
    assert seen.whole is (bool(steps) and not holes)


def test_a_process_that_fell_with_another_does_not_tell_all() -> None:
    """The cause stands in the other one's log."""
    seen = LogCompleteness()
    fell = b"completed step: 0, s\nbecause the JAX distributed service detected fatal errors.\n"
    list(seen.watch([fell[:40], fell[40:]]))
    assert not seen.whole


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        ("python3 -m train steps=30 run_name=x", 30),
        ("train --steps 30", 30),
        ("train --steps=30'", 30),
        ("train eval_steps=30", None),
        ("train steps=30 && train steps=40", None),
        ("train steps=30 && train steps=30", 30),
        ("train steps=0", None),
        ("train warmup.steps=3", None),
        ("train steps=3.5", None),
        ("", None),
    ],
)
def test_the_expected_steps_are_the_commands(command: str, steps: int | None) -> None:
    """Said once and plainly, or not known."""
    assert steps == expected_steps(command)


def test_the_newest_step_is_the_last_that_is_named() -> None:
    """A step further up is older."""
    assert last_step(b"completed step: 6, x\ncompleted step: 7, y\nnoise") == 7
    assert last_step(b"noise") is None
