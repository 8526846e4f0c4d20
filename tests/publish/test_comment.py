"""The comment is written when there is something to say, and never for a head that has moved on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec.structs import replace

from bot.domain.published import (
    CommentState,
    DirtyComment,
    NoComment,
    PostedComment,
    RemovedComment,
)
from bot.domain.pull_request import Comment, PullRequest, SubjectKind
from bot.domain.repository import Person, Repository
from bot.publish.comment import COMMENT_DELETED, PROGRESS_SECONDS, CommentOutput
from bot.publish.publisher import (
    Content,
    HeadMoved,
    NewReport,
    NotMeasured,
    Publication,
    Published,
    PullClosed,
)
from bot.publish.rendering import RenderedComment
from bot.report.model import Report
from bot.storage import pull_requests
from bot.storage.database import Database
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import ACME, HEAD, NOW, PULL, row

REPORT = Report(
    repository="acme/maxtext",
    number=7,
    title="A change",
    head_sha=HEAD,
    head_branch="feat/x",
    base_branch="main",
    merge_base=None,
    made_at=NOW,
)

FIRST = RenderedComment(body="m one", marker="m", change_digest="d", severity=1)


@dataclass(slots=True, kw_only=True)
class FakeComments:
    """The comments of a pull request, numbered from 1, all of them ours; `calls` are the writes and
    listings."""

    there: dict[int, str] = field(default_factory=dict)
    made: int = 0
    calls: list[str] = field(default_factory=list)

    @property
    def app_id(self) -> int:
        """Ours."""
        return 42

    async def app_slug(self) -> str:
        """Ours."""
        return "maxview"

    async def comment(self, repository: Repository, comment_id: int) -> Comment | None:
        """One comment."""
        assert repository == ACME
        return self._comment(comment_id) if comment_id in self.there else None

    async def comments(self, repository: Repository, number: int) -> AsyncIterator[Comment]:
        """All of them."""
        assert (repository, number) == (ACME, 7)
        self.calls.append("list")
        for comment_id in tuple(self.there):
            yield self._comment(comment_id)

    async def create_comment(self, repository: Repository, number: int, body: str) -> Comment:
        """Make one."""
        assert (repository, number) == (ACME, 7)
        self.made += 1
        return self._put("create", self.made, body)

    async def edit_comment(self, repository: Repository, comment_id: int, body: str) -> Comment:
        """Change one."""
        assert repository == ACME
        return self._put("edit", comment_id, body)

    async def delete_comment(self, repository: Repository, comment_id: int) -> None:
        """Remove one."""
        assert repository == ACME
        self.calls.append(f"delete {self.there.pop(comment_id)}")

    def _put(self, what: str, comment_id: int, body: str) -> Comment:
        self.calls.append(f"{what} {body}")
        self.there[comment_id] = body
        return self._comment(comment_id)

    def _comment(self, comment_id: int) -> Comment:
        author = Person(login="maxview[bot]", id=1, is_bot=True)
        body = self.there[comment_id]
        return Comment(id=comment_id, author=author, body=body, app_id=42, created_at=NOW)

    def writes(self) -> list[str]:
        """Every write, in order."""
        return [one for one in self.calls if one != "list"]


@dataclass(slots=True, kw_only=True)
class FakeDatabase:
    """Notes which comment is marked dirty."""

    comments: FakeComments

    async def write(self, function: Callable[..., Any], *, repository: str, number: int) -> None:
        """The one write."""
        assert (function, repository, number) == (pull_requests.mark_comment_dirty, "acme/maxtext", 7)
        self.comments.calls.append("mark dirty")


@dataclass(slots=True, kw_only=True)
class Scene:
    """The output for comments, with a text that tests choose."""

    comments: FakeComments = field(default_factory=FakeComments)
    pull: PullRequest = PULL
    text: RenderedComment = FIRST
    now: float = NOW
    busy: float = 0.0
    kind: SubjectKind = SubjectKind.PULL_REQUEST
    forge: PlainGitHub = field(default_factory=PlainGitHub)

    def publish(self, state: CommentState, content: Content) -> Published | HeadMoved:
        """Publish; `state` is what the row holds."""

        async def render(_report: Report) -> RenderedComment:
            return self.text

        self.forge.show(self.pull)
        output = CommentOutput(
            forge=self.forge,
            comments=self.comments,
            render=render,
            database=cast(Database, FakeDatabase(comments=self.comments)),
            now=lambda: self.now,
            busy=lambda _: self.busy,
        )
        publication = Publication(
            repository=ACME, row=row(comment=state, kind=self.kind), content=content, fence=_hold
        )
        return asyncio.run(output.publish(publication))

    def say(self, state: CommentState | None = None) -> CommentState:
        """Publish the report; the state after."""
        before = state or NoComment()
        published = self.publish(before, NewReport(report=REPORT))
        assert isinstance(published, Published)
        return cast(CommentState, published.state or before)


async def _hold() -> None:
    """The row is ours."""


def test_a_branch_without_a_pull_request_has_no_place_for_a_comment() -> None:
    """Nothing is written, and GitHub is not asked."""
    scene = Scene(kind=SubjectKind.BRANCH)
    assert (NoComment(), [], []) == (scene.say(), scene.comments.calls, scene.forge.requests)


def test_the_first_report_is_written() -> None:
    """A comment is made, and what it says is remembered."""
    scene = Scene()
    state = scene.say()
    assert isinstance(state, PostedComment)
    assert (state.id, state.severity, state.change_digest) == (1, 1, "d")
    assert scene.comments.writes() == ["mark dirty", "create m one"]


def test_the_same_text_is_not_written_again() -> None:
    """Nothing changed: GitHub is not even asked."""
    scene = Scene()
    state = scene.say()
    scene.now += 10_000
    before = len(scene.comments.calls)
    assert scene.say(state) == state
    assert [] == scene.comments.calls[before:]


def test_a_worse_verdict_is_told_as_worse() -> None:
    """Worse than what stands there: a new comment may notify people; better or equal: an edit."""
    scene = Scene()
    state = scene.say()
    for severity, worse in ((3, True), (3, False), (0, False)):
        text = f"m {severity}{worse}"
        scene.text = replace(scene.text, body=text, change_digest=text, severity=severity)
        made = scene.comments.made
        state = scene.say(state)
        assert (scene.comments.made > made) is worse
        assert [text] == list(scene.comments.there.values())


def test_every_writing_is_announced_before_it_is_begun() -> None:
    """What a process that dies while it writes leaves behind makes the next one look first."""
    scene = Scene()
    state = scene.say()
    assert isinstance(state, PostedComment)
    scene.text = replace(scene.text, body="m two", change_digest="other")
    scene.say(DirtyComment(id=state.id, severity=state.severity))
    scene.text = replace(scene.text, body="m three")
    scene.say(state)
    assert scene.comments.calls == [
        *("mark dirty", "list", "create m one"),
        *("mark dirty", "list", "edit m two"),
        *("mark dirty", "edit m three"),
    ]


def test_progress_is_written_once_a_minute_and_decisions_at_once() -> None:
    """A text that only tells progress waits; one that decides something does not."""
    scene = Scene()
    state = scene.say()
    scene.text = replace(scene.text, body="m step 2")
    scene.now += PROGRESS_SECONDS / 2
    assert scene.say(state) == state
    scene.now += PROGRESS_SECONDS
    state = scene.say(state)
    scene.text = replace(scene.text, body="m done", change_digest="other")
    scene.say(state)
    assert scene.comments.writes()[1::2] == ["create m one", "edit m step 2", "edit m done"]


def test_progress_makes_room_for_decisions_where_writes_are_scarce() -> None:
    """Half of the hour's writes are used up: progress waits, a decision does not."""
    scene = Scene(busy=0.6)
    state = scene.say()
    scene.text = replace(scene.text, body="m step 2")
    scene.now += 2 * PROGRESS_SECONDS
    assert scene.say(state) == state
    scene.text = replace(scene.text, body="m done", change_digest="other")
    scene.say(state)
    assert scene.comments.writes()[1::2] == ["create m one", "edit m done"]


