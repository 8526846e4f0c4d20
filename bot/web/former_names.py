"""Redirect addresses of a repository's former names to its present name.

The address of a private repository is redirected only with the key of its former name, and the answer
carries the key of the new one: nobody learns a name who could not read it before.
"""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from msgspec import Struct, field
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.storage import repositories
from bot.storage.database import Database, DatabaseUnavailable
from bot.web.auth.keys import LinkKey

CACHE_SECONDS = 30.0
"""Repositories are renamed rarely."""

API_PARTS = ("api", "v1")


class FormerNames(Struct, kw_only=True):
    """Former names, cached for `CACHE_SECONDS`."""

    database: Database
    key: LinkKey
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
        return row is not None and not row.private


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
        answer = self._app if address is None else RedirectResponse(address, status_code=307)
        await answer(scope, receive, send)

    async def _new_address(self, request: Request) -> str | None:
        segments = request.scope["path"].strip("/").split("/")
        first = len(API_PARTS) if tuple(segments[: len(API_PARTS)]) == API_PARTS else 0
        former = "/".join(segments[first : first + 2])
        current = await self._names.find(former)
        if current is None:
            return None
        key = request.query_params.get("key", "")
        has_key = self._names.key.opens(former, key)
        if not has_key and not await self._names.is_public(current):
            return None
        path = "/".join([*segments[:first], current, *segments[first + 2 :]])
        query = dict(request.query_params)
        query |= {"key": self._names.key.key(current)} if has_key else {}
        return f"/{quote(path)}" + (f"?{QueryParams(query)}" if query else "")


def _may_be_former(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} and scope["path"].count("/") >= 2
