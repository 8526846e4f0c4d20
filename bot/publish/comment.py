"""The one comment of a pull request.

Writing may be repeated at any time, after a crash at any point, and leads to one comment of ours. A comment
is
ours only if our App wrote it; a marker alone proves nothing, since anyone can copy it. The head is read again
right before writing, so a report of an old head is never posted on a new one.
"""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.domain.forge import Forge
from bot.domain.pull_request import Comment, SubjectKind
from bot.domain.repository import Repository
from bot.publish.lease_fence import Fence
from bot.publish.publisher import MOST_DELETIONS, CommentState
from bot.report.model import Report
from bot.storage.pull_requests import OutputState, PullRow


class CommentApi(Protocol):
    """The part of `GitHub` that is needed here."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenComment:
    """The comment as it stands now; its id is to be stored. `lost` says that the known one was deleted by
    somebody else, and no other of ours was there; `id` is None where it was not made again."""

    id: int | None
    done: CommentAction
    lost: bool = False


async def write_comment(
    github: CommentApi,
    repository: Repository,
    number: int,
    *,
    body: str,
    known_id: int | None,
    marker: str,
    worse: bool,
    certain: bool,
    again: bool = True,
) -> WrittenComment:
    """Create, edit or leave our comment, so that one is left and says `body`.

    With `worse` a new text comes as a new comment, which notifies people, and the old one is deleted after.
    `marker` is a text that every body of ours holds. `certain`: the last writing ended well, so no other
    comment of ours can be there, and the known one is written without a listing. `again`: one that somebody
    deleted may be made once more. Raises what the calls raise; repeat it later then, with the id that was
    known before and not `certain`: what had been done already is found.
    """
    slug = await github.app_slug()
    known = None if known_id is None else await github.comment(repository, known_id)
    if known is not None and not _is_ours(known, github.app_id, slug):
        known = None
    if known is not None and certain and (not worse or _has_body(known, body)):
        return await _update(github, repository, number, known, body, recreate=False)
    written = [one async for one in github.comments(repository, number) if _is_ours(one, github.app_id, slug)]
    ours = [comment for comment in written if comment.id == known_id or marker in comment.body]
    if not ours and known_id is not None and not again:
        return WrittenComment(id=None, done=CommentAction.GONE, lost=True)
    if not ours:
        created = await github.create_comment(repository, number, body)
        return WrittenComment(id=created.id, done=CommentAction.CREATED, lost=known_id is not None)
    # More than one is left by a death between creating the new and deleting the old.
    newest = max(ours, key=lambda comment: comment.id)
    kept = await _update(github, repository, number, newest, body, recreate=worse and newest.id == known_id)
    for comment in ours:
        if comment.id != kept.id:
            await github.delete_comment(repository, comment.id)
    return kept


async def _update(
    github: CommentApi, repository: Repository, number: int, newest: Comment, body: str, *, recreate: bool
) -> WrittenComment:
    if _has_body(newest, body):
        return WrittenComment(id=newest.id, done=CommentAction.UNCHANGED)
    if recreate:
        created = await github.create_comment(repository, number, body)
        return WrittenComment(id=created.id, done=CommentAction.RECREATED)
    await github.edit_comment(repository, newest.id, body)
    return WrittenComment(id=newest.id, done=CommentAction.EDITED)


def _is_ours(comment: Comment, app_id: int, slug: str) -> bool:
    """A person who signed in through the App can write "via" it too, so the author must be a bot as well."""
    by_login = comment.author.login == f"{slug}[bot]"
    return comment.author.is_bot and (by_login or comment.app_id == app_id)


def _has_body(comment: Comment, body: str) -> bool:
    return comment.body.replace("\r\n", "\n").strip() == body.replace("\r\n", "\n").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class FencedComments:
    """`fence` raises where somebody else has taken over."""

    github: CommentApi
    fence: Callable[[], Awaitable[None]]

    @property
    def app_id(self) -> int:
        """The App's number."""
        return self.github.app_id

    async def app_slug(self) -> str:
        """The App's name."""
        return await self.github.app_slug()

    async def comment(self, repository: Repository, comment_id: int) -> Comment | None:
        """One comment."""
        return await self.github.comment(repository, comment_id)

    def comments(self, repository: Repository, number: int) -> AsyncIterator[Comment]:
        """All comments of a pull request."""
        return self.github.comments(repository, number)

    async def create_comment(self, repository: Repository, number: int, body: str) -> Comment:
        """Write a comment."""
        await self.fence()
        return await self.github.create_comment(repository, number, body)

    async def edit_comment(self, repository: Repository, comment_id: int, body: str) -> Comment:
        """Replace a text."""
        await self.fence()
        return await self.github.edit_comment(repository, comment_id, body)

    async def delete_comment(self, repository: Repository, comment_id: int) -> None:
        """Delete a comment."""
        await self.fence()
        await self.github.delete_comment(repository, comment_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedComment:
    """A comment to be: its body, its marker, a digest of what it decides, how bad the news is, its page."""

    body: str
    marker: str
    decided: str
    severity: int
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOutcome:
    """The comment that stands there, None where none does any more; `lost` says that the known one was gone,
    which is not our doing."""

    id: int | None
    lost: bool = False


class CommentWriter(Protocol):
    """Brings the comment up to date."""

    async def __call__(
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
        """Create, edit, re-create or leave the comment; `certain` that the last writing ended well, `again`
        that it may be made once more where somebody deleted it."""
        ...


Render = Callable[[Report], Awaitable[RenderedComment]]

MarkDirty = Callable[[Repository, int], Awaitable[None]]
"""Writes down that the comment is about to be written: a process that dies then leaves that behind."""

PROGRESS_SECONDS = 60.0
"""How often mere progress is written: GitHub allows some 500 writes an hour for all pull requests."""

BUSY_SHARE, BUSY_FACTOR = 0.5, 10
"""Where half of an hour's writes are used up, progress waits ten times as long: the rest is for decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentPublisher:
    """Renders a report and keeps the comment; `busy` is the share of an hour's writes that is used up."""

    forge: Forge
    render: Render
    keep: CommentWriter
    doubt: MarkDirty
    now: Callable[[], float]
    busy: Callable[[Repository], float] = lambda _repository: 0.0

    async def __call__(
        self, repository: Repository, row: PullRow, report: Report, *, fence: Fence
    ) -> CommentState | None:
        """Say the report, if it still concerns the head, and if people want a comment at all. A branch that
        no pull request speaks for has no place for one."""
        said = comment_state(row)
        if row.kind is SubjectKind.BRANCH or row.comment_lost >= MOST_DELETIONS:
            return said
        text = await self.render(report)
        digest = hashlib.sha256(text.body.encode()).hexdigest()
        if row.comment_id is not None and (
            digest == row.comment_hash or self._may_wait(repository, row, text)
        ):
            return said
        current = await self.forge.pull(repository, row.number)
        if current.head_sha != report.head_sha:
            return None
        await self.doubt(repository, row.number)
        kept = await self.keep(
            repository,
            row.number,
            text=text,
            known_id=row.comment_id,
            worse=row.comment_id is not None and text.severity > row.comment_severity,
            certain=row.comment_state is OutputState.WRITTEN,
            again=row.comment_lost + 1 < MOST_DELETIONS,
            fence=fence,
        )
        return CommentState(
            comment_id=kept.id,
            comment_state=OutputState.WRITTEN,
            comment_hash=digest,
            comment_severity=text.severity,
            comment_decided=text.decided,
            comment_written=self.now(),
            comment_lost=row.comment_lost + int(kept.lost),
        )

    def _may_wait(self, repository: Repository, row: PullRow, text: RenderedComment) -> bool:
        """Whether there is nothing but progress to tell, and some was told a moment ago."""
        if row.comment_state is not OutputState.WRITTEN:
            return False
        patience = PROGRESS_SECONDS * (BUSY_FACTOR if self.busy(repository) > BUSY_SHARE else 1)
        recently = self.now() - (row.comment_written or 0.0) < patience
        return recently and text.decided == row.comment_decided


def comment_state(row: PullRow) -> CommentState:
    """What the row remembers of the comment."""
    return CommentState(**{name: getattr(row, name) for name in CommentState.__dataclass_fields__})
