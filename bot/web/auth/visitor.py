"""The visitor of a request, and what GitHub lets them read, cached for `GRANT_CACHE_SECONDS`.

A missing repository is looked up for as long as a hidden one, so neither status nor time tells them apart: a
refusal is cached for the requested address, never for the repository behind it.
"""

import dataclasses
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import msgspec
from starlette.requests import Request

from bot.errors import InvalidToken, TransientError

GRANT_CACHE_SECONDS = 120.0
"""How long GitHub's yes is cached: anyone who loses read access loses the pages within this time."""

REFUSAL_CACHE_SECONDS = 30.0
"""How long GitHub's no is cached: somebody who was just given access does not wait long."""

MAX_CACHED = 20_000
"""Cached answers of all visitors."""

MAX_BAD_TOKENS, BAD_TOKEN_SECONDS = 60, 60.0
"""After this many refused tokens in this time no token is tried: GitHub blocks a server that keeps
sending bad ones."""


class PermissionSource(Protocol):
    """The part of GitHub that knows who may read what."""

    async def may_read(self, token: str, repository: str, number: int | None) -> bool:
        """Whether the token's owner can read the repository of GitHub's `number` under this name; never
        without one. Raises `InvalidToken` if the token is bad."""
        ...


class PermissionUnknown(Exception):
    """GitHub does not answer now whether the visitor may read this."""


class PermissionCache(msgspec.Struct):
    """GitHub's answers, cached briefly."""

    source: PermissionSource
    now: Callable[[], float]
    _cache: OrderedDict[tuple[str, str], tuple[bool, float]] = msgspec.field(default_factory=OrderedDict)
    _bad_tokens: list[float] = msgspec.field(default_factory=list)

    async def may_read(self, token: str, repository: str, requested: str, number: int | None) -> bool:
        """Whether the token's owner may read the repository of GitHub's `number`; `requested` is what the
        address named. A name alone proves nothing: it may be another repository's by now."""
        who = hashlib.sha256(token.encode()).hexdigest()
        granted, refused = (who, f"open {number}"), (who, f"shut {requested.lower()}")
        for key in (granted, refused):
            cached = self._cache.get(key)
            if cached is not None and cached[1] > self.now():
                return cached[0]
        answer = await self._ask(token, repository, number)
        key, seconds = (granted, GRANT_CACHE_SECONDS) if answer else (refused, REFUSAL_CACHE_SECONDS)
        self._cache[key] = (answer, self.now() + seconds)
        self._cache.move_to_end(key)
        while len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)
        return answer

    async def _ask(self, token: str, repository: str, number: int | None) -> bool:
        self._bad_tokens = [at for at in self._bad_tokens if at > self.now() - BAD_TOKEN_SECONDS]
        if len(self._bad_tokens) >= MAX_BAD_TOKENS:
            raise PermissionUnknown
        try:
            return await self.source.may_read(token, repository, number)
        except InvalidToken:
            self._bad_tokens.append(self.now())
            return False
        except TransientError as later:
            raise PermissionUnknown from later


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody with a token; with `login` and `proof` if they signed in with a browser."""

    permissions: PermissionCache
    token: str = dataclasses.field(repr=False)
    login: str | None = None
    proof: str = dataclasses.field(default="", repr=False)

    async def may_read(self, repository: str, requested: str, number: int | None) -> bool:
        """Whether this visitor may read the repository behind what the address named."""
        return await self.permissions.may_read(self.token, repository, requested, number)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """Who is signed in, and whether sign-in is offered, as a page shows it."""

    login: str | None = None
    proof: str = dataclasses.field(default="", repr=False)
    offered: bool = False


def current_visitor(request: Request) -> Visitor | None:
    """The visitor of a request, as the middleware identified them."""
    visitor: Visitor | None = request.scope.get("state", {}).get("visitor")
    return visitor


def account_view(request: Request) -> AccountView:
    """What the page shows of the visitor's account."""
    offered = bool(request.scope.get("state", {}).get("sign_in"))
    visitor = current_visitor(request)
    if visitor is None or visitor.login is None:
        return AccountView(offered=offered)
    return AccountView(login=visitor.login, proof=visitor.proof, offered=offered)


def github_url(request: Request) -> str:
    """GitHub's address for people, as the middleware was given it."""
    url: str = request.scope["state"]["github_url"]
    return url
