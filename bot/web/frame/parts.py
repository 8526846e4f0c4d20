"""What every page and JSON answer is made with.

In:  the parts the program joins. Out: `Parts`, which sets pages.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.storage.database import Database
from bot.web.cases.comparisons import Comparisons
from bot.web.ground.access import Visit
from bot.web.ground.answers import HTML, NEVER, PUBLIC, tagged
from bot.web.ground.assets import Assets, read_assets
from bot.web.ground.link_key import LinkKey
from bot.web.ground.links import Links
from bot.web.ground.visitor import account_of
from bot.web.log.source import Logs

Render = Callable[[str, Mapping[str, object]], str]

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
            "account": account_of(request),
        }
        body = self.render("problem.html.j2", values).encode()
        return tagged(request, body, kind=HTML, cache=NEVER, status=status, headers=later(status))


def later(status: int) -> dict[str, str]:
    """When to ask again, where that helps."""
    return {"Retry-After": str(LATER_SECONDS)} if status == 503 else {}
