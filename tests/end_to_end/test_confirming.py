"""A change that was seen is confirmed by further runs: the real server, a stand-in GitHub and cluster."""

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.end_to_end.conftest import EmulateScene
from tests.end_to_end.server import polled_often
from tests.end_to_end.test_xpk import CONFIGURATION
from tests.peers.kubelet import Autopilot, running_autopilot
from tests.peers.kubernetes import JOBSETS, Cluster, kubernetes
from tests.peers.kubernetes_programs import install

STEPS = 24

BASE, SLOWER = 0.4973, 0.5122
"""Seconds a step of main's runs, and 3 % more."""

TPU = (
    "System Information: Jax Backend: PJRT C API\nTFRT TPU v6 lite\nNum_devices: 32, shape (1, 1, 1, 32, 1)\n"
)


@dataclass(slots=True)
class Trainer:
    """What the workloads print: the head's nth run takes `head[n]` seconds a step, the last of them for all
    that follow, and the base's `BASE`."""

    cluster: Cluster
    head_sha: str
    head: tuple[float, ...]
    heads: list[str] = field(default_factory=list)

    def __call__(self, name: str, step: int) -> str:
        """The line of a step; before the first one, the device."""
        seconds = self._seconds(name)
        at = step * seconds + 0.0007 * (step % 3)
        clock = f"01:{int(at) // 60:02}:{at % 60:09.6f}"
        values = f"TFLOP/s/device: {29.683 / seconds:.3f}, Tokens/s/device: {4474.15 / seconds:.3f}"
        start = TPU if step == 0 else ""
        return (
            f"{start}I0418 {clock} 136682829195077 metric_logger.py:196] completed step: {step}, "
            f"seconds: {seconds:.3f}, {values}, total_weights: 65536, loss: {10 - step / 100:.3f}\n"
        )

    def _seconds(self, name: str) -> float:
        jobset = json.dumps(self.cluster.named(JOBSETS)[name])
        if re.search(self.head_sha, jobset) is None:
            return BASE
        if name not in self.heads:
            self.heads.append(name)
        return self.head[min(self.heads.index(name), len(self.head) - 1)]


@dataclass(slots=True)
class Stage:
    """A pull request whose head takes other times."""

    scene: EmulateScene
    cluster: Cluster

    def rows(self) -> list[tuple[str, str]]:
        """The commit and state of every run."""
        with closing(sqlite3.connect(self.scene.server.folder / "data" / "maxview.sqlite")) as file:
            return [(str(one[0]), str(one[1])) for one in file.execute("SELECT sha, state FROM run")]

    def count(self, sha: str) -> int:
        """How many runs of a commit were started and ended."""
        return sum(one == sha and state == "ended" for one, state in self.rows())

    def has(self, runs: int) -> bool:
        """Whether so many runs of head have ended."""
        return self.count(self.scene.head) >= runs


@pytest.fixture
def make_stage(make_scene: Callable[..., EmulateScene], tmp_path: Path) -> Iterator[Callable[[str], Stage]]:
    """Start a server whose cluster is a stand-in."""
    cluster = Cluster()
    with kubernetes(cluster) as address:
        path = f"{install(tmp_path / 'bin', address)}{os.pathsep}{os.environ['PATH']}"

        def make(configuration: str) -> Stage:
            scene = make_scene(PATH=path, XPK_COMMAND="quick-xpk")
            scene.server.start()
            scene.configure(configuration)
            return Stage(scene, cluster)

        yield make


@contextmanager
def _flying(stage: Stage, head: tuple[float, ...], at_once: int = 4) -> Iterator[Trainer]:
    trainer = Trainer(stage.cluster, stage.scene.head, head)
    autopilot = Autopilot(cluster=stage.cluster, steps=STEPS, prints=trainer, at_once=at_once)
    with running_autopilot(autopilot), polled_often(stage.scene.server):
        yield trainer


def test_a_slower_head_is_confirmed_by_itself(make_stage: Callable[[str], Stage]) -> None:
    """One pair shows 3 %: no red yet. The further runs start by themselves, and then it is slower."""
    stage = make_stage(CONFIGURATION)
    with _flying(stage, (SLOWER,)):
        number = stage.scene.open_pull()
        seen = stage.scene.comment(number, "confirming")["body"]
        assert "slower" not in seen.splitlines()[2]
        assert "🔴" not in seen
        # Each wait has a limit of its own: five workloads take long on a busy machine.
        for runs in (2, 3):
            stage.scene.server.wait_until(partial(stage.has, runs), f"{runs} runs of head have ended")
        body = stage.scene.comment(number, "1 slower")["body"]
    assert "is 3.0 % slower" in body
    assert (stage.count(stage.scene.base), stage.count(stage.scene.head)) == (2, 3)


def test_a_glitch_is_not_confirmed(make_stage: Callable[[str], Stage]) -> None:
    """The first run of head was on a slow slice: the further runs say so, and the verdict is not red."""
    stage = make_stage(CONFIGURATION)
    with _flying(stage, (SLOWER, BASE)):
        number = stage.scene.open_pull()
        stage.scene.comment(number, "confirming")
        body = stage.scene.comment(number, "inconclusive")["body"]
    assert "🔴" not in body
