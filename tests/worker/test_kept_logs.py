"""Stored logs that are due are worked on, a few of each repository at a time."""

import asyncio
from pathlib import Path
from threading import Event

from bot.artifacts.folder import FolderStore
from bot.artifacts.log_archive import open_archive
from bot.domain.run import RunRecord
from bot.ingest.log_keeper import Kept, LogKeeper
from bot.redaction.rules import RULES_VERSION
from bot.storage import kept_logs, queue, repositories, runs
from bot.storage.database import Database
from bot.storage.kept_logs import KeptLog
from bot.storage.queue import Claim
from bot.storage.repositories import RepositoryRow
from bot.storage.tables import KEPT_LOG
from bot.worker.kept_logs import AGAIN_SECONDS, OF_ONE_REPOSITORY, KeptLogStep

NOW = 1_000.0


class SlowKeeper(LogKeeper):
    """A keeper that works until it is let go."""

    go: Event

    def work(self, log: KeptLog) -> Kept:
        """Wait, then do nothing."""
        assert self.go.wait(20)
        return Kept(log, None)


def _add(database: Database, folder: Path, *names: str) -> None:
    row = RepositoryRow(
        full_name="acme/maxtext", installation=1, default_branch="main", private=False, active=True
    )
    database.write_now(repositories.save_repository, row)
    for name in names:
        path = folder / f"{name}.log"
        path.write_text("password=hunter2hunter\n")
        record = RunRecord(id=name, repository="acme/maxtext", case="a", variant="", log_uri=path.as_uri())
        database.write_now(runs.save, record, now=NOW)
    database.write_now(kept_logs.schedule, rules=RULES_VERSION, now=NOW)


def _claim(database: Database) -> Claim | None:
    return database.write_now(queue.claim, KEPT_LOG, owner="me", now=NOW, lease=60.0)


def test_what_is_due_is_made_and_then_rests(database: Database, tmp_path: Path) -> None:
    """The text and its redacted form of a log that an older version found."""
    _add(database, tmp_path, "a")
    artifacts = FolderStore(tmp_path / "artifacts")
    keeper = LogKeeper(database=database, artifacts=artifacts, now=lambda: NOW)
    step = KeptLogStep(database=database, keeper=keeper, now=lambda: NOW)
    claim = _claim(database)
    assert claim is not None
    asyncio.run(step(claim))
    log = database.read_here(kept_logs.find, "a")
    assert log is not None
    shown = b"".join(open_archive(artifacts, log.redacted or "").text())
    assert (RULES_VERSION, b"password=[secret]\n") == (log.rules, shown)
    assert _claim(database) is None


def test_one_repository_does_not_hold_every_place(database: Database, tmp_path: Path) -> None:
    """Its further logs are due again in a moment, and others come first."""
    _add(database, tmp_path, "a", "b", "c")
    keeper = SlowKeeper(
        database=database, artifacts=FolderStore(tmp_path / "artifacts"), now=lambda: NOW, go=Event()
    )
    step = KeptLogStep(database=database, keeper=keeper, now=lambda: NOW)

    async def all_three() -> None:
        claims = [_claim(database) for _ in range(3)]
        first = [asyncio.create_task(step(one)) for one in claims[:OF_ONE_REPOSITORY] if one]
        while sum(step._busy.values()) < OF_ONE_REPOSITORY:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.01)
        last = claims[-1]
        assert last is not None
        await step(last)
        assert _claim(database) is None
        again = database.write_now(queue.claim, KEPT_LOG, owner="me", now=NOW + AGAIN_SECONDS, lease=60.0)
        assert again is not None
        assert last.row["run"] == again.row["run"]
        keeper.go.set()
        await asyncio.gather(*first)

    asyncio.run(all_three())
