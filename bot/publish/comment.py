"""The one comment of a pull request.

Writing may be repeated at any time, after a crash at any point, and leads to one comment of ours. A comment
is ours only if our App wrote it; a marker alone proves nothing, since anyone can copy it. The head is read
again right before writing, so a report of an old head is never posted on a new one.
"""

import hashlib
import logging
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from typing import Protocol, assert_never

from msgspec import Struct

from bot.domain.forge import Forge
from bot.domain.published import (
    MAX_COMMENT_DELETIONS,
    CommentState,
    DirtyComment,
    NoComment,
    PostedComment,
    RemovedComment,
)
from bot.domain.pull_request import Comment, SubjectKind
from bot.domain.repository import Repository
from bot.publish.lease_fence import Fence
from bot.publish.publisher import HeadMoved, NewReport, NotMeasured, Publication, Published, PullClosed
from bot.publish.rendering import RenderComment, RenderedComment
from bot.report.model import Report
from bot.storage import pull_requests
from bot.storage.database import Database

PROGRESS_SECONDS = 60.0
"""How often mere progress is written: GitHub allows some 500 writes an hour for all pull requests."""

BUSY_SHARE, BUSY_FACTOR = 0.5, 10
"""Where half of an hour's writes are used up, progress waits ten times as long: the rest is for decisions."""

COMMENT_DELETED = (
    "The comment was deleted twice, so it is not made again: what it would say stands on this page."
)

LOG = logging.getLogger(__name__)


class CommentApi(Protocol):
    """The part of GitHub that writes comments."""

    @property
    def app_id(self) -> int:
        """The App's number."""
        ...

    async def app_slug(self) -> str:
        """The App's name."""
        ...

    async def comment(self, repository: Repository, comment_id: int) -> Comment | None:
        """One comment."""
        ...

    def comments(self, repository: Repository, number: int) -> AsyncIterator[Comment]:
        """All comments of a pull request."""
        ...

    async def create_comment(self, repository: Repository, number: int, body: str) -> Comment:
        """Write a comment."""
        ...

    async def edit_comment(self, repository: Repository, comment_id: int, body: str) -> Comment:
        """Replace a text."""
        ...

    async def delete_comment(self, repository: Repository, comment_id: int) -> None:
        """Delete a comment."""
        ...


class CommentAction(StrEnum):
    """What was done to the comment."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    EDITED = "edited"
    RECREATED = "recreated"
    GONE = "gone"


class WrittenComment(Struct, frozen=True, kw_only=True):
    """The comment as it is now. `restored`: people had deleted the known one, and there was no other of
    ours."""

    id: int
    action: CommentAction
    restored: bool = False


class CommentGone(Struct, frozen=True):
    """People deleted the comment once too often, so it was not created again."""

    action: CommentAction = CommentAction.GONE


async def write_comment(
    github: CommentApi,
    repository: Repository,
    number: int,
    *,
    body: str,
    marker: str,
    state: CommentState,
    notify: bool,
    fence: Fence,
) -> WrittenComment | CommentGone:
    """Create, edit or leave our comment, so that exactly one is left and says `body`.

    `marker` is a text in every body of ours. With `notify` a new text comes as a new comment, which notifies
    people, and the old one is deleted after. A `PostedComment` is written without listing the others, since
    our last write ended well. Asks `fence` before each write. After an error, repeat it with a
    `DirtyComment`: what was done already is found.
    """
    writer = _Comments(github=github, repository=repository, number=number, body=body, fence=fence)
    slug = await github.app_slug()
    known_id = _id_of(state)
    known = None if known_id is None else await github.comment(repository, known_id)
    if known is not None and not _is_ours(known, github.app_id, slug):
        known = None
    if known is not None and isinstance(state, PostedComment) and (not notify or _has_body(known, body)):
        return await writer.update(known, recreate=False)
    written = [one async for one in github.comments(repository, number) if _is_ours(one, github.app_id, slug)]
    ours = [comment for comment in written if comment.id == known_id or marker in comment.body]
    if not ours and _was_last_deletion(state):
        return CommentGone()
    if not ours:
        created = await writer.create()
        return WrittenComment(id=created, action=CommentAction.CREATED, restored=known_id is not None)
    # More than one is left by a death between creating the new and deleting the old.
    newest = max(ours, key=lambda comment: comment.id)
    latest = await writer.update(newest, recreate=notify and newest.id == known_id)
    for comment in ours:
        if comment.id != latest.id:
            await fence()
            await github.delete_comment(repository, comment.id)
    return latest


class _Comments(Struct, frozen=True, kw_only=True):
    """The writes to a pull request's comments, each after a look at the fence."""

    github: CommentApi
    repository: Repository
    number: int
    body: str
    fence: Fence

    async def create(self) -> int:
        await self.fence()
        return (await self.github.create_comment(self.repository, self.number, self.body)).id

    async def update(self, comment: Comment, *, recreate: bool) -> WrittenComment:
        if _has_body(comment, self.body):
            return WrittenComment(id=comment.id, action=CommentAction.UNCHANGED)
        if recreate:
            return WrittenComment(id=await self.create(), action=CommentAction.RECREATED)
        await self.fence()
        await self.github.edit_comment(self.repository, comment.id, self.body)
        return WrittenComment(id=comment.id, action=CommentAction.EDITED)


