"""GitHub's numbers of what the operator's policy names, and of the repositories it is asked for.

A number is written once, when GitHub first says whose the name is, and never replaced: who takes the name
later is somebody else.
"""

from collections.abc import Mapping

from msgspec import Struct
from sqlalchemy import Connection, delete, func, select, update

from bot.storage.sql import insert
from bot.storage.tables import POLICY_MATCH, REPOSITORY


class StoredMatch(Struct, frozen=True, kw_only=True):
    """The numbers of a name: of its owner, and of its repository where it names one."""

    owner_id: int
    repository_id: int | None


class StoredIdentity(Struct, frozen=True, kw_only=True):
    """A repository as GitHub last said to whom it belongs."""

    full_name: str
    id: int | None
    owner_id: int | None


def stored_matches(connection: Connection) -> dict[str, StoredMatch]:
    """Every name that was resolved, in small letters."""
    rows = connection.execute(select(POLICY_MATCH))
    return {row.match: StoredMatch(owner_id=row.owner_id, repository_id=row.repository_id) for row in rows}


def save_matches(connection: Connection, fresh: Mapping[str, StoredMatch], now: float) -> None:
    """Store the numbers of names that have none yet; what is stored stays."""
    for match, found in fresh.items():
        row = {
            "match": match,
            "owner_id": found.owner_id,
            "repository_id": found.repository_id,
            "resolved": now,
        }
        connection.execute(insert(connection, POLICY_MATCH).values(**row).on_conflict_do_nothing())
        here = (POLICY_MATCH.c.match == match, POLICY_MATCH.c.owner_id == found.owner_id)
        missing = POLICY_MATCH.c.repository_id.is_(None)
        connection.execute(
            update(POLICY_MATCH).where(*here, missing).values(repository_id=found.repository_id)
        )


def forget_match(connection: Connection, match: str) -> bool:
    """Forget the numbers of a name, so that GitHub is asked whose it is now; False where none were known."""
    return connection.execute(delete(POLICY_MATCH).where(POLICY_MATCH.c.match == match.lower())).rowcount == 1


def save_owner(connection: Connection, full_name: str, *, number: int, owner_id: int) -> None:
    """Store to whom GitHub says that a repository belongs."""
    here = (REPOSITORY.c.full_name == full_name, func.coalesce(REPOSITORY.c.id, number) == number)
    changed = func.coalesce(REPOSITORY.c.owner_id, -1) != owner_id
    connection.execute(update(REPOSITORY).where(*here, changed).values(owner_id=owner_id, id=number))


def stored_identity(connection: Connection, full_name: str) -> StoredIdentity | None:
    """To whom a repository belonged when GitHub was last asked."""
    row = connection.execute(
        select(REPOSITORY.c.full_name, REPOSITORY.c.id, REPOSITORY.c.owner_id).where(
            REPOSITORY.c.full_name == full_name
        )
    ).first()
    return StoredIdentity(full_name=row.full_name, id=row.id, owner_id=row.owner_id) if row else None


def stored_identities(connection: Connection) -> tuple[StoredIdentity, ...]:
    """Every repository, with those that were removed or renamed since."""
    rows = connection.execute(select(REPOSITORY.c.full_name, REPOSITORY.c.id, REPOSITORY.c.owner_id))
    return tuple(StoredIdentity(full_name=row.full_name, id=row.id, owner_id=row.owner_id) for row in rows)
