"""Signing in with GitHub, and out: the web flow of OAuth, with PKCE and a state that one browser knows.

In:  `/sign-in?next=`, `/sign-in/callback?code=&state=`, and `/sign-out`, which only a page of ours can post.
Out: a session, and the page one came from. `next` is a path of this site or nothing.
"""

import hashlib
import logging
import re
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hmac import compare_digest
from typing import Protocol
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bot.errors import Broken, Refused, Told
from bot.web.frame.parts import Parts
from bot.web.ground.answers import NEVER, secured
from bot.web.ground.visitor import Readers
from bot.web.sign_in.seal import Seal
from bot.web.sign_in.sessions import BEGINNING_SECONDS, Sessions

LOG = logging.getLogger(__name__)

NOT_SET_UP = "Signing in is not set up"
NOT_SET_UP_WHY = (
    "The pages of a private repository are reached through the links in MaxView's comments on its pull "
    "requests. Who operates MaxView can let people sign in: set GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET."
)
NOT_BEGUN = "This sign-in was not begun here"
NOT_BEGUN_WHY = "It was begun in another browser, or more than ten minutes ago. Begin it again."
NOT_ALLOWED = "You are not signed in"
NOT_ALLOWED_WHY = (
    "GitHub was not told to let MaxView know who you are. Public repositories are open without it."
)
AWAY = "GitHub cannot be reached right now"
AWAY_WHY = "Try again in a minute; public repositories are open meanwhile."

LONGEST_NEXT = 2_000
LONGEST_FORM = 10_000

# /octo/maxtext/pull/7?head=abc#case    never //host, /\host, a space or a control
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")


class Token(Protocol):
    """A person's token."""

    @property
    def secret(self) -> str:
        """The token itself."""
        ...

    @property
    def seconds(self) -> float | None:
        """How long it is good for, where GitHub says."""
        ...


class People(Readers, Protocol):
    """What signing in asks of GitHub."""

    def sign_in_url(self, *, back_to: str, state: str, challenge: str) -> str:
        """Where the browser goes."""
        ...

    async def token(self, *, code: str, verifier: str, back_to: str) -> Token:
        """What a code stands for."""
        ...

    async def login(self, token: str) -> str:
        """Whose token this is."""
        ...

    async def forget(self, token: str) -> None:
        """End a token."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """What signing in takes; `seal` is for the cookie of who is about to."""

    people: People
    sessions: Sessions
    seal: Seal


def sign_in_routes(parts: Parts, sign_in: SignIn | None) -> list[BaseRoute]:
    """The routes; without `sign_in` they say that it is not set up."""

    async def begin(request: Request) -> Response:
        if sign_in is None:
            return parts.problem(request, 404, NOT_SET_UP, NOT_SET_UP_WHY)
        return _begun(parts, sign_in, request)

    async def callback(request: Request) -> Response:
        if sign_in is None:
            return parts.problem(request, 404, NOT_SET_UP, NOT_SET_UP_WHY)
        try:
            return await _signed_in(parts, sign_in, request)
        except Told as told:
            return parts.problem(request, 400, NOT_ALLOWED, told.text)
        except Broken as broken:
            LOG.warning("a sign-in failed: %s", broken)
            return parts.problem(request, 503, AWAY, AWAY_WHY)

    async def end(request: Request) -> Response:
        return await _signed_out(sign_in, request)

    return [
        Route("/sign-in", begin, methods=["GET"]),
        Route("/sign-in/callback", callback, methods=["GET"]),
        Route("/sign-out", end, methods=["POST"]),
    ]


def local_path(asked: str) -> str:
    """`asked` where it is a path of this site, else the first page: no link to us sends anybody elsewhere."""
    return asked if len(asked) <= LONGEST_NEXT and _LOCAL.fullmatch(asked) else "/"


def _begun(parts: Parts, sign_in: SignIn, request: Request) -> Response:
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = urlsafe_b64encode(digest).decode().rstrip("=")
    url = sign_in.people.sign_in_url(back_to=_back_to(parts), state=state, challenge=challenge)
    response = RedirectResponse(url, status_code=303, headers={"Cache-Control": NEVER})
    aim = local_path(request.query_params.get("next", "/"))
    sealed = sign_in.seal.close(
        {"state": state, "verifier": verifier, "next": aim}, now=sign_in.sessions.now()
    )
    cookies = sign_in.sessions.cookies
    cookies.put(response, cookies.beginning, sealed, BEGINNING_SECONDS)
    return secured(response)


async def _signed_in(parts: Parts, sign_in: SignIn, request: Request) -> Response:
    sessions, asked = sign_in.sessions, request.query_params
    sealed = request.cookies.get(sessions.cookies.beginning, "")
    begun = sign_in.seal.open(sealed, within=BEGINNING_SECONDS, now=sessions.now())
    if begun is None or not compare_digest(begun["state"].encode(), asked.get("state", "").encode()):
        return parts.problem(request, 400, NOT_BEGUN, NOT_BEGUN_WHY)
    if "code" not in asked:
        return _without(sessions, parts.problem(request, 400, NOT_ALLOWED, NOT_ALLOWED_WHY))
    token = await sign_in.people.token(
        code=asked["code"], verifier=begun["verifier"], back_to=_back_to(parts)
    )
    login = await sign_in.people.login(token.secret)
    response = RedirectResponse(local_path(begun["next"]), status_code=303, headers={"Cache-Control": NEVER})
    await sessions.begin(response, login=login, token=token.secret, seconds=token.seconds)
    LOG.info("signed in", extra={"login": login})
    return secured(_without(sessions, response))


async def _signed_out(sign_in: SignIn | None, request: Request) -> Response:
    response = secured(RedirectResponse("/", status_code=303, headers={"Cache-Control": NEVER}))
    if sign_in is None:
        return response
    token = await sign_in.sessions.end(request, await _posted(request, "proof"))
    if token is None:
        return response
    sign_in.sessions.cookies.drop(response, sign_in.sessions.cookies.session)
    try:
        await sign_in.people.forget(token)
    except (Broken, Refused) as problem:
        # The session is over; the token ends by itself within hours.
        LOG.warning("a token could not be ended: %s", problem)
    return response


async def _posted(request: Request, name: str) -> str:
    """One field of a small form."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            return ""
    return parse_qs(body.decode("utf-8", "replace")).get(name, [""])[0]


def _without(sessions: Sessions, response: Response) -> Response:
    """The cookie of a sign-in is good for one."""
    sessions.cookies.drop(response, sessions.cookies.beginning)
    return response


def _back_to(parts: Parts) -> str:
    return f"{parts.public_url}/sign-in/callback"
