"""What emulate cannot show: pushes to a pull request, reactions, private repositories."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bot.demo.github.state import GitHubComment
from tests.end_to_end.finished_runs import RunWriter, configuration
from tests.end_to_end.proxy import FaultProxy, Moment, running_proxy
from tests.end_to_end.scenes import HostedGitHub, hosted_github
from tests.end_to_end.server import NO_TLS, TIMEOUT_SECONDS, Server, ask
from tests.github.git_repository import GitRepository
from tests.peers.keys import private_key
from tests.peers.loopback import free_port

SECRET = "a secret of these tests"

APP_ID = 42

CASES = ("03_dropout", "04_int8")

BRANCH = "feat/x"


@dataclass(slots=True, kw_only=True)
class StandInScene:
    """A server that works for the stand-in. `head` is the first commit of `BRANCH`."""

    hosted: HostedGitHub
    proxy: FaultProxy
    server: Server
    runs: RunWriter
    head: str

    def comment(self, number: int, holds: str) -> GitHubComment:
        """The one comment of ours, once it holds a text."""

        def found() -> GitHubComment | None:
            ours = [one for one in self.hosted.github.comments_of(number) if one.by_app]
            return ours[0] if len(ours) == 1 and holds in ours[0].body else None

        return self.server.wait_until(found, f"the comment holds {holds!r}")


@pytest.fixture
def make_import_scene(tmp_path: Path) -> Iterator[Callable[..., StandInScene]]:
    """Makes a stand-in with a repository, a folder of runs, and a server that answers."""
    with ExitStack() as stack:

        def make(*, private: bool = False) -> StandInScene:
            git, folder, port = GitRepository(tmp_path / "git"), tmp_path / "runs", free_port()
            folder.mkdir()
            git.write("main", {".github/maxview.yml": configuration(f"file:{folder}", CASES)})
            head = git.write(BRANCH, {"src/a.py": "A = 1\n"}, git.head("main"))
            hosted = stack.enter_context(
                hosted_github(
                    git,
                    webhook_url=f"http://127.0.0.1:{port}/webhook",
                    secret=SECRET,
                    app_id=APP_ID,
                    private=private,
                )
            )
            proxy = stack.enter_context(running_proxy(hosted.url))
            settings = {
                "GITHUB_APP_ID": str(APP_ID),
                "GITHUB_PRIVATE_KEY": private_key(),
                "GITHUB_API_URL": proxy.url,
                "POLL_SECONDS": "1",
            }
            server = Server(folder=tmp_path, port=port, secret=SECRET, settings=settings).start()
            stack.callback(server.kill)
            return StandInScene(
                hosted=hosted, proxy=proxy, server=server, runs=RunWriter(put=_file_writer(folder)), head=head
            )

        yield make


def _file_writer(folder: Path) -> Callable[[str, bytes], None]:
    def put(name: str, content: bytes) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return put


def _open(scene: StandInScene) -> int:
    return scene.hosted.run(scene.hosted.github.open_pull(BRANCH, "A change", "alice"))


def test_a_push_updates_the_comment_for_the_new_head(make_import_scene: Callable[..., StandInScene]) -> None:
    """After a push the same comment is about the new commit, and the old commit's runs are stale."""
    scene = make_import_scene()
    scene.runs.write_run("04_int8", BRANCH, scene.head, hours_ago=1)
    number = _open(scene)
    before = scene.comment(number, f"head {scene.head}")
    new = scene.hosted.git.write(BRANCH, {"src/a.py": "A = 2\n"})
    scene.hosted.run(scene.hosted.github.push(BRANCH))
    after = scene.comment(number, f"head {new}")
    assert after.id == before.id
    assert f"no run of {new[:7]}" in after.body


