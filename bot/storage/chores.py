"""Chores: what one process at a time does by the clock, whichever has the row.

In:  names. Out: rows of `chore` that are due; `mark` is what a chore remembers from one time to the next.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, update

from bot.storage.deliveries import insert
from bot.storage.tables import CHORE


def begin(connection: Connection, names: Sequence[str], *, now: float) -> None:
    """Have these chores done now, as a program that starts wants it; one that is being done is left alone."""
    for name in names:
        connection.execute(
            insert(connection, CHORE)
            .values(name=name, due=now, lease_until=0.0, token=0, attempts=0)
            .on_conflict_do_nothing(index_elements=["name"])
        )
    connection.execute(
        update(CHORE).where(CHORE.c.name.in_(names), CHORE.c.lease_until <= now).values(due=now)
    )
