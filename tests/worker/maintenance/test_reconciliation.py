"""Whatever differs between GitHub's open pull requests and ours is looked at."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.domain.pull_request import PullRequest
from bot.domain.repository import Installation, Repository
from bot.errors import NotFound
from bot.storage import pull_requests, queue, repositories
from bot.storage.database import Database
from bot.storage.tables import MAIN_BRANCH
from bot.worker.maintenance.reconciliation import Reconciliation, differences
from tests.worker.samples import ACME, HEAD, NOW, PULL, row

OTHER = Repository(full_name="acme/other", installation=2, default_branch="main", id=9)


@dataclass(slots=True, kw_only=True)
class Listing:
    """GitHub's lists; what is not in them cannot be read."""

    installed: dict[int, tuple[Repository, ...]] = field(default_factory=lambda: {1: (ACME,)})
    pulls: dict[str, tuple[PullRequest, ...]] = field(default_factory=dict)

    async def installations(self) -> tuple[Installation, ...]:
        """By number."""
        return tuple(Installation(id=number, suspended=False) for number in self.installed)

    async def repositories(self, installation: int) -> tuple[Repository, ...]:
        """Of one installation."""
        return self.installed[installation]

    async def open_pulls(self, repository: Repository) -> tuple[PullRequest, ...]:
        """Of one repository."""
        if repository.full_name not in self.pulls:
            raise NotFound("no such repository")
        return self.pulls[repository.full_name]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty database."""
    made = Database(f"sqlite:///{tmp_path / 'x.sqlite'}")
    made.migrate()
    yield made
    made.close()


def _reconcile(database: Database, listing: Listing) -> None:
    asyncio.run(Reconciliation(listing=listing, database=database, now=lambda: NOW, wake=lambda: None)(None))


def test_new_heads_unknown_and_closed_ones_differ() -> None:
    """A pull request that stands as we know it does not."""
    there = [replace(PULL, number=n, head_sha=HEAD) for n in (1, 2, 3, 5)]
    known = [
        row(number=1),
        row(number=2, head_sha="b" * 40),
        row(number=4),
        row(number=5, open=False),
        row(number=6, open=False),
    ]
    assert {2: HEAD, 3: HEAD, 4: None, 5: HEAD} == differences(there, known)


def test_a_pull_request_that_nobody_told_us_of_is_looked_at(database: Database) -> None:
    """Also where its repository is new to us; a repository that cannot be read keeps nobody from it."""
    listing = Listing(
        installed={1: (replace(ACME, full_name="acme/away"), ACME), 2: (OTHER,)},
        pulls={"acme/maxtext": (PULL,), "acme/other": (replace(PULL, number=3),)},
    )
    _reconcile(database, listing)
    assert database.write_now(pull_requests.find_pull, "acme/maxtext", 7) is not None
    assert database.write_now(pull_requests.find_pull, "acme/other", 3) is not None
    assert ["acme/away", "acme/maxtext", "acme/other"] == [
        one.full_name for one in database.write_now(repositories.list_repositories) if one.active
    ]


def test_main_is_looked_at_too(database: Database) -> None:
    """A push to it may have been missed."""
    _reconcile(database, Listing(pulls={"acme/maxtext": (PULL,)}))
    held = database.write_now(queue.claim, MAIN_BRANCH, owner="me", now=NOW, lease=30.0)
    assert held is not None
    assert "acme/maxtext" == held.row["repository"]


def test_a_repository_that_no_installation_lists_is_let_alone(database: Database) -> None:
    """The delivery that said so was missed."""
    _reconcile(database, Listing(pulls={"acme/maxtext": (PULL,)}))
    _reconcile(database, Listing(installed={}))
    kept = database.write_now(repositories.find_repository, "acme/maxtext")
    assert kept is not None
    assert not kept.active
