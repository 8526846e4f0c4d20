"""What happens to an App in its life, on the real server: each ends with one true comment, or none."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end_to_end.proxy import DropConnection, Moment
from tests.end_to_end.scenes import IMPORT_BRANCH, ImportScene, import_scene
from tests.end_to_end.server import ask


@pytest.fixture
def make_stand(tmp_path: Path) -> Iterator[Callable[..., ImportScene]]:
    """Makes a stand whose server answers."""
    with ExitStack() as stack:

        def make(checks: str = "off", triggers: str = "{}") -> ImportScene:
            stand = stack.enter_context(import_scene(tmp_path, checks, triggers))
            stand.server.start()
            return stand

        yield make


def test_a_check_stands_beside_the_comment_and_its_buttons_are_commands(
    make_stand: Callable[..., ImportScene],
) -> None:
    """It is made concluded; who may not write is refused in the comment; who may is heard; a check that was
    asked for again, which GitHub resets, is concluded at once; a whole commit's checks too."""
    stand = make_stand("{kind: check, fail_on_regression: true}")
    number = stand.open_pull()
    check = stand.check("failure")
    assert ["rerun", "acknowledge"] == [one["identifier"] for one in check.actions]
    comment = stand.comment(number, "slower")
    assert check.summary is not None
    assert check.summary.strip() in comment.body
    stand.hosted.does(stand.github.press_button(check, "rerun", "mallory"))
    stand.comment(number, "mallory has read permission")
    stand.hosted.does(stand.github.press_button(check, "rerun", "bob"))
    stand.comment(number, "by bob")
    stand.hosted.does(stand.github.rerequest(check, "bob"))
    stand.check("failure")
    stand.hosted.does(stand.github.rerequest_all(stand.head, "bob"))
    stand.check("failure")
    stand.hosted.does(stand.github.press_button(check, "acknowledge", "bob"))
    stand.check("success")
    assert 1 == len(stand.hosted.github.state.checks) == stand.count("POST .*/check-runs$")


def test_a_change_that_touches_no_case_has_a_skipped_check_and_no_comment(
    make_stand: Callable[..., ImportScene],
) -> None:
    """A repository may require the check of every pull request, also of those that were open when its
    configuration began to say so; who asks gets the answer, in the same check."""
    paths = '{paths: ["other/**"]}'
    stand = make_stand("off", paths)
    number, github = stand.open_pull(), stand.hosted.github
    stand.server.until(lambda: f"#{number} is looked at" in stand.server.log, "it is looked at")
    stand.server.quiet()
    stand.configure("check", paths)
    assert "Not measured: the change touches no case" == stand.check("skipped").title
    assert () == github.comments_of(number)
    stand.hosted.does(github.comment(number, "bob", "/benchmark"))
    stand.comment(number, "slower")
    assert "1 slower" in (stand.check("skipped", "Not measured: the change touches no case").title or "")
    assert 1 == len(github.state.checks)


def test_a_merge_queue_gets_the_check_that_it_waits_for(make_stand: Callable[..., ImportScene]) -> None:
    """One, whoever asks how often, and though the process dies once it is written; asked for again, which
    takes its conclusion away, it is concluded again. The commit is not measured."""
    stand = make_stand("check", '{branches: ["**"]}')
    number, died = stand.open_pull(), threading.Event()
    stand.check("skipped")
    queued = f"gh-readonly-queue/main/pr-{number}-{stand.base}"
    merged = stand.hosted.git.write(queued, {"src/a.py": "A = 1\n"}, stand.base, stand.head)

    def die() -> None:
        stand.server.kill()
        died.set()
        raise DropConnection

    stand.between.once(Moment.AFTER, "POST", "/check-runs", die)
    stand.hosted.does(stand.github.enter_merge_queue(number, merged))
    assert died.wait(timeout=30)
    stand.server.leases_end()
    stand.server.start()
    stand.server.until(lambda: 1 == stand.count("PATCH .*/check-runs/"), "what was written is found")
    said = stand.check("skipped", "1 slower")
    assert merged == said.head_sha
    assert (said.details_url or "").endswith(f"/acme/maxtext/pull/{number}")
    stand.hosted.does(stand.hosted.github.push(queued))
    stand.hosted.does(stand.github.enter_merge_queue(number, merged))
    stand.server.until(lambda: 2 == stand.count("PATCH .*/check-runs/"), "it is written again")
    for again in (stand.github.rerequest_all(merged, "bob"), stand.github.rerequest(said, "bob")):
        stand.hosted.does(again)
        stand.check("skipped")
    stand.hosted.does(stand.github.leave_merge_queue(number, merged))
    stand.server.quiet()
    assert [stand.head, merged] == [one.head_sha for one in stand.hosted.github.state.checks.values()]
    assert 404 == stand.server.status(f"/acme/maxtext/branch/{queued}")


def test_a_missing_permission_is_said_once_and_found_again(make_stand: Callable[..., ImportScene]) -> None:
    """The comment names it; when it is granted the check appears and the comment is silent about it."""
    stand = make_stand("check")
    stand.hosted.github.state.permissions["checks"] = "read"
    number = stand.open_pull()
    stand.comment(number, "The check cannot be written")
    assert "checks=write" in stand.comment(number, "slower").body
    assert 1 == stand.server.log.count("The check cannot be written")
    stand.hosted.does(stand.github.grant("checks", "write"))
    stand.check("skipped")
    stand.server.until(
        lambda: "cannot be written" not in stand.comment(number, "slower").body, "the comment is silent"
    )


