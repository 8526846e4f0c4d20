"""Single values that are kept by name, and the identity of this installation."""

import secrets

from sqlalchemy import Connection, select

from bot.storage.sql import insert
from bot.storage.tables import MARK

INSTALLATION_KEY = "installation"


def installation_id(connection: Connection) -> str:
    """What tells this database, and so all its processes, from every other: made when it is first asked for,
    the same ever after. A copy of a database is the same installation."""
    made = insert(connection, MARK).values(name=INSTALLATION_KEY, value=secrets.token_hex(4))
    connection.execute(made.on_conflict_do_nothing())
    return str(connection.execute(select(MARK.c.value).where(MARK.c.name == INSTALLATION_KEY)).scalar_one())


def save(connection: Connection, name: str, value: str) -> None:
    """Remember a value in place of the one before it."""
    statement = insert(connection, MARK).values(name=name, value=value)
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"value": value}))


def read(connection: Connection, name: str) -> str | None:
    """The value of that name, or None."""
    return connection.execute(select(MARK.c.value).where(MARK.c.name == name)).scalar_one_or_none()
