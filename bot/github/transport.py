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
    """A good answer: its status, its JSON (None where it has none), the query of the next page, and the tag
    that stands for its content."""

    asked: str
    status: int
    json: object
    following: Mapping[str, str] | None
    tag: str | None = None

    @property
    def unchanged(self) -> bool:
        """Whether the content is still what the tag of the question stood for."""
        return self.status == NOT_MODIFIED

    def read(self, reader: Callable[[JsonFields], T]) -> T:
        """Read the JSON object; `Broken` where it is not what the reader expects."""
        return self._read(self.json, reader)

    def read_each(self, reader: Callable[[JsonFields], T], within: str | None = None) -> tuple[T, ...]:
        """Read a JSON list, or the list at `within` of the JSON object."""
        values = self.json if within is None else self.read(lambda fields: fields.find(within))
        if not isinstance(values, list):
            raise InternalError(f"GitHub's answer to {self.asked} is not a list")
        return tuple(self._read(value, reader) for value in values)

    def _read(self, value: object, reader: Callable[[JsonFields], T]) -> T:
        if not isinstance(value, Mapping):
            raise InternalError(f"GitHub's answer to {self.asked} is not an object")
        try:
            return reader(JsonFields(value))
        except UserError as told:
            raise InternalError(f"GitHub's answer to {self.asked}: {told.text}") from told


def parse_response(asked: str, response: httpx.Response) -> ApiResponse:
    """Read a response whose status is good; `TryLater` where its body is cut or something else's."""
    try:
        json = response.json() if response.content else None
    except ValueError:
        text = f"GitHub's answer to {asked} is not JSON"
        raise TransientError(text, after=RETRY_SECONDS, may_have_acted=True) from None
    following = response.links.get("next", {}).get("url")
    return ApiResponse(
        asked=asked,
        status=response.status_code,
        json=json,
        tag=response.headers.get("etag"),
        following=None if following is None else dict(httpx.URL(following).params),
    )


API_VERSION = "2022-11-28"

MAX_PAGES = 100

USAGE_EXCHANGE_SECONDS = 1.0
"""How often processes tell each other what they sent: requests of one second are as many as the limits leave
free."""

# Failures before a request has left: GitHub cannot have acted on it.
_FAILED_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

JsonObject = Mapping[str, object]


