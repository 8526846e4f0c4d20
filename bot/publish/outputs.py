"""The outputs of one installation: comment and check, rendered and written through GitHub's API."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from bot.domain.repository import Repository
from bot.github.client import GitHubClient
from bot.publish.check import CheckPublisher, GitHubChecks
from bot.publish.comment import (
    CommentOutcome,
    CommentPublisher,
    FencedComments,
    RenderedComment,
    write_comment,
)
from bot.publish.lease_fence import Fence
from bot.report.assess import change_digest, severity
from bot.report.comment import PULL_MARKER, comment_body
from bot.report.links import absolute, page_path, pull_path
from bot.report.model import Report
from bot.storage import pull_requests, repositories
from bot.storage.database import Database
from bot.templating import Renderer
from bot.web.auth.keys import LinkKey

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubOutputs:
    """Makes the speakers of one installation of this program."""

    database: Database
    github: GitHubClient
    renderer: Renderer
    key: LinkKey
    public_url: str
    now: Callable[[], float]

    def speaker(self) -> CommentPublisher:
        """Who keeps the comment."""
        return CommentPublisher(
            forge=self.github,
            render=self.text,
            keep=self.keep,
            doubt=self._doubt_comment,
            now=self.now,
            busy=lambda repository: self.github.door.pace.used(repository.installation),
        )

    def checker(self) -> CheckPublisher:
        """Who keeps the check."""
        return CheckPublisher(render=self.text, keep=GitHubChecks(self.github), database=self.database)

    async def text(self, report: Report) -> RenderedComment:
        """The comment of this report; its links carry the key of a private repository."""
        public_url = await self._pages(report.repository)
        body = await asyncio.to_thread(
            comment_body, report, public_url=public_url, render=self.renderer.render
        )
        return RenderedComment(
            body=body,
            marker=PULL_MARKER,
            decided=change_digest(report),
            severity=severity(report),
            url=absolute(public_url, page_path(report)),
        )

    async def page(self, repository: str, number: int) -> str:
        """The page of a pull request, whether or not there is a report."""
        return absolute(await self._pages(repository), pull_path(repository, number))

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
        """Bring the comment up to date, asking before every write whether the row is still ours."""
        kept = await write_comment(
            FencedComments(github=self.github, fence=fence),
            repository,
            number,
            body=text.body,
            known_id=known_id,
            marker=text.marker,
            worse=worse,
            certain=certain,
            again=again,
        )
        LOG.info(
            "comment kept", extra={"repository": repository.full_name, "number": number, "done": kept.done}
        )
        return CommentOutcome(id=kept.id, lost=kept.lost)

    async def _pages(self, repository: str) -> str:
        """Where the pages of a repository are; of a private one, with its key."""
        row = await self.database.read(repositories.find_repository, repository)
        key = f"?key={self.key.key(repository)}" if row is None or row.private else ""
        return self.public_url + key

    async def _doubt_comment(self, repository: Repository, number: int) -> None:
        await self.database.write(
            pull_requests.mark_comment_dirty, repository=repository.full_name, number=number
        )
