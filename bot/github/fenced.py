"""Comments that are written only by whoever holds the pull request's row.

In:  GitHub's comments, and a fence that is asked before each write. Out: the same comments.

The fence takes the row for longer than a request can last (`bot.github.kit.TIMEOUT`), so that a process
which was held up, and whose row another one has taken, writes nothing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from bot.github.pull_comment import Commenting
from bot.intake.pull import Comment, Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class FencedComments:
    """`fence` raises where somebody else has taken over."""

    github: Commenting
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
