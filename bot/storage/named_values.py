"""Single values that are kept by name, and the identity of this installation."""

import secrets

from sqlalchemy import Connection, select

from bot.storage.sql import insert_missing, upsert
from bot.storage.tables import NAMED_VALUE

INSTALLATION_KEY = "installation"


def installation_id(connection: Connection) -> str:
    """The identity of this database and all its processes: drawn when first asked for, then always the same.
    A copy of a database is the same installation."""
    insert_missing(connection, NAMED_VALUE, name=INSTALLATION_KEY, value=secrets.token_hex(4))
    return str(
        connection.execute(
            select(NAMED_VALUE.c.value).where(NAMED_VALUE.c.name == INSTALLATION_KEY)
        ).scalar_one()
    )


def save(connection: Connection, name: str, value: str) -> None:
    """Save a value in place of the one before it."""
    upsert(connection, NAMED_VALUE, {"name": name}, {"value": value})


def read(connection: Connection, name: str) -> str | None:
    """The value of that name, or None."""
    return connection.execute(
        select(NAMED_VALUE.c.value).where(NAMED_VALUE.c.name == name)
    ).scalar_one_or_none()
