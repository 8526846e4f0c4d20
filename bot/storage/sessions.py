"""Who is signed in: one row for each session, without its token, which only the browser keeps."""

from msgspec import Struct
from sqlalchemy import Connection, delete, select

from bot.storage.sql import insert
from bot.storage.tables import SESSION


class SessionRow(Struct, frozen=True, kw_only=True):
    """`digest` is of the name that the browser knows, so that who reads the table cannot enter with it."""

    digest: str
    login: str
    made: float
    expires: float


def begin(connection: Connection, row: SessionRow) -> None:
    """Keep a session, and forget those that are over."""
    connection.execute(delete(SESSION).where(SESSION.c.expires <= row.made))
    values = {name: getattr(row, name) for name in SessionRow.__struct_fields__}
    connection.execute(insert(connection, SESSION).values(**values))


def find(connection: Connection, digest: str, now: float) -> SessionRow | None:
    """A session that lasts; None where it is over, or was never begun."""
    names = [SESSION.c[name] for name in SessionRow.__struct_fields__]
    wanted = select(*names).where(SESSION.c.digest == digest, SESSION.c.expires > now)
    row = connection.execute(wanted).mappings().first()
    return SessionRow(**row) if row else None


def end(connection: Connection, digest: str) -> None:
    """Forget a session."""
    connection.execute(delete(SESSION).where(SESSION.c.digest == digest))
