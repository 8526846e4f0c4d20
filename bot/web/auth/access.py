"""Who may read which repository, and how values read for them: redacted in public places.

A public repository is open, while GitHub says that it is public. A private or unknown one is open to people
who can read it on GitHub; to everybody else it is `PageNotFound`, in the same words as a page that does not
exist. Who came by a link of a pull request's comment reads what belongs to that pull request, and nothing
else: `Access.scope` says so, and only pages that heed it open.
"""

import hashlib
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct
from starlette.requests import Request

from bot.domain.run import RunRecord
from bot.redaction.redact import redact
from bot.report.model import Report
from bot.runs.run_status import RunStatus
from bot.storage import repositories, runs
from bot.storage.database import Connection, Database
from bot.storage.link_scope import PullScope
from bot.storage.repositories import RepositoryRow
from bot.verdict.judgement import MeasuredRun
from bot.web.addresses import Links
from bot.web.answers import CACHE_PRIVATE, CACHE_PUBLIC
from bot.web.auth.links import LinkAccess
from bot.web.auth.visitor import PermissionUnknown, current_visitor, github_url
from bot.web.sanitize import map_texts, sanitize

MAX_NAME_LENGTH = 200
"""Longest repository name or run id that is looked up; GitHub's names are shorter."""


class PageNotFound(Exception):
    """There is no such page for this visitor."""


class UnknownName(Exception):
    """An address in a readable repository names something unknown; `why` suggests what may be meant."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what)
        self.what = what
        self.why = why


class Access(Struct, frozen=True, kw_only=True):
    """A visitor's read access to one repository, with the links as they may follow them. With a `scope` they
    have a link of these pull requests alone."""

    repository: str
    private: bool
    links: Links
    scope: PullScope | None = None

    @property
    def whole(self) -> bool:
        """Whether every page of the repository is open to them."""
        return self.scope is None

    def opens(self, number: int | None) -> bool:
        """Whether the pull request or watched branch of this row is open to them."""
        return self.scope is None or number in self.scope.numbers

    @property
    def cache(self) -> str:
        """The `Cache-Control` of answers."""
        return CACHE_PRIVATE if self.private else CACHE_PUBLIC

    def text(self, value: str) -> str:
        """Foreign text, sanitized, and redacted unless the repository is private."""
        return sanitize(value if self.private else redact(value))


class AccessRules(Struct, frozen=True, kw_only=True):
    """What decides who may read."""

    database: Database
    links: LinkAccess
    now: Callable[[], float]

    async def repository(self, request: Request) -> Access:
        """Access to every page of the repository of an address with `owner` and `repo`."""
        access = await self._access(request, _named(request))
        if not access.whole:
            raise PageNotFound
        return access

    async def linked(self, request: Request) -> Access:
        """The same, or what a link opens. The page itself must refuse what is not of `Access.scope`."""
        return await self._access(request, _named(request))

    async def run(self, request: Request) -> tuple[Access, RunRecord]:
        """The run of an address with `id`, and access to its repository."""
        name = request.path_params["id"]
        if len(name) > MAX_NAME_LENGTH or "\x00" in name:
            raise PageNotFound
        record = await self.database.read(runs.by_id, name)
        # A missing run takes the same lookups as a hidden one, so response times do not tell them apart.
        named = record.repository if record else f"x/{hashlib.sha256(name.encode()).hexdigest()[:40]}"
        access = await self._access(request, named, requested=name)
        if record is None or not await self.allows_run(access, record.id):
            raise PageNotFound
        return access, record

    async def allows_run(self, access: Access, run: str) -> bool:
        """Whether this visitor may read a run of their repository."""
        return access.scope is None or await self.database.read(access.scope.names_run, run)

    async def _access(self, request: Request, named: str, requested: str | None = None) -> Access:
        if len(named) > MAX_NAME_LENGTH:
            raise PageNotFound
        row, epoch = await self.database.read(_find_row, named)
        links = Links(github_url=github_url(request))
        if row is not None and row.is_public(self.now()):
            return Access(repository=row.full_name, private=False, links=links)
        scope = self._link_scope(request, row, epoch)
        try:
            reads = await _may_read(request, row, named, requested or named)
        except PermissionUnknown:
            if scope is None:
                raise
            reads = False
        if not reads and scope is None:
            raise PageNotFound
        repository = row.full_name if row else named
        return Access(repository=repository, private=True, links=links, scope=None if reads else scope)

    def _link_scope(self, request: Request, row: RepositoryRow | None, epoch: int) -> PullScope | None:
        if row is None or row.id is None:
            return None
        granted = self.links.granted(request, row.id, epoch)
        return PullScope(repository=row.full_name, numbers=granted) if granted else None


async def _may_read(request: Request, row: RepositoryRow | None, named: str, requested: str) -> bool:
    """Whether the visitor can read the repository on GitHub; one that is unknown takes as long."""
    visitor = current_visitor(request)
    if visitor is None:
        return False
    return await visitor.may_read(row.full_name if row else named, requested, row.id if row else None)


def _find_row(connection: Connection, named: str) -> tuple[RepositoryRow | None, int]:
    row = repositories.find_by_name(connection, named)
    epoch = repositories.link_epoch(connection, row.id) if row is not None and row.id is not None else None
    return row, epoch or 0


def _named(request: Request) -> str:
    return f"{request.path_params['owner']}/{request.path_params['repo']}"


Value = TypeVar("Value", Report, MeasuredRun, RunRecord, RunStatus)

Document = TypeVar("Document")

MIN_SECRET_LENGTH = 8
"""Shorter texts match no redaction rule (the shortest match is an address, 10.0.0.1)."""


def for_page(value: Value, access: Access) -> Value:
    """`value` with every text sanitized, and redacted unless the repository is private."""
    if access.private:
        return map_texts(value, sanitize)
    return map_texts(value, lambda text: sanitize(_redact(text)), {"source": public_source})


def document_for_reader(document: Document, access: Access) -> Document:
    """A JSON document with every text redacted unless the repository is private."""
    return document if access.private else map_texts(document, _redact, {"source": public_source})


def public_source(source: str) -> str:
    """Folder and name of a log's address; what is above them is the operator's."""
    return "/".join(source.rstrip("/").split("/")[-2:])


def _redact(text: str) -> str:
    return text if len(text) < MIN_SECRET_LENGTH else redact(text)
