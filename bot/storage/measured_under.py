"""What runs were measured under, without reading their measurements.

In:  ids of runs. Out: the text of `bot.verdict.conditions` by id.
"""

from collections.abc import Collection

from sqlalchemy import Connection, select

from bot.storage.tables import MEASUREMENT

AT_ONCE = 1_000
"""A statement takes some 30,000 values."""


def measured_under(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """The conditions of these runs, by id; runs without a measurement are left out."""
    found: dict[str, str] = {}
    ordered = sorted(ids)
    for at in range(0, len(ordered), AT_ONCE):
        here = MEASUREMENT.c.run.in_(ordered[at : at + AT_ONCE])
        rows = connection.execute(select(MEASUREMENT.c.run, MEASUREMENT.c.conditions).where(here))
        found |= {row.run: row.conditions for row in rows}
    return found