@pytest.mark.parametrize("path", [r"/compare/", r"/commits"])
def test_a_report_overtaken_by_a_force_push_is_discarded(
    make_import_scene: Callable[..., StandInScene], path: str
) -> None:
    """The first comment is about the new head."""
    scene = make_import_scene()
    moved: list[str] = []

    def force_push() -> None:
        rewritten = scene.hosted.git.write(BRANCH, {"src/a.py": "A = 3\n"}, scene.hosted.git.head("main"))
        scene.hosted.run(scene.hosted.github.push(BRANCH))
        moved.append(rewritten)

    scene.proxy.once(Moment.AFTER, "GET", path, force_push)
    number = _open(scene)
    new = scene.server.wait_until(lambda: moved, "it moved")[0]
    body = scene.comment(number, f"head {new}").body
    assert scene.head not in body
    assert scene.proxy.count("POST", f"/{number}/comments$") == 1
    assert scene.proxy.count("PATCH", "/comments/") == 0


def test_commands_are_acknowledged_by_a_reaction(make_import_scene: Callable[..., StandInScene]) -> None:
    """Eyes at once, then a rocket if accepted and a thumb down if refused."""
    scene = make_import_scene()
    github, number = scene.hosted.github, _open(scene)
    first = scene.comment(number, "MaxView")
    accepted = scene.hosted.run(github.comment(number, "bob", "/benchmark rerun 03_dropout"))
    scene.comment(number, "by bob")
    refused = scene.hosted.run(github.comment(number, "mallory", "/benchmark"))
    last = scene.comment(number, "mallory has read permission on this repository and benchmarks need write")
    scene.server.wait_until(lambda: len(github.reactions_to(refused)) == 2, "both are acknowledged")
    assert set(github.reactions_to(accepted)) == {"eyes", "rocket"}
    assert set(github.reactions_to(refused)) == {"eyes", "-1"}
    assert last.id == first.id


def test_pages_of_a_private_repository_need_the_key_of_its_links(
    make_import_scene: Callable[..., StandInScene],
) -> None:
    """Links in its comment lead to their page, without the key and with a cookie; without either there is no
    such page."""
    scene = make_import_scene(private=True)
    scene.runs.write_run("04_int8", BRANCH, scene.head, hours_ago=1, ends="failing")
    body = scene.comment(_open(scene), "/log").body
    links = set(re.findall(r"\]\((http://127\.0\.0\.1:\d+/[^)]*)\)", body))
    assert len(links) >= 3
    for link in links:
        assert "key=" in link
        with httpx.Client(follow_redirects=True, verify=NO_TLS, timeout=TIMEOUT_SECONDS) as browser:
            opened = browser.get(link)
            assert (200, False) == (opened.status_code, "key=" in str(opened.url))
            assert 200 == browser.get(opened.url).status_code
        assert ask(re.sub(r"\?key=\w+", "", link)).status_code == 404
        assert ask(re.sub(r"\?key=\w", "?key=x", link)).status_code == 404


def test_a_redelivered_missed_delivery_is_accepted(
    make_import_scene: Callable[..., StandInScene],
) -> None:
    """A delivery that found the server down is accepted when GitHub delivers it again, under its own id."""
    scene = make_import_scene()
    github = scene.hosted.github
    github.send_webhooks_to(None)
    number = _open(scene)
    missed = github.state.deliveries[-1]
    assert missed.status != "OK"
    answer = scene.server.deliver(missed.event, missed.payload, name=missed.guid)
    assert answer.json() == {"delivery": missed.guid}
    scene.comment(number, "MaxView")
    # It may have been read from GitHub's list as well, at the start: it is the same delivery all the same.
    taken = [line for line in scene.server.log.splitlines() if "delivery taken" in line]
    assert 1 == sum(f"delivery={missed.guid}" in line for line in taken)


def test_a_draft_gets_its_comment_when_it_is_ready(make_import_scene: Callable[..., StandInScene]) -> None:
    """There is no comment on a draft."""
    scene = make_import_scene()
    github = scene.hosted.github
    number = scene.hosted.run(github.open_pull(BRANCH, "A draft", "alice", draft=True))
    scene.server.wait_until(lambda: f"#{number} is looked at" in scene.server.log, "it is looked at")
    scene.server.wait_until_idle()
    assert github.comments_of(number) == ()
    scene.hosted.run(github.mark_ready(number))
    scene.comment(number, "MaxView")
