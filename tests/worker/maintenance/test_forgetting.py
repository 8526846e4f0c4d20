"""A repository is forgotten on request, and a while after it was uninstalled: all of it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from bot.artifacts.folder import FolderStore
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.registry import ClusterRegistry
from bot.domain.repository import Repository
from bot.domain.run import RunRecord
from bot.storage import forgetting, repositories, runs
from bot.storage.database import Database
from bot.storage.repositories import repository_row
from bot.storage.tables import RUN
from bot.worker.maintenance.forgetting import MARK_SECONDS, ForgetTask, RepositoryRemoval
from bot.worker.maintenance.visibility import VisibilityCheck
from tests.policy.open_policy import OpenPolicy
from tests.worker.maintenance.test_reconciliation import Listing
from tests.worker.samples import ACME, NOW

RETENTION = 30 * 86_400.0


@dataclass(slots=True, kw_only=True)
class Server:
    """One whose maintenance is run by hand; `listing` is what GitHub answers."""

    database: Database
    artifacts: FolderStore
    jobs: LocalCluster
    listing: Listing
    now: float = NOW

    @property
    def removal(self) -> RepositoryRemoval:
        """What the command and the maintenance share."""
        return RepositoryRemoval(
            database=self.database, artifacts=self.artifacts, jobs=self.jobs, now=lambda: self.now
        )

    @property
    def visibility(self) -> VisibilityCheck:
        """GitHub's listing."""
        return VisibilityCheck(
            listing=self.listing, database=self.database, now=lambda: self.now, wake=lambda: None
        )

    def forget(self, name: str) -> int:
        """As the command."""
        target = self.database.write_now(forgetting.find_forgettable, name)
        assert target is not None
        return asyncio.run(self.removal.forget(target))

    def maintain(self, after: float = 0.0) -> None:
        """Let time pass, and run the task once."""
        self.now += after
        task = ForgetTask(
            removal=self.removal,
            clusters=ClusterRegistry(local=self.jobs, open_place=lambda _: self.jobs),
            permissions=OpenPolicy(),
            visibility=self.visibility,
            retention_seconds=RETENTION,
        )
        asyncio.run(task(None))

    def list(self) -> None:
        """Ask GitHub what is installed."""
        asyncio.run(self.visibility.refresh())

    def add_run(self, name: str, repository: str) -> None:
        """A run with a stored log."""
        made = RunRecord(
            id=name, repository=repository, case="a", variant="x", branch="main", sha="a" * 40, started=NOW
        )
        self.database.write_now(runs.save, made, now=NOW)
        self.artifacts.write(f"runs/{name}/log-1.mvlog", [b"a log"], "application/zstd")

    def kept(self) -> set[str]:
        """The runs of which there is a row or a file."""
        names = {file.name.split("/")[1] for file in self.artifacts.find("runs/*/*")}
        return names | set(self.database.write_now(_run_ids))

    def is_known(self, repository: Repository = ACME) -> bool:
        """Whether there is a row of it."""
        return self.database.write_now(repositories.find_repository, repository.full_name) is not None


def _run_ids(connection: Connection) -> list[str]:
    return list(connection.execute(select(RUN.c.id)).scalars())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """With a run of a repository, and one of another."""
    database = Database(f"sqlite:///{tmp_path / 'x.sqlite'}")
    database.migrate()
    made = Server(
        database=database,
        artifacts=FolderStore(tmp_path / "artifacts"),
        jobs=LocalCluster(tmp_path / "cluster"),
        listing=Listing(),
    )
    made.list()
    made.add_run("mine", ACME.full_name)
    made.add_run("other", "acme/other")
    yield made
    database.close()


def test_rows_and_files_are_gone(server: Server) -> None:
    """Those of the other repository stay."""
    assert 1 == server.forget(ACME.full_name)
    assert ({"other"}, False) == (server.kept(), server.is_known())


def test_what_a_server_had_under_way_is_removed_when_the_mark_ends(server: Server) -> None:
    """A step that began before goes on to write: its row, and a file of a run that is gone."""
    server.forget(ACME.full_name)
    server.add_run("late", ACME.full_name)
    server.artifacts.write("runs/mine/log-2.mvlog", [b"a log"], "application/zstd")
    server.maintain(MARK_SECONDS - 1)
    assert {"mine", "late", "other"} == server.kept()
    server.maintain(1)
    assert {"other"} == server.kept()


def test_it_is_known_anew_only_after_the_mark(server: Server) -> None:
    """GitHub still lists it; deliveries and listings save nothing meanwhile."""
    server.forget(ACME.full_name)
    server.list()
    assert not server.is_known()
    server.maintain(MARK_SECONDS)
    server.list()
    assert (True, {"other"}) == (server.is_known(), server.kept())


def test_an_uninstalled_repository_is_forgotten_when_its_time_is_over(server: Server) -> None:
    """Not before."""
    server.listing.installed = {}
    server.list()
    server.maintain(RETENTION - 1)
    assert server.is_known()
    server.maintain(1)
    assert ({"other"}, False) == (server.kept(), server.is_known())


def test_who_comes_back_in_time_keeps_everything(server: Server) -> None:
    """The time starts anew at the next uninstalling."""
    server.listing.installed = {}
    server.list()
    server.now += RETENTION / 2
    server.listing.installed = {5: (ACME,)}
    server.list()
    server.listing.installed = {}
    server.now += RETENTION / 2
    server.list()
    server.maintain()
    assert {"mine", "other"} == server.kept()


def test_who_came_back_while_no_server_ran_keeps_everything(server: Server) -> None:
    """GitHub is asked before anything is removed."""
    server.listing.installed = {}
    server.list()
    server.listing.installed = {5: (ACME,)}
    server.maintain(2 * RETENTION)
    assert ({"mine", "other"}, True) == (server.kept(), server.is_known())


def test_a_delivery_does_not_keep_it(server: Server) -> None:
    """What GitHub lists counts: a late delivery would keep it for ever."""
    server.listing.installed = {}
    server.list()
    server.database.write_now(repositories.save_repository, repository_row(ACME))
    server.maintain(RETENTION)
    assert {"other"} == server.kept()


def test_old_line_indexes_go_with_it(server: Server) -> None:
    """Their names tell no repository, and nothing reads them."""
    server.artifacts.write("line-index/ab/cd", [b"x"], "application/octet-stream")
    server.forget(ACME.full_name)
    assert [] == list(server.artifacts.find("line-index/*/*"))