def _id_of(state: CommentState) -> int | None:
    return state.id if isinstance(state, PostedComment | DirtyComment) else None


def _was_last_deletion(state: CommentState) -> bool:
    """Whether a deletion of the known comment is one too many."""
    return isinstance(state, PostedComment | DirtyComment) and state.deletions + 1 >= MAX_COMMENT_DELETIONS


def _is_ours(comment: Comment, app_id: int, slug: str) -> bool:
    """A person who signed in through the App can write "via" it too, so the author must be a bot as well."""
    by_login = comment.author.login == f"{slug}[bot]"
    return comment.author.is_bot and (by_login or comment.app_id == app_id)


def _has_body(comment: Comment, body: str) -> bool:
    return comment.body.replace("\r\n", "\n").strip() == body.replace("\r\n", "\n").strip()


class CommentOutput(Struct, frozen=True, kw_only=True):
    """Publishes reports as the comment. `busy` is the share of an hour's writes that is used up."""

    forge: Forge
    comments: CommentApi
    render: RenderComment
    database: Database
    now: Callable[[], float]
    busy: Callable[[Repository], float] = lambda _repository: 0.0

    @property
    def name(self) -> str:
        """In messages."""
        return "comment"

    async def publish(self, publication: Publication) -> Published | HeadMoved:
        """Write the report, if it still concerns the head. A branch has no place for a comment; a closed pull
        request's comment is brought up to date, but not created."""
        state = publication.row.comment
        match publication.content:
            case NotMeasured() | PullClosed(report=None):
                return Published()
            case PullClosed(report=Report() as report) if isinstance(state, PostedComment | DirtyComment):
                published = await self._publish(publication, report)
                # A head that moved after the end is nobody's concern; the other outputs have to be concluded.
                return Published() if isinstance(published, HeadMoved) else published
            case PullClosed():
                return Published()
            case NewReport(report=report):
                return await self._publish(publication, report)
            case _:
                assert_never(publication.content)

    async def _publish(self, publication: Publication, report: Report) -> Published | HeadMoved:
        repository, row = publication.repository, publication.row
        state = row.comment
        if row.kind is SubjectKind.BRANCH:
            return Published()
        if isinstance(state, RemovedComment):
            return Published(notice=COMMENT_DELETED)
        comment = await self.render(report)
        digest = hashlib.sha256(comment.body.encode()).hexdigest()
        if isinstance(state, PostedComment) and (
            digest == state.digest or self._may_wait(repository, state, comment)
        ):
            return Published()
        current = await self.forge.pull(repository, row.number)
        if current.head_sha != report.head_sha:
            return HeadMoved()
        # A process that dies while it writes leaves this behind.
        await self.database.write(
            pull_requests.mark_comment_dirty, repository=repository.full_name, number=row.number
        )
        written = await write_comment(
            self.comments,
            repository,
            row.number,
            body=comment.body,
            marker=comment.marker,
            state=state,
            notify=isinstance(state, PostedComment | DirtyComment) and comment.severity > state.severity,
            fence=publication.fence,
        )
        LOG.info(
            "comment kept",
            extra={"repository": repository.full_name, "number": row.number, "done": written.action},
        )
        if isinstance(written, CommentGone):
            return Published(state=RemovedComment(), notice=COMMENT_DELETED)
        deletions = 0 if isinstance(state, NoComment) else state.deletions
        return Published(
            state=PostedComment(
                id=written.id,
                digest=digest,
                severity=comment.severity,
                change_digest=comment.change_digest,
                written_at=self.now(),
                deletions=deletions + int(written.restored),
            )
        )

    def _may_wait(self, repository: Repository, state: PostedComment, comment: RenderedComment) -> bool:
        """Whether only progress is new, and some was written a moment ago."""
        interval = PROGRESS_SECONDS * (BUSY_FACTOR if self.busy(repository) > BUSY_SHARE else 1)
        recently = self.now() - state.written_at < interval
        return recently and comment.change_digest == state.change_digest
