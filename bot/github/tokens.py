"""Keeps one valid token for each installation.

In:  a way to mint tokens, and a clock. Out: a token that is good for a minute at least.

Any number of callers at once cause one minting. A token that GitHub refuses is dropped by naming it, so that
a late complaint about an old token does not throw away the new one.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

# A call takes some seconds to arrive: a token in its last minute is treated as ended.
MARGIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An installation's token; it never shows in `repr`. `expires_at` is in Unix seconds."""

    secret: str = field(repr=False)
    expires_at: float


class Tokens:
    """The tokens of all installations of one App."""

    def __init__(self, *, mint: Callable[[int], Awaitable[Token]], now: Callable[[], float]) -> None:
        self._mint = mint
        self._now = now
        self._tokens: dict[int, Token] = {}
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def token(self, installation: int) -> Token:
        """A token of the installation, minted if none is good."""
        async with self._locks[installation]:
            token = self._tokens.get(installation)
            if token is None or token.expires_at - MARGIN_SECONDS <= self._now():
                token = self._tokens[installation] = await self._mint(installation)
            return token

    def drop(self, installation: int, token: Token) -> None:
        """Forget a token that was refused."""
        if self._tokens.get(installation) is token:
            del self._tokens[installation]
