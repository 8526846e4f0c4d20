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
from bot.web.answers import CACHE_PRIVATE, CACHE_PUBLIC, NO_STORE, with_security_headers
from bot.web.auth.sessions import Sessions
from bot.web.auth.visitor import PermissionCache, PermissionUnknown, Visitor
from bot.web.layout import NOT_FOUND, NOT_FOUND_WHY

HSTS = "max-age=31536000"

SIGN_IN_PARAMETER = "sign-in"
"""`?sign-in=` of any page leads to signing in and back to it, so that no page needs to name itself."""

INTERNAL_ERROR = "MaxView failed here"

INTERNAL_ERROR_WHY = (
    "This address met a fault of the program, and its log says which. Try again; if it lasts, tell who "
    "operates MaxView."
)

PERMISSION_UNKNOWN = "GitHub cannot be asked right now what you may see"

PERMISSION_UNKNOWN_WHY = "Try again in a minute; public repositories are open meanwhile."

# ghp_… gho_… ghu_… ghs_… github_pat_…, and forty digits as they once were
_GITHUB_TOKEN = re.compile(r"(?:gh[a-z]_|github_pat_)[A-Za-z0-9._-]{16,1000}|[0-9a-f]{40}")

ProblemAnswer = Callable[[Request, int, str, str], Response]


class AuthContext(Struct, frozen=True, kw_only=True):
    """What the reception works with. Without `sessions` nobody can sign in; `problem` makes a page,
    `github` is where people meet GitHub."""

    problem: ProblemAnswer
    secure: bool
    github: str
    sessions: Sessions | None = None
    permissions: PermissionCache | None = None


def internal_error_handler(desk: AuthContext) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What answers where nobody foresaw what went wrong: a page, or JSON; the program's log has the cause."""

    async def answer(request: Request, _fault: Exception) -> Response:
        return desk.problem(request, 500, INTERNAL_ERROR, INTERNAL_ERROR_WHY)

    return answer


class AuthMiddleware:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, desk: AuthContext) -> None:
        self._app = app
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if self._desk.sessions and request.method == "GET" and SIGN_IN_PARAMETER in request.query_params:
            await _redirect_to_sign_in(request)(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["github"] = self._desk.github
        state["sign_in"] = self._desk.sessions is not None
        state["visitor"] = visitor = await self._visitor(request)
        finish = _HeaderSender(send, secure=self._desk.secure, known=visitor is not None)
        if "\n" in scope["path"]:
            # No name holds a line break, and the routes would end there.
            answer = self._desk.problem(request, 404, NOT_FOUND, NOT_FOUND_WHY)
            await answer(scope, receive, finish)
            return
        try:
            await self._app(scope, receive, finish)
        except PermissionUnknown:
            answer = self._desk.problem(request, 503, PERMISSION_UNKNOWN, PERMISSION_UNKNOWN_WHY)
            await answer(scope, receive, finish)

    async def _visitor(self, request: HTTPConnection) -> Visitor | None:
        token = _bearer_token(request.headers)
        if token is not None and self._desk.permissions is not None:
            return Visitor(permissions=self._desk.permissions, token=token)
        if self._desk.sessions is None:
            return None
        try:
            return await self._desk.sessions.visitor(request)
        except DatabaseUnavailable:
            # Public pages say themselves that the database is away.
            return None


class _HeaderSender:
    """Sends an answer on, with the headers that depend on who it is for."""

    def __init__(self, send: Send, *, secure: bool, known: bool) -> None:
        self._send = send
        self._secure = secure
        self._known = known

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.add_vary_header("Cookie, Authorization")
            if self._secure:
                headers.setdefault("Strict-Transport-Security", HSTS)
            if self._known and headers.get("Cache-Control") == CACHE_PUBLIC:
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
