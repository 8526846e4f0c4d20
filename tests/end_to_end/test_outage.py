"""GitHub is away, or another process takes over: nothing is lost, and nothing is written twice."""

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end_to_end.proxy import Moment
from tests.end_to_end.scenes import IMPORT_SECRET, ImportScene, import_scene
from tests.end_to_end.server import Server

PULLS = 30


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[ImportScene]:
    """A scene whose server answers."""
    with import_scene(tmp_path) as made:
        made.server.start()
        yield made


def _end(server: Server) -> None:
    if server.process is not None:
        server.kill()


def _ours(scene: ImportScene, number: int) -> list[str]:
    return [one.body for one in scene.hosted.github.comments_of(number) if one.by_app]


def test_an_outage_of_github_loses_nothing(scene: ImportScene) -> None:
    """Thirty deliveries come during an outage. GitHub gets only a few requests; afterwards, with some answers
    lost, every pull request has exactly one correct comment."""
    github, world = scene.hosted.github, scene.hosted.github.state
    heads = {}
    for n in range(PULLS):
        heads[n + 1] = scene.hosted.git.write(f"feat/{n}", {f"src/{n}.py": "A = 1\n"}, scene.base)
    world.away = True
    asked = len(world.requests)
    for n in range(PULLS):
        scene.hosted.run(github.open_pull(f"feat/{n}", f"Change {n}", "alice"))
    scene.server.wait_until(lambda: "GitHub is away" in scene.server.log, "the outage is noticed")
    assert all(one.status == "OK" for one in world.deliveries)
    assert len(world.requests) - asked <= 2 * PULLS
    for _ in range(3):
        github.fail_next("POST", "/comments", status=502, after=True)
    world.away = False
    scene.server.wait_until(lambda: all(_ours(scene, number) for number in heads), "everybody is answered")
    scene.server.wait_until_idle()
    for number, head in heads.items():
        (body,) = _ours(scene, number)
        assert f"head {head}" in body


def test_a_stopped_process_writes_nothing_after_another_took_over(scene: ImportScene, tmp_path: Path) -> None:
    """It is stopped between its last read and its write, until its lease has ended and a second process has
    written the comment; when it continues, it has lost the row."""
    stopped = threading.Event()
    first = scene.server

    def hold_up() -> None:
        first.signal(signal.SIGSTOP)
        stopped.set()

    # The second question for the pull request is the one right before the write.
    scene.proxy.once(
        Moment.AFTER,
        "GET",
        r"/pulls/1$",
        lambda: scene.proxy.once(Moment.AFTER, "GET", r"/pulls/1$", hold_up),
    )
    number = scene.open_pull()
    assert stopped.wait(timeout=30)
    first.expire_leases()
    folder = tmp_path / "second"
    folder.mkdir()
    database = f"sqlite:///{first.folder / 'data' / 'maxview.sqlite'}"
    second = Server(
        folder=folder, secret=IMPORT_SECRET, settings={**first.settings, "DATABASE_URL": database}
    )
    with ExitStack() as stack:
        stack.callback(_end, second)
        second.start()
        scene.comment(number, "slower")
        first.signal(signal.SIGCONT)
        first.wait_until(lambda: "another process took this over" in first.log, "the first one notices")
        first.wait_until_idle()
        assert 1 == scene.proxy.count("POST", f"/{number}/comments$")
        assert 0 == scene.proxy.count("PATCH", "/comments/")
        assert 1 == len(_ours(scene, number))
    assert re.search("comment kept", second.log)
