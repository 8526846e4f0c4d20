"""The comment is written when there is something to say, and never for a head that has moved on."""

import asyncio
from dataclasses import dataclass, field, replace

from msgspec import structs

from bot.domain.pull_request import PullRequest, SubjectKind
from bot.domain.repository import Repository
from bot.publish.comment import PROGRESS_SECONDS, CommentOutcome, CommentPublisher, RenderedComment
from bot.publish.lease_fence import Fence
from bot.publish.publisher import CommentState
from bot.report.model import Report
from bot.storage.pull_requests import OutputState, PullRow
from tests.worker.fake_forge import FakeForge
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

FIRST = RenderedComment(body="one", marker="m", decided="d", severity=1)


@dataclass(slots=True, kw_only=True)
class Wall:
    """Where comments are kept, and the pull request beside them."""

    pull: PullRequest = PULL
    written: list[tuple[str, int | None, bool]] = field(default_factory=list)
    certain: list[bool] = field(default_factory=list)
    doubted: list[int] = field(default_factory=list)
    deleted: bool = False

    async def doubt(self, repository: Repository, number: int) -> None:
        """Note how many texts were written when a writing was announced."""
        assert (repository, number) == (ACME, 7)
        self.doubted.append(len(self.written))

    async def keep(
        self,
        repository: Repository,
        number: int,
        *,
        text: RenderedComment,
        known_id: int | None,
        worse: bool,
        certain: bool,
        again: bool,
        fence: Fence,
    ) -> CommentOutcome:
        """Keep a text; comments are numbered from 1."""
        assert (repository, number) == (ACME, 7)
        await fence()
        if self.deleted and known_id is not None:
            self.deleted = False
            if not again:
                return CommentOutcome(id=None, lost=True)
            self.written.append((text.body, None, worse))
            return CommentOutcome(id=len(self.written), lost=True)
        self.certain.append(certain)
        self.written.append((text.body, known_id, worse))
        return CommentOutcome(id=len(self.written))


@dataclass(slots=True, kw_only=True)
class Scene:
    """A speaker over a wall, with a text that tests choose."""

    wall: Wall = field(default_factory=Wall)
    text: RenderedComment = FIRST
    now: float = NOW
    busy: float = 0.0

    def say(self, said: CommentState | None = None) -> CommentState | None:
        """Say the report; `said` is what the row remembers."""
        known = row() if said is None else _remembering(said)

        async def render(_report: Report) -> RenderedComment:
            return self.text

        forge = FakeForge(pulls={7: self.wall.pull})
        speaker = CommentPublisher(
            forge=forge,
            render=render,
            keep=self.wall.keep,
            doubt=self.wall.doubt,
            now=lambda: self.now,
            busy=lambda _: self.busy,
        )
        return asyncio.run(speaker(ACME, known, REPORT, fence=_open))


def _remembering(said: CommentState) -> PullRow:
    return row(
        comment_id=said.comment_id,
        comment_state=said.comment_state,
        comment_hash=said.comment_hash,
        comment_severity=said.comment_severity,
        comment_decided=said.comment_decided,
        comment_written=said.comment_written,
        comment_lost=said.comment_lost,
    )


def test_a_branch_without_a_pull_request_has_no_place_for_a_comment() -> None:
    """Nothing is written, and GitHub is asked for no pull request below zero."""
    scene = Scene()
    branch = replace(row(), number=-1, kind=SubjectKind.BRANCH)
    forge = FakeForge()

    async def render(_report: Report) -> RenderedComment:
        raise AssertionError

    wall = scene.wall
    speaker = CommentPublisher(forge=forge, render=render, keep=wall.keep, doubt=wall.doubt, now=lambda: NOW)
    said = asyncio.run(speaker(ACME, branch, structs.replace(REPORT, number=-1), fence=_open))
    assert said is not None
    assert (None, [], []) == (said.comment_id, wall.written, forge.asked)


async def _open() -> None:
    """Nobody else has taken the row."""


def test_the_first_report_is_written() -> None:
    """A comment is made, and what it says is remembered."""
    scene = Scene()
    said = scene.say()
    assert said is not None
    assert (said.comment_id, said.comment_severity, said.comment_decided) == (1, 1, "d")
    assert scene.wall.written == [("one", None, False)]


def test_the_same_text_is_not_written_again() -> None:
    """Nothing changed: GitHub is not even asked."""
    scene = Scene()
    said = scene.say()
    scene.now += 10_000
    assert scene.say(said) == said
    assert len(scene.wall.written) == 1


def test_a_worse_verdict_is_told_as_worse() -> None:
    """Worse than what stands there: a new comment may notify people; better or equal: an edit."""
    scene = Scene()
    said = scene.say()
    for severity, worse in ((3, True), (3, False), (0, False)):
        scene.text = replace(
            scene.text, body=f"{severity}{worse}", decided=f"{severity}{worse}", severity=severity
        )
        said = scene.say(said)
        assert scene.wall.written[-1][2] == worse


def test_every_writing_is_announced_before_it_is_begun() -> None:
    """What a process that dies while it writes leaves behind makes the next one look first."""
    scene = Scene()
    said = scene.say()
    assert said is not None
    scene.say(replace(said, comment_state=OutputState.UNKNOWN, comment_hash=None))
    assert (scene.wall.doubted, scene.wall.certain) == ([0, 1], [False, False])
    scene.text = replace(scene.text, body="two", decided="other")
    scene.say(said)
    assert (scene.wall.doubted, scene.wall.certain) == ([0, 1, 2], [False, False, True])


def test_progress_is_written_once_a_minute_and_decisions_at_once() -> None:
    """A text that only tells progress waits; one that decides something does not."""
    scene = Scene()
    said = scene.say()
    scene.text = replace(scene.text, body="step 2")
    scene.now += PROGRESS_SECONDS / 2
    assert scene.say(said) == said
    scene.now += PROGRESS_SECONDS
    said = scene.say(said)
    scene.text = replace(scene.text, body="done", decided="other")
    scene.say(said)
    assert [body for body, _, _ in scene.wall.written] == ["one", "step 2", "done"]


def test_progress_makes_room_for_decisions_where_writes_are_scarce() -> None:
    """Half of the hour's writes are used up: progress waits, a decision does not."""
    scene = Scene(busy=0.6)
    said = scene.say()
    scene.text = replace(scene.text, body="step 2")
    scene.now += 2 * PROGRESS_SECONDS
    assert scene.say(said) == said
    scene.text = replace(scene.text, body="done", decided="other")
    scene.say(said)
    assert [body for body, _, _ in scene.wall.written] == ["one", "done"]


def test_a_report_on_a_head_that_moved_is_never_written() -> None:
    """Right before writing the head is asked for once more; None says that nothing was said."""
    scene = Scene()
    scene.wall.pull = replace(PULL, head_sha="f" * 40)
    assert scene.say() is None
    assert scene.wall.written == []


def test_a_deleted_comment_is_made_again_once_and_then_respected() -> None:
    """Who deletes it twice does not want it: no third one, whatever there is to tell."""
    scene = Scene()
    said = scene.say()
    for body in ("two", "three", "four"):
        scene.wall.deleted = True
        scene.text = replace(scene.text, body=body, decided=body, severity=len(body))
        said = scene.say(said)
    assert said is not None
    assert (said.comment_id, said.comment_lost) == (None, 2)
    assert ["one", "two"] == [body for body, _, _ in scene.wall.written]
