"""Single values that the program remembers by name.

In:  names and values. Out: the value that was kept last.
"""

from sqlalchemy import Connection, select

from bot.storage.deliveries import insert
from bot.storage.tables import MARK


def keep(connection: Connection, name: str, value: str) -> None:
    """Remember a value in place of the one before it."""
    statement = insert(connection, MARK).values(name=name, value=value)
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"value": value}))


def read(connection: Connection, name: str) -> str | None:
    """The value of that name, or None."""
    return connection.execute(select(MARK.c.value).where(MARK.c.name == name)).scalar_one_or_none()
