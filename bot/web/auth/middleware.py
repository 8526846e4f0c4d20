"""ASGI middleware that identifies the visitor, by session cookie or `Authorization: Bearer`.

An answer made for one visitor is cached for nobody else, and over https browsers stay on it.
"""

import re
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.storage.database import DatabaseUnavailable
from bot.web.answers import CACHE_PRIVATE, CACHE_PUBLIC, NO_STORE, UNLISTED_HEADERS, with_security_headers
from bot.web.auth.links import LinkAccess
from bot.web.auth.sessions import Sessions
from bot.web.auth.visitor import PermissionCache, PermissionUnknown, Visitor
from bot.web.layout import NOT_FOUND, NOT_FOUND_WHY

HSTS = "max-age=31536000"

SIGN_IN_PARAMETER = "sign-in"
"""`?sign-in=` on any page starts a sign-in that returns to that page, so no page needs to name itself."""

INTERNAL_ERROR = "MaxView failed here"

INTERNAL_ERROR_WHY = (
    "This address met a fault of the program, and its log says which. Try again; if it lasts, tell who "
    "operates MaxView."
)

PERMISSION_UNKNOWN = "GitHub cannot be asked right now what you may see"

PERMISSION_UNKNOWN_WHY = "Try again in a minute; public repositories are open meanwhile."

# ghp_… gho_… ghu_… ghs_… github_pat_…, and the forty hexadecimal digits of old tokens
_GITHUB_TOKEN = re.compile(r"(?:gh[a-z]_|github_pat_)[A-Za-z0-9._-]{16,1000}|[0-9a-f]{40}")

ProblemAnswer = Callable[[Request, int, str, str], Response]


class AuthContext(Struct, frozen=True, kw_only=True):
    """What the middleware works with.

    `problem` builds the answer to a failure. Without `sessions` nobody can sign in. `github_url` is GitHub's
    address for people.
    """

    problem: ProblemAnswer
    secure: bool
    github_url: str
    links: LinkAccess
    sessions: Sessions | None = None
    permissions: PermissionCache | None = None


def internal_error_handler(auth: AuthContext) -> Callable[[Request, Exception], Awaitable[Response]]:
    """The handler of unexpected exceptions: a page or JSON; the server's log has the cause."""

    async def answer(request: Request, _error: Exception) -> Response:
        return auth.problem(request, 500, INTERNAL_ERROR, INTERNAL_ERROR_WHY)

    return answer


class AuthMiddleware:
    """Puts the visitor into the request's state, and adds the headers that depend on who asks."""

    def __init__(self, app: ASGIApp, auth: AuthContext) -> None:
        self._app = app
        self._auth = auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if self._auth.sessions and request.method == "GET" and SIGN_IN_PARAMETER in request.query_params:
            await _redirect_to_sign_in(request)(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["github_url"] = self._auth.github_url
        state["sign_in"] = self._auth.sessions is not None
        state["visitor"] = visitor = await self._visitor(request)
        sender = _HeaderSender(send, secure=self._auth.secure, identified=visitor is not None)
        exchange = await self._auth.links.exchange(request) if request.method in {"GET", "HEAD"} else None
        if exchange is not None:
            await exchange(scope, receive, sender)
            return
        if "\n" in scope["path"]:
            # No name contains a line break, and Starlette's routes would match only up to it.
            answer = self._auth.problem(request, 404, NOT_FOUND, NOT_FOUND_WHY)
            await answer(scope, receive, sender)
            return
        try:
            await self._app(scope, receive, sender)
        except PermissionUnknown:
            answer = self._auth.problem(request, 503, PERMISSION_UNKNOWN, PERMISSION_UNKNOWN_WHY)
            await answer(scope, receive, sender)

    async def _visitor(self, request: HTTPConnection) -> Visitor | None:
        token = _bearer_token(request.headers)
        if token is not None and self._auth.permissions is not None:
            return Visitor(permissions=self._auth.permissions, token=token)
        if self._auth.sessions is None:
            return None
        try:
            return await self._auth.sessions.visitor(request)
        except DatabaseUnavailable:
            # Public pages report themselves that the database is down.
            return None


class _HeaderSender:
    """Passes an answer on with the headers that depend on its visitor."""

    def __init__(self, send: Send, *, secure: bool, identified: bool) -> None:
        self._send = send
        self._secure = secure
        self._identified = identified

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.add_vary_header("Cookie, Authorization")
            for name, value in UNLISTED_HEADERS.items():
                headers.setdefault(name, value)
            if self._secure:
                headers.setdefault("Strict-Transport-Security", HSTS)
            if self._identified and headers.get("Cache-Control") == CACHE_PUBLIC:
                headers["Cache-Control"] = CACHE_PRIVATE
        await self._send(message)


def _bearer_token(headers: Headers) -> str | None:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" and _GITHUB_TOKEN.fullmatch(token) else None


def _redirect_to_sign_in(request: Request) -> Response:
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != SIGN_IN_PARAMETER]
    query = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in kept)
    path = quote(request.scope["path"], safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")
    aim = f"/sign-in?next={quote(path, safe='')}"
    return with_security_headers(RedirectResponse(aim, status_code=303, headers={"Cache-Control": NO_STORE}))
