"""Events of an App and its repository, on the real server: each ends with one correct comment, or none."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end_to_end.proxy import DropConnection, Moment
from tests.end_to_end.scenes import IMPORT_BRANCH, ImportScene, import_scene
from tests.end_to_end.server import ask


@pytest.fixture
def make_import_scene(tmp_path: Path) -> Iterator[Callable[..., ImportScene]]:
    """Makes a scene whose server answers."""
    with ExitStack() as stack:

        def make(checks: str = "off", triggers: str = "{}") -> ImportScene:
            scene = stack.enter_context(import_scene(tmp_path, checks, triggers))
            scene.server.start()
            return scene

        yield make


def test_a_check_is_created_and_its_buttons_are_commands(
    make_import_scene: Callable[..., ImportScene],
) -> None:
    """The check is created with its conclusion. A button pressed without write access is refused in the
    comment, one with write access works. A check that is requested again, which GitHub resets, is concluded
    at once; so are all checks of a commit."""
    scene = make_import_scene("{kind: check, fail_on_regression: true}")
    number = scene.open_pull()
    check = scene.check("failure")
    assert ["rerun", "acknowledge"] == [one["identifier"] for one in check.actions]
    comment = scene.comment(number, "slower")
    assert check.summary is not None
    assert check.summary.strip() in comment.body
    scene.hosted.run(scene.github.press_button(check, "rerun", "mallory"))
    scene.comment(number, "mallory has read permission")
    scene.hosted.run(scene.github.press_button(check, "rerun", "bob"))
    scene.comment(number, "by bob")
    scene.hosted.run(scene.github.rerequest(check, "bob"))
    scene.check("failure")
    scene.hosted.run(scene.github.rerequest_all(scene.head, "bob"))
    scene.check("failure")
    scene.hosted.run(scene.github.press_button(check, "acknowledge", "bob"))
    scene.check("success")
    assert 1 == len(scene.hosted.github.state.checks) == scene.count("POST .*/check-runs$")


def test_a_change_that_touches_no_case_has_a_skipped_check_and_no_comment(
    make_import_scene: Callable[..., ImportScene],
) -> None:
    """A repository may require the check on every pull request, also on those that were open when it was
    configured. A command is answered in the same check."""
    paths = '{paths: ["other/**"]}'
    scene = make_import_scene("off", paths)
    number, github = scene.open_pull(), scene.hosted.github
    scene.server.wait_until(lambda: f"#{number} is looked at" in scene.server.log, "it is looked at")
    scene.server.wait_until_idle()
    scene.configure("check", paths)
    assert "Not measured: the change touches no case" == scene.check("skipped").title
    assert () == github.comments_of(number)
    scene.hosted.run(github.comment(number, "bob", "/benchmark"))
    scene.comment(number, "slower")
    assert "1 slower" in (scene.check("skipped", "Not measured: the change touches no case").title or "")
    assert 1 == len(github.state.checks)


def test_a_merge_queue_gets_the_check_that_it_waits_for(
    make_import_scene: Callable[..., ImportScene],
) -> None:
    """One check, however often it is requested, also where the process dies right after writing it. Requested
    again, which removes its conclusion, it is concluded again. The commit is not measured."""
    scene = make_import_scene("check", '{branches: ["**"]}')
    number, died = scene.open_pull(), threading.Event()
    scene.check("skipped")
    queued = f"gh-readonly-queue/main/pr-{number}-{scene.base}"
    merged = scene.hosted.git.write(queued, {"src/a.py": "A = 1\n"}, scene.base, scene.head)

    def die() -> None:
        scene.server.kill()
        died.set()
        raise DropConnection

    scene.proxy.once(Moment.AFTER, "POST", "/check-runs", die)
    scene.hosted.run(scene.github.enter_merge_queue(number, merged))
    assert died.wait(timeout=30)
    scene.server.expire_leases()
    scene.server.start()
    scene.server.wait_until(lambda: 1 == scene.count("PATCH .*/check-runs/"), "what was written is found")
    said = scene.check("skipped", "1 slower")
    assert merged == said.head_sha
    assert (said.details_url or "").endswith(f"/acme/maxtext/pull/{number}")
    scene.hosted.run(scene.hosted.github.push(queued))
    scene.hosted.run(scene.github.enter_merge_queue(number, merged))
    scene.server.wait_until(lambda: 2 == scene.count("PATCH .*/check-runs/"), "it is written again")
    for again in (scene.github.rerequest_all(merged, "bob"), scene.github.rerequest(said, "bob")):
        scene.hosted.run(again)
        scene.check("skipped")
    scene.hosted.run(scene.github.leave_merge_queue(number, merged))
    scene.server.wait_until_idle()
    assert [scene.head, merged] == [one.head_sha for one in scene.hosted.github.state.checks.values()]
    assert 404 == scene.server.status(f"/acme/maxtext/branch/{queued}")


def test_a_missing_permission_is_named_and_its_grant_is_noticed(
    make_import_scene: Callable[..., ImportScene],
) -> None:
    """The comment names it; once granted, the check appears and the comment no longer mentions it."""
    scene = make_import_scene("check")
    scene.hosted.github.state.permissions["checks"] = "read"
    number = scene.open_pull()
    scene.comment(number, "The check cannot be written")
    assert "checks=write" in scene.comment(number, "slower").body
    assert 1 == scene.server.log.count("The check cannot be written")
    scene.hosted.run(scene.github.grant("checks", "write"))
    scene.check("skipped")
    scene.server.wait_until(
        lambda: "cannot be written" not in scene.comment(number, "slower").body, "the comment is silent"
    )


def test_a_renamed_repository_keeps_its_comment_and_runs(
    make_import_scene: Callable[..., ImportScene],
) -> None:
    """The same comment, the same runs, the known pull request; old addresses redirect to the new ones."""
    scene = make_import_scene()
    number = scene.open_pull()
    before = scene.comment(number, "slower")
    scene.hosted.run(scene.github.rename("acme/maxtext-next"))
    scene.server.expire_leases()  # of who was at work under the old name
    after = scene.comment(number, "/acme/maxtext-next/pull/")
    assert before.id == after.id
    assert "3 v 4" in after.body
    for path in (f"/acme/maxtext/pull/{number}", f"/api/v1/acme/maxtext/pull/{number}"):
        moved = ask(scene.server.url + path)
        assert (307, path.replace("maxtext", "maxtext-next")) == (
            moved.status_code,
            moved.headers["location"],
        )
        assert 200 == scene.server.status(moved.headers["location"])
    assert 307 == ask(f"{scene.server.url}/acme/maxtext").status_code


def test_a_rename_while_the_comment_is_written_leaves_one_comment(
    make_import_scene: Callable[..., ImportScene],
) -> None:
    """The writer has lost its row by then; the next one finds the comment by its marker, whatever the
    name."""
    scene = make_import_scene()
    moved: list[bool] = []

    def rename() -> None:
        scene.hosted.run(scene.github.rename("acme/maxtext-next"))
        moved.append(True)

    scene.proxy.once(Moment.AFTER, "POST", r"/comments", rename)
    number = scene.open_pull()
    scene.server.wait_until(lambda: moved, "the repository has its new name")
    scene.server.wait_until(lambda: "nothing was written" in scene.server.log, "the row is lost")
    scene.server.expire_leases()
    scene.comment(number, "/acme/maxtext-next/pull/")
    scene.server.wait_until_idle()
    assert 1 == len(scene.hosted.github.comments_of(number))


def test_a_suspended_installation_is_left_alone_and_resumes(
    make_import_scene: Callable[..., ImportScene],
) -> None:
    """Pushes during the suspension are answered afterwards, also those without a webhook."""
    scene = make_import_scene()
    number = scene.open_pull()
    scene.comment(number, "slower")
    scene.hosted.run(scene.github.suspend())
    scene.server.wait_until_idle()
    scene.hosted.github.send_webhooks_to(None)
    moved = scene.hosted.git.write(IMPORT_BRANCH, {"src/a.py": "A = 2\n"})
    scene.hosted.run(scene.hosted.github.push(IMPORT_BRANCH))
    scene.hosted.github.send_webhooks_to(f"{scene.server.url}/webhook")
    scene.hosted.run(scene.github.unsuspend())
    scene.comment(number, f"head {moved}")


def test_a_locked_conversation_and_an_archived_repository_are_respected(
    make_import_scene: Callable[..., ImportScene],
) -> None:
    """The page says so, nothing is retried again and again, and changes of that time are reported
    afterwards."""
    scene = make_import_scene()
    number = scene.open_pull()
    scene.comment(number, "slower")
    scene.github.lock(number)
    moved = scene.hosted.git.write(IMPORT_BRANCH, {"src/a.py": "A = 2\n"})
    scene.hosted.run(scene.hosted.github.push(IMPORT_BRANCH))
    page = f"{scene.server.url}/acme/maxtext/pull/{number}"
    scene.server.wait_until(lambda: "issue is locked" in ask(page).text, "the page says it")
    assert scene.count("PATCH .*/comments/") <= 3
    scene.hosted.run(scene.github.unlock(number))
    scene.comment(number, f"head {moved}")
    scene.hosted.run(scene.github.archive())
    scene.server.wait_until_idle()
    scene.hosted.git.write(IMPORT_BRANCH, {"src/a.py": "A = 3\n"})
    scene.hosted.github.send_webhooks_to(None)
    last = scene.hosted.run(scene.hosted.github.push(IMPORT_BRANCH))
    scene.hosted.github.send_webhooks_to(f"{scene.server.url}/webhook")
    scene.hosted.run(scene.github.unarchive())
    scene.comment(number, f"head {last}")


def test_a_deleted_comment_is_recreated_once(make_import_scene: Callable[..., ImportScene]) -> None:
    """After a second deletion only the page remains; an edit by somebody else is overwritten."""
    scene = make_import_scene()
    number = scene.open_pull()
    first = scene.comment(number, "slower")
    scene.hosted.run(scene.github.edit_comment(first.id, "All is well.", by="bob"))
    assert first.id == scene.comment(number, "slower").id
    scene.hosted.run(scene.github.delete_comment(first.id, "bob"))
    second = scene.comment(number, "slower", unlike=first.id)
    scene.hosted.run(scene.github.delete_comment(second.id, "bob"))
    page = f"{scene.server.url}/acme/maxtext/pull/{number}"
    scene.server.wait_until(lambda: "deleted twice" in ask(page).text, "the page says it")
    scene.hosted.git.write(IMPORT_BRANCH, {"src/a.py": "A = 2\n"})
    moved = scene.hosted.run(scene.hosted.github.push(IMPORT_BRANCH))
    scene.server.wait_until(lambda: moved[:7] in ask(page).text, "the page is of the new head")
    assert [] == [one for one in scene.hosted.github.comments_of(number) if one.by_app]
