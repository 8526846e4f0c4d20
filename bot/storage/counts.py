"""How much work there is, and how much of it fails.

In:  a connection. Out: `Counts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, case, func, select

from bot.storage.tables import DELIVERY, PULL_REQUEST, RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Deliveries by state; by table, the rows that wait for a time, and those whose last step failed; open
    pull requests on which GitHub refuses what we would say."""

    deliveries: Mapping[str, int]
    due: Mapping[str, int]
    failing: Mapping[str, int]
    refused: int = 0


def open_pulls(connection: Connection) -> dict[str, int]:
    """How many pull requests are open, by repository; those without are left out."""
    rows = connection.execute(
        select(PULL_REQUEST.c.repository, func.count())
        .where(PULL_REQUEST.c.open, PULL_REQUEST.c.number > 0)
        .group_by(PULL_REQUEST.c.repository)
    )
    return {row[0]: int(row[1]) for row in rows}


def count(connection: Connection) -> Counts:
    """Count, in one view of the database."""
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
    return Counts(
        deliveries={str(row.state): row.number for row in states}, due=due, failing=failing, refused=refused
    )
