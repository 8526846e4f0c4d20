"""Sends requests to GitHub.

In:  who asks (the App, or one of its installations), a method and a path. Out: an `Answer`, or an exception
     of `bot.github.errors`.

Nothing is sent twice but a request that GitHub refused for its token, once, with a new token. After a rate
limit nothing is sent for that installation until it ends, and before one no more than `bot.github.pace`
allows; writes of an installation go one after the other. While GitHub is away nothing is sent at all but a
probe. One connection pool serves all.
"""

import asyncio
import importlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote

import httpx

from bot.errors import Broken
from bot.github.answer import Answer, read_answer
from bot.github.circuit import Circuit
from bot.github.errors import TROUBLE_SECONDS, Limited, TryLater, refusal
from bot.github.kit import Client, Kit
from bot.github.pace import Exchange, Pace
from bot.github.tokens import Token, Tokens

API_VERSION = "2022-11-28"
MOST_PAGES = 100
EXCHANGE_SECONDS = 1.0
"""How often processes tell each other what they sent: requests of one second are as many as the limits leave
free."""
# Failures before a request has left: GitHub cannot have acted on it.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str | int] | None
    body: Json | None
    unless: str | None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


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
        exchange: Exchange | None = None,
    ) -> None:
        self._exchange, self._exchanged = exchange, dict[int, float]()
        self._kit = Kit(app_id=app_id, private_key=private_key, api_url=api_url, transport=transport)
        self._now = now
        self._tokens = Tokens(mint=self._mint, now=now)
        self._limited: dict[int | None, float] = {}
        self._writing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.pace = Pace(now)
        self.circuit = Circuit(now)

    async def ask(
        self,
        installation: int | None,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: Json | None = None,
        unless: str | None = None,
    ) -> Answer:
        """Send one request as an installation, or as the App where it is None. `path` is quoted already.

        With `unless`, the tag of an earlier answer, the answer may be that nothing has changed.
        """
        asked = _Asked(method, path, query, body, unless)
        if installation is not None and method != "GET":
            # As GitHub asks, and so that a limit met by one holds for those behind it.
            async with self._writing[installation]:
                return await self._ask(installation, asked)
        return await self._ask(installation, asked)

    async def _ask(self, installation: int | None, asked: _Asked) -> Answer:
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
            raise Broken(f"{refused}; {hint}") from None
        except Limited as limited:
            self._limited[installation] = self._now() + limited.after
            raise

    async def _hear_others(self, installation: int) -> None:
        """Tell other processes what was sent, and hear it of them, at most every `EXCHANGE_SECONDS`."""
        now = self._now()
        if self._exchange is None or now - self._exchanged.get(installation, 0.0) < EXCHANGE_SECONDS:
            return
        self._exchanged[installation] = now
        await self.pace.exchange(installation, self._exchange)

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
        await self._kit.aclose()

    def _check_limit(self, installation: int | None) -> None:
        left = self._limited.get(installation, 0.0) - self._now()
        if left > 0:
            raise Limited("GitHub's rate limit is spent", after=left)

    async def _ask_with_token(self, installation: int, asked: _Asked) -> Answer:
        token = await self._tokens.token(installation)
        try:
            return await self._send(self._kit.as_installation(installation, token), asked)
        except _Unauthorized:
            self._tokens.drop(installation, token)
        token = await self._tokens.token(installation)
        return await self._send(self._kit.as_installation(installation, token), asked)

    async def _send(self, client: Client, asked: _Asked) -> Answer:
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
            raise _unanswered(str(asked), failed.exc) from None
        self._heard(response.raw_response.status_code)
        return read_answer(str(asked), response.raw_response)

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
