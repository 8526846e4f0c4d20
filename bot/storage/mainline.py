"""Repositories whose default branch is kept measured, and when to look at it.

In:  wishes. Out: rows that the controller claims.
A wish that arrives while the row is worked on raises `wanted`, so that it is looked at again at once.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, case, select, update

from bot.runs.records import RunState
from bot.storage.deliveries import insert
from bot.storage.queue import Claim, release
from bot.storage.tables import MAINLINE, RUN

MAIN = 0
"""Stands for main itself among the numbers of pull requests that want runs."""


def look(connection: Connection, *, repository: str, installation: int, now: float) -> None:
    """Have main looked at as soon as possible."""
    first = {
        "repository": repository,
        "installation": installation,
        "wanted": 0,
        "due": now,
        "lease_until": 0.0,
        "token": 0,
        "attempts": 0,
    }
    again = {"wanted": MAINLINE.c.wanted + 1, "due": now, "installation": installation}
    statement = insert(connection, MAINLINE).values(**first)
    connection.execute(statement.on_conflict_do_update(index_elements=["repository"], set_=again))


def touch(connection: Connection, repository: str, *, now: float) -> None:
    """Have main looked at where it is looked at at all: a run of it is over, or it is to be run otherwise."""
    here = MAINLINE.c.repository == repository
    connection.execute(update(MAINLINE).where(here).values(wanted=MAINLINE.c.wanted + 1, due=now))


def states(connection: Connection, ids: Collection[str]) -> dict[str, RunState]:
    """How these runs stand; those that are not planned yet are left out."""
    rows = connection.execute(select(RUN.c.id, RUN.c.state).where(RUN.c.id.in_(sorted(ids))))
    return {row.id: RunState(row.state) for row in rows}


def let_go(
    connection: Connection, held: Claim, *, now: float, due: float | None, scheduled: str | None
) -> bool:
    """Write what came of looking; due at once where something was wished for meanwhile."""
    values: dict[str, Any] = {"scheduled": scheduled}
    again = case((MAINLINE.c.wanted != held.row["wanted"], now), else_=due)
    return release(connection, held, due=None, values={**values, "due": again})
