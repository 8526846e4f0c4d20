"""What happens to an App in its life, on the real server: each ends with one true comment, or none."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bot.demo.github_life import Life
from bot.demo.github_state import CheckState, CommentState
from tests.end_to_end.hosted import Hosted, hosting
from tests.end_to_end.runs import Runs, configuration
from tests.end_to_end.server import Server, free_port
from tests.github.gitting import GitRepository
from tests.peers.keys import private_key

SECRET, APP_ID = "a secret of these tests", 42
BRANCH = "feat/x"


@dataclass(slots=True, kw_only=True)
class Stand:
    """A server that works for the stand-in."""

    hosted: Hosted
    server: Server
    runs: Runs
    base: str
    head: str

    @property
    def life(self) -> Life:
        """What owners do."""
        return Life(self.hosted.github)

    def open_pull(self, branch: str = BRANCH) -> int:
        """Open a pull request."""
        return self.hosted.does(self.hosted.github.open_pull(branch, "A change", "alice"))

    def comment(self, number: int, holds: str, unlike: int | None = None) -> CommentState:
        """The one comment of ours, once it holds a text and is another one than that."""

        def found() -> CommentState | None:
            ours = [one for one in self.hosted.github.comments_of(number) if one.by_app]
            good = len(ours) == 1 and holds in ours[0].body and ours[0].id != unlike
            return ours[0] if good else None

        return self.server.until(found, f"the comment holds {holds!r}")

    def check(self, ending: str, unlike: str = "") -> CheckState:
        """The newest check, once it ends so."""

        def found() -> CheckState | None:
            checks = list(self.hosted.github.world.checks.values())
            good = checks and checks[-1].conclusion == ending and checks[-1].title != unlike
            return checks[-1] if good else None

        return self.server.until(found, f"a check ends as {ending}")

    def count(self, request: str) -> int:
        """How often a request was sent."""
        return sum(re.search(request, one) is not None for one in self.hosted.github.world.requests)


def _putter(folder: Path) -> Callable[[str, bytes], None]:
    def put(name: str, content: bytes) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return put


@pytest.fixture
def make_stand(tmp_path: Path) -> Iterator[Callable[..., Stand]]:
    """Makes a stand-in with finished runs of one slower case, and a server that answers."""
    with ExitStack() as stack:

        def make(checks: str = "off") -> Stand:
            git, folder, port = GitRepository(tmp_path / "git"), tmp_path / "runs", free_port()
            folder.mkdir()
            text = configuration(f"file:{folder}", ("04_int8",)) + f"checks: {checks}\n"
            base = git.write("main", {".github/maxview.yml": text})
            head = git.write(BRANCH, {"src/a.py": "A = 1\n"}, base)
            runs = Runs(put=_putter(folder))
            runs.several("04_int8", "main", base, 4)
            runs.several("04_int8", BRANCH, head, 3, since=0.5, step_seconds=0.25)
            hosted = stack.enter_context(
                hosting(
                    git,
                    webhook_url=f"http://127.0.0.1:{port}/webhook",
                    secret=SECRET,
                    app_id=APP_ID,
                    private=False,
                )
            )
            settings = {
                "GITHUB_APP_ID": str(APP_ID),
                "GITHUB_PRIVATE_KEY": private_key(),
                "GITHUB_API_URL": hosted.url,
                "POLL_SECONDS": "1",
            }
            server = Server(folder=tmp_path, port=port, secret=SECRET, settings=settings).start()
            stack.callback(server.kill)
            return Stand(hosted=hosted, server=server, runs=runs, base=base, head=head)

        yield make


def test_a_check_stands_beside_the_comment_and_its_buttons_are_commands(
    make_stand: Callable[..., Stand],
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
    stand.hosted.does(stand.life.press(check, "rerun", "mallory"))
    stand.comment(number, "mallory has read permission")
    stand.hosted.does(stand.life.press(check, "rerun", "bob"))
    stand.comment(number, "by bob")
    stand.hosted.does(stand.life.rerequest(check, "bob"))
    stand.check("failure")
    stand.hosted.does(stand.life.rerequest_all(stand.head, "bob"))
    stand.check("failure")
    assert 1 == len(stand.hosted.github.world.checks) == stand.count("POST .*/check-runs$")


def test_a_missing_permission_is_said_once_and_found_again(make_stand: Callable[..., Stand]) -> None:
    """The comment names it; when it is granted the check appears and the comment is silent about it."""
    stand = make_stand("check")
    stand.hosted.github.world.permissions["checks"] = "read"
    number = stand.open_pull()
    stand.comment(number, "The check cannot be written")
    assert "checks=write" in stand.comment(number, "slower").body
    assert 1 == stand.server.log.count("The check cannot be written")
    stand.hosted.does(stand.life.grant("checks", "write"))
    stand.check("skipped")
    stand.server.until(
        lambda: "cannot be written" not in stand.comment(number, "slower").body, "the comment is silent"
    )


def test_a_renamed_repository_takes_everything_along(make_stand: Callable[..., Stand]) -> None:
    """The same comment, the same runs, the pull request known; old addresses lead to the new ones."""
    stand = make_stand()
    number = stand.open_pull()
    before = stand.comment(number, "slower")
    stand.hosted.does(stand.life.rename("acme/maxtext-next"))
    after = stand.comment(number, "/acme/maxtext-next/pull/")
    assert before.id == after.id
    assert "3 v 4" in after.body
    for path in (f"/acme/maxtext/pull/{number}", f"/api/v1/acme/maxtext/pull/{number}"):
        moved = httpx.get(stand.server.url + path)
        assert (307, path.replace("maxtext", "maxtext-next")) == (
            moved.status_code,
            moved.headers["location"],
        )
        assert 200 == stand.server.status(moved.headers["location"])
    assert 307 == httpx.get(f"{stand.server.url}/acme/maxtext").status_code


def test_a_suspended_installation_is_let_alone_and_revived(make_stand: Callable[..., Stand]) -> None:
    """Pushes meanwhile are answered when it works again, also those of which no webhook told."""
    stand = make_stand()
    number = stand.open_pull()
    stand.comment(number, "slower")
    stand.hosted.does(stand.life.suspend())
    stand.server.quiet()
    stand.hosted.github.send_webhooks_to(None)
    moved = stand.hosted.git.write(BRANCH, {"src/a.py": "A = 2\n"})
    stand.hosted.does(stand.hosted.github.push(BRANCH))
    stand.hosted.github.send_webhooks_to(f"{stand.server.url}/webhook")
    stand.hosted.does(stand.life.unsuspend())
    stand.comment(number, f"head {moved}")


def test_a_locked_conversation_and_an_archived_repository_are_respected(
    make_stand: Callable[..., Stand],
) -> None:
    """The page says it, nothing is tried again and again, and what changed meanwhile is said afterwards."""
    stand = make_stand()
    number = stand.open_pull()
    stand.comment(number, "slower")
    stand.life.lock(number)
    moved = stand.hosted.git.write(BRANCH, {"src/a.py": "A = 2\n"})
    stand.hosted.does(stand.hosted.github.push(BRANCH))
    page = f"{stand.server.url}/acme/maxtext/pull/{number}"
    stand.server.until(lambda: "issue is locked" in httpx.get(page).text, "the page says it")
    assert stand.count("PATCH .*/comments/") <= 3
    stand.hosted.does(stand.life.unlock(number))
    stand.comment(number, f"head {moved}")
    stand.hosted.does(stand.life.archive())
    stand.server.quiet()
    stand.hosted.git.write(BRANCH, {"src/a.py": "A = 3\n"})
    stand.hosted.github.send_webhooks_to(None)
    last = stand.hosted.does(stand.hosted.github.push(BRANCH))
    stand.hosted.github.send_webhooks_to(f"{stand.server.url}/webhook")
    stand.hosted.does(stand.life.unarchive())
    stand.comment(number, f"head {last}")


def test_a_deleted_comment_comes_again_once(make_stand: Callable[..., Stand]) -> None:
    """Who deletes it twice has the page; an edit by somebody else is put right."""
    stand = make_stand()
    number = stand.open_pull()
    first = stand.comment(number, "slower")
    stand.hosted.does(stand.life.edit_comment(first.id, "bob", "All is well."))
    assert first.id == stand.comment(number, "slower").id
    stand.hosted.does(stand.life.delete_comment(first.id, "bob"))
    second = stand.comment(number, "slower", unlike=first.id)
    stand.hosted.does(stand.life.delete_comment(second.id, "bob"))
    page = f"{stand.server.url}/acme/maxtext/pull/{number}"
    stand.server.until(lambda: "deleted twice" in httpx.get(page).text, "the page says it")
    stand.hosted.git.write(BRANCH, {"src/a.py": "A = 2\n"})
    moved = stand.hosted.does(stand.hosted.github.push(BRANCH))
    stand.server.until(lambda: moved[:7] in httpx.get(page).text, "the page is of the new head")
    assert [] == [one for one in stand.hosted.github.comments_of(number) if one.by_app]
