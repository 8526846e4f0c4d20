"""Sends requests to GitHub: the only module that meets githubkit.

In:  who asks (the App, or one of its installations), a method and a path. Out: an `Answer`, or an exception
     of `bot.github.errors`.

Nothing is sent twice but a request that GitHub refused for its token, once, with a new token. After a rate
limit nothing is sent for that installation until it ends. One connection pool serves all.
"""

import importlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import NoReturn, Protocol
from urllib.parse import quote

import httpx

from bot.errors import Broken
from bot.github.answer import Answer, read_answer
from bot.github.errors import TROUBLE_SECONDS, Limited, TryLater, refusal
from bot.github.tokens import Token, Tokens

API_VERSION = "2022-11-28"
# GitHub ends a request itself after ten seconds.
TIMEOUT = httpx.Timeout(15.0, connect=5.0)
MOST_PAGES = 100
# Failures before a request has left: GitHub cannot have acted on it.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

Json = Mapping[str, object]


class _Response(Protocol):
    @property
    def raw_response(self) -> httpx.Response: ...


class _Client(Protocol):
    """The part of githubkit's `GitHub` that is used."""

    async def arequest(
        self, method: str, url: str, *, params: object, json: object, headers: object
    ) -> _Response: ...


# httpx asks for this very class; a client closes the transport it is given, and this one is shared.
class _Shared(httpx.AsyncBaseTransport):
    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self.transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self.transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Stay open: the door closes the transport at the end."""


class Door:
    """The connection of one App to GitHub."""

    def __init__(
        self,
        *,
        app_id: int,
        private_key: str,
        api_url: str,
        transport: httpx.AsyncBaseTransport | None,
        now: Callable[[], float],
    ) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._api_url = api_url
        self._transport = transport
        self._shared: _Shared | None = None
        self._now = now
        self._tokens = Tokens(mint=self._mint, now=now)
        self._app: _Client | None = None
        # Strong references: githubkit's parts know their client weakly.
        self._clients: dict[int, tuple[Token, _Client]] = {}
        self._limited: dict[int | None, float] = {}

    async def ask(
        self,
        installation: int | None,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: Json | None = None,
    ) -> Answer:
        """Send one request as an installation, or as the App where it is None. `path` is quoted already."""
        self._check_limit(installation)
        try:
            if installation is None:
                return await self._send(self._as_app(), method, path, query, body)
            return await self._ask_with_token(installation, method, path, query, body)
        except _Unauthorized as refused:
            if installation is not None:
                raise
            hint = "check GITHUB_APP_ID, GITHUB_PRIVATE_KEY and this machine's clock"
            raise Broken(f"{refused}; {hint}") from None
        except Limited as limited:
            self._limited[installation] = self._now() + limited.after
            raise

    async def pages(
        self, installation: int | None, path: str, query: Mapping[str, str | int] | None = None
    ) -> AsyncIterator[Answer]:
        """Every page of a list, each 100 long where `query` does not say."""
        following: Mapping[str, str | int] | None = {"per_page": 100, **(query or {})}
        for _ in range(MOST_PAGES):
            answer = await self.ask(installation, "GET", path, query=following)
            yield answer
            if answer.following is None:
                return
            following = answer.following

    async def aclose(self) -> None:
        """Close the connections."""
        if self._shared is not None:
            await self._shared.transport.aclose()

    def _check_limit(self, installation: int | None) -> None:
        left = self._limited.get(installation, 0.0) - self._now()
        if left > 0:
            raise Limited("GitHub's rate limit is spent", after=left)

    async def _ask_with_token(
        self,
        installation: int,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        body: Json | None,
    ) -> Answer:
        token = await self._tokens.token(installation)
        try:
            return await self._send(self._as(installation, token), method, path, query, body)
        except _Unauthorized:
            self._tokens.drop(installation, token)
        token = await self._tokens.token(installation)
        return await self._send(self._as(installation, token), method, path, query, body)

    async def _send(
        self,
        client: _Client,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        body: Json | None,
    ) -> Answer:
        asked = f"{method} {path}"
        kit = importlib.import_module("githubkit.exception")
        headers = {"X-GitHub-Api-Version": API_VERSION}
        try:
            response = await client.arequest(method, path, params=query, json=body, headers=headers)
        except kit.RequestFailed as failed:
            self._refuse(asked, failed.response.raw_response)
        except kit.RequestError as failed:
            # From None: a signing error could quote the key.
            raise _unanswered(asked, failed.exc) from None
        return read_answer(asked, response.raw_response)

    def _refuse(self, asked: str, response: httpx.Response) -> NoReturn:
        try:
            message = str(response.json()["message"])
        except (ValueError, KeyError, TypeError):
            message = ""
        error = refusal(
            asked=asked,
            status=response.status_code,
            headers=response.headers,
            message=message,
            now=self._now(),
        )
        if response.status_code == 401 and isinstance(error, TryLater):
            raise _Unauthorized(str(error), after=error.after)
        raise error

    async def _mint(self, installation: int) -> Token:
        answer = await self.ask(None, "POST", f"/app/installations/{installation}/access_tokens", body={})
        return answer.read(
            lambda fields: Token(secret=fields.text("token"), expires_at=fields.time("expires_at"))
        )

    def _as_app(self) -> _Client:
        if self._app is None:
            kit = importlib.import_module("githubkit")
            self._app = self._client(kit.AppAuthStrategy(self._app_id, self._private_key))
        return self._app

    def _as(self, installation: int, token: Token) -> _Client:
        known, client = self._clients.get(installation, (None, None))
        if client is None or known is not token:
            client = self._client(token.secret)
            self._clients[installation] = (token, client)
        return client

    def _client(self, auth: object) -> _Client:
        kit = importlib.import_module("githubkit")
        cache = importlib.import_module("githubkit.cache")
        if self._shared is None:
            self._shared = _Shared(self._transport or httpx.AsyncHTTPTransport())
        client: _Client = kit.GitHub(
            auth,
            base_url=self._api_url,
            user_agent="maxview",
            timeout=TIMEOUT,
            async_transport=self._shared,
            http_cache=False,
            auto_retry=False,
            # Its default cache is shared by the whole process, whatever the key.
            cache_strategy=cache.MemCacheStrategy(),
        )
        return client


class _Unauthorized(TryLater):
    """The token was refused."""


def quoted(text: str) -> str:
    """A name as one segment of a path."""
    return quote(text, safe="")


def _unanswered(asked: str, problem: Exception) -> Broken:
    name = type(problem).__name__
    if isinstance(problem, httpx.TransportError):
        sent = not isinstance(problem, _NOT_SENT)
        return TryLater(f"{asked} got no answer: {name}", after=TROUBLE_SECONDS, may_have_acted=sent)
    return Broken(f"{asked} could not be sent: {name}; check GITHUB_APP_ID and GITHUB_PRIVATE_KEY")
