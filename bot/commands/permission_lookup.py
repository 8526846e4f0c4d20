"""Look up on GitHub what somebody may do with a repository, with a cache of one minute.

The cache key holds the account's number and the repository's name, so a new owner of a login or a name is
looked up anew.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct, field

from bot.commands.permission import AuthorRights
from bot.config import TrustedAccounts
from bot.domain.forge import Forge
from bot.domain.repository import Permission, Person, Repository
from bot.errors import UserError

CACHE_SECONDS = 60.0
"""Long enough for the lines of one conversation, short enough that a removed person is soon refused."""

CACHED_PEOPLE = 4096

LOG = logging.getLogger(__name__)

_CacheKey = tuple[str, int, str, TrustedAccounts]


class PermissionLookup(Struct, kw_only=True):
    """Looks up permissions and team memberships."""

    forge: Forge
    now: Callable[[], float]
    _cache: OrderedDict[_CacheKey, tuple[float, AuthorRights]] = field(default_factory=OrderedDict)

    async def rights_of(
        self, repository: Repository, person: Person, trusted: TrustedAccounts
    ) -> AuthorRights:
        """What the person may do with the repository."""
        if person.is_bot:
            return AuthorRights(permission=Permission.NONE, listed=is_trusted_bot(person, trusted))
        key = (repository.full_name, person.id, person.login, trusted)
        cached = self._cache.get(key)
        if cached is not None and 0 <= self.now() - cached[0] < CACHE_SECONDS:
            return cached[1]
        rights = await self._look_up(repository, person, trusted)
        self._cache[key] = (self.now(), rights)
        self._cache.move_to_end(key)
        while len(self._cache) > CACHED_PEOPLE:
            self._cache.popitem(last=False)
        return rights

    async def _look_up(
        self, repository: Repository, person: Person, trusted: TrustedAccounts
    ) -> AuthorRights:
        permission = await self.forge.permission(repository, person)
        if permission is None:
            # Teams are looked up by login alone, and the login is another account's by now.
            return AuthorRights(permission=Permission.NONE)
        if permission.may_write:
            return AuthorRights(permission=permission)
        for team in trusted.teams:
            if await self._is_member(repository, team, person):
                return AuthorRights(permission=permission, team=team)
        return AuthorRights(permission=permission)

    async def _is_member(self, repository: Repository, team: str, person: Person) -> bool:
        """Whether the person is in the team; not if we may not read it, and the log says why."""
        try:
            return await self.forge.is_member(repository, team, person)
        except UserError as error:
            LOG.warning("members of %s cannot be asked for: %s", team, error.text)
            return False


def is_trusted_bot(person: Person, trusted: TrustedAccounts) -> bool:
    """Whether a bot is listed: login, number and type must match, since others can have each alone."""
    return person.is_bot and any(
        bot.login.lower() == person.login.lower() and bot.id == person.id for bot in trusted.bots
    )
