"""Render a report for GitHub: the body of its comment, with links to our pages."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct

from bot.report.assess import change_digest, severity
from bot.report.comment import PULL_MARKER, comment_body
from bot.report.links import absolute, page_path, pull_path
from bot.report.model import Report
from bot.storage import repositories
from bot.storage.database import Connection, Database
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


class KeyOf(Protocol):
    """Makes the key of a pull request's pages, or none."""

    def __call__(self, repository_id: int, number: int, *, epoch: int, now: float) -> str | None:
        """The key for the repository of GitHub's number, good from `now` (Unix seconds) on."""
        ...


class _BaseLinks(Struct, frozen=True, kw_only=True):
    """The address that every link begins with; `kind` changes when readers need other links at once, and not
    with the day of a key."""

    base_url: str
    kind: str = ""


class ReportRenderer(Struct, frozen=True, kw_only=True):
    """Renders with the templates; links to a private repository's pages carry a key of the pull request,
    which `key_of` gives, if it gives any."""

    database: Database
    renderer: Renderer
    key_of: KeyOf
    public_url: str
    now: Callable[[], float]

    async def comment(self, report: Report) -> RenderedComment:
        """The comment of this report."""
        links = await self.database.read(self._links, report.repository, report.number)
        public_url = links.base_url
        body = await asyncio.to_thread(
            comment_body, report, public_url=public_url, render=self.renderer.render
        )
        return RenderedComment(
            body=body,
            marker=PULL_MARKER,
            change_digest=change_digest(report) + links.kind,
            severity=severity(report),
            url=absolute(public_url, page_path(report)),
        )

    async def page_url(self, repository: str, number: int) -> str:
        """The page of a pull request, whether or not there is a report."""
        links = await self.database.read(self._links, repository, number)
        return absolute(links.base_url, pull_path(repository, number))

    def _links(self, connection: Connection, repository: str, number: int) -> _BaseLinks:
        row, now = repositories.find_repository(connection, repository), self.now()
        if row is None or row.id is None or row.is_public(now):
            return _BaseLinks(base_url=self.public_url)
        epoch = repositories.link_epoch(connection, row.id) or 0
        key = self.key_of(row.id, number, epoch=epoch, now=now)
        if key is None:
            return _BaseLinks(base_url=self.public_url)
        return _BaseLinks(base_url=f"{self.public_url}?key={key}", kind=f" {epoch}")
