"""The client against emulate: a GitHub that no one here wrote, which checks keys and permissions."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest

from bot.demo.github.webhooks import sign_body
from bot.domain.published import CommentState, NoComment, PostedComment
from bot.domain.repository import Installation, Permission, Person, Repository
from bot.errors import InternalError, NotFound
from bot.github.client import GitHubClient
from bot.publish.comment import CommentAction, WrittenComment, write_comment
from bot.webhooks.events import Commented, PullAction, PullChanged, Pushed, read_event
from tests.github.conftest import SECRET
from tests.peers.emulate import APP_ID, INSTALLATION, KNOWN_VIOLATIONS, REPOSITORY, Emulate
from tests.peers.keys import private_key
from tests.peers.openapi import Contract, Violation
from tests.peers.webhooks import WebhookReceiver

pytestmark = pytest.mark.anyio

MAXTEXT = Repository(full_name=REPOSITORY, installation=INSTALLATION)

MARKER = "<!-- maxview:report -->"


@dataclass
class Side:
    """Our client on the emulator, and a pull request of its own."""

    emulate: Emulate
    github: GitHubClient
    contract: Contract
    branch: str
    number: int

    async def permission(self, login: str) -> Permission | None:
        """What the account that has the login now may do."""
        known = [] if login == "nobody" else [self.emulate.ask("alice", "GET", f"/users/{login}")["id"]]
        return await self.github.permission(MAXTEXT, Person(login=login, id=known[0] if known else 1))


@pytest.fixture
async def side(emulate: Emulate, request: pytest.FixtureRequest) -> AsyncIterator[Side]:
    """A new branch and pull request; at the end only known violations are left."""
    branch = f"feat/{request.node.name}"
    emulate.branch(branch)
    emulate.commit(branch, "src/a.py", f"# {branch}\n", message="Add a file")
    contract = Contract(httpx.AsyncHTTPTransport())
    github = _github(emulate, contract)
    yield Side(emulate, github, contract, branch, emulate.open_pull(branch, "Add a file"))
    await contract.aclose()
    assert [] == [one for one in contract.violations if not _is_known(one)]


def _github(emulate: Emulate, contract: Contract, app_id: int = APP_ID) -> GitHubClient:
    return GitHubClient(
        app_id=app_id, private_key=private_key(), api_url=emulate.url, transport=contract, now=time.time
    )


def _is_known(violation: Violation) -> bool:
    said = f"{violation.operation}: {violation.text}"
    return any(re.search(pattern, said) for pattern, _ in KNOWN_VIOLATIONS)


async def test_the_app_is_known_by_its_key(side: Side) -> None:
    """The signature of the JWT is checked there."""
    assert await side.github.app_slug() == "maxview"
    assert (Installation(id=INSTALLATION, suspended=False),) == await side.github.installations()


async def test_a_wrong_app_is_refused(side: Side) -> None:
    """The right key with another App's number opens nothing."""
    other = _github(side.emulate, side.contract, app_id=APP_ID + 1)
    with pytest.raises(InternalError, match="GITHUB_APP_ID"):
        await other.pull(MAXTEXT, side.number)


async def test_twenty_calls_mint_one_token(side: Side) -> None:
    """Its milliseconds in the time of expiry are understood."""
    before = side.emulate.tokens_minted()
    await asyncio.gather(*(side.github.pull(MAXTEXT, side.number) for _ in range(20)))
    assert before + 1 == side.emulate.tokens_minted()


async def test_a_pull_request_and_its_commits_are_read(side: Side) -> None:
    """Heads, merge base, ancestors and branch agree."""
    pull = await side.github.pull(MAXTEXT, side.number)
    head, main = side.emulate.head(side.branch), side.emulate.head("main")
    assert (head, side.branch, "main", main, "alice", True) == (
        pull.head_sha,
        pull.head_branch,
        pull.base_branch,
        pull.base_sha,
        pull.author.login,
        pull.open,
    )
    assert pull in await side.github.open_pulls(MAXTEXT)
    assert main == (await side.github.merge_base(MAXTEXT, "main", side.branch)).sha
    assert [head, main] == [one.sha for one in await side.github.ancestors(MAXTEXT, head)]
    (newest,) = await side.github.ancestors(MAXTEXT, side.branch, limit=1)
    assert (head, "Add a file") == (newest.sha, newest.message)


async def test_changed_paths_come_from_the_comparison(side: Side) -> None:
    """It lists no files of pull requests, but it compares commits."""
    assert ("src/a.py",) == await side.github.changed_paths(MAXTEXT, side.number)


