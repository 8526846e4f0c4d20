"""The work queue: rows that are due are claimed, worked on, and written under the claim or not at all.

Any table with the lease columns of `bot.storage.tables` is a queue. A claim that was overtaken (its lease
ended and another process took the row) writes nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, and_, case, func, select, update
from sqlalchemy import Table as Table  # noqa: PLC0414 - named by those who work through here

from bot.storage.sql import insert_missing
from bot.storage.tables import DELIVERY, MAINTENANCE_TASK, PULL_REQUEST, RUN

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that JSON may carry and that PostgreSQL, or UTF-8, cannot."""


class Claim(Struct, frozen=True, kw_only=True):
    """A row held until `lease_until`; `row` is its content when it was claimed."""

    table: Table
    token: int
    lease_until: float
    row: Mapping[str, Any]


def claim(connection: Connection, table: Table, *, owner: str, now: float, lease: float) -> Claim | None:
    """Claim the row that is due longest for `lease` seconds, the first by key of several; None if nothing is
    due.

    Every claim raises the token, which fences off the row's earlier holders.
    """
    keys = list(table.primary_key.columns)
    free = and_(table.c.due <= now, table.c.lease_until <= now)
    longest = select(*keys).where(free).order_by(table.c.due, *keys)
    candidate = longest.limit(1).with_for_update(skip_locked=True)
    found = connection.execute(candidate).mappings().first()
    if found is None:
        return None
    return _claim_where(connection, table, and_(_is_row(table, found), free), owner=owner, until=now + lease)


def claim_row(
    connection: Connection, table: Table, *, key: Mapping[str, Any], owner: str, now: float, lease: float
) -> Claim | None:
    """Claim one row, due or not, for `lease` seconds; None if it is held or not there."""
    free = and_(_is_row(table, key), table.c.lease_until <= now)
    return _claim_where(connection, table, free, owner=owner, until=now + lease)


def _claim_where(
    connection: Connection, table: Table, where: ColumnElement[bool], *, owner: str, until: float
) -> Claim | None:
    taken = (
        connection.execute(
            update(table)
            .where(where)
            .values(lease_owner=owner, lease_until=until, token=table.c.token + 1)
            .returning(table)
        )
        .mappings()
        .first()
    )
    if taken is None:
        return None
    return Claim(table=table, token=taken["token"], lease_until=until, row=dict(taken))


def return_claim(connection: Connection, held: Claim) -> bool:
    """Return a row as it was claimed, due when it was; False if it was lost."""
    return _write_claimed(connection, held, {"lease_owner": None, "lease_until": 0.0})


def extend_lease(connection: Connection, held: Claim, *, until: float) -> bool:
    """Extend the lease while the work goes on; False if the row was lost."""
    return _write_claimed(connection, held, {"lease_until": until})


def release(
    connection: Connection, held: Claim, *, due: float | None, values: Mapping[str, Any] | None = None
) -> bool:
    """Write the result, and when the row is due next (None: never by itself); False if it was lost."""
    return _write_claimed(
        connection,
        held,
        {"due": due, "lease_owner": None, "lease_until": 0.0, "attempts": 0, "error": None, **(values or {})},
    )


def postpone(connection: Connection, held: Claim, *, due: float, error: str) -> bool:
    """Return the row after a failure, to be retried at `due`; False if it was lost."""
    attempts = held.table.c.attempts + 1
    return _write_claimed(
        connection,
        held,
        {"due": due, "lease_owner": None, "lease_until": 0.0, "attempts": attempts, "error": error[:2000]},
    )


def release_all(connection: Connection, table: Table, *, owner: str) -> int:
    """Release every row of this owner, so that no other process waits for its leases to end."""
    freed = connection.execute(
        update(table).where(table.c.lease_owner == owner).values(lease_owner=None, lease_until=0.0)
    )
    return freed.rowcount


def _write_claimed(connection: Connection, held: Claim, values: Mapping[str, Any]) -> bool:
    written = connection.execute(
        update(held.table)
        .where(_is_row(held.table, held.row), held.table.c.token == held.token)
        .values({name: _storable(value) for name, value in values.items()})
    )
    return written.rowcount == 1


def _storable(value: Any) -> Any:
    return _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _is_row(table: Table, row: Mapping[Any, Any]) -> ColumnElement[bool]:
    return and_(*(column == row[column.name] for column in table.primary_key.columns))


def schedule_jobs(connection: Connection, names: Sequence[str], *, now: float) -> None:
    """Make these scheduled jobs due now; a job that runs is left alone."""
    for name in names:
        insert_missing(connection, MAINTENANCE_TASK, name=name, due=now)
    connection.execute(
        update(MAINTENANCE_TASK)
        .where(MAINTENANCE_TASK.c.name.in_(names), MAINTENANCE_TASK.c.lease_until <= now)
        .values(due=now)
    )


class QueueCounts(Struct, frozen=True, kw_only=True):
    """Deliveries by state; by table, the rows that are or will be due, and those whose last step failed; open
    pull requests on which GitHub refuses our comment or check."""

    deliveries: Mapping[str, int]
    due: Mapping[str, int]
    failing: Mapping[str, int]
    refused: int = 0


def count_rows(connection: Connection) -> QueueCounts:
    """Count them in one view of the database."""
    states = connection.execute(
        select(DELIVERY.c.state, func.count().label("number")).group_by(DELIVERY.c.state)
    )
    due, failing = {}, {}
    for table in (DELIVERY, PULL_REQUEST, RUN):
        failed = func.sum(case((table.c.error.is_not(None), 1), else_=0))
        row = connection.execute(
            select(func.count(), func.coalesce(failed, 0)).where(table.c.due.is_not(None))
        ).one()
        due[table.name], failing[table.name] = int(row[0]), int(row[1])
    refused = connection.execute(
        select(func.count()).where(PULL_REQUEST.c.open, PULL_REQUEST.c.trouble.is_not(None))
    ).scalar_one()
    return QueueCounts(
        deliveries={str(row.state): row.number for row in states}, due=due, failing=failing, refused=refused
    )
