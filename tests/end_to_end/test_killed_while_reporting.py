"""Whatever dies, and whenever: after the restart there is exactly one comment, and it is true."""

import threading
import time
from collections.abc import Callable

from tests.end_to_end.conftest import BRANCH, EmulateScene, delivered_pull
from tests.end_to_end.proxy import DropConnection, Moment
from tests.peers.emulate import REPOSITORY
from tests.peers.postgres import Postgres

POINTS = (
    (Moment.AFTER, "GET", r"/contents/"),
    (Moment.BEFORE, "GET", r"/pulls/\d+$"),
    (Moment.BEFORE, "GET", r"/compare/"),
    (Moment.BEFORE, "POST", r"/comments$"),
    (Moment.AFTER, "POST", r"/comments$"),
)


def _killer(scene: EmulateScene, died: threading.Event) -> Callable[[], None]:
    def kill() -> None:
        scene.server.kill()
        died.set()
        raise DropConnection

    return kill


def test_a_kill_anywhere_between_delivery_and_comment_leaves_one_comment(
    make_scene: Callable[..., EmulateScene],
) -> None:
    """Before and after requests to GitHub, before and after the comment is written: one correct comment."""
    scene = make_scene()
    scene.runs.write_runs("04_int8", "main", scene.base, 2)
    scene.server.start()
    for n, (moment, method, path) in enumerate(POINTS):
        branch, died = f"feat/{n}", threading.Event()
        scene.github.branch(branch, BRANCH)
        scene.proxy.once(moment, method, path, _killer(scene, died))
        number = scene.open_pull(branch)
        assert died.wait(timeout=30), (moment, method, path)
        scene.server.expire_leases()
        scene.server.start()
        body = scene.comment(number, "no run")["body"]
        assert f"head {scene.head}" in body
    scene.server.wait_until_idle()
    assert [len(scene.ours(number)) for number in range(1, len(POINTS) + 1)] == [1] * len(POINTS)


def test_a_kill_right_after_the_acknowledgement_loses_nothing(
    make_scene: Callable[..., EmulateScene],
) -> None:
    """The next process works on what was answered with 202."""
    scene = make_scene()
    number = scene.open_pull()
    payload = delivered_pull(scene, number)
    scene.server.start()
    assert scene.server.deliver("pull_request", payload, name="only-one").status_code == 202
    scene.server.kill()
    scene.server.expire_leases()
    scene.server.start()
    scene.comment(number, "no run")


def test_a_kill_while_a_command_is_answered_answers_it_once(
    make_scene: Callable[..., EmulateScene],
) -> None:
    """In the same comment."""
    scene = make_scene()
    scene.server.start()
    number, died = scene.open_pull(), threading.Event()
    before = scene.comment(number, "no run")
    scene.proxy.once(Moment.AFTER, "PATCH", "/comments/", _killer(scene, died))
    scene.github.comment(number, "bob", "/benchmark status")
    assert died.wait(timeout=30)
    scene.server.expire_leases()
    edits = scene.proxy.count("PATCH", "/comments/")
    scene.server.start()
    scene.server.wait_until(lambda: "done=unchanged" in scene.server.log, "the edit is found to be done")
    assert scene.comment(number, "by bob")["id"] == before["id"]
    assert scene.proxy.count("PATCH", "/comments/") == edits


def test_nothing_is_written_while_nothing_changes(make_scene: Callable[..., EmulateScene]) -> None:
    """The bucket is read again and again, and the comment is left alone, also after a restart."""
    scene = make_scene(POLL_SECONDS="0.2")
    scene.usual_runs()
    scene.server.start()
    number = scene.open_pull()
    before = scene.comment(number, "1 new failure")
    writes, looks = scene.proxy.writes(), scene.proxy.count("GET", "/pulls/1$")
    scene.server.wait_until(lambda: scene.proxy.count("GET", "/pulls/1$") >= looks + 3, "it is looked at")
    assert scene.server.stop()[0] == 0
    looks = scene.proxy.count("GET", "/pulls/1$")
    scene.server.start()
    scene.server.wait_until(lambda: scene.proxy.count("GET", "/pulls/1$") >= looks + 2, "it is looked at")
    assert scene.proxy.writes() == writes
    assert scene.comment(number) == before


