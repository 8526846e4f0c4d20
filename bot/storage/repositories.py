"""Repositories that the App is, or was, installed on.

In:  what GitHub says of them. Out: `RepositoryRow`s.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, select, update

from bot.intake.pull import Repository
from bot.storage.deliveries import insert
from bot.storage.tables import PULL_REQUEST, REPOSITORY


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryRow:
    """A repository that the App is, or was, installed on. `id` is GitHub's, the same under every name;
    `first_name` is the name it was first known by here, of which the ids of its found runs are made."""

    full_name: str
    installation: int
    default_branch: str | None
    private: bool
    active: bool
    id: int | None = None
    first_name: str | None = None


def keep_repository(connection: Connection, row: RepositoryRow) -> None:
    """Remember a repository, or what changed of it."""
    values = {name: getattr(row, name) for name in RepositoryRow.__dataclass_fields__}
    changed = {name: value for name, value in values.items() if value is not None and name != "full_name"}
    connection.execute(
        insert(connection, REPOSITORY)
        .values(**values)
        .on_conflict_do_update(index_elements=["full_name"], set_=changed)
    )


def leave_installation(
    connection: Connection, *, installation: int, repositories: Sequence[str] | None = None
) -> None:
    """Stop looking at an installation's repositories (all of them, or these)."""
    here = REPOSITORY.c.installation == installation
    if repositories is not None:
        here = and_(here, REPOSITORY.c.full_name.in_(repositories))
    names = select(REPOSITORY.c.full_name).where(here)
    connection.execute(update(PULL_REQUEST).where(PULL_REQUEST.c.repository.in_(names)).values(due=None))
    connection.execute(update(REPOSITORY).where(here).values(active=False))


def repository(connection: Connection, full_name: str) -> RepositoryRow | None:
    """One repository, or None."""
    row = connection.execute(select(REPOSITORY).where(REPOSITORY.c.full_name == full_name)).mappings().first()
    return RepositoryRow(**row) if row else None


def repositories(connection: Connection) -> tuple[RepositoryRow, ...]:
    """Every repository remembered, by name."""
    rows = connection.execute(select(REPOSITORY).order_by(REPOSITORY.c.full_name))
    return tuple(RepositoryRow(**row) for row in rows.mappings())


def row_of(repository: Repository) -> RepositoryRow:
    """A repository that GitHub names now, as it is remembered."""
    return RepositoryRow(
        full_name=repository.full_name,
        installation=repository.installation,
        default_branch=repository.default_branch,
        private=repository.private,
        active=True,
        id=repository.id,
    )
