"""While runs are under way the page tells their progress at once, and the comment is left in peace."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.scenes import LaunchScene, launch_scene
from tests.end_to_end.server import ask
from tests.log_writers.maxtext import maxtext_log


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[LaunchScene]:
    """A server whose jobs print all their steps, and then go on until somebody ends them."""
    with launch_scene(tmp_path) as made:
        job = (
            "import pathlib, time\n"
            "print(pathlib.Path('log.txt').read_text(), flush=True)\n"
            "time.sleep(300 if pathlib.Path('slow').exists() else 0)\n"
        )
        made.git.write("main", {"job.py": job, "log.txt": maxtext_log(steps=20)})
        yield made


def _rows(scene: LaunchScene, number: int) -> list[dict[str, Any]]:
    answer = ask(f"{scene.server.url}/api/v1/acme/maxtext/pull/{number}")
    rows: list[dict[str, Any]] = answer.json()["rows"] if answer.is_success else []
    return rows


def test_the_page_shows_steps_within_seconds_and_the_comment_is_not_edited(scene: LaunchScene) -> None:
    """The comment was written a moment ago and waits."""
    scene.commit("A = 1\n")
    number = scene.open()
    first = scene.comment(number, "MaxView")

    def step() -> str:
        rows = [row for row in _rows(scene, number) if row["progress"]]
        return str(rows[0]["progress"]["about"]) if rows else ""

    scene.server.wait_until(lambda: "step 19" in step(), "the page tells the step")
    comment = scene.comment(number, "MaxView")
    assert comment.id == first.id
    assert "step 19" not in comment.body
    assert scene.server.log.count("done=edited") <= 1
