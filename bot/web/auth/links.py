"""Links in comments of private repositories: a key becomes a cookie, and the address is clean again.

A key opens what the reader of one pull request needs: its page, the runs that its reports name with their
logs, and comparisons of those. The cookie is bound to that pull request, sent only below the repository's
addresses and those of runs, and dies with its key: of age, or when an admin rotates the links.
"""

from collections.abc import Callable
from urllib.parse import quote

from msgspec import Struct
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from bot.storage import repositories
from bot.storage.database import Connection, Database, DatabaseUnavailable
from bot.web.answers import NO_STORE, with_security_headers
from bot.web.auth.keys import LinkGrant, LinkKey, read_key

KEY_PARAMETER = "key"

COOKIE_NAME = "maxview-link"

API_PREFIX = "/api/v1"

EXPIRED_LINK = "expired_link"
"""Set in a request's state where its key was good, and is too old."""

MAX_COOKIES = 200
"""Link cookies of one request that are looked at; a browser keeps fewer for a site."""


class KeyHolder(Struct, frozen=True, kw_only=True):
    """The repository of a key as it is stored: its present name, and what its keys are made for."""

    full_name: str
    epoch: int
    former_names: frozenset[str]


def find_holder(connection: Connection, repository_id: int) -> KeyHolder | None:
    """The repository of GitHub's number, with the names that lead to it; None if it is unknown."""
    row = repositories.find_by_number(connection, repository_id)
    epoch = repositories.link_epoch(connection, repository_id)
    if row is None or epoch is None:
        return None
    former = repositories.former_names(connection)
    names = frozenset(name.lower() for name, present in former.items() if present == row.full_name)
    return KeyHolder(full_name=row.full_name, epoch=epoch, former_names=names)


class LinkAccess(Struct, frozen=True, kw_only=True):
    """Turns keys into cookies, and reads the cookies. `secure` where the site is reached over https."""

    database: Database
    key: LinkKey
    now: Callable[[], float]
    secure: bool

    async def exchange(self, request: Request) -> Response | None:
        """The answer to a request with a good key: its cookie, and the way to the address without it. None
        without one; an expired one is noted in the request's state."""
        signed = read_key(request.query_params.get(KEY_PARAMETER, ""))
        if signed is None:
            return None
        try:
            holder = await self.database.read(find_holder, signed.grant.repository_id)
        except DatabaseUnavailable:
            return None
        if holder is None or not self.key.opens(signed, epoch=holder.epoch, kind="key"):
            return None
        if signed.grant.expires <= self.now():
            request.scope["state"][EXPIRED_LINK] = True
            return None
        answer = RedirectResponse(
            _clean_address(request, holder), status_code=303, headers={"Cache-Control": NO_STORE}
        )
        self._put_cookie(answer, signed.grant, holder)
        return with_security_headers(answer)

    def granted(self, request: HTTPConnection, repository_id: int, epoch: int) -> frozenset[int]:
        """The rows of this repository that the request's cookies open."""
        start = f"{self._name}-{repository_id}-"
        values = [value for name, value in request.cookies.items() if name.startswith(start)]
        found = (read_key(value) for value in values[:MAX_COOKIES])
        return frozenset(
            signed.grant.number
            for signed in found
            if signed is not None
            and signed.grant.repository_id == repository_id
            and signed.grant.expires > self.now()
            and self.key.opens(signed, epoch=epoch, kind="cookie")
        )

    def _put_cookie(self, answer: Response, grant: LinkGrant, holder: KeyHolder) -> None:
        name = f"{self._name}-{grant.repository_id}-{grant.number}"
        seconds = int(grant.expires - self.now())
        own = quote(f"/{holder.full_name}")
        for path in (own, API_PREFIX + own, "/runs", f"{API_PREFIX}/runs"):
            answer.set_cookie(
                name,
                self.key.cookie(grant, epoch=holder.epoch) or "",
                max_age=seconds,
                path=path,
                secure=self.secure,
                httponly=True,
                samesite="lax",
            )

    @property
    def _name(self) -> str:
        return f"__Secure-{COOKIE_NAME}" if self.secure else COOKIE_NAME


def _clean_address(request: Request, holder: KeyHolder) -> str:
    """The address without the key, under the repository's present name where it has a former one."""
    path = request.scope["path"]
    above = API_PREFIX if path.startswith(f"{API_PREFIX}/") else ""
    segments = path.removeprefix(above).lstrip("/").split("/")
    if "/".join(segments[:2]).lower() in holder.former_names:
        segments[:2] = holder.full_name.split("/")
    address = f"{above}/" + quote("/".join(segments), safe="/:@!$&'()*+,;=~")
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != KEY_PARAMETER]
    query = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in kept)
    return address + (f"?{query}" if query else "")
