"""Repositories that the App is or was installed on, and the configuration that was seen last.

A process keeps a copy of the configuration for a while; the count of changes shows whether another process
has seen a different one meanwhile.
"""

from collections.abc import Sequence

from msgspec import Struct, structs
from sqlalchemy import Connection, and_, delete, func, select, update

from bot.domain.repository import Repository
from bot.storage import main_branch, pull_requests
from bot.storage.sql import upsert
from bot.storage.tables import APPROVAL, FORMER_NAME, METADATA, PULL_REQUEST, REPOSITORY


class RepositoryRow(Struct, frozen=True, kw_only=True):
    """A repository that the App is, or was, installed on. `id` is GitHub's and survives renames; `first_name`
    is the first name we knew it by: the ids of its found runs are derived from it."""

    full_name: str
    installation: int
    default_branch: str | None
    private: bool
    active: bool
    id: int | None = None
    first_name: str | None = None


_COLUMNS = tuple(REPOSITORY.c[name] for name in RepositoryRow.__struct_fields__)


def save_repository(connection: Connection, row: RepositoryRow) -> None:
    """Save a repository, or what changed of it; one that is known under another name is renamed first."""
    if row.id is not None:
        _set_aside_former(connection, row.full_name, row.id)
        known = select(REPOSITORY.c.full_name).where(REPOSITORY.c.id == row.id)
        for name in connection.execute(known).scalars().all():
            if name != row.full_name:
                rename_repository(connection, name, row.full_name)
    values = structs.asdict(row)
    key = {"full_name": values.pop("full_name")}
    changed = {name: value for name, value in values.items() if value is not None}
    upsert(connection, REPOSITORY, key, changed, new=values)


def _set_aside_former(connection: Connection, full_name: str, number: int) -> None:
    """Set aside the data of another repository that had this name before: GitHub reuses names."""
    other = select(REPOSITORY.c.id).where(REPOSITORY.c.full_name == full_name, REPOSITORY.c.id != number)
    former = connection.execute(other).scalar_one_or_none()
    if former is not None:
        aside = f"{full_name}~{former}"
        rename_repository(connection, full_name, aside)
        here = REPOSITORY.c.full_name == aside
        connection.execute(update(REPOSITORY).where(here).values(active=False))
        connection.execute(delete(FORMER_NAME).where(FORMER_NAME.c.name == full_name))
        for table in METADATA.sorted_tables:
            if {"repository", "due"} <= set(table.c.keys()):
                connection.execute(update(table).where(table.c.repository == aside).values(due=None))


def rename_repository(connection: Connection, old: str, new: str) -> None:
    """Move all data of a repository to its new name, in place of what is stored under that name.

    Approvals of forks do not follow it to another owner, whose people have not reviewed the code."""
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
    connection.execute(FORMER_NAME.insert().values(name=old, full_name=new))


def former_names(connection: Connection) -> dict[str, str]:
    """The current name of each repository, by its former names."""
    return {row.name: row.full_name for row in connection.execute(select(FORMER_NAME))}


def current_name(connection: Connection, name: str, number: int | None) -> str:
    """The current name of a delivery's repository: a late delivery still has the name of its time. A name
    that the repository never had is its newest."""
    renamed = (
        select(REPOSITORY.c.full_name)
        .join(FORMER_NAME, FORMER_NAME.c.full_name == REPOSITORY.c.full_name)
        .where(FORMER_NAME.c.name == name, REPOSITORY.c.id == number)
    )
    return connection.execute(renamed).scalar_one_or_none() or name


def first_name(connection: Connection, full_name: str) -> str:
    """The first name we knew a repository by: the ids of its found runs are derived from it."""
    query = select(REPOSITORY.c.first_name).where(REPOSITORY.c.full_name == full_name)
    return connection.execute(query).scalar_one_or_none() or full_name


def deactivate(
    connection: Connection, *, installation: int, repositories: Sequence[str] | None = None
) -> None:
    """Stop working on an installation's repositories (all of them, or these). Whoever works on one of their
    pull requests loses the claim."""
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


def reactivate_pulls(connection: Connection, *, repository: str, installation: int, now: float) -> None:
    """Make the open pull requests of a repository that works again due, for this installation."""
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository == repository, PULL_REQUEST.c.open)
        .values(wanted=PULL_REQUEST.c.wanted + 1, due=now, installation=installation)
    )


def find_repository(connection: Connection, full_name: str) -> RepositoryRow | None:
    """One repository, or None."""
    row = connection.execute(select(*_COLUMNS).where(REPOSITORY.c.full_name == full_name)).mappings().first()
    return RepositoryRow(**row) if row else None


def list_repositories(connection: Connection) -> tuple[RepositoryRow, ...]:
    """Every repository, by name."""
    rows = connection.execute(select(*_COLUMNS).order_by(REPOSITORY.c.full_name))
    return tuple(RepositoryRow(**row) for row in rows.mappings())


def repository_row(repository: Repository) -> RepositoryRow:
    """The row of a repository as GitHub describes it now."""
    return RepositoryRow(
        full_name=repository.full_name,
        installation=repository.installation,
        default_branch=repository.default_branch,
        private=repository.private,
        active=True,
        id=repository.id,
    )


class SeenConfiguration(Struct, frozen=True, kw_only=True):
    """The digest of the configuration seen last, None before the first; and how often it changed."""

    digest: str | None
    changes: int


def seen_configuration(connection: Connection, full_name: str) -> SeenConfiguration | None:
    """The configuration that any process saw last; None for an unknown repository."""
    query = select(REPOSITORY.c.configuration, REPOSITORY.c.configured)
    row = connection.execute(query.where(REPOSITORY.c.full_name == full_name)).first()
    return SeenConfiguration(digest=row.configuration, changes=row.configured) if row else None


def save_configuration(
    connection: Connection, full_name: str, *, digest: str, since: int, now: float
) -> bool:
    """Save a changed configuration, and make what it decides due: the open pull requests, and main. False if
    another change was seen after `since`: this reading may be the older one."""
    here = REPOSITORY.c.full_name == full_name
    if connection.execute(select(REPOSITORY.c.configured).where(here)).scalar_one_or_none() != since:
        return False
    # Other rows first, then the repository's: every transaction that locks several uses this order.
    main_branch.touch_main(connection, full_name, now=now)
    pull_requests.touch_open(connection, repository=full_name, now=now)
    changed = connection.execute(
        update(REPOSITORY)
        .where(here, REPOSITORY.c.configured == since)
        .values(configuration=digest, configured=since + 1)
    )
    return changed.rowcount == 1


def invalidate_configuration(connection: Connection, full_name: str) -> None:
    """Make every process read the configuration again: it may have changed."""
    here, again = REPOSITORY.c.full_name == full_name, REPOSITORY.c.configured + 1
    connection.execute(update(REPOSITORY).where(here).values(configured=again))
