"""Repositories that the App is or was installed on, and the configuration that was seen last.

A process keeps a copy of the configuration for a while; the count of changes tells it that another
process has seen something else meanwhile.
"""

from collections.abc import Sequence

from msgspec import Struct
from sqlalchemy import Connection, and_, delete, func, select, update

from bot.domain.repository import Repository
from bot.storage import main_branch, pull_requests
from bot.storage.sql import insert
from bot.storage.tables import APPROVAL, FORMER_NAME, METADATA, PULL_REQUEST, REPOSITORY


class RepositoryRow(Struct, frozen=True, kw_only=True):
    """A repository that the App is, or was, installed on. `id` is GitHub's, the same under every name;
    `first_name` is the name it was first known by here, of which the ids of its found runs are made."""

    full_name: str
    installation: int
    default_branch: str | None
    private: bool
    active: bool
    id: int | None = None
    first_name: str | None = None


_COLUMNS = tuple(REPOSITORY.c[name] for name in RepositoryRow.__struct_fields__)


def save_repository(connection: Connection, row: RepositoryRow) -> None:
    """Remember a repository, or what changed of it; one that is known under another name is renamed first."""
    if row.id is not None:
        _set_aside_former(connection, row.full_name, row.id)
        known = select(REPOSITORY.c.full_name).where(REPOSITORY.c.id == row.id)
        for name in connection.execute(known).scalars().all():
            if name != row.full_name:
                rename_repository(connection, name, row.full_name)
    values = {name: getattr(row, name) for name in RepositoryRow.__struct_fields__}
    changed = {name: value for name, value in values.items() if value is not None and name != "full_name"}
    connection.execute(
        insert(connection, REPOSITORY)
        .values(**values)
        .on_conflict_do_update(index_elements=["full_name"], set_=changed)
    )


def _set_aside_former(connection: Connection, full_name: str, number: int) -> None:
    """Put aside what is known of another repository that had this name before: names are given out again."""
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


def deactivate(
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


def reactivate_pulls(connection: Connection, *, repository: str, installation: int, now: float) -> None:
    """Have a repository's open pull requests, which stood still with it, looked at by this installation."""
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
    """Every repository remembered, by name."""
    rows = connection.execute(select(*_COLUMNS).order_by(REPOSITORY.c.full_name))
    return tuple(RepositoryRow(**row) for row in rows.mappings())


def repository_row(repository: Repository) -> RepositoryRow:
    """A repository that GitHub names now, as it is remembered."""
    return RepositoryRow(
        full_name=repository.full_name,
        installation=repository.installation,
        default_branch=repository.default_branch,
        private=repository.private,
        active=True,
        id=repository.id,
    )


class SeenConfiguration(Struct, frozen=True, kw_only=True):
    """A digest of what was seen last, None where nothing was; and how often it was another than before."""

    digest: str | None
    changes: int


def seen_configuration(connection: Connection, full_name: str) -> SeenConfiguration | None:
    """What any process saw last; None for a repository that is not remembered."""
    query = select(REPOSITORY.c.configuration, REPOSITORY.c.configured)
    row = connection.execute(query.where(REPOSITORY.c.full_name == full_name)).first()
    return SeenConfiguration(digest=row.configuration, changes=row.configured) if row else None


def save_configuration(
    connection: Connection, full_name: str, *, digest: str, since: int, now: float
) -> bool:
    """Remember another configuration, and have looked at whatever it decides: the open pull requests, and
    main. False where a change was seen `since`: the reading may be older than that one."""
    here = REPOSITORY.c.full_name == full_name
    if connection.execute(select(REPOSITORY.c.configured).where(here)).scalar_one_or_none() != since:
        return False
    # First the rows of others, then its own: everybody who locks several does it in this order.
    main_branch.touch_main(connection, full_name, now=now)
    pull_requests.touch_open(connection, repository=full_name, now=now)
    changed = connection.execute(
        update(REPOSITORY)
        .where(here, REPOSITORY.c.configured == since)
        .values(configuration=digest, configured=since + 1)
    )
    return changed.rowcount == 1


def invalidate_configuration(connection: Connection, full_name: str) -> None:
    """Have it read anew by every process at its next look: it may be another file by now."""
    here, again = REPOSITORY.c.full_name == full_name, REPOSITORY.c.configured + 1
    connection.execute(update(REPOSITORY).where(here).values(configured=again))
