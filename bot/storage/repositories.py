"""Repositories that the App is or was installed on, and the configuration that was seen last.

A process keeps a copy of the configuration for a while; the count of changes shows whether another process
has seen a different one meanwhile.
"""

import secrets
from collections.abc import Sequence

from msgspec import Struct, structs
from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update

from bot.domain.repository import Repository
from bot.storage import main_branch, pull_requests
from bot.storage.sql import insert_missing, upsert
from bot.storage.tables import (
    APPROVAL,
    FORGOTTEN_REPOSITORY,
    FORMER_NAME,
    METADATA,
    PULL_REQUEST,
    REPOSITORY,
)

PUBLIC_SECONDS = 1800.0
"""How long GitHub's word that a repository is public holds: whoever makes it private has closed its pages by
then, whatever deliveries were lost."""

EPOCH_BITS = 30
"""A new row's link epoch is random, so that the keys of a repository that was forgotten stay dead."""


class RepositoryRow(Struct, frozen=True, kw_only=True):
    """A repository that the App is, or was, installed on. `id` is GitHub's and survives renames; `first_name`
    is the first name we knew it by: the ids of its found runs are derived from it. `private` is what we heard
    last; whether its pages are open says `is_public`."""

    full_name: str
    installation: int
    default_branch: str | None
    private: bool
    active: bool
    id: int | None = None
    first_name: str | None = None
    public_confirmed_at: float | None = None

    def is_public(self, now: float) -> bool:
        """Whether GitHub itself said lately that everybody may read it."""
        confirmed = self.public_confirmed_at
        return not self.private and confirmed is not None and abs(now - confirmed) < PUBLIC_SECONDS


_COLUMNS = tuple(REPOSITORY.c[name] for name in RepositoryRow.__struct_fields__)


def save_repository(connection: Connection, row: RepositoryRow) -> bool:
    """Save a repository as a delivery describes it, or what changed of it; one that is known under another
    name is renamed first. False, and nothing is saved, while it is being forgotten.

    A delivery may be old: it can close a repository's pages, and never open them."""
    if is_forgotten(connection, full_name=row.full_name, number=row.id):
        return False
    if row.id is not None:
        _set_aside_former(connection, row.full_name, row.id)
        _end_former_name(connection, row.full_name, row.id)
        known = select(REPOSITORY.c.full_name).where(REPOSITORY.c.id == row.id)
        for name in connection.execute(known).scalars().all():
            if name != row.full_name:
                rename_repository(connection, name, row.full_name)
    values = structs.asdict(row)
    key = {"full_name": values.pop("full_name")}
    changed = {name: value for name, value in values.items() if value is not None}
    upsert(connection, REPOSITORY, key, changed, new={**values, "link_epoch": secrets.randbits(EPOCH_BITS)})
    if row.private:
        connection.execute(update(REPOSITORY).where(REPOSITORY.c.full_name == row.full_name).values(_CLOSED))
    return True


_CLOSED = {"public_confirmed_at": None, "closings": REPOSITORY.c.closings + 1}


def confirm_repository(
    connection: Connection, row: RepositoryRow, *, closings: int | None, now: float
) -> bool:
    """Save a repository as GitHub itself describes it; whether its pages opened or closed.

    `closings` is how often they were closed when GitHub was asked, None if the repository was unknown: an
    answer that crossed a delivery opens nothing."""
    before = find_repository(connection, row.full_name)
    if not save_repository(connection, row):
        return False
    here = REPOSITORY.c.full_name == row.full_name
    connection.execute(update(REPOSITORY).where(here).values(uninstalled_at=None))
    if not row.private:
        current = and_(here, REPOSITORY.c.closings == (closings or 0))
        connection.execute(update(REPOSITORY).where(current).values(public_confirmed_at=now))
    after = find_repository(connection, row.full_name)
    return (before is not None and before.is_public(now)) is not (after is not None and after.is_public(now))


def closings(connection: Connection) -> dict[int, int]:
    """How often the pages of each repository were closed, by GitHub's number."""
    rows = connection.execute(
        select(REPOSITORY.c.id, REPOSITORY.c.closings).where(REPOSITORY.c.id.is_not(None))
    )
    return {row.id: row.closings for row in rows}


def close_repositories(connection: Connection, numbers: Sequence[int]) -> None:
    """Close the pages of these repositories until GitHub says again that they are public."""
    connection.execute(update(REPOSITORY).where(REPOSITORY.c.id.in_(numbers)).values(_CLOSED))


def _set_aside_former(connection: Connection, full_name: str, number: int) -> None:
    """Set aside the data of another repository that had this name before: GitHub reuses names."""
    other = select(REPOSITORY.c.full_name, REPOSITORY.c.id).where(
        _same_name(REPOSITORY.c.full_name, full_name), REPOSITORY.c.id != number
    )
    for name, former in connection.execute(other).all():
        aside = f"{name}~{former}"
        rename_repository(connection, name, aside)
        here = REPOSITORY.c.full_name == aside
        connection.execute(update(REPOSITORY).where(here).values(active=False, **_CLOSED))
        for table in METADATA.sorted_tables:
            if {"repository", "due"} <= set(table.c.keys()):
                connection.execute(update(table).where(table.c.repository == aside).values(due=None))


