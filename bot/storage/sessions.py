"""Who is signed in: one row for each session, without its token, which only the browser keeps."""

from msgspec import Struct, structs
from sqlalchemy import Connection, delete, select

from bot.storage.tables import SESSION


class SessionRow(Struct, frozen=True, kw_only=True):
    """A signed-in session. `digest` is of the browser's token, so that nobody signs in with what the table
    holds. Times are Unix seconds."""

    digest: str
    login: str
    made: float
    expires: float


def begin(connection: Connection, row: SessionRow) -> None:
    """Save a session, and delete those that have expired."""
    connection.execute(delete(SESSION).where(SESSION.c.expires <= row.made))
    connection.execute(SESSION.insert().values(structs.asdict(row)))


def find(connection: Connection, digest: str, now: float) -> SessionRow | None:
    """A session that has not expired, or None."""
    names = [SESSION.c[name] for name in SessionRow.__struct_fields__]
    wanted = select(*names).where(SESSION.c.digest == digest, SESSION.c.expires > now)
    row = connection.execute(wanted).mappings().first()
    return SessionRow(**row) if row else None


def end(connection: Connection, digest: str) -> None:
    """Delete a session."""
    connection.execute(delete(SESSION).where(SESSION.c.digest == digest))
