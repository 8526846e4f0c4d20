"""Turn a push into wishes: on the pull requests of the branch, on the branch itself, on main.

In:  a `Branch`: where a branch has moved to, or that it is gone. Out: wishes, and what was done in words.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bot.controller.suites import Suites
from bot.intake.intent import Branch
from bot.intake.life import QUEUES
from bot.storage import branches, mainline, pulls
from bot.storage.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushes:
    """Writes wishes down; doing it twice changes nothing."""

    database: Database
    suites: Suites
    now: Callable[[], float]

    async def take(self, push: Branch) -> str:
        """Say who is looked at because of it."""
        if push.branch == push.repository.default_branch:
            return await self._main(push)
        touched = 0 if push.deleted else await self._pulls(push)
        watched = ", and the branch itself" if await self._watch(push) else ""
        return f"{touched} pull requests of {push.branch} are looked at{watched}"

    async def _main(self, push: Branch) -> str:
        """Something landed; and where the configuration has changed, every open pull request is looked at,
        also one that nothing was said on until now."""
        name, now = push.repository.full_name, self.now()
        await self.database.write(
            mainline.look, repository=name, installation=push.repository.installation, now=now
        )
        if not await self.suites.renew(push.repository):
            return f"{push.branch} is looked at"
        return f"{push.branch} is looked at, and every open pull request"

    async def _pulls(self, push: Branch) -> int:
        return await self.database.write(
            pulls.want_branch,
            repository=push.repository.full_name,
            branch=push.branch,
            sha=push.sha,
            now=self.now(),
        )

    async def _watch(self, push: Branch) -> bool:
        """Watch a branch by itself, where the configuration says so; one that we know is looked at anyway. A
        merge queue's is not: see `bot.controller.merge_queues`."""
        name, now = push.repository.full_name, self.now()
        known = await self.database.read(branches.number_of, name, push.branch)
        if known is None and (push.deleted or not await self._is_watched(push)):
            return False
        await self.database.write(
            branches.watch,
            repository=name,
            branch=push.branch,
            installation=push.repository.installation,
            sha=None if push.deleted else push.sha,
            now=now,
        )
        return True

    async def _is_watched(self, push: Branch) -> bool:
        if push.branch.startswith(QUEUES):
            return False
        suite = (await self.suites.read(push.repository)).suite
        if suite is None or not suite.triggers.watches(push.branch):
            return False
        return not await self.database.read(branches.has_pull, push.repository.full_name, push.branch)
