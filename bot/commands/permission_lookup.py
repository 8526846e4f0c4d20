"""Look up on GitHub what somebody may do with a repository, with a cache of one minute.

The cache key holds the account's number and the repository's name, so whoever takes over a login or a name is
looked up anew.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.commands.permission import AuthorRights
from bot.config import TrustedAccounts
from bot.domain.forge import Forge
from bot.domain.repository import Permission, Person, Repository
from bot.errors import UserError

CACHE_SECONDS = 60.0
"""Long enough for the lines of one conversation, short enough that who was removed is soon refused."""

CACHED_PEOPLE = 4096

LOG = logging.getLogger(__name__)

_CacheKey = tuple[str, int, str, TrustedAccounts]


@dataclass(slots=True, kw_only=True)
class PermissionLookup:
    """Answers from memory where they are fresh."""

    forge: Forge
    now: Callable[[], float]
    _kept: OrderedDict[_CacheKey, tuple[float, AuthorRights]] = field(default_factory=OrderedDict)

    async def of(self, repository: Repository, person: Person, trusted: TrustedAccounts) -> AuthorRights:
        """What the person is to the repository."""
        if person.is_bot:
            return AuthorRights(permission=Permission.NONE, listed=is_trusted_bot(person, trusted))
        key = (repository.full_name, person.id, person.login, trusted)
        kept = self._kept.get(key)
        if kept is not None and 0 <= self.now() - kept[0] < CACHE_SECONDS:
            return kept[1]
        standing = await self._ask(repository, person, trusted)
        self._kept[key] = (self.now(), standing)
        self._kept.move_to_end(key)
        while len(self._kept) > CACHED_PEOPLE:
            self._kept.popitem(last=False)
        return standing

    async def _ask(self, repository: Repository, person: Person, trusted: TrustedAccounts) -> AuthorRights:
        permission = await self.forge.permission(repository, person)
        if permission is None:
            # Teams are asked by login alone: whose it is now must not be taken for the person.
            return AuthorRights(permission=Permission.NONE)
        if permission.may_write:
            return AuthorRights(permission=permission)
        for team in trusted.teams:
            if await self._is_member(repository, team, person):
                return AuthorRights(permission=permission, team=team)
        return AuthorRights(permission=permission)

    async def _is_member(self, repository: Repository, team: str, person: Person) -> bool:
        """A team that may not be asked about trusts nobody; the operator reads why in the log."""
        try:
            return await self.forge.is_member(repository, team, person)
        except UserError as told:
            LOG.warning("members of %s cannot be asked for: %s", team, told.text)
            return False


def is_trusted_bot(person: Person, trusted: TrustedAccounts) -> bool:
    """Whether a bot is listed: login, number and type agree, since each alone can be had by others."""
    return person.is_bot and any(
        bot.login.lower() == person.login.lower() and bot.id == person.id for bot in trusted.bots
    )
