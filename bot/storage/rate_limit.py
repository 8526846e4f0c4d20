"""Rate limits that all processes share: commands of a person, and our own requests to GitHub.

Counted in the database, so that restarts and several processes count together. Counting one command twice
changes nothing.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, and_, delete, func, select

from bot.storage.database import Database, DatabaseUnavailable
from bot.storage.sql import insert_missing, upsert
from bot.storage.tables import COMMAND_USE, GITHUB_USE, REPOSITORY

MAX_COMMANDS = 20
"""Of one person on one repository in `WINDOW_SECONDS`: far more than reading the answers leaves time for,
and all that 25 people can write stays below GitHub's 500 writes an hour."""

WINDOW_SECONDS = 3600.0


class RateDecision(Struct, frozen=True, kw_only=True):
    """Whether commands may run. If not: when the next one may (Unix seconds), and whether this is the `first`
    refusal, which the comment explains; the others only get a reaction."""

    allowed: bool
    opens: float = 0.0
    first: bool = False


def consume(
    connection: Connection, repository: str, person: int, *, name: str, count: int, made: float
) -> RateDecision:
    """Count `count` commands of one comment, given at `made`; they run together or not at all."""
    here = and_(COMMAND_USE.c.repository == repository, COMMAND_USE.c.person == person)
    # Lock the repository: two that count at the same time would both find room for one more.
    connection.execute(select(REPOSITORY.c.id).where(REPOSITORY.c.full_name == repository).with_for_update())
    connection.execute(delete(COMMAND_USE).where(here, COMMAND_USE.c.made < made - WINDOW_SECONDS))
    known = _earlier_decision(connection, here, name)
    if known is not None:
        return known
    counted = select(COMMAND_USE.c.made).where(here, COMMAND_USE.c.counted).order_by(COMMAND_USE.c.made)
    times = list(connection.execute(counted).scalars())
    allowed = len(times) + count <= MAX_COMMANDS
    first = _first_refused(connection, here) is None
    for place in range(count):
        row = {"repository": repository, "person": person, "name": f"{name}:{place:02}"}
        insert_missing(connection, COMMAND_USE, **row, counted=allowed, made=made)
    if allowed:
        return RateDecision(allowed=True)
    freed = times[len(times) + count - MAX_COMMANDS - 1] if times else made
    return RateDecision(allowed=False, opens=freed + WINDOW_SECONDS, first=first)


def _earlier_decision(connection: Connection, here: Any, name: str) -> RateDecision | None:
    """The decision when it was counted before: a delivery may be processed twice."""
    row = (
        connection.execute(select(COMMAND_USE).where(here, COMMAND_USE.c.name == f"{name}:00"))
        .mappings()
        .first()
    )
    if row is None:
        return None
    return RateDecision(
        allowed=row["counted"],
        opens=row["made"] + WINDOW_SECONDS,
        first=_first_refused(connection, here) == name,
    )


def _first_refused(connection: Connection, here: Any) -> str | None:
    """The name of the first command refused since the last one that ran."""
    newest = (
        connection.execute(select(func.max(COMMAND_USE.c.made)).where(here, COMMAND_USE.c.counted)).scalar()
        or 0.0
    )
    refused = (
        select(COMMAND_USE.c.name)
        .where(here, COMMAND_USE.c.counted.is_(False), COMMAND_USE.c.made >= newest)
        .order_by(COMMAND_USE.c.made, COMMAND_USE.c.name)
        .limit(1)
    )
    name = connection.execute(refused).scalar()
    return None if name is None else str(name).rsplit(":", 1)[0]


SentCount = tuple[int, int, int]
"""The number of a period, and the writes and points in it."""


class SharedRequestCount:
    """Exchanges request counts with other processes; without the database a process counts alone."""

    def __init__(self, database: Database, process: str) -> None:
        self._database, self._process = database, process

    async def __call__(
        self, installation: int, sent: Sequence[SentCount], since: int
    ) -> Sequence[SentCount] | None:
        """Save what was sent; what others sent in the period `since` and later."""
        try:
            return await self._database.write(
                exchange_counts, installation, process=self._process, sent=sent, since=since
            )
        except DatabaseUnavailable:
            return None


def exchange_counts(
    connection: Connection, installation: int, *, process: str, sent: Sequence[SentCount], since: int
) -> list[SentCount]:
    """Save what this process sent, delete what no longer counts, and return what the others sent since."""
    here, own = GITHUB_USE.c.installation == installation, GITHUB_USE.c.process == process
    connection.execute(delete(GITHUB_USE).where(here, GITHUB_USE.c.period < since))
    for period, writes, points in sent:
        key = {"installation": installation, "process": process, "period": period}
        upsert(connection, GITHUB_USE, key, {"writes": writes, "points": points})
    others = (
        select(GITHUB_USE.c.period, func.sum(GITHUB_USE.c.writes), func.sum(GITHUB_USE.c.points))
        .where(here, ~own, GITHUB_USE.c.period >= since)
        .group_by(GITHUB_USE.c.period)
    )
    return [(int(period), int(writes), int(points)) for period, writes, points in connection.execute(others)]
