"""The real process dies while it launches and collects on a cluster that is far away: no job exists twice."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from bot.storage.launched_runs import release_run
from tests.end_to_end.conftest import EmulateScene
from tests.end_to_end.server import polled_often
from tests.end_to_end.test_xpk import CONFIGURATION
from tests.peers.kubelet import Autopilot, running_autopilot
from tests.peers.kubernetes import Cluster, kubernetes
from tests.peers.kubernetes_programs import install

RELEASE = release_run.__name__

POINTS = (
    ("launch with xpk", "after"),
    ("keep the log", "after"),
    (RELEASE, "inside", "ended"),
)


def test_a_kill_while_workloads_are_created_and_read_creates_none_twice(
    make_scene: Callable[..., EmulateScene], tmp_path: Path
) -> None:
    """Three kills: each workload runs once, and the pull request gets its numbers."""
    cluster = Cluster()
    with kubernetes(cluster) as address:
        path = f"{install(tmp_path / 'bin', address)}{os.pathsep}{os.environ['PATH']}"
        scene = make_scene(PATH=path, XPK_COMMAND="quick-xpk")
        scene.server.start()
        scene.configure(CONFIGURATION)
        scene.open_pull()
        with running_autopilot(Autopilot(cluster=cluster, steps=24)) as autopilot, polled_often(scene.server):
            scene.server.wait_until(lambda: autopilot.moved, "a workload runs")
            scene.server.kill()
            for point in POINTS:
                scene.server.expire_leases()
                scene.server.start_module("tests.end_to_end.crashing_server", *point)
                scene.server.wait_for_death()
            scene.server.expire_leases()
            scene.server.start()
            scene.comment(1, "No action needed.")
    with closing(sqlite3.connect(scene.server.folder / "data" / "maxview.sqlite")) as file:
        names = {row[0] for row in file.execute("SELECT json_extract(job, '$.name') FROM run")}
        states = {row[0] for row in file.execute("SELECT state FROM run")}
    assert (set(autopilot.moved), set(autopilot.moved.values()), states) == (names, {1}, {"ended"})