def _end_former_name(connection: Connection, full_name: str, number: int) -> None:
    """Let a name that another repository has now lead to nobody else's any more."""
    others = and_(_same_name(FORMER_NAME.c.name, full_name), FORMER_NAME.c.repository_id != number)
    connection.execute(update(FORMER_NAME).where(others).values(leads=False))


def _same_name(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return func.lower(column) == name.lower()


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
    number = connection.execute(
        select(REPOSITORY.c.id).where(REPOSITORY.c.full_name == new)
    ).scalar_one_or_none()
    if number is not None:
        insert_missing(connection, FORMER_NAME, name=old, repository_id=number, leads=True)


def former_names(connection: Connection) -> dict[str, str]:
    """The current name of each repository, by its former names; a name that any repository has now, or that
    another one had since, leads nowhere."""
    taken = select(func.lower(REPOSITORY.c.full_name))
    rows = connection.execute(
        select(FORMER_NAME.c.name, REPOSITORY.c.full_name)
        .join(REPOSITORY, REPOSITORY.c.id == FORMER_NAME.c.repository_id)
        .where(FORMER_NAME.c.leads, func.lower(FORMER_NAME.c.name).not_in(taken))
    ).all()
    names = [row.name.lower() for row in rows]
    return {row.name: row.full_name for row in rows if names.count(row.name.lower()) == 1}


def current_name(connection: Connection, name: str, number: int | None) -> str:
    """The current name of a delivery's repository: a late delivery still has the name of its time. A name
    that the repository never had is its newest, unless another repository has it."""
    known = select(REPOSITORY.c.full_name).where(REPOSITORY.c.id == number)
    present = connection.execute(known).scalars().first() if number is not None else None
    if present is None:
        return name
    had = select(FORMER_NAME.c.name).where(
        _same_name(FORMER_NAME.c.name, name), FORMER_NAME.c.repository_id == number
    )
    others = select(REPOSITORY.c.id).where(
        _same_name(REPOSITORY.c.full_name, name), REPOSITORY.c.id.is_not(None), REPOSITORY.c.id != number
    )
    known_better = connection.execute(had).first() or connection.execute(others).first()
    return present if known_better else name


def link_epoch(connection: Connection, number: int) -> int | None:
    """The epoch that a repository's link keys are made for; None for an unknown one."""
    query = select(REPOSITORY.c.link_epoch).where(REPOSITORY.c.id == number)
    return connection.execute(query).scalars().first()


def rotate_links(connection: Connection, full_name: str, *, now: float) -> None:
    """Make every link key of a repository invalid, and its open pull requests due: they get other links."""
    pull_requests.touch_open(connection, repository=full_name, now=now)
    here = REPOSITORY.c.full_name == full_name
    connection.execute(update(REPOSITORY).where(here).values(link_epoch=REPOSITORY.c.link_epoch + 1))


def is_forgotten(connection: Connection, *, full_name: str, number: int | None) -> bool:
    """Whether this repository is being forgotten: nothing of it is saved meanwhile."""
    same = _same_name(FORGOTTEN_REPOSITORY.c.full_name, full_name)
    if number is not None:
        named = and_(FORGOTTEN_REPOSITORY.c.id.is_(None), same)
        same = or_(FORGOTTEN_REPOSITORY.c.id == number, named)
    marked = select(FORGOTTEN_REPOSITORY.c.full_name).where(same)
    return connection.execute(marked).first() is not None


def first_name(connection: Connection, full_name: str) -> str:
    """The first name we knew a repository by: the ids of its found runs are derived from it."""
    query = select(REPOSITORY.c.first_name).where(REPOSITORY.c.full_name == full_name)
    return connection.execute(query).scalar_one_or_none() or full_name


def deactivate(
    connection: Connection,
    *,
    installation: int,
    repositories: Sequence[str] | None = None,
    closes: bool = True,
) -> None:
    """Stop working on an installation's repositories (all of them, or these). Whoever works on one of their
    pull requests loses the claim. With `closes` their pages are closed too."""
    here = REPOSITORY.c.installation == installation
    if repositories is not None:
        here = and_(here, REPOSITORY.c.full_name.in_(repositories))
    names = select(REPOSITORY.c.full_name).where(here)
    connection.execute(
        update(PULL_REQUEST)
        .where(PULL_REQUEST.c.repository.in_(names))
        .values(due=None, lease_until=0.0, token=PULL_REQUEST.c.token + 1)
    )
    closed = _CLOSED if closes else {}
    connection.execute(update(REPOSITORY).where(here).values(active=False, **closed))


def mark_uninstalled(connection: Connection, full_name: str, *, now: float) -> None:
    """Note that GitHub lists a repository for no installation any more, if that is new."""
    here = and_(REPOSITORY.c.full_name == full_name, REPOSITORY.c.uninstalled_at.is_(None))
    connection.execute(update(REPOSITORY).where(here).values(uninstalled_at=now))


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


def find_by_name(connection: Connection, name: str) -> RepositoryRow | None:
    """The repository of this name, whatever its case, as on GitHub; or None."""
    rows = connection.execute(
        select(*_COLUMNS).where(_same_name(REPOSITORY.c.full_name, name)).order_by(REPOSITORY.c.active.desc())
    )
    row = rows.mappings().first()
    return RepositoryRow(**row) if row else None


def find_by_number(connection: Connection, number: int) -> RepositoryRow | None:
    """The repository of GitHub's number, or None."""
    row = connection.execute(select(*_COLUMNS).where(REPOSITORY.c.id == number)).mappings().first()
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
