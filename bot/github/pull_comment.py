"""Keeps the one comment of a pull request true.

In:  the text it should have, and the id under which it was stored. Out: its id, and what was done.

It may be repeated at any time, after a crash at any point, and leads to one comment of ours. A comment is
ours only where our App wrote it; a marker alone proves nothing, since anyone can copy it. Nothing is written
where the text is equal already.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.intake.pull import Comment, Repository


class Commenting(Protocol):
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


class Kept(StrEnum):
    """What was done to the comment."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    EDITED = "edited"
    RECREATED = "recreated"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptComment:
    """The comment as it stands now; its id is to be stored. `lost` says that the known one was deleted by
    somebody else, and no other of ours was there; `id` is None where it was not made again."""

    id: int | None
    done: Kept
    lost: bool = False


async def keep_comment(
    github: Commenting,
    repository: Repository,
    number: int,
    *,
    body: str,
    known_id: int | None,
    marker: str,
    worse: bool,
    certain: bool,
    again: bool = True,
) -> KeptComment:
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
    if known is not None and certain and (not worse or _says(known, body)):
        return await _renew(github, repository, number, known, body, recreate=False)
    written = [one async for one in github.comments(repository, number) if _is_ours(one, github.app_id, slug)]
    ours = [comment for comment in written if comment.id == known_id or marker in comment.body]
    if not ours and known_id is not None and not again:
        return KeptComment(id=None, done=Kept.GONE, lost=True)
    if not ours:
        created = await github.create_comment(repository, number, body)
        return KeptComment(id=created.id, done=Kept.CREATED, lost=known_id is not None)
    # More than one is left by a death between creating the new and deleting the old.
    newest = max(ours, key=lambda comment: comment.id)
    kept = await _renew(github, repository, number, newest, body, recreate=worse and newest.id == known_id)
    for comment in ours:
        if comment.id != kept.id:
            await github.delete_comment(repository, comment.id)
    return kept


async def _renew(
    github: Commenting, repository: Repository, number: int, newest: Comment, body: str, *, recreate: bool
) -> KeptComment:
    if _says(newest, body):
        return KeptComment(id=newest.id, done=Kept.UNCHANGED)
    if recreate:
        created = await github.create_comment(repository, number, body)
        return KeptComment(id=created.id, done=Kept.RECREATED)
    await github.edit_comment(repository, newest.id, body)
    return KeptComment(id=newest.id, done=Kept.EDITED)


def _is_ours(comment: Comment, app_id: int, slug: str) -> bool:
    """A person who signed in through the App can write "via" it too, so the author must be a bot as well."""
    by_login = comment.author.login == f"{slug}[bot]"
    return comment.author.is_bot and (by_login or comment.app_id == app_id)


def _says(comment: Comment, body: str) -> bool:
    return comment.body.replace("\r\n", "\n").strip() == body.replace("\r\n", "\n").strip()
