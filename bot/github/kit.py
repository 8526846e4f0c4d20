"""githubkit's clients: the only module that makes them.

In:  the App's number and key, and tokens. Out: a client for the App, and one for each installation.

All share one pool of connections. githubkit is imported when the first is made.
"""

import importlib
from typing import Protocol

import httpx

from bot.github.tokens import Token

# GitHub ends a request itself after ten seconds.
TIMEOUT = httpx.Timeout(15.0, connect=5.0)


class _Response(Protocol):
    @property
    def raw_response(self) -> httpx.Response: ...


class Client(Protocol):
    """The part of githubkit's `GitHub` that is used."""

    async def arequest(
        self, method: str, url: str, *, params: object, json: object, headers: object
    ) -> _Response:
        """Send a request."""
        ...


# httpx asks for this very class; a client closes the transport it is given, and this one is shared.
class _Shared(httpx.AsyncBaseTransport):
    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self.transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self.transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Stay open: the door closes the transport at the end."""


class Kit:
    """The clients of one App."""

    def __init__(
        self, *, app_id: int, private_key: str, api_url: str, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._api_url = api_url
        self._transport = transport
        self._shared: _Shared | None = None
        self._app: Client | None = None
        # Strong references: githubkit's parts know their client weakly.
        self._clients: dict[int, tuple[Token, Client]] = {}

    async def aclose(self) -> None:
        """Close the connections."""
        if self._shared is not None:
            await self._shared.transport.aclose()

    def as_app(self) -> Client:
        """The App itself."""
        if self._app is None:
            kit = importlib.import_module("githubkit")
            self._app = self._client(kit.AppAuthStrategy(self._app_id, self._private_key))
        return self._app

    def as_installation(self, installation: int, token: Token) -> Client:
        """An installation with its token."""
        known, client = self._clients.get(installation, (None, None))
        if client is None or known is not token:
            client = self._client(token.secret)
            self._clients[installation] = (token, client)
        return client

    def _client(self, auth: object) -> Client:
        kit = importlib.import_module("githubkit")
        cache = importlib.import_module("githubkit.cache")
        if self._shared is None:
            self._shared = _Shared(self._transport or httpx.AsyncHTTPTransport())
        client: Client = kit.GitHub(
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
