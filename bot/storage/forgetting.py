"""Everything of one repository: what there is of it, and its removal from every table.

Which tables hold something of a repository is read from their columns, so that a new one is not forgotten.
While a repository is being forgotten a mark keeps deliveries and listings from saving it anew; what was under
way when it was set is removed when the mark ends.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    delete,
    func,
    or_,
    select,
    update,
)

from bot.clusters.interface import ClusterPlace
from bot.runs.run_status import TERMINAL_STATES
from bot.storage import launched_runs, named_values, repositories
from bot.storage.deliveries import DeliveryState
from bot.storage.repositories import RepositoryRow
from bot.storage.sql import upsert
from bot.storage.tables import (
    DELIVERY,
    FORGOTTEN_REPOSITORY,
    FORMER_NAME,
    METADATA,
    NAMED_VALUE,
    REPOSITORY,
    RUN,
)

DELIVERIES_AT_ONCE = 500

FORGOTTEN_PAYLOAD = b"{}"


class ForgottenName(Struct, frozen=True, kw_only=True):
    """A repository to forget: its present name, GitHub's number if known, and every name that it had."""

    full_name: str
    id: int | None
    names: frozenset[str]


class DeliveryKey(Struct, frozen=True, kw_only=True):
    """Where a reading of the deliveries stands."""

    id: str = ""
    digest: str = ""


class RunTrace(Struct, frozen=True, kw_only=True):
    """What a run may have left outside the database. `jobs` are those of its attempts, the newest first;
    `open` where it may still be going on."""

    id: str
    log_uri: str | None
    generation: str | None
    sha: str | None
    jobs: tuple[str, ...]
    place: ClusterPlace | None
    open: bool


def find_forgettable(connection: Connection, named: str) -> ForgottenName | None:
    """The repository of a present or former name, or of GitHub's number; None if nothing is known of it."""
    if named.isdecimal():
        row = repositories.find_by_number(connection, int(named))
    else:
        row = repositories.find_by_name(connection, named)
    if row is not None:
        return _with_names(connection, row.full_name, row.id)
    former = select(FORMER_NAME.c.repository_id).where(func.lower(FORMER_NAME.c.name) == named.lower())
    for number in connection.execute(former).scalars():
        known = repositories.find_by_number(connection, number)
        if known is not None:
            return _with_names(connection, known.full_name, known.id)
    # Rows of a repository that is itself not known any more.
    left = _with_names(connection, named, None)
    return left if count_rows(connection, left) else None


def _with_names(connection: Connection, full_name: str, number: int | None) -> ForgottenName:
    """With its former names, but for those that another repository has, or had since."""
    if number is None:
        return ForgottenName(full_name=full_name, id=None, names=frozenset({full_name.lower()}))
    others = select(func.lower(REPOSITORY.c.full_name)).where(
        or_(REPOSITORY.c.id.is_(None), REPOSITORY.c.id != number)
    )
    since = select(func.lower(FORMER_NAME.c.name)).where(FORMER_NAME.c.repository_id != number)
    taken = {*connection.execute(others).scalars(), *connection.execute(since).scalars()}
    former = connection.execute(select(FORMER_NAME.c.name).where(FORMER_NAME.c.repository_id == number))
    own = {name.lower() for name in former.scalars()} - taken
    return ForgottenName(full_name=full_name, id=number, names=frozenset({full_name.lower(), *own}))


def uninstalled_before(connection: Connection, moment: float) -> tuple[RepositoryRow, ...]:
    """The repositories that no installation lists since before this moment (Unix seconds)."""
    known = select(REPOSITORY.c.full_name).where(REPOSITORY.c.uninstalled_at <= moment)
    found = (repositories.find_repository(connection, name) for name in connection.execute(known).scalars())
    return tuple(row for row in found if row is not None)


def count_rows(connection: Connection, target: ForgottenName) -> dict[str, int]:
    """How many rows of each table are of the repository; deliveries are not counted."""
    found: dict[str, int] = {}
    for table, where in _rows_of(target):
        number = connection.execute(select(func.count()).select_from(table).where(where)).scalar_one()
        found |= {table.name: number} if number else {}
    names = len(_named_values_of(connection, target))
    return found | ({NAMED_VALUE.name: names} if names else {})


def _rows_of(target: ForgottenName) -> Iterator[tuple[Table, ColumnElement[bool]]]:
    """The condition of the repository's rows in each table that has any, those that others refer to last."""
    runs = select(RUN.c.id).where(func.lower(RUN.c.repository).in_(target.names))
    for table in reversed(METADATA.sorted_tables):
        conditions: list[ColumnElement[bool]] = []
        if "repository" in table.c:
            conditions.append(func.lower(table.c.repository).in_(target.names))
        if "run" in table.c:
            conditions.append(table.c.run.in_(runs))
        if table is REPOSITORY:
            conditions.append(func.lower(table.c.full_name).in_({target.full_name.lower()}))
        if table is FORMER_NAME and target.id is not None:
            conditions.append(table.c.repository_id == target.id)
        if conditions:
            yield table, or_(*conditions)


def traces(connection: Connection, target: ForgottenName) -> tuple[RunTrace, ...]:
    """What the repository's runs may have left outside the database."""
    rows = connection.execute(select(RUN).where(func.lower(RUN.c.repository).in_(target.names)))
    return tuple(_trace(row) for row in rows.mappings())