def test_sigterm_ends_the_server_quickly_and_releases_its_leases(
    make_scene: Callable[..., EmulateScene],
) -> None:
    """While GitHub does not answer: status 0 within 10 s, and the next process need not wait."""
    scene = make_scene()
    scene.server.start()
    asked, answer = threading.Event(), threading.Event()

    def hang() -> None:
        asked.set()
        answer.wait(timeout=30)
        raise DropConnection

    scene.proxy.once(Moment.BEFORE, "GET", "/compare/", hang)
    number = scene.open_pull()
    assert asked.wait(timeout=30)
    status, seconds = scene.server.stop()
    answer.set()
    assert status == 0
    assert seconds < 10
    begun = time.monotonic()
    scene.server.start()
    scene.comment(number, "no run")
    assert time.monotonic() - begun < 25


def test_sigterm_ends_an_idle_server_at_once(make_scene: Callable[..., EmulateScene]) -> None:
    """The log ends without a traceback."""
    scene = make_scene()
    status, seconds = scene.server.start().stop()
    assert (status, seconds < 5) == (0, True)
    assert "Traceback" not in scene.server.log


def test_an_outage_of_the_database_loses_no_acknowledged_delivery(
    make_scene: Callable[..., EmulateScene], postgres: Postgres
) -> None:
    """503 at once during the outage, 202 for the same delivery afterwards, and then the comment."""
    url = postgres.empty()
    scene = make_scene(DATABASE_URL=url)
    number = scene.open_pull()
    payload = delivered_pull(scene, number)
    server = scene.server.start()
    postgres.shut(url)
    begun = time.monotonic()
    assert server.deliver("pull_request", payload, name="kept").status_code == 503
    assert time.monotonic() - begun < 9
    assert (server.status("/healthz"), server.status("/readyz")) == (200, 503)
    assert server.status(f"/{REPOSITORY}/pull/{number}") == 503
    postgres.open(url)
    server.wait_until(lambda: server.status("/readyz") == 200, "the database is back")
    assert server.deliver("pull_request", payload, name="kept").status_code == 202
    scene.comment(number, "no run")


def test_two_servers_on_one_database_write_one_comment(
    make_scene: Callable[..., EmulateScene], postgres: Postgres
) -> None:
    """Both receive the same deliveries and others, both look for work: one comment is created."""
    scene = make_scene(DATABASE_URL=postgres.empty())
    scene.usual_runs()
    number = scene.open_pull()
    payload = delivered_pull(scene, number)
    first = scene.server.start()
    second = scene.another_server().start()
    for server in (first, second):
        for name in ("same", f"own-{server.port}"):
            assert server.deliver("pull_request", payload, name=name).status_code == 202
    scene.comment(number, "1 new failure")
    for n in range(4):
        scene.github.comment(number, "bob", f"/benchmark rerun {('03_*', '04_int8')[n % 2]}")
    scene.comment(number, "by bob")
    first.wait_until_idle()
    second.wait_until_idle()
    assert scene.proxy.count("POST", f"/{number}/comments$") == 1
    assert scene.proxy.count("DELETE", "/comments/") == 0
    assert first.stop()[0] == 0
    scene.server = second
    scene.runs.write_runs("11_offload", BRANCH, scene.head, 3, since=0.3)
    scene.comment(number, "2 same")


def test_requests_without_an_answer_are_retried(make_scene: Callable[..., EmulateScene]) -> None:
    """A connection that breaks after the comment was written does not create a second one."""
    scene = make_scene()
    scene.server.start()

    def cut() -> None:
        raise DropConnection

    scene.proxy.once(Moment.AFTER, "POST", "/comments$", cut)
    number = scene.open_pull()
    scene.comment(number, "no run")
    scene.server.wait_until(lambda: scene.server.log.count("comment kept") >= 1, "it is known to be written")
    assert len(scene.ours(number)) == 1
