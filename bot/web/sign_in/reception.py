"""Finds out who comes in, before any page is made, and sees to what every answer needs for that.

In:  a request: a session's cookie, or `Authorization: Bearer` with a GitHub token.
Out: the same request, with the visitor in its state.

Promises that an answer made for one visitor is kept by no other, and that over https browsers stay on it.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.storage.database import Away
from bot.web.frame.endpoints import NOT_FOUND, NOT_FOUND_WHY
from bot.web.ground.answers import NEVER, PRIVATE, PUBLIC, secured
from bot.web.ground.visitor import Permissions, Unasked, Visitor
from bot.web.sign_in.sessions import Sessions

HSTS = "max-age=31536000"

BEGIN = "sign-in"
"""`?sign-in=` of any page leads to signing in and back to it, so that no page needs to name itself."""

FAILED = "MaxView failed here"
FAILED_WHY = (
    "This address met a fault of the program, and its log says which. Try again; if it lasts, tell who "
    "operates MaxView."
)
UNASKED = "GitHub cannot be asked right now what you may see"
UNASKED_WHY = "Try again in a minute; public repositories are open meanwhile."

# ghp_… gho_… ghu_… ghs_… github_pat_…, and forty digits as they once were
_TOKEN = re.compile(r"(?:gh[a-z]_|github_pat_)[A-Za-z0-9._-]{16,1000}|[0-9a-f]{40}")

Problem = Callable[[Request, int, str, str], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the reception works with. Without `sessions` nobody can sign in; `problem` makes a page,
    `github` is where people meet GitHub."""

    problem: Problem
    secure: bool
    github: str
    sessions: Sessions | None = None
    permissions: Permissions | None = None


def failure(desk: Desk) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What answers where nobody foresaw what went wrong: a page, or JSON; the program's log has the cause."""

    async def answer(request: Request, _fault: Exception) -> Response:
        return desk.problem(request, 500, FAILED, FAILED_WHY)

    return answer


class Reception:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if self._desk.sessions and request.method == "GET" and BEGIN in request.query_params:
            await _to_sign_in(request)(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["github"] = self._desk.github
        state["sign_in"] = self._desk.sessions is not None
        state["visitor"] = visitor = await self._visitor(request)
        finish = _Finishing(send, secure=self._desk.secure, known=visitor is not None)
        if "\n" in scope["path"]:
            # No name holds a line break, and the routes would end there.
            answer = self._desk.problem(request, 404, NOT_FOUND, NOT_FOUND_WHY)
            await answer(scope, receive, finish)
            return
        try:
            await self._app(scope, receive, finish)
        except Unasked:
            answer = self._desk.problem(request, 503, UNASKED, UNASKED_WHY)
            await answer(scope, receive, finish)

    async def _visitor(self, request: HTTPConnection) -> Visitor | None:
        token = _bearer(request.headers)
        if token is not None and self._desk.permissions is not None:
            return Visitor(permissions=self._desk.permissions, token=token)
        if self._desk.sessions is None:
            return None
        try:
            return await self._desk.sessions.visitor(request)
        except Away:
            # Public pages say themselves that the database is away.
            return None


class _Finishing:
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
            if self._known and headers.get("Cache-Control") == PUBLIC:
                headers["Cache-Control"] = PRIVATE
        await self._send(message)


def _bearer(headers: Headers) -> str | None:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" and _TOKEN.fullmatch(token) else None


def _to_sign_in(request: Request) -> Response:
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != BEGIN]
    query = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in kept)
    path = quote(request.scope["path"], safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")
    aim = f"/sign-in?next={quote(path, safe='')}"
    return secured(RedirectResponse(aim, status_code=303, headers={"Cache-Control": NEVER}))
