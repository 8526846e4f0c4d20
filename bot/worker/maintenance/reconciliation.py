"""Compare GitHub's open pull requests with ours, and make due whatever differs.

This finds changes without a delivery: a new head, an unknown pull request, a closed one. It costs one request
for each hundred pull requests. A repository that cannot be read does not stop the others.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from bot.domain.pull_request import PullRequest
from bot.domain.repository import Repository
from bot.errors import UserError
from bot.storage import main_branch, pull_requests
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from bot.worker.maintenance.tasks import TaskResult
from bot.worker.maintenance.visibility import InstallationLists, VisibilityCheck

INTERVAL_SECONDS = 1800.0

LOG = logging.getLogger(__name__)


class GitHubLists(InstallationLists, Protocol):
    """What GitHub lists."""

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
        check = VisibilityCheck(listing=self.listing, database=self.database, now=self.now, wake=self.wake)
        listed = await check.refresh()
        for repository in (one for several in listed.values() for one in several or ()):
            await self._compare(repository)
        self.wake()
        return TaskResult(position=None, repeat_after=INTERVAL_SECONDS)

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
