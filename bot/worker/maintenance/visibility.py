"""Ask GitHub every few minutes which repositories are public, and which are there at all.

Pages are open while GitHub's own answer is younger than `PUBLIC_SECONDS`: while it cannot be asked they close
by themselves. The listing of an installation costs one request for each hundred repositories, and none where
nothing changed.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from bot.domain.forge import Forge
from bot.domain.repository import Installation, Repository
from bot.errors import InternalError, UserError
from bot.storage import pull_requests, repositories
from bot.storage.database import Connection, Database
from bot.storage.repositories import PUBLIC_SECONDS, RepositoryRow, repository_row
from bot.worker.maintenance.tasks import TaskResult

INTERVAL_SECONDS = PUBLIC_SECONDS / 3
"""Two answers may fail before pages close."""

LOG = logging.getLogger(__name__)


class InstallationLists(Protocol):
    """What GitHub lists of the App."""

    async def installations(self) -> tuple[Installation, ...]:
        """Every installation."""
        ...

    async def repositories(self, installation: int) -> tuple[Repository, ...]:
        """The repositories of an installation that is not suspended."""
        ...


class VisibilityCheck(Struct, frozen=True, kw_only=True):
    """Opens and closes pages by GitHub's listings; repositories that no installation lists are let alone."""

    listing: InstallationLists
    database: Database
    now: Callable[[], float]
    wake: Callable[[], None]

    async def __call__(self, _position: str | None) -> TaskResult:
        """Go through every installation once."""
        await self.refresh()
        self.wake()
        return TaskResult(position=None, repeat_after=INTERVAL_SECONDS)

    async def refresh(self) -> Mapping[int, tuple[Repository, ...] | None]:
        """The repositories of each installation, stored; None of one that cannot be read."""
        known = await self.database.read(repositories.closings)
        installations = await self.listing.installations()
        listed = {one.id: None if one.suspended else await self._listed(one.id) for one in installations}
        for several in listed.values():
            for repository in several or ():
                await self._confirm(repository, known)
        suspended = {one.id for one in installations if one.suspended}
        await self._let_alone(listed, suspended)
        return listed

    async def _listed(self, installation: int) -> tuple[Repository, ...] | None:
        try:
            return await self.listing.repositories(installation)
        except UserError as error:
            LOG.warning("installation %s cannot be read: %s", installation, error.text)
            return None

    async def _confirm(self, repository: Repository, known: Mapping[int, int]) -> None:
        closings = known.get(repository.id) if repository.id is not None else None
        await self.database.write(confirm, repository, closings=closings, now=self.now())

    async def _let_alone(
        self, listed: Mapping[int, tuple[Repository, ...] | None], suspended: set[int]
    ) -> None:
        """Close what no installation lists, and stop working on it."""
        for row in await self.database.read(repositories.list_repositories):
            if row.installation in suspended:
                if row.active:
                    await self._deactivate(row)
            elif is_gone(row, listed):
                if row.active:
                    LOG.info("a repository is let alone", extra={"repository": row.full_name})
                await self._deactivate(row)
                await self.database.write(repositories.mark_uninstalled, row.full_name, now=self.now())

    async def _deactivate(self, row: RepositoryRow) -> None:
        if row.active or row.public_confirmed_at is not None:
            await self.database.write(
                repositories.deactivate, installation=row.installation, repositories=[row.full_name]
            )


def is_gone(row: RepositoryRow, listed: Mapping[int, tuple[Repository, ...] | None]) -> bool:
    """Whether no installation lists a repository; an unreadable installation may still hold it."""
    if listed.get(row.installation, ()) is None:
        return False
    return all(row.full_name != one.full_name for several in listed.values() for one in several or ())


def confirm(connection: Connection, repository: Repository, *, closings: int | None, now: float) -> None:
    """Save a repository as GitHub describes it. If its pages opened or closed, what links to them is due."""
    row = repository_row(repository)
    if repositories.confirm_repository(connection, row, closings=closings, now=now):
        pull_requests.touch_open(connection, repository=row.full_name, now=now)


class VisibilityGate(Struct, frozen=True, kw_only=True):
    """Saves what deliveries say of a repository, and asks GitHub before it believes that one is public."""

    database: Database
    forge: Forge
    now: Callable[[], float]

    async def remember(self, repository: Repository) -> None:
        """Save it; if it may be public and GitHub has not said so lately, ask. If that fails it stays closed
        until the next listing."""
        row = repository_row(repository)
        known = await self.database.read(repositories.closings)
        if not await self.database.write(repositories.save_repository, row) or row.private or row.id is None:
            return
        stored = await self.database.read(repositories.find_by_number, row.id)
        if stored is None or self._is_fresh(stored):
            return
        try:
            facts = await self.forge.repository_facts(repository)
        except (UserError, InternalError) as error:
            LOG.warning("whether %s is public is not known: %s", repository.full_name, error)
            return
        if facts.id == row.id:
            await self.database.write(confirm, facts, closings=known.get(row.id), now=self.now())

    def _is_fresh(self, stored: RepositoryRow) -> bool:
        return stored.is_public(self.now()) and stored.is_public(self.now() + INTERVAL_SECONDS)
