"""Who may see what.

In:  the repository or run that an address names, and the key in it.
Out: a `Visit`: the repository and the links as this visitor may follow them.

A public repository is open. A private one, and one that we do not know, is shown to whom GitHub shows it, and
to who has its key; to everybody else it is `Absent`, in the same words as what does not exist.
"""

import hashlib
from dataclasses import dataclass

from starlette.requests import Request

from bot.report.redact import redacted
from bot.runs.records import RunRecord
from bot.storage import pulls, runs
from bot.storage.database import Database
from bot.web.ground.answers import PRIVATE, PUBLIC
from bot.web.ground.legible import legible
from bot.web.ground.link_key import LinkKey
from bot.web.ground.links import Links
from bot.web.ground.visitor import github_of, visitor_of

LONGEST_NAME = 200
"""Characters of a repository's name or a run's id that are looked up: GitHub's names end well below."""


class Absent(Exception):
    """There is no such page, for this visitor."""


class Unclear(Exception):
    """An address within a repository that this visitor may see names something that is not known: what,
    and what may have been meant."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what)
        self.what = what
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A visitor at a repository."""

    repository: str
    private: bool
    links: Links

    @property
    def cache(self) -> str:
        """How long the answer may be kept, and by whom."""
        return PRIVATE if self.private else PUBLIC

    def text(self, value: str) -> str:
        """Foreign text as this visitor may read it: legible, and redacted in public places."""
        return legible(value if self.private else redacted(value))


async def visit(request: Request, database: Database, key: LinkKey) -> Visit:
    """The repository of an address with `owner` and `repo`."""
    named = f"{request.path_params['owner']}/{request.path_params['repo']}"
    return await _visit(request, database, key, named)


async def visit_run(request: Request, database: Database, key: LinkKey) -> tuple[Visit, RunRecord]:
    """The run of an address with `id`, and its repository."""
    name = request.path_params["id"]
    if len(name) > LONGEST_NAME or "\x00" in name:
        raise Absent
    record = await database.read(runs.by_id, name)
    # What is not there is looked for as long as what is hidden: no clock tells them apart.
    named = record.repository if record else f"x/{hashlib.sha256(name.encode()).hexdigest()[:40]}"
    here = await _visit(request, database, key, named, asked=name)
    if record is None:
        raise Absent
    return here, record


async def _visit(
    request: Request, database: Database, key: LinkKey, named: str, asked: str | None = None
) -> Visit:
    if len(named) > LONGEST_NAME:
        raise Absent
    rows = await database.read(pulls.repositories)
    row = next((row for row in rows if row.full_name.lower() == named.lower()), None)
    if row is not None and not row.private:
        return Visit(repository=row.full_name, private=False, links=_links(request))
    repository = row.full_name if row else named
    given = request.query_params.get("key", "")
    if key.opens(named, given):
        return Visit(repository=repository, private=True, links=_links(request, key=given))
    visitor = visitor_of(request)
    if visitor is None or not await visitor.may_read(repository, asked or named):
        raise Absent
    return Visit(repository=repository, private=True, links=_links(request))


def _links(request: Request, key: str | None = None) -> Links:
    return Links(key=key, github=github_of(request))
