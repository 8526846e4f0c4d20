"""What every page and JSON endpoint works with, and what they answer when something is missing.

`WebContext` renders pages in the site's layout; `page_endpoint` and `json_endpoint` turn every expected
failure into a page or a JSON answer.
"""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct, field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.domain.run import RunRecord
from bot.redaction.redact import redact
from bot.storage import repositories
from bot.storage.database import Database, DatabaseUnavailable
from bot.web.addresses import Links
from bot.web.answers import CACHE_PUBLIC, HTML, NO_STORE, etag_answer, json_answer
from bot.web.api.responses import ErrorResponse
from bot.web.assets import Assets, read_assets
from bot.web.auth.access import Access, AccessRules, PageNotFound, UnknownName
from bot.web.auth.links import EXPIRED_LINK
from bot.web.auth.visitor import account_view
from bot.web.comparisons import ComparisonCache
from bot.web.log_viewer.source import Logs, LogUnavailable
from bot.web.sanitize import sanitize

Render = Callable[[str, Mapping[str, object]], str]

RETRY_SECONDS = 30


class WebContext(Struct, frozen=True, kw_only=True):
    """What every endpoint works with. `public_url` is the site's address; `now` returns Unix seconds."""

    database: Database
    render: Render
    public_url: str
    now: Callable[[], float]
    logs: Logs
    rules: AccessRules
    assets: Assets = field(default_factory=read_assets)
    comparisons: ComparisonCache = field(default_factory=ComparisonCache)

    async def page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, object],
        *,
        access: Access | None,
        tag: str | None = None,
    ) -> Response:
        """Render a page, in a thread since long ones take a while; pass an ETag known without the body."""
        links = access.links if access else Links()
        given = {**self._shared_values(request, links), "access": access, **values}
        body = await run_in_threadpool(self.render, template, given)
        cache = access.cache if access else CACHE_PUBLIC
        return etag_answer(request, body.encode(), kind=HTML, cache=cache, tag=tag)

    def absolute(self, path: str) -> str:
        """The full URL of a path of this site."""
        return self.public_url.rstrip("/") + path

    def problem(self, request: Request, status: int, what: str, why: str) -> Response:
        """A page that says what is missing and what to do."""
        values = {**self._shared_values(request, Links()), "what": what, "why": why}
        body = self.render("problem.html.j2", values).encode()
        return etag_answer(
            request, body, kind=HTML, cache=NO_STORE, status=status, headers=retry_headers(status)
        )

    async def repository_access(self, request: Request) -> Access:
        """What the visitor may read of the repository in the address; raises `PageNotFound` unless that is
        every page of it."""
        return await self.rules.repository(request)

    async def linked_access(self, request: Request) -> Access:
        """The same, also for who has but a link of a pull request: the page must heed `Access.scope`."""
        return await self.rules.linked(request)

    async def run_access(self, request: Request) -> tuple[Access, RunRecord]:
        """The run in the address and its repository; raises `PageNotFound` if the visitor may not read it."""
        return await self.rules.run(request)

    async def default_branch(self, repository: str) -> str:
        """The default branch of a repository, whose runs are the baseline; `main` if it is not known."""
        row = await self.database.read(repositories.find_repository, repository)
        return (row.default_branch if row else None) or "main"

    def _shared_values(self, request: Request, links: Links) -> dict[str, object]:
        return {"assets": self.assets.addresses, "links": links, "account": account_view(request)}


def retry_headers(status: int) -> dict[str, str]:
    """`Retry-After` for an answer that another try may improve."""
    return {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}


Endpoint = Callable[[Request], Awaitable[Response]]

NOT_FOUND = "There is no such page"

NOT_FOUND_WHY = (
    "Nothing is known under this address, or it belongs to a repository that you may not see. A private "
    "repository is shown to those who can read it on GitHub and sign in here, where that is set up, and "
    "through the links in MaxView's comments on its pull requests, which open for 30 days: "
    "/benchmark status on the pull request renews them."
)

LINK_EXPIRED = "This link has expired"

LINK_EXPIRED_WHY = (
    "Links in MaxView's comments open for 30 days. Write /benchmark status on the pull request: its comment "
    "then gets new links. Or sign in with GitHub, where that is set up."
)

DATABASE_DOWN = "The pages cannot be read right now"

DATABASE_DOWN_WHY = "The database does not answer. Nothing is lost; try again in a minute."


def page_endpoint(context: WebContext, serve: Endpoint) -> Endpoint:
    """`serve`, with a page for every expected failure."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except PageNotFound:
            return context.problem(request, *missing_page(request))
        except UnknownName as unknown:
            return context.problem(request, 404, _public_text(unknown.what), _public_text(unknown.why))
        except DatabaseUnavailable:
            return context.problem(request, 503, DATABASE_DOWN, DATABASE_DOWN_WHY)
        except LogUnavailable as problem:
            return context.problem(request, problem.status, problem.what, problem.why)

    return endpoint


def json_endpoint(serve: Endpoint) -> Endpoint:
    """`serve`, with a JSON answer for every expected failure."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except PageNotFound:
            status, what, why = missing_page(request)
            return error_answer(request, status, f"{what}. {why}")
        except UnknownName as unknown:
            text = f"{_public_text(unknown.what)}. {_public_text(unknown.why)}"
            return error_answer(request, 404, text.rstrip(". ") + ".")
        except DatabaseUnavailable:
            return error_answer(request, 503, f"{DATABASE_DOWN}. {DATABASE_DOWN_WHY}")
        except LogUnavailable as problem:
            return error_answer(request, problem.status, f"{problem.what}. {problem.why}")

    return endpoint


def missing_page(request: Request) -> tuple[int, str, str]:
    """What is said where there is no page for a visitor; who had a good key is told that it is too old."""
    if request.scope.get("state", {}).get(EXPIRED_LINK):
        return 410, LINK_EXPIRED, LINK_EXPIRED_WHY
    return 404, NOT_FOUND, NOT_FOUND_WHY


def _public_text(text: str) -> str:
    return sanitize(redact(text))


def error_answer(request: Request, status: int, text: str) -> Response:
    """The JSON answer to a request that cannot be served."""
    headers = retry_headers(status)
    return json_answer(request, ErrorResponse(text), cache=NO_STORE, status=status, headers=headers)


LARGEST_NUMBER = 2**53
"""Larger offsets and line numbers in an address are cut to this."""


def query_number(request: Request, name: str) -> int | None:
    """A non-negative integer of the query; None if it is missing or something else."""
    text = request.query_params.get(name, "")
    return min(int(text), LARGEST_NUMBER) if text.isascii() and text.isdigit() and len(text) < 20 else None
