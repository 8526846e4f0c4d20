"""Who may read which repository, and how values read for them: redacted in public places.

A public repository is open. A private or unknown one is open to people who can read it on GitHub, and to
those with its link key; for everybody else it is `PageNotFound`, in the same words as a page that does not
exist.
"""

import hashlib
from typing import TypeVar

from msgspec import Struct
from starlette.requests import Request

from bot.domain.run import RunRecord
from bot.redaction.redact import redact
from bot.report.model import Report
from bot.runs.run_status import RunStatus
from bot.storage import repositories, runs
from bot.storage.database import Database
from bot.verdict.judgement import MeasuredRun
from bot.web.addresses import Links
from bot.web.answers import CACHE_PRIVATE, CACHE_PUBLIC
from bot.web.auth.keys import LinkKey
from bot.web.auth.visitor import current_visitor, github_url
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
    """A visitor's read access to one repository, with the links as they may follow them."""

    repository: str
    private: bool
    links: Links

    @property
    def cache(self) -> str:
        """The `Cache-Control` of answers."""
        return CACHE_PRIVATE if self.private else CACHE_PUBLIC

    def text(self, value: str) -> str:
        """Foreign text, sanitized, and redacted unless the repository is private."""
        return sanitize(value if self.private else redact(value))


async def repository_access(request: Request, database: Database, key: LinkKey) -> Access:
    """Access to the repository of an address with `owner` and `repo`."""
    named = f"{request.path_params['owner']}/{request.path_params['repo']}"
    return await _access(request, database, key, named)


async def run_access(request: Request, database: Database, key: LinkKey) -> tuple[Access, RunRecord]:
    """The run of an address with `id`, and access to its repository."""
    name = request.path_params["id"]
    if len(name) > MAX_NAME_LENGTH or "\x00" in name:
        raise PageNotFound
    record = await database.read(runs.by_id, name)
    # A missing run takes the same lookups as a hidden one, so response times do not tell them apart.
    named = record.repository if record else f"x/{hashlib.sha256(name.encode()).hexdigest()[:40]}"
    access = await _access(request, database, key, named, requested=name)
    if record is None:
        raise PageNotFound
    return access, record


async def _access(
    request: Request, database: Database, key: LinkKey, named: str, requested: str | None = None
) -> Access:
    if len(named) > MAX_NAME_LENGTH:
        raise PageNotFound
    rows = await database.read(repositories.list_repositories)
    row = next((row for row in rows if row.full_name.lower() == named.lower()), None)
    if row is not None and not row.private:
        return Access(repository=row.full_name, private=False, links=_links_for(request))
    repository = row.full_name if row else named
    given = request.query_params.get("key", "")
    if key.opens(named, given):
        return Access(repository=repository, private=True, links=_links_for(request, key=given))
    visitor = current_visitor(request)
    if visitor is None or not await visitor.may_read(repository, requested or named):
        raise PageNotFound
    return Access(repository=repository, private=True, links=_links_for(request))


def _links_for(request: Request, key: str | None = None) -> Links:
    return Links(key=key, github_url=github_url(request))


LINK_KEYS = frozenset({"page", "json", "log"})
"""Keys of a report's JSON whose values are paths of this site."""

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


def with_link_key(document: object, access: Access) -> object:
    """A JSON document whose links into the site carry the visitor's link key."""
    if access.links.key is None:
        return document
    if isinstance(document, dict):
        return {
            name: access.links.keyed(inner)
            if name in LINK_KEYS and isinstance(inner, str) and inner.startswith("/")
            else with_link_key(inner, access)
            for name, inner in document.items()
        }
    if isinstance(document, list | tuple):
        return [with_link_key(inner, access) for inner in document]
    return document
