"""The database: one engine, short transactions, SQLite or PostgreSQL by the address.

`Database` runs functions of a connection, each in one transaction. Every failure of the database is
`DatabaseUnavailable`. Transactions never span a call to the outside. SQLite runs in WAL with
`BEGIN IMMEDIATE` for writers, so that two processes queue up instead of failing; every commit is on disk
before it is acknowledged.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection as Connection  # noqa: PLC0414 - named by those who read through here
from sqlalchemy import Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from bot.errors import InternalError, UserError

BUSY_MILLISECONDS = 8_000
"""How long a SQLite writer waits for another: below GitHub's 10 s, so that a webhook is answered."""

THREADS = 4

POSTGRES_SCHEMES = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}

P = ParamSpec("P")

T = TypeVar("T")


class DatabaseUnavailable(InternalError):
    """The database does not answer, or refuses; retrying later may help."""


class WriterLock:
    """One writer at a time in this process, urgent ones first.

    SQLite admits one writer and makes the others sleep and retry. This lock avoids the sleeping, and lets a
    delivery that GitHub waits for overtake work that nobody waits for.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken = False
        self._urgent = 0

    @contextmanager
    def urgent(self) -> Iterator[None]:
        """Hold the lock next."""
        with self._changed:
            self._urgent += 1
            self._changed.wait_for(lambda: not self._taken)
            self._urgent -= 1
            self._taken = True
        try:
            yield
        finally:
            self._release()

    @contextmanager
    def ordinary(self) -> Iterator[None]:
        """Hold the lock when no urgent writer waits."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._taken or self._urgent))
            self._taken = True
        try:
            yield
        finally:
            self._release()

    def _release(self) -> None:
        with self._changed:
            self._taken = False
            self._changed.notify_all()


class Database:
    """Runs functions of a connection, each in one transaction, on threads of its own."""

    def __init__(self, url: str) -> None:
        self._engine = _create_engine(url)
        self._writers = WriterLock() if self.is_sqlite else None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="database")

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is one file on this machine."""
        return self._engine.dialect.name == "sqlite"

    def write_now(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(connection, …)` in one writing transaction, on the calling thread and before waiting
        writers: for what somebody outside waits for."""
        with self._write_lock(WriterLock.urgent):
            return _transaction(self._engine, function, *args, **kwargs)

    async def write(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(connection, …)` in one writing transaction and commit it."""

        def run() -> T:
            with self._write_lock(WriterLock.ordinary):
                return _transaction(self._engine, function, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._threads, run)

    async def read(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(connection, …)` on one consistent view, without blocking writers."""
        reader = self._engine.execution_options(maxview_reads=True)
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: _transaction(reader, function, *args, **kwargs)
        )

    def read_here(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(connection, …)` on one consistent view, on the calling thread: for long computations,
        so that the threads here stay free for short ones."""
        reader = self._engine.execution_options(maxview_reads=True)
        return _transaction(reader, function, *args, **kwargs)

    def _write_lock(
        self, kind: Callable[["WriterLock"], AbstractContextManager[None]]
    ) -> AbstractContextManager[None]:
        return nullcontext() if self._writers is None else kind(self._writers)

    def check(self) -> None:
        """Raise `DatabaseUnavailable` unless the database answers."""
        self.write_now(lambda connection: connection.execute(text("SELECT 1")).scalar_one())

    def migrate(self) -> None:
        """Bring the tables to this program's version; safe when several processes start at once. `UserError`
        if the database belongs to another version."""
        from bot.storage.migrations import upgrade  # noqa: PLC0415 - Alembic is slow to import
        from bot.storage.runs import backfill  # noqa: PLC0415 - as above

        _translate_errors(lambda: upgrade(self._engine))
        while self.write_now(backfill):
            pass

    def close(self) -> None:
        """Close every connection and thread."""
        self._threads.shutdown(wait=True)
        self._engine.dispose()


def _transaction(
    engine: Engine, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    def run() -> T:
        with engine.begin() as connection:
            return function(connection, *args, **kwargs)

    return _translate_errors(run)


def _translate_errors(act: Callable[[], T]) -> T:
    try:
        return act()
    except SQLAlchemyError as problem:
        detail = str(getattr(problem, "orig", None) or problem).strip().splitlines()
        raise DatabaseUnavailable(
            f"the database: {detail[0] if detail else type(problem).__name__}"
        ) from problem


def _create_engine(url: str) -> Engine:
    try:
        address = make_url(url)
    except ArgumentError as problem:
        raise UserError(
            "DATABASE_URL cannot be read: give sqlite:///file or postgresql://user@host/name"
        ) from problem
    if address.drivername.startswith("sqlite"):
        return _create_sqlite_engine(address.database)
    driver = POSTGRES_SCHEMES.get(address.drivername, address.drivername)
    return create_engine(
        address.set(drivername=driver),
        pool_size=THREADS + 1,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5},
    )


def _create_sqlite_engine(path: str | None) -> Engine:
    if not path or path == ":memory:":
        raise UserError("DATABASE_URL names no file: give sqlite:///path/to/file")
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UserError(f"DATABASE_URL: {Path(path).parent} cannot be made: {problem.strerror}") from problem
    engine = create_engine(f"sqlite:///{path}", pool_size=THREADS + 1)
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, _record: object) -> None:
    """Begin transactions ourselves, since Python's driver begins them too late, and make commits durable."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout={BUSY_MILLISECONDS}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.get_execution_options().get("maxview_reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
