"""Compare GitHub's open pull requests with ours, and make due whatever differs.

This finds changes without a delivery: a new head, an unknown pull request, a closed one. It costs one request
for each hundred pull requests. A repository that cannot be read does not stop the others.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from bot.domain.pull_request import PullRequest
from bot.domain.repository import Repository
from bot.errors import UserError
from bot.storage import main_branch, pull_requests, repositories
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from bot.storage.repositories import RepositoryRow
from bot.worker.maintenance.tasks import TaskResult

INTERVAL_SECONDS = 1800.0

LOG = logging.getLogger(__name__)


class GitHubLists(Protocol):
    """What GitHub lists."""

    async def installations(self) -> tuple[int, ...]:
        """Every installation that is not suspended."""
        ...

    async def repositories(self, installation: int) -> tuple[Repository, ...]:
        """The repositories of an installation."""
        ...

    async def open_pulls(self, repository: Repository) -> tuple[PullRequest, ...]:
        """Every open pull request of a repository."""
        ...


class Reconciliation(Struct, frozen=True, kw_only=True):
    """Compares, and makes due what differs."""

    listing: GitHubLists
    database: Database
    now: Callable[[], float]
    wake: Callable[[], None]

    async def __call__(self, _mark: str | None) -> TaskResult:
        """Go through everything once."""
        listed = {one: await self._listed(one) for one in await self.listing.installations()}
        await self._deactivate(listed)
        for repository in (one for several in listed.values() for one in several or ()):
            await self._compare(repository)
        self.wake()
        return TaskResult(position=None, repeat_after=INTERVAL_SECONDS)

    async def _listed(self, installation: int) -> tuple[Repository, ...] | None:
        """The repositories of an installation, stored; None if GitHub refuses."""
        try:
            found = await self.listing.repositories(installation)
        except UserError as error:
            LOG.warning("installation %s cannot be read: %s", installation, error.text)
            return None
        for repository in found:
            await self.database.write(repositories.save_repository, repositories.repository_row(repository))
        return found

    async def _deactivate(self, listed: Mapping[int, tuple[Repository, ...] | None]) -> None:
        """Deactivate repositories that no installation lists any more."""
        for row in await self.database.read(repositories.list_repositories):
            if row.active and is_gone(row, listed):
                LOG.info("a repository is let alone", extra={"repository": row.full_name})
                await self.database.write(
                    repositories.deactivate,
                    installation=row.installation,
                    repositories=[row.full_name],
                )

    async def _compare(self, repository: Repository) -> None:
        try:
            on_github = await self.listing.open_pulls(repository)
        except UserError as error:
            LOG.warning("%s cannot be compared: %s", repository.full_name, error.text)
            return
        await self.database.write(
            main_branch.enqueue_main,
            repository=repository.full_name,
            installation=repository.installation,
            now=self.now(),
        )
        known = await self.database.read(pull_requests.list_pulls, repository.full_name)
        for number, head_sha in differences(on_github, known).items():
            await self.database.write(
                pull_requests.enqueue,
                repository=repository.full_name,
                number=number,
                installation=repository.installation,
                now=self.now(),
                head_sha=head_sha,
            )


def is_gone(row: RepositoryRow, listed: Mapping[int, tuple[Repository, ...] | None]) -> bool:
    """Whether no installation lists a repository; an unreadable installation may still hold it."""
    if listed.get(row.installation, ()) is None:
        return False
    return all(row.full_name != one.full_name for several in listed.values() for one in several or ())


def differences(on_github: Sequence[PullRequest], known: Sequence[PullRow]) -> dict[int, str | None]:
    """The numbers that differ, with the head on GitHub if the pull request is open."""
    rows = {row.number: row for row in known}
    new = {
        pull.number: pull.head_sha
        for pull in on_github
        if (row := rows.get(pull.number)) is None or not row.open or row.head_sha != pull.head_sha
    }
    open_there = {pull.number for pull in on_github}
    closed: dict[int, str | None] = {
        row.number: None for row in known if row.open and row.number not in open_there
    }
    return {**closed, **new}
