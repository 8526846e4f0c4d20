"""What every page and JSON answer is made with, and how it says that something is missing.

In:  the parts the program joins. Out: `Parts`, and endpoints that turn every failure into a clear page.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.errors import Broken, Told
from bot.report.redact import redacted
from bot.storage.database import Away, Database
from bot.web.access import Absent, Unclear, Visit
from bot.web.answers import HTML, NEVER, PUBLIC, json_answer, tagged
from bot.web.assets import Assets, read_assets
from bot.web.comparisons import Comparisons
from bot.web.legible import legible
from bot.web.link_key import LinkKey
from bot.web.links import Links
from bot.web.log_gzip import Damaged
from bot.web.log_source import Logs
from bot.web.visitor import account_of

Render = Callable[[str, Mapping[str, object]], str]
Endpoint = Callable[[Request], Awaitable[Response]]

NOT_FOUND = "There is no such page"
NOT_FOUND_WHY = (
    "Nothing is known under this address, or it belongs to a repository that you may not see. A private "
    "repository is shown to those who can read it on GitHub and sign in here, where that is set up, and "
    "through the links in MaxView's comments on its pull requests."
)
AWAY = "The pages cannot be read right now"
AWAY_WHY = "The database does not answer. Nothing is lost; try again in a minute."
LATER_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts. `public_url` is where people reach the pages; `now` tells Unix seconds."""

    database: Database
    render: Render
    public_url: str
    now: Callable[[], float]
    key: LinkKey
    assets: Assets = field(default_factory=read_assets)
    logs: Logs = field(default_factory=Logs)
    comparisons: Comparisons = field(default_factory=Comparisons)

    async def page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, object],
        *,
        visit: Visit | None,
        tag: str | None = None,
    ) -> Response:
        """A page of the site; long ones take a while to set, so that is done beside the event loop. `tag` is
        given where it is known without the page."""
        links = visit.links if visit else Links()
        given = {"assets": self.assets.addresses, "links": links, "account": account_of(request), **values}
        body = await run_in_threadpool(self.render, template, given)
        cache = visit.cache if visit else PUBLIC
        return tagged(request, body.encode(), kind=HTML, cache=cache, tag=tag)

    def problem(self, request: Request, status: int, what: str, why: str) -> Response:
        """One clear page: what is missing, and what to do."""
        values = {
            "what": what,
            "why": why,
            "assets": self.assets.addresses,
            "links": Links(),
            "account": account_of(request),
        }
        body = self.render("problem.html.j2", values).encode()
        return tagged(request, body, kind=HTML, cache=NEVER, status=status, headers=later(status))


def page_endpoint(parts: Parts, serve: Endpoint) -> Endpoint:
    """`serve`, with a page for everything that can stand in its way."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except Absent:
            return parts.problem(request, 404, NOT_FOUND, NOT_FOUND_WHY)
        except Unclear as unclear:
            return parts.problem(request, 404, _said(unclear.what), _said(unclear.why))
        except Away:
            return parts.problem(request, 503, AWAY, AWAY_WHY)

    return endpoint


def json_endpoint(serve: Endpoint) -> Endpoint:
    """`serve`, with a JSON answer for everything that can stand in its way."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except Absent:
            return _refused(request, 404, f"{NOT_FOUND}. {NOT_FOUND_WHY}")
        except Unclear as unclear:
            return _refused(request, 404, f"{_said(unclear.what)}. {_said(unclear.why)}".rstrip(". ") + ".")
        except Away:
            return _refused(request, 503, f"{AWAY}. {AWAY_WHY}")
        except LogAway as away:
            return _refused(request, away.status, f"{away.what}. {away.why}")

    return endpoint


def _said(text: str) -> str:
    return legible(redacted(text))


def _refused(request: Request, status: int, text: str) -> Response:
    return json_answer(request, {"error": text}, cache=NEVER, status=status, headers=later(status))


def later(status: int) -> dict[str, str]:
    """When to ask again, where that helps."""
    return {"Retry-After": str(LATER_SECONDS)} if status == 503 else {}


class LogAway(Exception):
    """A log cannot be shown: with which status, what is the matter, and what to do."""

    def __init__(self, status: int, what: str, why: str) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.why = why


def log_away(problem: Told | Broken, address: str) -> LogAway:
    """What is said of a log that its store does not give; the store's address is not for strangers."""
    cause = problem.__cause__
    if isinstance(problem, Damaged):
        return LogAway(404, str(problem), "What was measured from it stays, and its begin can be read.")
    if isinstance(cause, FileNotFoundError | NotADirectoryError) or getattr(cause, "code", None) == 404:
        return LogAway(
            404,
            "This log is gone",
            "It is no longer where it was found: moved, deleted, or removed by the bucket's own rules. "
            "What was measured from it stays; to have a log again, run the case again.",
        )
    said = redacted(str(problem).replace(address, "the log"))
    return LogAway(
        503,
        "The place where this log is kept cannot be read right now",
        f"{said}. What was measured from it stays. Try again in a minute; if it lasts, "
        "tell who operates MaxView.",
    )
