"""What runs have cost, asked of many at once.

In:  a branch and a number of devices, or runs by their ids.
Out: chip-hours.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select, true

from bot.logs.facts import State
from bot.storage.tables import MEASUREMENT, RUN


def of_branch(
    connection: Connection, repository: str, branch: str, *, devices: int | None
) -> dict[str, list[float]]:
    """The chip-hours of the runs that succeeded on a branch (by its slug), by `case/variant`, newest first.

    Only runs on so many devices count; None, and every run does.
    """
    rows = connection.execute(
        select(RUN.c.case, RUN.c.variant, MEASUREMENT.c.chip_hours)
        .join(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(RUN.c.repository == repository, RUN.c.branch == branch)
        .where(MEASUREMENT.c.outcome == State.SUCCEEDED, MEASUREMENT.c.chip_hours.is_not(None))
        .where(true() if devices is None else MEASUREMENT.c.devices == devices)
        .order_by(RUN.c.started.desc(), RUN.c.id)
    )
    hours: dict[str, list[float]] = {}
    for row in rows:
        hours.setdefault(f"{row.case}/{row.variant}", []).append(row.chip_hours)
    return hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What is known of a launched or found run: the pull request it was charged to, what it was thought to
    cost and what it did, in chip-hours, how it stands, and why it waits."""

    state: str
    number: int | None
    price: float | None
    took: float | None
    waiting: str | None


def bills(connection: Connection, ids: Collection[str]) -> dict[str, Bill]:
    """The bills of these runs, by id; runs that nobody knows are left out."""
    columns = (RUN.c.state, RUN.c.charged_number.label("number"), RUN.c.price, RUN.c.waiting)
    rows = connection.execute(
        select(RUN.c.id, *columns, MEASUREMENT.c.chip_hours.label("took"))
        .outerjoin(MEASUREMENT, MEASUREMENT.c.run == RUN.c.id)
        .where(RUN.c.id.in_(sorted(ids)))
    )
    return {row.pop("id"): Bill(**row) for row in map(dict, rows.mappings())}
