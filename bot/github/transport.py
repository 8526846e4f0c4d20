"""Sends requests to GitHub as the App or as one of its installations.

Nothing is sent twice but a request that GitHub refused for its token, once, with a new token. After a rate
limit nothing is sent for that installation until it ends; writes of an installation go one after the other.
While GitHub is away nothing is sent but a probe.
"""

import asyncio
import importlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import NoReturn, TypeVar
from urllib.parse import quote

import httpx
from msgspec import Struct

from bot.errors import InternalError, TransientError, UserError
from bot.github.errors import RETRY_SECONDS, RateLimited, error_from_status
from bot.github.limits import CircuitBreaker, RateLimiter, UsageExchange
from bot.github.payload import JsonFields
from bot.github.tokens import ClientFactory, InstallationToken, KitClient, TokenCache

T = TypeVar("T")

NOT_MODIFIED = 304


class ApiResponse(Struct, frozen=True, kw_only=True):
    """A good response to `request` (method and path): its JSON, None where it has none, the query of the next
    page, None on the last, and its ETag."""

    request: str
    status: int
    json: object
    next_query: Mapping[str, str] | None
    etag: str | None = None

    @property
    def not_modified(self) -> bool:
        """Whether the content is still that of the ETag that was sent."""
        return self.status == NOT_MODIFIED

    def read(self, reader: Callable[[JsonFields], T]) -> T:
        """Read the JSON object; `InternalError` where it is not what the reader expects."""
        return self._read(self.json, reader)

    def read_each(self, reader: Callable[[JsonFields], T], within: str | None = None) -> tuple[T, ...]:
        """Read a JSON list, or the list at `within` of the JSON object."""
        values = self.json if within is None else self.read(lambda fields: fields.find(within))
        if not isinstance(values, list):
            raise InternalError(f"GitHub's answer to {self.request} is not a list")
        return tuple(self._read(value, reader) for value in values)

    def _read(self, value: object, reader: Callable[[JsonFields], T]) -> T:
        if not isinstance(value, Mapping):
            raise InternalError(f"GitHub's answer to {self.request} is not an object")
        try:
            return reader(JsonFields(value))
        except UserError as error:
            raise InternalError(f"GitHub's answer to {self.request}: {error.text}") from error


class KnownPages(Struct):
    """The pages that a list had when it was read last, by their query."""

    pages: dict[str, ApiResponse] = {}


def parse_response(request: str, response: httpx.Response) -> ApiResponse:
    """Read a response of a good status; `TransientError` where its body is cut or not JSON."""
    try:
        json = response.json() if response.content else None
    except ValueError:
        text = f"GitHub's answer to {request} is not JSON"
        raise TransientError(text, after=RETRY_SECONDS, may_have_acted=True) from None
    next_url = response.links.get("next", {}).get("url")
    return ApiResponse(
        request=request,
        status=response.status_code,
        json=json,
        etag=response.headers.get("etag"),
        next_query=None if next_url is None else dict(httpx.URL(next_url).params),
    )


API_VERSION = "2022-11-28"

MAX_PAGES = 100

USAGE_EXCHANGE_SECONDS = 1.0
"""How often processes exchange what they sent: the limits leave room for the requests of one second."""

# Failures before a request has left: GitHub cannot have acted on it.
_FAILED_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

JsonObject = Mapping[str, object]