def test_a_report_on_a_head_that_moved_is_never_written() -> None:
    """Right before writing the head is asked for once more."""
    scene = Scene(pull=replace(PULL, head_sha="f" * 40))
    assert scene.publish(NoComment(), NewReport(report=REPORT)) == HeadMoved()
    assert [] == scene.comments.calls


def test_a_deleted_comment_is_made_again_once_and_then_respected() -> None:
    """Who deletes it twice does not want it: no third one, whatever there is to tell, but a word on the
    page."""
    scene = Scene()
    state = scene.say()
    for body in ("m two", "m three", "m four"):
        scene.comments.there.clear()
        scene.text = replace(scene.text, body=body, change_digest=body, severity=len(body))
        state = scene.say(state)
    assert RemovedComment() == state
    assert ["create m one", "create m two"] == [one for one in scene.comments.writes() if one != "mark dirty"]
    again = scene.publish(state, NewReport(report=REPORT))
    assert Published(notice=COMMENT_DELETED) == again


def test_a_head_that_is_not_measured_leaves_the_comment_alone() -> None:
    """Only the check says it."""
    scene, content = Scene(), NotMeasured(head_sha=HEAD, reason="Not measured")
    assert Published() == scene.publish(NoComment(), content)
    assert [] == scene.comments.calls


def test_a_closed_pull_requests_comment_is_brought_up_to_date_but_not_created() -> None:
    """Nor is anything written for a head that came after the end."""
    scene = Scene()
    assert Published() == scene.publish(NoComment(), PullClosed(REPORT))
    state = scene.say()
    scene.text = replace(scene.text, body="m closed", change_digest="closed")
    assert Published() == scene.publish(state, PullClosed())
    scene.publish(state, PullClosed(REPORT))
    assert ["m closed"] == list(scene.comments.there.values())
    scene.pull = replace(PULL, head_sha="f" * 40)
    scene.text = replace(scene.text, body="m later", change_digest="later")
    assert Published() == scene.publish(state, PullClosed(REPORT))
    assert ["m closed"] == list(scene.comments.there.values())
