"""Repositories that the App is, or was, installed on.

In:  what GitHub says of them. Out: `RepositoryRow`s.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, func, select, update

from bot.intake.pull import Repository
from bot.storage.deliveries import insert
from bot.storage.metadata import METADATA
from bot.storage.tables import APPROVAL, FORMER_NAME, PULL_REQUEST, REPOSITORY


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


_COLUMNS = tuple(REPOSITORY.c[name] for name in RepositoryRow.__dataclass_fields__)


def keep_repository(connection: Connection, row: RepositoryRow) -> None:
    """Remember a repository, or what changed of it; one that is known under another name is renamed first."""
    if row.id is not None:
        _make_way(connection, row.full_name, row.id)
        known = select(REPOSITORY.c.full_name).where(REPOSITORY.c.id == row.id)
        for name in connection.execute(known).scalars().all():
            if name != row.full_name:
                rename(connection, name, row.full_name)
    values = {name: getattr(row, name) for name in RepositoryRow.__dataclass_fields__}
    changed = {name: value for name, value in values.items() if value is not None and name != "full_name"}
    connection.execute(
        insert(connection, REPOSITORY)
        .values(**values)
        .on_conflict_do_update(index_elements=["full_name"], set_=changed)
    )


def _make_way(connection: Connection, full_name: str, number: int) -> None:
    """Put aside what is known of another repository that had this name before: names are given out again."""
    other = select(REPOSITORY.c.id).where(REPOSITORY.c.full_name == full_name, REPOSITORY.c.id != number)
    former = connection.execute(other).scalar_one_or_none()
    if former is not None:
        aside = f"{full_name}~{former}"
        rename(connection, full_name, aside)
        here = REPOSITORY.c.full_name == aside
        connection.execute(update(REPOSITORY).where(here).values(active=False))
        connection.execute(delete(FORMER_NAME).where(FORMER_NAME.c.name == full_name))
        for table in METADATA.sorted_tables:
            if {"repository", "due"} <= set(table.c.keys()):
                connection.execute(update(table).where(table.c.repository == aside).values(due=None))


def rename(connection: Connection, old: str, new: str) -> None:
    """Let everything of a repository follow it to another name, in place of what stands there already.

    Approvals of forks do not follow it to another owner, whose people have read nothing of it."""
    if old.partition("/")[0].lower() != new.partition("/")[0].lower():
        connection.execute(delete(APPROVAL).where(APPROVAL.c.repository == old))
    for table in METADATA.sorted_tables:
        if "repository" in table.c:
            if table.c.repository.primary_key:
                connection.execute(delete(table).where(table.c.repository == new))
            connection.execute(update(table).where(table.c.repository == old).values(repository=new))
    connection.execute(delete(REPOSITORY).where(REPOSITORY.c.full_name == new))
    here = REPOSITORY.c.full_name == old
    first = func.coalesce(REPOSITORY.c.first_name, old)
    connection.execute(update(REPOSITORY).where(here).values(full_name=new, first_name=first))
    connection.execute(delete(FORMER_NAME).where(FORMER_NAME.c.name.in_((old, new))))
    connection.execute(update(FORMER_NAME).where(FORMER_NAME.c.full_name == old).values(full_name=new))
    connection.execute(insert(connection, FORMER_NAME).values(name=old, full_name=new))


def former_names(connection: Connection) -> dict[str, str]:
    """Names that repositories had, and those that they have now."""
    return {row.name: row.full_name for row in connection.execute(select(FORMER_NAME))}


def current_name(connection: Connection, name: str, number: int | None) -> str:
    """The name by which a delivery's repository is known now: one that comes late names it as it was called
    when the delivery was made. A name that it never had is its newest."""
    renamed = (
        select(REPOSITORY.c.full_name)
        .join(FORMER_NAME, FORMER_NAME.c.full_name == REPOSITORY.c.full_name)
        .where(FORMER_NAME.c.name == name, REPOSITORY.c.id == number)
    )
    return connection.execute(renamed).scalar_one_or_none() or name


def first_name(connection: Connection, full_name: str) -> str:
    """The name a repository was first known by: the ids of its found runs are made of it, and stay."""
    query = select(REPOSITORY.c.first_name).where(REPOSITORY.c.full_name == full_name)
    return connection.execute(query).scalar_one_or_none() or full_name


def leave_installation(
    connection: Connection, *, installation: int, repositories: Sequence[str] | None = None
) -> None:
    """Stop looking at an installation's repositories (all of them, or these). Who is just looking at a pull
    request loses it, and says nothing more of when it is due."""
    here = REPOSITORY.c.installation == installation
    if repositories is not None:
        here = and_(here, REPOSITORY.c.full_name.in_(repositories))
    names = select(REPOSITORY.c.full_name).where(here)
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository.in_(names))
        .values(due=None, lease_until=0.0, token=PULL_REQUEST.c.token + 1)
    )
    connection.execute(update(REPOSITORY).where(here).values(active=False))


def revive(connection: Connection, *, repository: str, installation: int, now: float) -> None:
    """Have a repository's open pull requests, which stood still with it, looked at by this installation."""
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.open)
        .values(wanted=PULL_REQUEST.c.wanted + 1, due=now, installation=installation)
    )


def repository(connection: Connection, full_name: str) -> RepositoryRow | None:
    """One repository, or None."""
    row = connection.execute(select(*_COLUMNS).where(REPOSITORY.c.full_name == full_name)).mappings().first()
    return RepositoryRow(**row) if row else None


def repositories(connection: Connection) -> tuple[RepositoryRow, ...]:
    """Every repository remembered, by name."""
    rows = connection.execute(select(*_COLUMNS).order_by(REPOSITORY.c.full_name))
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