def test_a_renamed_repository_takes_everything_along(make_stand: Callable[..., ImportScene]) -> None:
    """The same comment, the same runs, the pull request known; old addresses lead to the new ones."""
    stand = make_stand()
    number = stand.open_pull()
    before = stand.comment(number, "slower")
    stand.hosted.does(stand.github.rename("acme/maxtext-next"))
    stand.server.leases_end()  # of who was at work under the old name
    after = stand.comment(number, "/acme/maxtext-next/pull/")
    assert before.id == after.id
    assert "3 v 4" in after.body
    for path in (f"/acme/maxtext/pull/{number}", f"/api/v1/acme/maxtext/pull/{number}"):
        moved = ask(stand.server.url + path)
        assert (307, path.replace("maxtext", "maxtext-next")) == (
            moved.status_code,
            moved.headers["location"],
        )
        assert 200 == stand.server.status(moved.headers["location"])
    assert 307 == ask(f"{stand.server.url}/acme/maxtext").status_code


def test_a_rename_while_the_comment_is_being_written_leaves_one(
    make_stand: Callable[..., ImportScene],
) -> None:
    """Who wrote it has lost its row by then; the next knows the comment by its mark, whatever the name."""
    stand = make_stand()
    moved: list[bool] = []

    def rename() -> None:
        stand.hosted.does(stand.github.rename("acme/maxtext-next"))
        moved.append(True)

    stand.between.once(Moment.AFTER, "POST", r"/comments", rename)
    number = stand.open_pull()
    stand.server.until(lambda: moved, "the repository has its new name")
    stand.server.until(lambda: "nothing was written" in stand.server.log, "the row is lost")
    stand.server.leases_end()
    stand.comment(number, "/acme/maxtext-next/pull/")
    stand.server.quiet()
    assert 1 == len(stand.hosted.github.comments_of(number))


def test_a_suspended_installation_is_let_alone_and_revived(make_stand: Callable[..., ImportScene]) -> None:
    """Pushes meanwhile are answered when it works again, also those of which no webhook told."""
    stand = make_stand()
    number = stand.open_pull()
    stand.comment(number, "slower")
    stand.hosted.does(stand.github.suspend())
    stand.server.quiet()
    stand.hosted.github.send_webhooks_to(None)
    moved = stand.hosted.git.write(IMPORT_BRANCH, {"src/a.py": "A = 2\n"})
    stand.hosted.does(stand.hosted.github.push(IMPORT_BRANCH))
    stand.hosted.github.send_webhooks_to(f"{stand.server.url}/webhook")
    stand.hosted.does(stand.github.unsuspend())
    stand.comment(number, f"head {moved}")


def test_a_locked_conversation_and_an_archived_repository_are_respected(
    make_stand: Callable[..., ImportScene],
) -> None:
    """The page says it, nothing is tried again and again, and what changed meanwhile is said afterwards."""
    stand = make_stand()
    number = stand.open_pull()
    stand.comment(number, "slower")
    stand.github.lock(number)
    moved = stand.hosted.git.write(IMPORT_BRANCH, {"src/a.py": "A = 2\n"})
    stand.hosted.does(stand.hosted.github.push(IMPORT_BRANCH))
    page = f"{stand.server.url}/acme/maxtext/pull/{number}"
    stand.server.until(lambda: "issue is locked" in ask(page).text, "the page says it")
    assert stand.count("PATCH .*/comments/") <= 3
    stand.hosted.does(stand.github.unlock(number))
    stand.comment(number, f"head {moved}")
    stand.hosted.does(stand.github.archive())
    stand.server.quiet()
    stand.hosted.git.write(IMPORT_BRANCH, {"src/a.py": "A = 3\n"})
    stand.hosted.github.send_webhooks_to(None)
    last = stand.hosted.does(stand.hosted.github.push(IMPORT_BRANCH))
    stand.hosted.github.send_webhooks_to(f"{stand.server.url}/webhook")
    stand.hosted.does(stand.github.unarchive())
    stand.comment(number, f"head {last}")


def test_a_deleted_comment_comes_again_once(make_stand: Callable[..., ImportScene]) -> None:
    """Who deletes it twice has the page; an edit by somebody else is put right."""
    stand = make_stand()
    number = stand.open_pull()
    first = stand.comment(number, "slower")
    stand.hosted.does(stand.github.edit_comment(first.id, "All is well.", by="bob"))
    assert first.id == stand.comment(number, "slower").id
    stand.hosted.does(stand.github.delete_comment(first.id, "bob"))
    second = stand.comment(number, "slower", unlike=first.id)
    stand.hosted.does(stand.github.delete_comment(second.id, "bob"))
    page = f"{stand.server.url}/acme/maxtext/pull/{number}"
    stand.server.until(lambda: "deleted twice" in ask(page).text, "the page says it")
    stand.hosted.git.write(IMPORT_BRANCH, {"src/a.py": "A = 2\n"})
    moved = stand.hosted.does(stand.hosted.github.push(IMPORT_BRANCH))
    stand.server.until(lambda: moved[:7] in ask(page).text, "the page is of the new head")
    assert [] == [one for one in stand.hosted.github.comments_of(number) if one.by_app]
