"""Redirect addresses of a public repository's former names to its present name.

A private repository's are not redirected: nobody learns a name who could not read it before, and no key is
made for anybody. Who has a key is led on by `bot.web.auth.links`.
"""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.storage import repositories
from bot.storage.database import Database, DatabaseUnavailable
from bot.web.answers import NO_STORE, with_security_headers

CACHE_SECONDS = 30.0
"""Repositories are renamed rarely."""

API_PARTS = ("api", "v1")


class FormerNames(Struct, kw_only=True):
    """Former names, cached for `CACHE_SECONDS`."""

    database: Database
    now: Callable[[], float]
    _cache: Mapping[str, str] = field(default_factory=dict)
    _read_at: float = 0.0

    async def find(self, name: str) -> str | None:
        """The present name of a repository; None if `name` is no former one."""
        if self.now() - self._read_at > CACHE_SECONDS:
            self._cache = await self.database.read(repositories.former_names)
            self._read_at = self.now()
        return self._cache.get(name)

    async def is_public(self, full_name: str) -> bool:
        """Whether the repository is known and public."""
        row = await self.database.read(repositories.find_repository, full_name)
        return row is not None and row.is_public(self.now())


class FormerNameRedirect:
    """ASGI middleware in front of the site."""

    def __init__(self, app: ASGIApp, names: FormerNames) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Redirect or pass on; while the database is down the site itself reports it."""
        try:
            address = await self._new_address(Request(scope)) if _may_be_former(scope) else None
        except DatabaseUnavailable:
            address = None
        answer = self._app if address is None else _redirect(address)
        await answer(scope, receive, send)

    async def _new_address(self, request: Request) -> str | None:
        segments = request.scope["path"].strip("/").split("/")
        first = len(API_PARTS) if tuple(segments[: len(API_PARTS)]) == API_PARTS else 0
        former = "/".join(segments[first : first + 2])
        current = await self._names.find(former)
        if current is None or not await self._names.is_public(current):
            return None
        path = "/".join([*segments[:first], current, *segments[first + 2 :]])
        return f"/{quote(path)}" + (f"?{request.query_params}" if request.query_params else "")


def _redirect(address: str) -> Response:
    return with_security_headers(
        RedirectResponse(address, status_code=307, headers={"Cache-Control": NO_STORE})
    )


def _may_be_former(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} and scope["path"].count("/") >= 2
