"""`maxview serve --pull`: the real process, and a GitHub that can reach nobody."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.demo.github.state import GitHubComment
from tests.end_to_end.finished_runs import configuration
from tests.end_to_end.scenes import HostedGitHub, hosted_github
from tests.end_to_end.server import Server
from tests.github.git_repository import GitRepository
from tests.peers.keys import private_key

SECRET, APP_ID = "a secret of these tests", 42

BRANCH = "feat/x"


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[HostedGitHub]:
    """The stand-in, whose webhooks reach nobody."""
    (tmp_path / "runs").mkdir()
    git = GitRepository(tmp_path / "git")
    git.write("main", {".github/maxview.yml": configuration(f"file:{tmp_path / 'runs'}", ("04_int8",))})
    git.write(BRANCH, {"src/a.py": "A = 1\n"}, git.head("main"))
    with hosted_github(
        git, webhook_url="http://127.0.0.1:9", secret=SECRET, app_id=APP_ID, private=False
    ) as made:
        made.github.send_webhooks_to(None)
        yield made


@pytest.fixture
def make_server(tmp_path: Path, hosted: HostedGitHub) -> Iterator[Server]:
    """A server that is not started yet."""
    settings = {
        "GITHUB_APP_ID": str(APP_ID),
        "GITHUB_PRIVATE_KEY": private_key(),
        "GITHUB_API_URL": hosted.url,
        "POLL_SECONDS": "1",
    }
    server = Server(folder=tmp_path, secret=SECRET, settings=settings, options=("--pull",))
    try:
        yield server
    finally:
        if server.process is not None:
            server.kill()


def _comment(server: Server, hosted: HostedGitHub, number: int, holds: str) -> GitHubComment:
    def found() -> GitHubComment | None:
        ours = [one for one in hosted.github.comments_of(number) if one.by_app]
        return ours[0] if len(ours) == 1 and holds in ours[0].body else None

    return server.wait_until(found, f"the comment holds {holds!r}")


def test_everything_is_answered_without_a_webhook(make_server: Server, hosted: HostedGitHub) -> None:
    """Events before the start, a new pull request, a push and a command."""
    github, server = hosted.github, make_server
    first = hosted.run(github.open_pull(BRANCH, "Before the start", "alice"))
    server.start()
    _comment(server, hosted, first, f"head {hosted.git.head(BRANCH)}")
    hosted.git.write("feat/y", {"src/b.py": "B = 1\n"}, hosted.git.head("main"))
    second = hosted.run(github.open_pull("feat/y", "After it", "alice"))
    _comment(server, hosted, second, "MaxView")
    moved = hosted.git.write(BRANCH, {"src/a.py": "A = 2\n"})
    hosted.run(github.push(BRANCH))
    command = hosted.run(github.comment(first, "bob", "/benchmark status"))
    _comment(server, hosted, first, f"head {moved}")
    server.wait_until(lambda: "rocket" in github.reactions_to(command), "the command is answered")
    assert not any(one.status == "OK" for one in github.state.deliveries)
    lists = [one for one in github.state.requests if one == "GET /app/hook/deliveries"]
    assert lists
