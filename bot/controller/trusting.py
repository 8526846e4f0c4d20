"""Asks GitHub who somebody is to a repository, and remembers it for a minute.

In:  a repository, a person or bot, whom the configuration trusts. Out: their `Standing`.

Answers are kept by the account's number and the repository's name: somebody who takes over a login, and a
repository that takes over a name, are asked about anew.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.config import Trusted
from bot.controller.ports import Forge
from bot.errors import Told
from bot.intake.pull import Permission, Person, Repository
from bot.intake.trust import Standing

KEPT_SECONDS = 60.0
"""Long enough for the lines of one conversation, short enough that who was removed is soon refused."""

KEPT = 4096

LOG = logging.getLogger(__name__)

_Key = tuple[str, int, str, Trusted]


@dataclass(slots=True, kw_only=True)
class Standings:
    """Answers from memory where they are fresh."""

    forge: Forge
    now: Callable[[], float]
    _kept: OrderedDict[_Key, tuple[float, Standing]] = field(default_factory=OrderedDict)

    async def of(self, repository: Repository, person: Person, trusted: Trusted) -> Standing:
        """What the person is to the repository."""
        if person.is_bot:
            return Standing(permission=Permission.NONE, listed=is_listed(person, trusted))
        key = (repository.full_name, person.id, person.login, trusted)
        kept = self._kept.get(key)
        if kept is not None and 0 <= self.now() - kept[0] < KEPT_SECONDS:
            return kept[1]
        standing = await self._ask(repository, person, trusted)
        self._kept[key] = (self.now(), standing)
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return standing

    async def _ask(self, repository: Repository, person: Person, trusted: Trusted) -> Standing:
        permission = await self.forge.permission(repository, person)
        if permission is None:
            # Teams are asked by login alone: whose it is now must not be taken for the person.
            return Standing(permission=Permission.NONE)
        if permission.may_write:
            return Standing(permission=permission)
        for team in trusted.teams:
            if await self._is_member(repository, team, person):
                return Standing(permission=permission, team=team)
        return Standing(permission=permission)

    async def _is_member(self, repository: Repository, team: str, person: Person) -> bool:
        """A team that may not be asked about trusts nobody; the operator reads why in the log."""
        try:
            return await self.forge.is_member(repository, team, person)
        except Told as told:
            LOG.warning("members of %s cannot be asked for: %s", team, told.text)
            return False


def is_listed(person: Person, trusted: Trusted) -> bool:
    """Whether a bot is listed: login, number and type agree, since each alone can be had by others."""
    return person.is_bot and any(
        bot.login.lower() == person.login.lower() and bot.id == person.id for bot in trusted.bots
    )
