"""What every page and JSON endpoint works with, and what they answer when something is missing.

`WebContext` renders pages in the site's layout; `page_endpoint` and `json_endpoint` turn every expected
failure into a page or a JSON answer.
"""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct, field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.report.redact import redacted
from bot.storage import repositories
from bot.storage.database import Database, DatabaseUnavailable
from bot.web.addresses import Links
from bot.web.answers import CACHE_PUBLIC, HTML, NO_STORE, etag_answer, json_answer
from bot.web.assets import Assets, read_assets
from bot.web.auth.access import Access, PageNotFound, UnknownName
from bot.web.auth.keys import LinkKey
from bot.web.auth.visitor import account_view
from bot.web.comparisons import ComparisonCache
from bot.web.log_viewer.source import Logs, LogUnavailable
from bot.web.sanitize import sanitize

Render = Callable[[str, Mapping[str, object]], str]

RETRY_SECONDS = 30


class WebContext(Struct, frozen=True, kw_only=True):
    """The parts. `public_url` is where people reach the pages; `now` tells Unix seconds."""

    database: Database
    render: Render
    public_url: str
    now: Callable[[], float]
    key: LinkKey
    assets: Assets = field(default_factory=read_assets)
    logs: Logs = field(default_factory=Logs)
    comparisons: ComparisonCache = field(default_factory=ComparisonCache)

    async def page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, object],
        *,
        visit: Access | None,
        tag: str | None = None,
    ) -> Response:
        """A page of the site; long ones take a while to set, so that is done beside the event loop. `tag` is
        given where it is known without the page."""
        links = visit.links if visit else Links()
        given = {"assets": self.assets.addresses, "links": links, "account": account_view(request), **values}
        body = await run_in_threadpool(self.render, template, given)
        cache = visit.cache if visit else CACHE_PUBLIC
        return etag_answer(request, body.encode(), kind=HTML, cache=cache, tag=tag)

    def absolute(self, path: str) -> str:
        """The whole address of a path of the site, for programs."""
        return self.public_url.rstrip("/") + path

    def problem(self, request: Request, status: int, what: str, why: str) -> Response:
        """One clear page: what is missing, and what to do."""
        values = {
            "what": what,
            "why": why,
            "assets": self.assets.addresses,
            "links": Links(),
            "account": account_view(request),
        }
        body = self.render("problem.html.j2", values).encode()
        return etag_answer(
            request, body, kind=HTML, cache=NO_STORE, status=status, headers=retry_headers(status)
        )


def retry_headers(status: int) -> dict[str, str]:
    """When to ask again, where that helps."""
    return {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}


Endpoint = Callable[[Request], Awaitable[Response]]

NOT_FOUND = "There is no such page"

NOT_FOUND_WHY = (
    "Nothing is known under this address, or it belongs to a repository that you may not see. A private "
    "repository is shown to those who can read it on GitHub and sign in here, where that is set up, and "
    "through the links in MaxView's comments on its pull requests."
)

DATABASE_DOWN = "The pages cannot be read right now"

DATABASE_DOWN_WHY = "The database does not answer. Nothing is lost; try again in a minute."


def page_endpoint(parts: WebContext, serve: Endpoint) -> Endpoint:
    """`serve`, with a page for everything that can stand in its way."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except PageNotFound:
            return parts.problem(request, 404, NOT_FOUND, NOT_FOUND_WHY)
        except UnknownName as unclear:
            return parts.problem(request, 404, _public_text(unclear.what), _public_text(unclear.why))
        except DatabaseUnavailable:
            return parts.problem(request, 503, DATABASE_DOWN, DATABASE_DOWN_WHY)

    return endpoint


def json_endpoint(serve: Endpoint) -> Endpoint:
    """`serve`, with a JSON answer for everything that can stand in its way."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except PageNotFound:
            return _error_answer(request, 404, f"{NOT_FOUND}. {NOT_FOUND_WHY}")
        except UnknownName as unclear:
            return _error_answer(
                request, 404, f"{_public_text(unclear.what)}. {_public_text(unclear.why)}".rstrip(". ") + "."
            )
        except DatabaseUnavailable:
            return _error_answer(request, 503, f"{DATABASE_DOWN}. {DATABASE_DOWN_WHY}")
        except LogUnavailable as away:
            return _error_answer(request, away.status, f"{away.what}. {away.why}")

    return endpoint


def _public_text(text: str) -> str:
    return sanitize(redacted(text))


def _error_answer(request: Request, status: int, text: str) -> Response:
    return json_answer(request, {"error": text}, cache=NO_STORE, status=status, headers=retry_headers(status))


LARGEST_NUMBER = 2**53
"""Offsets and line numbers beyond this are nonsense in an address."""


def query_number(request: Request, name: str) -> int | None:
    """A whole number of the address; None where it is not given or is none."""
    text = request.query_params.get(name, "")
    return min(int(text), LARGEST_NUMBER) if text.isascii() and text.isdigit() and len(text) < 20 else None


async def default_branch(database: Database, repository: str) -> str:
    """The branch whose runs are main's."""
    row = await database.read(repositories.find_repository, repository)
    return (row.default_branch if row else None) or "main"