def _trace(row: Mapping[Any, Any]) -> RunTrace:
    jobs: tuple[str, ...] = ()
    place, is_open = None, False
    if row["job"] is not None:
        status, job = launched_runs.run_status(row), launched_runs.decode_job(row["job"])
        jobs, place = tuple(sorted(status.names, key=status.name.__ne__)), job.place
        is_open = status.state not in TERMINAL_STATES
    return RunTrace(
        id=row["id"],
        log_uri=row["log_uri"],
        generation=row["generation"],
        sha=row["sha"],
        jobs=jobs,
        place=place,
        open=is_open,
    )


def mark(connection: Connection, target: ForgottenName, *, until: float) -> None:
    """Mark a repository as being forgotten until then (Unix seconds): its pages close, its work stops, and
    whoever holds a row of it loses the claim."""
    values = {"id": target.id, "until": until}
    upsert(connection, FORGOTTEN_REPOSITORY, {"full_name": target.full_name}, values)
    own = select(RUN.c.id).where(func.lower(RUN.c.repository).in_(target.names))
    runs = {*marked_runs(connection, target), *connection.execute(own).scalars()}
    named_values.save(connection, _mark_key(target), json.dumps(sorted(runs)))
    row = repositories.find_repository(connection, target.full_name)
    if row is not None:
        repositories.deactivate(connection, installation=row.installation, repositories=[target.full_name])
    for table in METADATA.sorted_tables:
        columns = set(table.c.keys())
        if {"due", "token"} <= columns and columns & {"repository", "run"}:
            here = (
                func.lower(table.c.repository).in_(target.names)
                if "repository" in columns
                else table.c.run.in_(own)
            )
            lost = {"due": None, "lease_owner": None, "lease_until": 0.0, "token": table.c.token + 1}
            connection.execute(update(table).where(here).values(lost))


def marked_runs(connection: Connection, target: ForgottenName) -> tuple[str, ...]:
    """The runs that there were when the repository was marked: files of them may be written until the end."""
    return tuple(json.loads(named_values.read(connection, _mark_key(target)) or "[]"))


def _mark_key(target: ForgottenName) -> str:
    return f"runs of the forgotten {target.full_name.lower()}"


def remove(connection: Connection, target: ForgottenName) -> None:
    """Remove every row of the repository but its deliveries: see `empty_deliveries`."""
    for name in _named_values_of(connection, target):
        connection.execute(delete(NAMED_VALUE).where(NAMED_VALUE.c.name == name))
    for table, where in _rows_of(target):
        connection.execute(delete(table).where(where))


def empty_deliveries(
    connection: Connection, target: ForgottenName, after: DeliveryKey
) -> tuple[int, DeliveryKey | None]:
    """Empty the deliveries about the repository among the next ones after this key: how many, and the key to
    go on after. They stay as empty ones, so that GitHub's list of them does not bring them back."""
    identity, digest = DELIVERY.c.id, DELIVERY.c.digest
    later = or_(identity > after.id, and_(identity == after.id, digest > after.digest))
    query = select(identity, digest, DELIVERY.c.payload).where(later).order_by(identity, digest)
    rows = connection.execute(query.limit(DELIVERIES_AT_ONCE)).all()
    about = [row for row in rows if is_about(row.payload, target)]
    for row in about:
        connection.execute(
            update(DELIVERY)
            .where(identity == row.id, digest == row.digest)
            .values(
                payload=FORGOTTEN_PAYLOAD,
                outcome=None,
                error=None,
                due=None,
                state=DeliveryState.IGNORED,
                token=DELIVERY.c.token + 1,
            )
        )
    last = DeliveryKey(id=rows[-1].id, digest=rows[-1].digest) if rows else None
    return len(about), last


def ended_marks(connection: Connection, now: float) -> tuple[ForgottenName, ...]:
    """The repositories whose marks have ended."""
    rows = connection.execute(select(FORGOTTEN_REPOSITORY).where(FORGOTTEN_REPOSITORY.c.until <= now)).all()
    return tuple(_with_names(connection, row.full_name, row.id) for row in rows)


def drop_mark(connection: Connection, target: ForgottenName) -> None:
    """Let the repository be saved anew."""
    connection.execute(delete(NAMED_VALUE).where(NAMED_VALUE.c.name == _mark_key(target)))
    connection.execute(
        delete(FORGOTTEN_REPOSITORY).where(FORGOTTEN_REPOSITORY.c.full_name == target.full_name)
    )


def _named_values_of(connection: Connection, target: ForgottenName) -> list[str]:
    """The values whose name has the repository's name or number as one of its words."""
    words = target.names | ({str(target.id)} if target.id is not None else set())
    names = connection.execute(select(NAMED_VALUE.c.name)).scalars()
    return [name for name in names if words & set(name.lower().split()) and name != _mark_key(target)]


def is_about(payload: bytes, target: ForgottenName) -> bool:
    """Whether a delivery is about the repository, or lists it among others."""
    number = str(target.id).encode() if target.id is not None else None
    if not (number and number in payload) and not _holds_name(payload.lower(), target):
        return False
    try:
        found = json.loads(payload)
    except ValueError:
        return False
    if not isinstance(found, dict):
        return False
    listed = [found.get("repository")]
    for name in ("repositories", "repositories_added", "repositories_removed"):
        more = found.get(name)
        listed += more if isinstance(more, list) else []
    return any(isinstance(one, dict) and _is_target(one, target) for one in listed)


def _holds_name(payload: bytes, target: ForgottenName) -> bool:
    return any(name.partition("/")[2].encode() in payload for name in target.names)


def _is_target(listed: Mapping[str, object], target: ForgottenName) -> bool:
    number, name = listed.get("id"), listed.get("full_name")
    if target.id is not None and number is not None:
        return number == target.id
    return isinstance(name, str) and name.lower() in target.names
