"""Everything that is said on GitHub: comments and checks, rendered and written through its door.

In:  the database, GitHub, templates and the key of links. Out: what the controller's speakers are given.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from bot.controller.checking import Checker
from bot.controller.fence import Fence
from bot.controller.saying import Kept, Speaker, Text
from bot.github.checks import CheckKeeper
from bot.github.client import GitHub
from bot.github.fenced import FencedComments
from bot.github.pull_comment import keep_comment
from bot.intake.pull import Repository
from bot.render import Renderer
from bot.report.comment import comment_body
from bot.report.decided import decided
from bot.report.headline import severity
from bot.report.links import absolute, page_path, pull_path
from bot.report.marks import PULL_MARK
from bot.report.model import Report
from bot.storage import pulls, standing
from bot.storage.database import Database
from bot.web.ground.link_key import LinkKey

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """Makes the speakers of one installation of this program."""

    database: Database
    github: GitHub
    renderer: Renderer
    key: LinkKey
    public_url: str
    now: Callable[[], float]

    def speaker(self) -> Speaker:
        """Who keeps the comment."""
        return Speaker(
            forge=self.github,
            render=self.text,
            keep=self.keep,
            doubt=self._doubt_comment,
            now=self.now,
            busy=lambda repository: self.github.door.pace.used(repository.installation),
        )

    def checker(self) -> Checker:
        """Who keeps the check."""
        return Checker(render=self.text, keep=CheckKeeper(self.github), database=self.database)

    async def text(self, report: Report) -> Text:
        """The comment of this report; its links carry the key of a private repository."""
        public_url = await self._pages(report.repository)
        body = await asyncio.to_thread(
            comment_body, report, public_url=public_url, render=self.renderer.render
        )
        return Text(
            body=body,
            marker=PULL_MARK,
            decided=decided(report),
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
        text: Text,
        known_id: int | None,
        worse: bool,
        certain: bool,
        again: bool,
        fence: Fence,
    ) -> Kept:
        """Bring the comment up to date, asking before every write whether the row is still ours."""
        kept = await keep_comment(
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
        return Kept(id=kept.id, lost=kept.lost)

    async def _pages(self, repository: str) -> str:
        """Where the pages of a repository are; of a private one, with its key."""
        row = await self.database.read(pulls.repository, repository)
        key = f"?key={self.key.key(repository)}" if row is None or row.private else ""
        return self.public_url + key

    async def _doubt_comment(self, repository: Repository, number: int) -> None:
        await self.database.write(standing.doubt_comment, repository=repository.full_name, number=number)
