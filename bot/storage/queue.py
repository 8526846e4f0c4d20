"""Rows that wait for their time: claim one, work on it, write under the claim or not at all.

In:  a table with the lease columns of `bot.storage.tables`, and the time now.
Out: `Claim`s. A claim that was overtaken (its lease ended and another took the row) writes nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, select, update

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that JSON may carry and that PostgreSQL, or UTF-8, cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A row held until `lease_until`; `row` is what it said when it was claimed."""

    table: Table
    token: int
    lease_until: float
    row: Mapping[str, Any]


def claim(connection: Connection, table: Table, *, owner: str, now: float, lease: float) -> Claim | None:
    """Take the row that is due longest, for `lease` seconds, of several the first by its key; None where
    nothing is due.

    The token goes up with every claim: it fences off whoever held the row before.
    """
    keys = list(table.primary_key.columns)
    free = and_(table.c.due <= now, table.c.lease_until <= now)
    longest = select(*keys).where(free).order_by(table.c.due, *keys)
    candidate = longest.limit(1).with_for_update(skip_locked=True)
    found = connection.execute(candidate).mappings().first()
    if found is None:
        return None
    return _taken(connection, table, and_(_is(table, found), free), owner=owner, until=now + lease)


def take(
    connection: Connection, table: Table, *, key: Mapping[str, Any], owner: str, now: float, lease: float
) -> Claim | None:
    """Take one row, due or not, for `lease` seconds; None where another holds it or there is none."""
    free = and_(_is(table, key), table.c.lease_until <= now)
    return _taken(connection, table, free, owner=owner, until=now + lease)


def _taken(
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


def give_back(connection: Connection, held: Claim) -> bool:
    """Let go of a row without a word about it: due when it was; False when it was lost."""
    return _write(connection, held, {"lease_owner": None, "lease_until": 0.0})


def hold(connection: Connection, held: Claim, *, until: float) -> bool:
    """Extend the lease while the work goes on; False when the row has been lost."""
    return _write(connection, held, {"lease_until": until})


def release(
    connection: Connection, held: Claim, *, due: float | None, values: Mapping[str, Any] | None = None
) -> bool:
    """Write what came of it, and when the row is due next (None: never by itself); False when it was lost."""
    return _write(
        connection,
        held,
        {"due": due, "lease_owner": None, "lease_until": 0.0, "attempts": 0, "error": None, **(values or {})},
    )


def postpone(connection: Connection, held: Claim, *, due: float, error: str) -> bool:
    """Hand the row back after a failure: it is tried again at `due`; False when it was lost."""
    attempts = held.table.c.attempts + 1
    return _write(
        connection,
        held,
        {"due": due, "lease_owner": None, "lease_until": 0.0, "attempts": attempts, "error": error[:2000]},
    )


def hand_back(connection: Connection, table: Table, *, owner: str) -> int:
    """Free every row this owner holds, so that another process need not wait for its leases to end."""
    freed = connection.execute(
        update(table).where(table.c.lease_owner == owner).values(lease_owner=None, lease_until=0.0)
    )
    return freed.rowcount


def _write(connection: Connection, held: Claim, values: Mapping[str, Any]) -> bool:
    written = connection.execute(
        update(held.table)
        .where(_is(held.table, held.row), held.table.c.token == held.token)
        .values({name: _storable(value) for name, value in values.items()})
    )
    return written.rowcount == 1


def _storable(value: Any) -> Any:
    return _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _is(table: Table, row: Mapping[Any, Any]) -> ColumnElement[bool]:
    return and_(*(column == row[column.name] for column in table.primary_key.columns))