class _Request(Struct, frozen=True):
    """One request."""

    method: str
    path: str
    query: Mapping[str, str | int] | None
    body: JsonObject | None
    unless: str | None

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
        self._exchange, self._exchanged = exchange, dict[int, float]()
        self._kit = ClientFactory(
            app_id=app_id, private_key=private_key, api_url=api_url, transport=transport
        )
        self._now = now
        self._tokens = TokenCache(mint=self._mint, now=now)
        self._limited: dict[int | None, float] = {}
        self._writing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.pace = RateLimiter(now)
        self.circuit = CircuitBreaker(now)

    async def ask(
        self,
        installation: int | None,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: JsonObject | None = None,
        unless: str | None = None,
    ) -> ApiResponse:
        """Send one request as an installation, or as the App where it is None. `path` is quoted already.

        With `unless`, the tag of an earlier answer, the answer may be that nothing has changed.
        """
        asked = _Request(method, path, query, body, unless)
        if installation is not None and method != "GET":
            # As GitHub asks, and so that a limit met by one holds for those behind it.
            async with self._writing[installation]:
                return await self._ask(installation, asked)
        return await self._ask(installation, asked)

    async def _ask(self, installation: int | None, asked: _Request) -> ApiResponse:
        self._check_limit(installation)
        self.circuit.check()
        if installation is not None:
            await self._hear_others(installation)
            self.pace.spend(installation, asked.method)
        try:
            if installation is None:
                return await self._send(self._kit.as_app(), asked)
            return await self._ask_with_token(installation, asked)
        except _Unauthorized as refused:
            if installation is not None:
                raise
            hint = "check GITHUB_APP_ID, GITHUB_PRIVATE_KEY and this machine's clock"
            raise InternalError(f"{refused}; {hint}") from None
        except RateLimited as limited:
            self._limited[installation] = self._now() + limited.after
            raise

    async def _hear_others(self, installation: int) -> None:
        """Tell other processes what was sent, and hear it of them, at most every `EXCHANGE_SECONDS`."""
        now = self._now()
        if self._exchange is None or now - self._exchanged.get(installation, 0.0) < USAGE_EXCHANGE_SECONDS:
            return
        self._exchanged[installation] = now
        await self.pace.exchange(installation, self._exchange)

    async def pages(
        self, installation: int | None, path: str, query: Mapping[str, str | int] | None = None
    ) -> AsyncIterator[ApiResponse]:
        """Every page of a list, each 100 long where `query` does not say."""
        following: Mapping[str, str | int] | None = {"per_page": 100, **(query or {})}
        for _ in range(MAX_PAGES):
            answer = await self.ask(installation, "GET", path, query=following)
            yield answer
            if answer.following is None:
                return
            following = answer.following

    async def aclose(self) -> None:
        """Close the connections."""
        await self._kit.aclose()

    def _check_limit(self, installation: int | None) -> None:
        left = self._limited.get(installation, 0.0) - self._now()
        if left > 0:
            raise RateLimited("GitHub's rate limit is spent", after=left)

    async def _ask_with_token(self, installation: int, asked: _Request) -> ApiResponse:
        token = await self._tokens.token(installation)
        try:
            return await self._send(self._kit.as_installation(installation, token), asked)
        except _Unauthorized:
            self._tokens.drop(installation, token)
        token = await self._tokens.token(installation)
        return await self._send(self._kit.as_installation(installation, token), asked)

    async def _send(self, client: KitClient, asked: _Request) -> ApiResponse:
        self.circuit.pass_one()
        kit = importlib.import_module("githubkit.exception")
        headers = {"X-GitHub-Api-Version": API_VERSION}
        headers |= {"If-None-Match": asked.unless} if asked.unless else {}
        try:
            response = await client.arequest(
                asked.method, asked.path, params=asked.query, json=asked.body, headers=headers
            )
        except kit.RequestFailed as failed:
            self._heard(failed.response.raw_response.status_code)
            self._refuse(str(asked), failed.response.raw_response)
        except kit.RequestError as failed:
            if isinstance(failed.exc, httpx.TransportError):
                self.circuit.failed()
            # From None: a signing error could quote the key.
            raise _no_response_error(str(asked), failed.exc) from None
        self._heard(response.raw_response.status_code)
        return parse_response(str(asked), response.raw_response)

    def _heard(self, status: int) -> None:
        if status >= 500:
            self.circuit.failed()
        else:
            self.circuit.worked()

    def _refuse(self, asked: str, response: httpx.Response) -> NoReturn:
        try:
            message = str(response.json()["message"])
        except (ValueError, KeyError, TypeError):
            message = ""
        error = error_from_status(
            asked=asked,
            status=response.status_code,
            headers=response.headers,
            message=message,
            now=self._now(),
        )
        if response.status_code == 401 and isinstance(error, TransientError):
            raise _Unauthorized(str(error), after=error.after)
        raise error

    async def _mint(self, installation: int) -> InstallationToken:
        answer = await self.ask(None, "POST", f"/app/installations/{installation}/access_tokens", body={})
        return answer.read(
            lambda fields: InstallationToken(
                secret=fields.text("token"), expires_at=fields.time("expires_at")
            )
        )


class _Unauthorized(TransientError):
    """The token was refused."""


def quoted(text: str) -> str:
    """A name as one segment of a path."""
    return quote(text, safe="")


def _no_response_error(asked: str, problem: Exception) -> InternalError:
    name = type(problem).__name__
    if isinstance(problem, httpx.TransportError):
        sent = not isinstance(problem, _FAILED_BEFORE_SENDING)
        return TransientError(f"{asked} got no answer: {name}", after=RETRY_SECONDS, may_have_acted=sent)
    return InternalError(f"{asked} could not be sent: {name}; check GITHUB_APP_ID and GITHUB_PRIVATE_KEY")