async def test_files_and_facts_are_read(side: Side) -> None:
    """A file of another branch is not there."""
    assert f"# {side.branch}\n" == await side.github.file(MAXTEXT, "src/a.py", side.branch)
    assert await side.github.file(MAXTEXT, "src/a.py", "main") is None
    facts = await side.github.repository_facts(MAXTEXT)
    assert (REPOSITORY, "main", False) == (facts.full_name, facts.default_branch, facts.private)


async def test_permissions_are_read(side: Side) -> None:
    """Its own names of roles are understood, and a stranger has none."""
    asked = [await side.permission(who) for who in ("alice", "bob", "mallory", "nobody")]
    assert [Permission.ADMIN, Permission.WRITE, Permission.NONE, Permission.NONE] == asked


async def _hold() -> None:
    """The row is ours."""


async def test_the_one_comment_is_kept(side: Side) -> None:
    """Created, left, edited, and made anew for a worse verdict, by the App's own account."""
    done: list[CommentAction] = []
    state: CommentState = NoComment()
    side.emulate.comment(side.number, "mallory", f"{MARKER}\nforged")
    for text, worse in (("one", False), ("one", True), ("two", False), ("bad", True)):
        body = f"{MARKER}\n{text}"
        kept = await write_comment(
            side.github,
            MAXTEXT,
            side.number,
            body=body,
            marker=MARKER,
            state=state,
            notify=worse,
            fence=_hold,
        )
        assert isinstance(kept, WrittenComment)
        state = PostedComment(id=kept.id, digest="", severity=0, change_digest="", written_at=0.0)
        done.append(kept.action)
    assert [
        CommentAction.CREATED,
        CommentAction.UNCHANGED,
        CommentAction.EDITED,
        CommentAction.RECREATED,
    ] == done
    assert [("mallory", f"{MARKER}\nforged"), ("maxview[bot]", f"{MARKER}\nbad")] == [
        (one["user"]["login"], one["body"]) for one in side.emulate.comments_of(side.number)
    ]


async def test_comments_beyond_a_page_are_found(side: Side) -> None:
    """Its pages are followed."""
    for at in range(101):
        side.emulate.comment(side.number, "alice", f"comment {at}")
    found = [one.body async for one in side.github.comments(MAXTEXT, side.number)]
    assert [f"comment {at}" for at in range(101)] == found


async def test_its_webhooks_are_read_and_signed(side: Side, receiver: WebhookReceiver) -> None:
    """What people do there becomes the events we know, signed with the App's secret."""
    comment = side.emulate.comment(side.number, "bob", f"/benchmark run {side.number}")
    opened = receiver.wait_for("pull_request", side.branch)
    pushed = receiver.wait_for("push", side.branch)
    commented = receiver.wait_for("issue_comment", f"/benchmark run {side.number}")
    events = [
        read_event(one.headers["x-github-event"], json.loads(one.body)) for one in (opened, pushed, commented)
    ]
    for one in (opened, pushed, commented):
        assert one.headers["x-hub-signature-256"] == sign_body(SECRET.encode(), one.body)
    change, push, said = events
    assert isinstance(change, PullChanged)
    assert isinstance(push, Pushed)
    assert isinstance(said, Commented)
    assert (PullAction.OPENED, side.number, side.branch) == (change.action, change.number, change.head_branch)
    assert (side.branch, side.emulate.head(side.branch)) == (push.branch, push.after)
    assert not said.on_pull, "it began to mark pull requests"
    assert (comment, "bob", INSTALLATION) == (
        said.comment_id,
        said.author.login,
        said.repository.installation,
    )


async def test_unsupported_operations_are_not_found(side: Side) -> None:
    """Reactions and an installation's repositories are tested on the stand-in alone."""
    comment = side.emulate.comment(side.number, "alice", "/benchmark")
    with pytest.raises(NotFound):
        await side.github.react(MAXTEXT, comment, "eyes")
    with pytest.raises(NotFound):
        await side.github.repositories(INSTALLATION)
    assert await side.github.comment(MAXTEXT, comment + 1000) is None


async def test_every_known_violation_still_occurs(side: Side) -> None:
    """What the emulator learns leaves the list."""
    comment = await side.github.create_comment(MAXTEXT, side.number, "x")
    await side.github.app_slug()
    await side.github.installations()
    await side.github.repository_facts(MAXTEXT)
    for missing in (side.github.react(MAXTEXT, comment.id, "eyes"), side.github.repositories(INSTALLATION)):
        with pytest.raises(NotFound):
            await missing
    with pytest.raises(InternalError):
        await _github(side.emulate, side.contract, app_id=1).app_slug()
    said = [f"{one.operation}: {one.text}" for one in side.contract.violations]
    stale = [pattern for pattern, _ in KNOWN_VIOLATIONS if not any(re.search(pattern, one) for one in said)]
    assert [] == stale
