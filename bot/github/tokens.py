"""One valid token for each installation, and githubkit's clients that use it.

Any number of callers at once cause one minting. A token that GitHub refuses is dropped by naming it, so
that a late complaint about an old token does not throw away the new one. All clients share one pool of
connections. githubkit is imported when the first is made.
"""

import asyncio
import importlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Protocol

import httpx
from msgspec import Struct

from bot.github.limits import REQUEST_TIMEOUT

# A request takes some seconds to arrive: a token in its last minute counts as expired.
EXPIRY_MARGIN_SECONDS = 60.0


class InstallationToken(Struct, frozen=True, kw_only=True):
    """An installation's token; it never shows in `repr`. `expires_at` is in Unix seconds."""

    secret: str
    expires_at: float

    def __repr__(self) -> str:
        return f"InstallationToken(expires_at={self.expires_at})"


class TokenCache:
    """The tokens of all installations of one App; `mint` requests a new one."""

    def __init__(
        self, *, mint: Callable[[int], Awaitable[InstallationToken]], now: Callable[[], float]
    ) -> None:
        self._mint = mint
        self._now = now
        self._tokens: dict[int, InstallationToken] = {}
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def token(self, installation: int) -> InstallationToken:
        """A token of the installation, minted if none is good."""
        async with self._locks[installation]:
            token = self._tokens.get(installation)
            if token is None or token.expires_at - EXPIRY_MARGIN_SECONDS <= self._now():
                token = self._tokens[installation] = await self._mint(installation)
            return token

    def drop(self, installation: int, token: InstallationToken) -> None:
        """Forget a token that was refused."""
        if self._tokens.get(installation) is token:
            del self._tokens[installation]


class _KitResponse(Protocol):
    @property
    def raw_response(self) -> httpx.Response: ...


class KitClient(Protocol):
    """The methods of githubkit's `GitHub` that are used."""

    async def arequest(
        self, method: str, url: str, *, params: object, json: object, headers: object
    ) -> _KitResponse:
        """Send a request."""
        ...


# httpx requires this base class. A client closes the transport that it is given, and this one is shared.
class _SharedTransport(httpx.AsyncBaseTransport):
    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self.transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self.transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Stay open: `ClientFactory` closes the shared transport at the end."""


class ClientFactory:
    """Makes githubkit's clients for one App, and keeps them."""

    def __init__(
        self, *, app_id: int, private_key: str, api_url: str, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._api_url = api_url
        self._transport = transport
        self._shared: _SharedTransport | None = None
        self._app: KitClient | None = None
        # Strong references: githubkit's parts hold their client weakly.
        self._clients: dict[int, tuple[InstallationToken, KitClient]] = {}

    async def aclose(self) -> None:
        """Close the connections."""
        if self._shared is not None:
            await self._shared.transport.aclose()

    def as_app(self) -> KitClient:
        """A client that acts as the App itself."""
        if self._app is None:
            kit = importlib.import_module("githubkit")
            self._app = self._client(kit.AppAuthStrategy(self._app_id, self._private_key))
        return self._app

    def as_installation(self, installation: int, token: InstallationToken) -> KitClient:
        """A client that acts as an installation."""
        known, client = self._clients.get(installation, (None, None))
        if client is None or known is not token:
            client = self._client(token.secret)
            self._clients[installation] = (token, client)
        return client

    def _client(self, auth: object) -> KitClient:
        kit = importlib.import_module("githubkit")
        cache = importlib.import_module("githubkit.cache")
        if self._shared is None:
            self._shared = _SharedTransport(self._transport or httpx.AsyncHTTPTransport())
        client: KitClient = kit.GitHub(
            auth,
            base_url=self._api_url,
            user_agent="maxview",
            timeout=REQUEST_TIMEOUT,
            async_transport=self._shared,
            http_cache=False,
            auto_retry=False,
            # Its default cache is shared by the whole process, whatever the key.
            cache_strategy=cache.MemCacheStrategy(),
        )
        return client
