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
"""A working day, which is also the lifetime of an App's user token on GitHub."""

SIGN_IN_SECONDS = 600
"""Time between the click on `Sign in` and GitHub's answer."""


class AuthCookies(Struct, frozen=True, kw_only=True):
    """Two cookies, HttpOnly and SameSite; over https they are bound to this host."""

    secure: bool

    @property
    def session(self) -> str:
        """The name of the session's cookie."""
        return f"{self._prefix}maxview-session"

    @property
    def sign_in(self) -> str:
        """The name of the cookie of a sign-in under way."""
        return f"{self._prefix}maxview-sign-in"

    def put(self, response: Response, name: str, value: str, seconds: int) -> None:
        """Set a cookie."""
        response.set_cookie(
            name, value, max_age=seconds, path="/", secure=self.secure, httponly=True, samesite="lax"
        )

    def drop(self, response: Response, name: str) -> None:
        """Delete a cookie."""
        response.delete_cookie(name, path="/", secure=self.secure, httponly=True, samesite="lax")

    @property
    def _prefix(self) -> str:
        return "__Host-" if self.secure else ""


class Sessions(Struct, frozen=True, kw_only=True):
    """The sessions of an installation."""

    database: Database
    permissions: PermissionCache
    seal: CookieSeal
    cookies: AuthCookies
    now: Callable[[], float]

    async def begin(self, response: Response, *, login: str, token: str, seconds: float | None) -> None:
        """Sign somebody in for the token's lifetime, at most `SESSION_SECONDS`."""
        lifetime = int(min(seconds or SESSION_SECONDS, SESSION_SECONDS))
        name = secrets.token_urlsafe(32)
        now = self.now()
        row = SessionRow(digest=_digest(name), login=login, made=now, expires=now + lifetime)
        await self.database.write(sessions.begin, row)
        sealed = self.seal.close({"name": name, "token": token}, now=now)
        self.cookies.put(response, self.cookies.session, sealed, lifetime)

    async def visitor(self, request: HTTPConnection) -> Visitor | None:
        """The visitor of the request's session; None without a valid one."""
        opened = self._open_cookie(request)
        if opened is None:
            return None
        row = await self.database.read(sessions.find, _digest(opened["name"]), self.now())
        if row is None:
            return None
        return Visitor(
            permissions=self.permissions,
            token=opened["token"],
            login=row.login,
            proof=self.seal.proof(opened["name"]),
        )

    async def end(self, request: HTTPConnection, proof: str) -> str | None:
        """End the session if `proof` is its form's; returns the token that is no longer needed."""
        opened = self._open_cookie(request)
        if opened is None or not self.seal.proves(opened["name"], proof):
            return None
        await self.database.write(sessions.end, _digest(opened["name"]))
        return opened["token"]

    def _open_cookie(self, request: HTTPConnection) -> dict[str, str] | None:
        sealed = request.cookies.get(self.cookies.session, "")
        return self.seal.open(sealed, within=SESSION_SECONDS, now=self.now()) if sealed else None


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
