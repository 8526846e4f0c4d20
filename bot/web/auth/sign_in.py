"""Sign in with GitHub and out: OAuth's web flow with PKCE and a state that one browser knows.

`/sign-in?next=`, `/sign-in/callback?code=&state=`, and `/sign-out`, which only a page of ours can post.
`next` is a path of this site or ignored.
"""

import hashlib
import logging
import re
import secrets
from base64 import urlsafe_b64encode
from hmac import compare_digest
from typing import Protocol
from urllib.parse import parse_qs

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bot.errors import InternalError, InvalidToken, UserError
from bot.web.answers import NO_STORE, with_security_headers
from bot.web.auth.keys import CookieSeal
from bot.web.auth.sessions import SIGN_IN_SECONDS, Sessions
from bot.web.auth.visitor import PermissionSource
from bot.web.layout import WebContext

LOG = logging.getLogger(__name__)

NOT_SET_UP = "Signing in is not set up"

NOT_SET_UP_WHY = (
    "The pages of a private repository are reached through the links in MaxView's comments on its pull "
    "requests. Who operates MaxView can let people sign in: set GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET."
)

UNKNOWN_SIGN_IN = "This sign-in was not begun here"

UNKNOWN_SIGN_IN_WHY = "It was begun in another browser, or more than ten minutes ago. Begin it again."

NOT_SIGNED_IN = "You are not signed in"

NOT_SIGNED_IN_WHY = (
    "GitHub was not told to let MaxView know who you are. Public repositories are open without it."
)

GITHUB_DOWN = "GitHub cannot be reached right now"

GITHUB_DOWN_WHY = "Try again in a minute; public repositories are open meanwhile."

MAX_NEXT_LENGTH = 2_000

MAX_FORM_BYTES = 10_000

# /octo/maxtext/pull/7?head=abc#case    never //host, /\host, a space or a control character
_LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")


class SignInToken(Protocol):
    """A person's token from GitHub."""

    @property
    def secret(self) -> str:
        """The token itself."""
        ...

    @property
    def seconds(self) -> float | None:
        """Its lifetime, if GitHub states one."""
        ...


class IdentityProvider(PermissionSource, Protocol):
    """The part of GitHub that signs people in."""

    def sign_in_url(self, *, back_to: str, state: str, challenge: str) -> str:
        """The address on GitHub that the browser is sent to."""
        ...

    async def token(self, *, code: str, verifier: str, back_to: str) -> SignInToken:
        """The token that a code is exchanged for."""
        ...

    async def login(self, token: str) -> str:
        """The login of the token's owner."""
        ...

    async def forget(self, token: str) -> None:
        """Revoke a token."""
        ...


class SignIn(Struct, frozen=True, kw_only=True):
    """What sign-in works with; `seal` seals the cookie of a sign-in under way."""

    provider: IdentityProvider
    sessions: Sessions
    seal: CookieSeal


def sign_in_routes(context: WebContext, sign_in: SignIn | None) -> list[BaseRoute]:
    """The routes; without `sign_in` they answer that it is not set up."""

    async def begin(request: Request) -> Response:
        if sign_in is None:
            return context.problem(request, 404, NOT_SET_UP, NOT_SET_UP_WHY)
        return _begin_sign_in(context, sign_in, request)

    async def callback(request: Request) -> Response:
        if sign_in is None:
            return context.problem(request, 404, NOT_SET_UP, NOT_SET_UP_WHY)
        try:
            return await _finish_sign_in(context, sign_in, request)
        except UserError as problem:
            return context.problem(request, 400, NOT_SIGNED_IN, problem.text)
        except InternalError as problem:
            LOG.warning("a sign-in failed: %s", problem)
            return context.problem(request, 503, GITHUB_DOWN, GITHUB_DOWN_WHY)

    async def end(request: Request) -> Response:
        return await _sign_out(sign_in, request)

    return [
        Route("/sign-in", begin, methods=["GET"]),
        Route("/sign-in/callback", callback, methods=["GET"]),
        Route("/sign-out", end, methods=["POST"]),
    ]


def local_path(requested: str) -> str:
    """`requested` if it is a path of this site, else `/`: no link to us leads anybody elsewhere."""
    return requested if len(requested) <= MAX_NEXT_LENGTH and _LOCAL_PATH.fullmatch(requested) else "/"


def _begin_sign_in(context: WebContext, sign_in: SignIn, request: Request) -> Response:
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = urlsafe_b64encode(digest).decode().rstrip("=")
    url = sign_in.provider.sign_in_url(back_to=_callback_url(context), state=state, challenge=challenge)
    response = RedirectResponse(url, status_code=303, headers={"Cache-Control": NO_STORE})
    destination = local_path(request.query_params.get("next", "/"))
    sealed = sign_in.seal.close(
        {"state": state, "verifier": verifier, "next": destination}, now=sign_in.sessions.now()
    )
    cookies = sign_in.sessions.cookies
    cookies.put(response, cookies.sign_in, sealed, SIGN_IN_SECONDS)
    return with_security_headers(response)


async def _finish_sign_in(context: WebContext, sign_in: SignIn, request: Request) -> Response:
    sessions, query = sign_in.sessions, request.query_params
    sealed = request.cookies.get(sessions.cookies.sign_in, "")
    pending = sign_in.seal.open(sealed, within=SIGN_IN_SECONDS, now=sessions.now())
    if pending is None or not compare_digest(pending["state"].encode(), query.get("state", "").encode()):
        return context.problem(request, 400, UNKNOWN_SIGN_IN, UNKNOWN_SIGN_IN_WHY)
    if "code" not in query:
        return _drop_sign_in_cookie(sessions, context.problem(request, 400, NOT_SIGNED_IN, NOT_SIGNED_IN_WHY))
    token = await sign_in.provider.token(
        code=query["code"], verifier=pending["verifier"], back_to=_callback_url(context)
    )
    login = await sign_in.provider.login(token.secret)
    response = RedirectResponse(
        local_path(pending["next"]), status_code=303, headers={"Cache-Control": NO_STORE}
    )
    await sessions.begin(response, login=login, token=token.secret, seconds=token.seconds)
    LOG.info("signed in", extra={"login": login})
    return with_security_headers(_drop_sign_in_cookie(sessions, response))


async def _sign_out(sign_in: SignIn | None, request: Request) -> Response:
    response = with_security_headers(
        RedirectResponse("/", status_code=303, headers={"Cache-Control": NO_STORE})
    )
    if sign_in is None:
        return response
    token = await sign_in.sessions.end(request, await _form_field(request, "proof"))
    if token is None:
        return response
    sign_in.sessions.cookies.drop(response, sign_in.sessions.cookies.session)
    try:
        await sign_in.provider.forget(token)
    except (InternalError, InvalidToken) as problem:
        # The session has ended; the token expires by itself within hours.
        LOG.warning("a token could not be ended: %s", problem)
    return response


async def _form_field(request: Request, name: str) -> str:
    """One field of a small form; empty if it is missing or the form too long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return ""
    return parse_qs(body.decode("utf-8", "replace")).get(name, [""])[0]


def _drop_sign_in_cookie(sessions: Sessions, response: Response) -> Response:
    """Delete the cookie of the sign-in: each is used once."""
    sessions.cookies.drop(response, sessions.cookies.sign_in)
    return response


def _callback_url(context: WebContext) -> str:
    return f"{context.public_url}/sign-in/callback"
