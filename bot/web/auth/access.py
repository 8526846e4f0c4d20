"""Who may read which repository, and how values read for them: redacted in public places.

A public repository is open. A private or unknown one is open to those whom GitHub shows it, and to those with
its link key; for everybody else it is `PageNotFound`, in the same words as a page that does not exist.
"""

import hashlib
from typing import TypeVar

from msgspec import Struct
from starlette.requests import Request

from bot.domain.run import RunRecord
from bot.report.model import Report
from bot.report.redact import redacted
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
"""Characters of a repository's name or a run's id that are looked up: GitHub's names end well below."""


class PageNotFound(Exception):
    """There is no such page, for this visitor."""


class UnknownName(Exception):
    """An address within a repository that this visitor may see names something that is not known: what,
    and what may have been meant."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what)
        self.what = what
        self.why = why


class Access(Struct, frozen=True, kw_only=True):
    """A visitor at a repository."""

    repository: str
    private: bool
    links: Links

    @property
    def cache(self) -> str:
        """How long the answer may be kept, and by whom."""
        return CACHE_PRIVATE if self.private else CACHE_PUBLIC

    def text(self, value: str) -> str:
        """Foreign text as this visitor may read it: legible, and redacted in public places."""
        return sanitize(value if self.private else redacted(value))


async def repository_access(request: Request, database: Database, key: LinkKey) -> Access:
    """The repository of an address with `owner` and `repo`."""
    named = f"{request.path_params['owner']}/{request.path_params['repo']}"
    return await _access(request, database, key, named)


async def run_access(request: Request, database: Database, key: LinkKey) -> tuple[Access, RunRecord]:
    """The run of an address with `id`, and its repository."""
    name = request.path_params["id"]
    if len(name) > MAX_NAME_LENGTH or "\x00" in name:
        raise PageNotFound
    record = await database.read(runs.by_id, name)
    # What is not there is looked for as long as what is hidden: no clock tells them apart.
    named = record.repository if record else f"x/{hashlib.sha256(name.encode()).hexdigest()[:40]}"
    here = await _access(request, database, key, named, asked=name)
    if record is None:
        raise PageNotFound
    return here, record


async def _access(
    request: Request, database: Database, key: LinkKey, named: str, asked: str | None = None
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
    if visitor is None or not await visitor.may_read(repository, asked or named):
        raise PageNotFound
    return Access(repository=repository, private=True, links=_links_for(request))


def _links_for(request: Request, key: str | None = None) -> Links:
    return Links(key=key, github=github_url(request))


LINK_KEYS = frozenset({"page", "json", "log"})
"""Names under which a report's document carries paths of this site."""

Value = TypeVar("Value", Report, MeasuredRun, RunRecord, RunStatus)

Document = TypeVar("Document")

MIN_SECRET_LENGTH = 8
"""Characters: nothing shorter is long enough for any rule (the shortest is an address, 10.0.0.1)."""


def for_page(value: Value, visit: Access) -> Value:
    """`value` as this visitor may read it, in signs that can be seen."""
    if visit.private:
        return map_texts(value, sanitize)
    return map_texts(value, lambda text: sanitize(_redact(text)), {"source": public_source})


def document_for_reader(document: Document, visit: Access) -> Document:
    """A JSON document as this visitor may read it."""
    return document if visit.private else map_texts(document, _redact, {"source": public_source})


def public_source(source: str) -> str:
    """The last two parts of a log's address: its folder and its name. What lies above is the operator's."""
    return "/".join(source.rstrip("/").split("/")[-2:])


def _redact(text: str) -> str:
    return text if len(text) < MIN_SECRET_LENGTH else redacted(text)


def with_link_key(document: object, visit: Access) -> object:
    """A JSON document whose links inside the site open for this visitor."""
    if visit.links.key is None:
        return document
    if isinstance(document, dict):
        return {
            name: visit.links.keyed(inner)
            if name in LINK_KEYS and isinstance(inner, str) and inner.startswith("/")
            else with_link_key(inner, visit)
            for name, inner in document.items()
        }
    if isinstance(document, list):
        return [with_link_key(inner, visit) for inner in document]
    return document
