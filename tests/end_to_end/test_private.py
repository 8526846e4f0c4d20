"""A private repository stays private, whatever arrives late, is lost, or takes its name."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from bot.storage.repositories import PUBLIC_SECONDS
from tests.end_to_end.scenes import ImportScene, import_scene
from tests.end_to_end.server import NO_TLS, TIMEOUT_SECONDS, ask

PAGE = "/acme/maxtext/pull/1"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[ImportScene]:
    """A public repository with a reported pull request, whose pages are open."""
    with import_scene(tmp_path) as made:
        made.server.start()
        made.hosted.run(made.github.install())
        body = made.comment(made.open_pull(), "slower").body
        assert "key=" not in body
        made.server.wait_until(lambda: made.server.status(PAGE) == 200, "the page is open")
        made.server.wait_until_idle()
        yield made


def _change(scene: ImportScene, statement: str, *values: object) -> None:
    path = scene.server.folder / "data" / "maxview.sqlite"
    with closing(sqlite3.connect(path, timeout=20)) as file, file:
        file.execute(statement, values)


def _check_now(scene: ImportScene) -> None:
    """Have the listing read now, as it is every ten minutes."""
    listed = scene.count("GET /app/installations")
    _change(scene, "UPDATE maintenance_task SET due = 0, lease_until = 0 WHERE name = 'visibility'")
    scene.server.wait_until(lambda: scene.count("GET /app/installations") > listed, "GitHub is asked")


def _closed(scene: ImportScene) -> bool:
    paths = (PAGE, f"/api/v1{PAGE}", "/acme/maxtext", "/acme/maxtext/history")
    listed = "acme/maxtext" in ask(f"{scene.server.url}/").text
    return not listed and {404} == {scene.server.status(path) for path in paths}


def test_a_late_delivery_opens_nothing(scene: ImportScene) -> None:
    """Deliveries of its public time come again, all of them: its pages stay shut."""
    public_time = list(scene.github.state.deliveries)
    scene.hosted.run(scene.github.change_visibility(private=True))
    scene.server.wait_until_idle()
    assert _closed(scene)
    for number, old in enumerate(public_time):
        assert 202 == scene.server.deliver(old.event, old.payload, name=f"late-{number}").status_code
    scene.server.wait_until_idle()
    assert _closed(scene)
    assert "key=" in scene.comment(1, "key=").body


def test_only_github_opens_a_repository(scene: ImportScene) -> None:
    """A delivery that it is public is asked about; when GitHub says so, the pages are open again."""
    scene.hosted.run(scene.github.change_visibility(private=True))
    scene.server.wait_until_idle()
    lie = {**scene.github.state.deliveries[-1].payload, "action": "publicized"}
    lie["repository"] = {**dict(lie["repository"]), "private": False}  # type: ignore[call-overload]
    scene.server.deliver("repository", lie, name="a lie")
    scene.server.wait_until_idle()
    assert _closed(scene)
    scene.hosted.run(scene.github.change_visibility(private=False))
    scene.server.wait_until(lambda: scene.server.status(PAGE) == 200, "the page is open again")


def test_what_github_has_not_confirmed_for_half_an_hour_is_private(scene: ImportScene) -> None:
    """While it cannot be asked, pages close by themselves; its next answer opens them."""
    scene.github.state.away = True
    old = time.time() - PUBLIC_SECONDS - 1
    _change(scene, "UPDATE repository SET public_confirmed_at = ?", old)
    assert _closed(scene)
    scene.github.state.away = False
    scene.server.wait_until(lambda: _opens(scene), "GitHub's answer opens it")


def _opens(scene: ImportScene) -> bool:
    _change(scene, "UPDATE maintenance_task SET due = 0 WHERE name = 'visibility'")
    return scene.server.status(PAGE) == 200


def test_an_uninstalled_app_leaves_nothing_open(scene: ImportScene) -> None:
    """At once where the delivery arrives."""
    scene.hosted.run(scene.github.uninstall())
    scene.server.wait_until_idle()
    assert _closed(scene)


def test_a_missed_uninstallation_is_found(scene: ImportScene) -> None:
    """By the listing, in which it is no more."""
    scene.github.send_webhooks_to(None)
    scene.hosted.run(scene.github.uninstall())
    _check_now(scene)
    scene.server.wait_until(lambda: _closed(scene), "the pages are closed")


def test_a_suspended_app_leaves_nothing_open(scene: ImportScene) -> None:
    """Its visibility cannot be asked any more."""
    scene.hosted.run(scene.github.suspend())
    scene.server.wait_until_idle()
    assert _closed(scene)
    scene.hosted.run(scene.github.unsuspend())
    scene.server.wait_until(lambda: scene.server.status(PAGE) == 200, "the page is open again")


def test_who_takes_its_name_reads_nothing_of_it(scene: ImportScene) -> None:
    """The owner makes it private and renames it, the server misses that, and a stranger makes a repository of
    its former name, which their own token may read: that is no way in."""
    scene.hosted.run(scene.github.change_visibility(private=True))
    scene.server.wait_until_idle()
    scene.github.send_webhooks_to(None)
    scene.hosted.run(scene.github.rename("acme/hidden"))
    state = scene.github.state
    state.readable, state.other_ids = {"mallory": {"acme/maxtext"}}, {"acme/maxtext": 77}
    token = scene.github.create_user_token("mallory")
    for path in (PAGE, "/acme/maxtext", "/acme/hidden", "/acme/hidden/pull/1"):
        answer = httpx.get(
            scene.server.url + path,
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_SECONDS,
            verify=NO_TLS,
        )
        assert 404 == answer.status_code, path
    state.readable, state.other_ids = {"alice": {"acme/maxtext"}}, {}
    alice = {"Authorization": f"Bearer {scene.github.create_user_token('alice')}"}
    opened = httpx.get(scene.server.url + PAGE, headers=alice, timeout=TIMEOUT_SECONDS, verify=NO_TLS)
    assert 200 == opened.status_code