class _Request(Struct, frozen=True):
    """One request; `etag` is that of an earlier response."""

    method: str
    path: str
    query: Mapping[str, str | int] | None
    body: JsonObject | None
    etag: str | None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class GitHubTransport:
    """The connection of one App to GitHub."""

    def __init__(
        self,
        *,
        app_id: int,
        private_key: str,
        api_url: str,
        transport: httpx.AsyncBaseTransport | None,
        now: Callable[[], float],
        exchange: UsageExchange | None = None,
    ) -> None:
        self._exchange = exchange
        self._exchanged_at: dict[int, float] = {}
        self._clients = ClientFactory(
            app_id=app_id, private_key=private_key, api_url=api_url, transport=transport
        )
        self._now = now
        self._tokens = TokenCache(mint=self._mint, now=now)
        self._limited_until: dict[int | None, float] = {}
        self._write_locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.rate_limiter = RateLimiter(now)
        self.circuit = CircuitBreaker(now)

    async def request(
        self,
        installation: int | None,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: JsonObject | None = None,
        etag: str | None = None,
    ) -> ApiResponse:
        """Send one request as an installation, or as the App where it is None. `path` is quoted already.

        With the `etag` of an earlier response the answer may be `not_modified`.
        """
        request = _Request(method, path, query, body, etag)
        if installation is not None and method != "GET":
            # GitHub asks for it, and a limit that one meets holds for those behind it.
            async with self._write_locks[installation]:
                return await self._send_within_limits(installation, request)
        return await self._send_within_limits(installation, request)

    async def _send_within_limits(self, installation: int | None, request: _Request) -> ApiResponse:
        self._check_limit(installation)
        self.circuit.check()
        if installation is not None:
            await self._exchange_usage(installation)
            self.rate_limiter.count(installation, request.method)
        try:
            if installation is None:
                return await self._send(self._clients.as_app(), request)
            return await self._send_with_token(installation, request)
        except _Unauthorized as refused:
            if installation is not None:
                raise
            hint = "check GITHUB_APP_ID, GITHUB_PRIVATE_KEY and this machine's clock"
            raise InternalError(f"{refused}; {hint}") from None
        except RateLimited as limited:
            self._limited_until[installation] = self._now() + limited.after
            raise

    async def _exchange_usage(self, installation: int) -> None:
        """Exchange with other processes what was sent, at most every `USAGE_EXCHANGE_SECONDS`."""
        now = self._now()
        if self._exchange is None or now - self._exchanged_at.get(installation, 0.0) < USAGE_EXCHANGE_SECONDS:
            return
        self._exchanged_at[installation] = now
        await self.rate_limiter.exchange(installation, self._exchange)

    async def pages(
        self, installation: int | None, path: str, query: Mapping[str, str | int] | None = None
    ) -> AsyncIterator[ApiResponse]:
        """Every page of a list, each 100 long where `query` does not say."""
        page_query: Mapping[str, str | int] = {"per_page": 100, **(query or {})}
        for _ in range(MAX_PAGES):
            response = await self.request(installation, "GET", path, query=page_query)
            yield response
            if response.next_query is None:
                return
            page_query = response.next_query

    async def known_pages(
        self, installation: int, path: str, known: KnownPages
    ) -> AsyncIterator[ApiResponse]:
        """As `pages`, for a list that is read again and again: `known` keeps what its pages held last."""
        fresh: dict[str, ApiResponse] = {}
        page_query: Mapping[str, str | int] = {"per_page": 100}
        for _ in range(MAX_PAGES):
            name = repr(sorted(page_query.items()))
            last = known.pages.get(name)
            response = await self.request(
                installation, "GET", path, query=page_query, etag=last.etag if last else None
            )
            fresh[name] = page = last if last is not None and response.not_modified else response
            yield page
            if page.next_query is None:
                known.pages = fresh
                return
            page_query = page.next_query

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    def _check_limit(self, installation: int | None) -> None:
        left = self._limited_until.get(installation, 0.0) - self._now()
        if left > 0:
            raise RateLimited("GitHub's rate limit is spent", after=left)

    async def _send_with_token(self, installation: int, request: _Request) -> ApiResponse:
        token = await self._tokens.token(installation)
        try:
            return await self._send(self._clients.as_installation(installation, token), request)
        except _Unauthorized:
            self._tokens.drop(installation, token)
        token = await self._tokens.token(installation)
        return await self._send(self._clients.as_installation(installation, token), request)

    async def _send(self, client: KitClient, request: _Request) -> ApiResponse:
        self.circuit.before_request()
        kit = importlib.import_module("githubkit.exception")
        headers = {"X-GitHub-Api-Version": API_VERSION}
        headers |= {"If-None-Match": request.etag} if request.etag else {}
        try:
            response = await client.arequest(
                request.method, request.path, params=request.query, json=request.body, headers=headers
            )
        except kit.RequestFailed as failed:
            self._record_status(failed.response.raw_response.status_code)
            self._raise_refusal(request, failed.response.raw_response)
        except kit.RequestError as failed:
            if isinstance(failed.exc, httpx.TransportError):
                self.circuit.record_failure()
            # From None: a signing error could quote the key.
            raise _no_response_error(str(request), failed.exc) from None
        self._record_status(response.raw_response.status_code)
        return parse_response(str(request), response.raw_response)

    def _record_status(self, status: int) -> None:
        if status >= 500:
            self.circuit.record_failure()
        else:
            self.circuit.record_success()

    def _raise_refusal(self, request: _Request, response: httpx.Response) -> NoReturn:
        try:
            message = str(response.json()["message"])
        except (ValueError, KeyError, TypeError):
            message = ""
        error = error_from_status(
            method=request.method,
            path=request.path,
            status=response.status_code,
            headers=response.headers,
            message=message,
            now=self._now(),
        )
        if response.status_code == 401 and isinstance(error, TransientError):
            raise _Unauthorized(str(error), after=error.after)
        raise error

    async def _mint(self, installation: int) -> InstallationToken:
        path = f"/app/installations/{installation}/access_tokens"
        response = await self.request(None, "POST", path, body={})
        return response.read(
            lambda fields: InstallationToken(
                secret=fields.text("token"), expires_at=fields.time("expires_at")
            )
        )


class _Unauthorized(TransientError):
    """The token was refused."""


def quoted(text: str) -> str:
    """A name as one segment of a path."""
    return quote(text, safe="")


def _no_response_error(request: str, problem: Exception) -> InternalError:
    name = type(problem).__name__
    if isinstance(problem, httpx.TransportError):
        sent = not isinstance(problem, _FAILED_BEFORE_SENDING)
        return TransientError(f"{request} got no answer: {name}", after=RETRY_SECONDS, may_have_acted=sent)
    return InternalError(f"{request} could not be sent: {name}; check GITHUB_APP_ID and GITHUB_PRIVATE_KEY")
