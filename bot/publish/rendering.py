"""Render a report for GitHub: the body of its comment, with links to our pages."""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from bot.report.assess import change_digest, severity
from bot.report.comment import PULL_MARKER, comment_body
from bot.report.links import absolute, page_path, pull_path
from bot.report.model import Report
from bot.storage import repositories
from bot.storage.database import Database
from bot.templating import Renderer


class RenderedComment(Struct, frozen=True, kw_only=True):
    """A comment to write: `marker` is a text in every body of ours, `change_digest` is of what it decides,
    `url` the report's page."""

    body: str
    marker: str
    change_digest: str
    severity: int
    url: str = ""


RenderComment = Callable[[Report], Awaitable[RenderedComment]]


class ReportRenderer(Struct, frozen=True, kw_only=True):
    """Renders with the templates; links to a private repository's pages carry its key, which `key_of`
    gives."""

    database: Database
    renderer: Renderer
    key_of: Callable[[str], str]
    public_url: str

    async def comment(self, report: Report) -> RenderedComment:
        """The comment of this report."""
        public_url = await self._base_url(report.repository)
        body = await asyncio.to_thread(
            comment_body, report, public_url=public_url, render=self.renderer.render
        )
        return RenderedComment(
            body=body,
            marker=PULL_MARKER,
            change_digest=change_digest(report),
            severity=severity(report),
            url=absolute(public_url, page_path(report)),
        )

    async def page_url(self, repository: str, number: int) -> str:
        """The page of a pull request, whether or not there is a report."""
        return absolute(await self._base_url(repository), pull_path(repository, number))

    async def _base_url(self, repository: str) -> str:
        row = await self.database.read(repositories.find_repository, repository)
        return self.public_url + (f"?key={self.key_of(repository)}" if row is None or row.private else "")
