"""The database of `maxview serve`, for commands that run beside it: found by the same settings."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bot.errors import UserError
from bot.storage import launched_runs
from bot.storage.database import Database


class ServerStore(Struct, frozen=True, kw_only=True):
    """Where the server keeps its data."""

    database_url: str
    data_dir: Path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "ServerStore":
        """From the settings of `maxview serve`."""
        data_dir = Path(environ.get("DATA_DIR", "").strip() or ".data").absolute()
        url = environ.get("DATABASE_URL", "").strip() or f"sqlite:///{data_dir / 'maxview.sqlite'}"
        return cls(database_url=url, data_dir=data_dir)


@contextmanager
def open_database(store: ServerStore) -> Iterator[tuple[ServerStore, Database]]:
    """The database, which must exist: a wrong folder must not look like an empty list."""
    path = store.database_url.removeprefix("sqlite:///")
    if path != store.database_url and not Path(path).is_file():
        raise UserError(f"there is no database at {path}: give DATA_DIR or DATABASE_URL as for maxview serve")
    database = Database(store.database_url)
    try:
        if not asyncio.run(database.read(launched_runs.has_tables)):
            raise UserError("the database is empty: start maxview serve once, which makes its tables")
        if asyncio.run(database.read(launched_runs.is_outdated)):
            raise UserError(
                "an older version left the database: start maxview serve once, which brings it up to date"
            )
        yield store, database
    finally:
        database.close()
