"""The door to SQL behaves the same on SQLite and on PostgreSQL."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, text

from bot.errors import UserError
from bot.storage import pull_requests
from bot.storage.database import Database, DatabaseUnavailable
from bot.storage.tables import PULL_REQUEST
from tests.peers.postgres import Postgres

MIGRATE = (
    "import sys; from bot.storage.database import Database as D; d = D(sys.argv[1]); d.migrate(); d.close()"
)


def _want(connection: Connection) -> None:
    pull_requests.enqueue(connection, repository="acme/maxtext", number=7, installation=1, now=10.0)


def _want_and_fail(connection: Connection) -> None:
    _want(connection)
    raise RuntimeError("after the write")


def _count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(PULL_REQUEST)).scalar_one()


def test_what_a_transaction_wrote_is_there_for_the_next_one(database: Database) -> None:
    """A function's writes are committed when it returns."""
    database.write_now(_want)
    assert database.write_now(_count) == 1


def test_a_transaction_that_raises_leaves_nothing(database: Database) -> None:
    """What a function wrote before it raised is taken back, and its own exception comes out."""
    with pytest.raises(RuntimeError, match="after the write"):
        database.write_now(_want_and_fail)
    assert database.write_now(_count) == 0


def test_readers_do_not_wait_for_a_writer(database: Database) -> None:
    """While one transaction writes, another reads what was there before."""

    async def scene() -> int:
        loop = asyncio.get_running_loop()
        written, seen = asyncio.Event(), asyncio.Event()

        def write(connection: Connection) -> None:
            _want(connection)
            loop.call_soon_threadsafe(written.set)
            asyncio.run_coroutine_threadsafe(seen.wait(), loop).result(timeout=5)

        writing = asyncio.create_task(database.write(write))
        await written.wait()
        before = await asyncio.wait_for(database.read(_count), timeout=4)
        seen.set()
        await writing
        return before

    assert asyncio.run(scene()) == 0
    assert database.write_now(_count) == 1


def test_migrating_again_changes_nothing(database: Database) -> None:
    """A start of the program with nothing to migrate keeps what is there."""
    database.write_now(_want)
    database.migrate()
    assert database.write_now(_count) == 1


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_processes_that_start_together_migrate_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Three processes that find an empty database at once all end well, and the tables are there."""
    if kind == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.empty()
    else:
        url = f"sqlite:///{tmp_path / 'new' / 'maxview.sqlite'}"
    command = [sys.executable, "-W", "error", "-c", MIGRATE, url]
    together = [
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) for _ in range(3)
    ]
    assert [(one.communicate(timeout=60)[1], one.returncode) for one in together] == [("", 0)] * 3
    opened = Database(url)
    assert opened.write_now(_count) == 0
    opened.close()


def test_postgresql_that_does_not_answer_is_unavailable(tmp_path: Path) -> None:
    """Where no server listens, `DatabaseUnavailable` says so in one line."""
    opened = Database(f"postgresql://nobody@/nothing?host={tmp_path}")
    with pytest.raises(DatabaseUnavailable, match=r"^the database: .+") as caught:
        opened.check()
    assert "\n" not in str(caught.value)
    opened.close()


def test_a_sqlite_file_that_cannot_be_opened_is_unavailable(tmp_path: Path) -> None:
    """Where the file is a folder, `DatabaseUnavailable` says so."""
    opened = Database(f"sqlite:///{tmp_path}")
    with pytest.raises(DatabaseUnavailable, match="unable to open database file"):
        opened.check()
    opened.close()


def test_a_lost_connection_is_replaced(postgres: Postgres) -> None:
    """After PostgreSQL ended every connection, the next transaction gets a new one."""
    url = postgres.with_tables()
    opened = Database(url)
    opened.write_now(_want)
    postgres.disconnect(url)
    assert opened.write_now(_count) == 1
    opened.close()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "not an address"])
def test_addresses_that_keep_nothing_are_refused(url: str) -> None:
    """A database in memory, or an address that is none, is refused with a message."""
    with pytest.raises(UserError, match="DATABASE_URL"):
        Database(url)


def test_commits_of_sqlite_are_on_disk(tmp_path: Path) -> None:
    """The journal is a write-ahead log and every commit waits for the disk."""
    opened = Database(f"sqlite:///{tmp_path / 'a.sqlite'}")

    def pragmas(connection: Connection) -> tuple[str, int]:
        return (
            connection.execute(text("PRAGMA journal_mode")).scalar_one(),
            connection.execute(text("PRAGMA synchronous")).scalar_one(),
        )

    assert opened.write_now(pragmas) == ("wal", 2)
    opened.close()
