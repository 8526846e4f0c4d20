"""What a push, a storm of pushes and a closed pull request do to the runs that are under way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.scenes import BRANCH, LaunchScene, launch_scene

PROMISED_SECONDS = 10.0


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[LaunchScene]:
    """A server that starts runs here."""
    with launch_scene(tmp_path) as made:
        yield made


def _open_and_start(scene: LaunchScene) -> tuple[int, str]:
    """A pull request whose head is being measured."""
    head = scene.commit("A = 1\n")
    number = scene.open()
    scene.server.wait_until(lambda: scene.running(head), "the head is measured")
    return number, head


def test_a_push_ends_the_runs_that_it_made_stale(scene: LaunchScene) -> None:
    """Within ten seconds no process and no open run of the old head is left; the new head is measured without
    a command."""
    number, old = _open_and_start(scene)
    new = scene.commit("A = 2\n")
    scene.push()
    assert scene.seconds_until_gone(old) < PROMISED_SECONDS
    scene.server.wait_until(lambda: scene.running(new), "the new head is measured")
    assert old not in scene.comment(number, f"head {new}").body


def test_a_push_of_the_same_files_keeps_its_runs(scene: LaunchScene) -> None:
    """A rebased or reworded commit with the same files takes over the runs: the same process continues."""
    number, old = _open_and_start(scene)
    before = scene.runs(old).keys()
    main = scene.git.head("main")
    reworded = scene.git.write(BRANCH, {"src/a.py": "A = 1\n", "slow": "yes"}, main, message="Said better")
    assert reworded != old
    scene.push()
    scene.comment(number, f"head {reworded}")
    assert scene.running(old)
    assert (scene.runs(old).keys(), scene.runs(reworded)) == (before, {})
    assert "cancelled" not in scene.runs().values()


def test_ten_pushes_within_seconds_start_runs_of_the_last(scene: LaunchScene) -> None:
    """Nothing is planned for the nine that were overtaken."""
    number, _ = _open_and_start(scene)
    heads = []
    for value in range(10):
        heads.append(scene.commit(f"A = {value + 10}\n", onto_main=value % 2 == 0))
        scene.push()
    scene.server.wait_until(lambda: scene.runs(heads[-1]), "the last head is planned")
    assert [scene.runs(head) for head in heads[:-1]] == [{}] * 9
    scene.comment(number, f"head {heads[-1]}")


def test_closing_a_pull_request_ends_its_runs(scene: LaunchScene) -> None:
    """And the comment stops waiting for them."""
    number, head = _open_and_start(scene)
    scene.comment(number, f"head {head}")
    scene.hosted.run(scene.hosted.github.close_pull(number))
    assert scene.seconds_until_gone(head) < PROMISED_SECONDS
    body = scene.comment(number, "the pull request was closed").body
    assert "1 cancelled" in body
