"""A pull request whose runs XPK makes: the real server, a stand-in GitHub, a stand-in cluster between."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.end_to_end.conftest import EmulateScene
from tests.end_to_end.server import polled_often
from tests.peers.kubelet import Autopilot, running_autopilot
from tests.peers.kubernetes import Cluster, kubernetes
from tests.peers.kubernetes_programs import DIGEST, install

CONFIGURATION = """\
version: 1
launch:
  cluster: xpk
  xpk:
    cluster: v6e-bench
    project: my-project
    zone: us-east5-b
    device-type: v6e-32
    docker-image: "gcr.io/my-project/maxtext:{sha}"
    priority: low
    timeout: 45m
cases:
  04_int8: {command: "python3 -m train steps=24 run_name={run_name}"}
"""


def test_a_pull_request_gets_its_numbers_from_xpk_workloads(
    make_scene: Callable[..., EmulateScene], tmp_path: Path
) -> None:
    """Runs of both sides are launched once each, in the images of their commits, measured and compared."""
    cluster = Cluster()
    with kubernetes(cluster) as address:
        programs = install(tmp_path / "bin", address, log=tmp_path / "calls")
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        scene = make_scene(PATH=path, XPK_COMMAND="quick-xpk")
        scene.server.start()
        scene.configure(CONFIGURATION)
        with running_autopilot(Autopilot(cluster=cluster, steps=24)) as autopilot, polled_often(scene.server):
            number = scene.open_pull()
            body = scene.comment(number, "No action needed.")["body"]
    calls = [json.loads(line)["words"] for line in (tmp_path / "calls").read_text().splitlines()]
    images = [word for words in calls if words[0] == "quick-xpk" for word in words if "docker-image" in word]
    assert images == [f"--docker-image=gcr.io/my-project/maxtext@{DIGEST}"] * len(autopilot.moved)
    asked = {words[4] for words in calls if words[1:4] == ["container", "images", "describe"]}
    assert asked == {f"gcr.io/my-project/maxtext:{sha}" for sha in (scene.base, scene.head)}
    assert set(autopilot.moved.values()) == {1}
    assert "04_int8" in body
