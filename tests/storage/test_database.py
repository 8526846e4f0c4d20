"""The database behaves the same on SQLite and PostgreSQL."""
from bot.storage.database import Database


def test_check(database: Database) -> None:
    """x."""
    database.check()
