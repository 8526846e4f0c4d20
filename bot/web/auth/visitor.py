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
"""How long an answer of GitHub's opens pages: who may not read a repository any more loses them then."""

REFUSAL_CACHE_SECONDS = 30.0
"""How long a refusal is not asked again: somebody who was just let in does not wait long."""

MAX_CACHED = 20_000
"""Answers kept in memory, of all visitors."""

MAX_BAD_TOKENS, BAD_TOKEN_SECONDS = 60, 60.0
"""Tokens that GitHub refused, and in which time: after so many none is tried, since GitHub shuts out who goes
on with bad ones, and this server with them."""


class PermissionSource(Protocol):
    """What is asked of GitHub for a visitor."""

    async def may_read(self, token: str, repository: str) -> bool:
        """Whether GitHub shows the repository to the owner of the token; `Refused` where the token is bad."""
        ...


class PermissionUnknown(Exception):
    """GitHub cannot be asked now whether the visitor may see this."""


class PermissionCache(msgspec.Struct):
    """GitHub's answers, briefly."""

    readers: PermissionSource
    now: Callable[[], float]
    _known: OrderedDict[tuple[str, str], tuple[bool, float]] = msgspec.field(default_factory=OrderedDict)
    _refused: list[float] = msgspec.field(default_factory=list)

    async def may_read(self, token: str, repository: str, asked: str) -> bool:
        """Whether the owner of the token may read a repository; `asked` names what the address asks for."""
        who = hashlib.sha256(token.encode()).hexdigest()
        opens, shuts = (who, f"open {repository.lower()}"), (who, f"shut {asked.lower()}")
        for key in (opens, shuts):
            known = self._known.get(key)
            if known is not None and known[1] > self.now():
                return known[0]
        answer = await self._asked(token, repository)
        key, seconds = (opens, GRANT_CACHE_SECONDS) if answer else (shuts, REFUSAL_CACHE_SECONDS)
        self._known[key] = (answer, self.now() + seconds)
        self._known.move_to_end(key)
        while len(self._known) > MAX_CACHED:
            self._known.popitem(last=False)
        return answer

    async def _asked(self, token: str, repository: str) -> bool:
        self._refused = [at for at in self._refused if at > self.now() - BAD_TOKEN_SECONDS]
        if len(self._refused) >= MAX_BAD_TOKENS:
            raise PermissionUnknown
        try:
            return await self.readers.may_read(token, repository)
        except InvalidToken:
            self._refused.append(self.now())
            return False
        except TransientError as later:
            raise PermissionUnknown from later


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody with a token; `login` and `proof` are there where they signed in with a browser."""

    permissions: PermissionCache
    token: str = dataclasses.field(repr=False)
    login: str | None = None
    proof: str = dataclasses.field(default="", repr=False)

    async def may_read(self, repository: str, asked: str) -> bool:
        """Whether this visitor may read the repository behind what the address asks for."""
        return await self.permissions.may_read(self.token, repository, asked)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """What a page says of its visitor: who is signed in, and whether one can."""

    login: str | None = None
    proof: str = dataclasses.field(default="", repr=False)
    offered: bool = False


def current_visitor(request: Request) -> Visitor | None:
    """Who asks, as the reception found out."""
    found: Visitor | None = request.scope.get("state", {}).get("visitor")
    return found


def account_view(request: Request) -> AccountView:
    """What the page says of who asks."""
    offered = bool(request.scope.get("state", {}).get("sign_in"))
    visitor = current_visitor(request)
    if visitor is None or visitor.login is None:
        return AccountView(offered=offered)
    return AccountView(login=visitor.login, proof=visitor.proof, offered=offered)


def github_url(request: Request) -> str:
    """Where people meet the GitHub that the repositories are on, as the reception knows it."""
    site: str = request.scope["state"]["github"]
    return site
