"""Sessions of signed-in people: begin, find by cookie, end.

The browser holds the session's name and the person's token, sealed; the database holds the name's digest and
its expiry. Neither of the two is enough to enter, and an ended session stays ended.
"""

import hashlib
import secrets
from collections.abc import Callable

from msgspec import Struct
from starlette.requests import HTTPConnection
from starlette.responses import Response

from bot.storage import sessions
from bot.storage.database import Database
from bot.storage.sessions import SessionRow
from bot.web.auth.keys import CookieSeal
from bot.web.auth.visitor import PermissionCache, Visitor

SESSION_SECONDS = 8 * 3600
"""A working day, which is also how long GitHub lets a token of an App live."""

SIGN_IN_SECONDS = 600
"""From the click on `Sign in` to GitHub's answer."""


class AuthCookies(Struct, frozen=True, kw_only=True):
    """Two cookies that no script reads and no other site sends; over https they are bound to this host."""

    secure: bool

    @property
    def session(self) -> str:
        """The cookie of who is signed in."""
        return f"{self._prefix}maxview-session"

    @property
    def beginning(self) -> str:
        """The cookie of who is signing in."""
        return f"{self._prefix}maxview-sign-in"

    def put(self, response: Response, name: str, value: str, seconds: int) -> None:
        """Set one of them."""
        response.set_cookie(
            name, value, max_age=seconds, path="/", secure=self.secure, httponly=True, samesite="lax"
        )

    def drop(self, response: Response, name: str) -> None:
        """Take one of them back."""
        response.delete_cookie(name, path="/", secure=self.secure, httponly=True, samesite="lax")

    @property
    def _prefix(self) -> str:
        return "__Host-" if self.secure else ""


class Sessions(Struct, frozen=True, kw_only=True):
    """All sessions of an installation."""

    database: Database
    permissions: PermissionCache
    seal: CookieSeal
    cookies: AuthCookies
    now: Callable[[], float]

    async def begin(self, response: Response, *, login: str, token: str, seconds: float | None) -> None:
        """Sign somebody in, for as long as the token is good and not longer than `SESSION_SECONDS`."""
        lasts = int(min(seconds or SESSION_SECONDS, SESSION_SECONDS))
        name = secrets.token_urlsafe(32)
        now = self.now()
        row = SessionRow(digest=_digest(name), login=login, made=now, expires=now + lasts)
        await self.database.write(sessions.begin, row)
        sealed = self.seal.close({"name": name, "token": token}, now=now)
        self.cookies.put(response, self.cookies.session, sealed, lasts)

    async def visitor(self, request: HTTPConnection) -> Visitor | None:
        """Who is signed in, as the cookie and the database say."""
        known = self._opened(request)
        if known is None:
            return None
        row = await self.database.read(sessions.find, _digest(known["name"]), self.now())
        if row is None:
            return None
        return Visitor(
            permissions=self.permissions,
            token=known["token"],
            login=row.login,
            proof=self.seal.proof(known["name"]),
        )

    async def end(self, request: HTTPConnection, given: str) -> str | None:
        """Sign out whoever sends the form of a page of theirs; the token that is not needed any more."""
        known = self._opened(request)
        if known is None or not self.seal.proves(known["name"], given):
            return None
        await self.database.write(sessions.end, _digest(known["name"]))
        return known["token"]

    def _opened(self, request: HTTPConnection) -> dict[str, str] | None:
        sealed = request.cookies.get(self.cookies.session, "")
        return self.seal.open(sealed, within=SESSION_SECONDS, now=self.now()) if sealed else None


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
