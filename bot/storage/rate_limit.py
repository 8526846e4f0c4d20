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
from bot.storage.tables import GIVEN, REPOSITORY, SENT

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
    here = and_(GIVEN.c.repository == repository, GIVEN.c.person == person)
    # Lock the repository: two that count at the same time would both find room for one more.
    connection.execute(select(REPOSITORY.c.id).where(REPOSITORY.c.full_name == repository).with_for_update())
    connection.execute(delete(GIVEN).where(here, GIVEN.c.made < made - WINDOW_SECONDS))
    known = _earlier_decision(connection, here, name)
    if known is not None:
        return known
    counted = select(GIVEN.c.made).where(here, GIVEN.c.counted).order_by(GIVEN.c.made)
    times = list(connection.execute(counted).scalars())
    allowed = len(times) + count <= MAX_COMMANDS
    first = _first_refused(connection, here) is None
    for place in range(count):
        row = {"repository": repository, "person": person, "name": f"{name}:{place:02}"}
        insert_missing(connection, GIVEN, **row, counted=allowed, made=made)
    if allowed:
        return RateDecision(allowed=True)
    freed = times[len(times) + count - MAX_COMMANDS - 1] if times else made
    return RateDecision(allowed=False, opens=freed + WINDOW_SECONDS, first=first)


def _earlier_decision(connection: Connection, here: Any, name: str) -> RateDecision | None:
    """The decision when it was counted before: a delivery may be processed twice."""
    row = connection.execute(select(GIVEN).where(here, GIVEN.c.name == f"{name}:00")).mappings().first()
    if row is None:
        return None
    return RateDecision(
        allowed=row["counted"],
        opens=row["made"] + WINDOW_SECONDS,
        first=_first_refused(connection, here) == name,
    )


def _first_refused(connection: Connection, here: Any) -> str | None:
    """The name of the first command refused since the last one that ran."""
    newest = connection.execute(select(func.max(GIVEN.c.made)).where(here, GIVEN.c.counted)).scalar() or 0.0
    refused = (
        select(GIVEN.c.name)
        .where(here, GIVEN.c.counted.is_(False), GIVEN.c.made >= newest)
        .order_by(GIVEN.c.made, GIVEN.c.name)
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
    here, own = SENT.c.installation == installation, SENT.c.process == process
    connection.execute(delete(SENT).where(here, SENT.c.stretch < since))
    for stretch, writes, points in sent:
        key = {"installation": installation, "process": process, "stretch": stretch}
        upsert(connection, SENT, key, {"writes": writes, "points": points})
    others = (
        select(SENT.c.stretch, func.sum(SENT.c.writes), func.sum(SENT.c.points))
        .where(here, ~own, SENT.c.stretch >= since)
        .group_by(SENT.c.stretch)
    )
    return [
        (int(stretch), int(writes), int(points)) for stretch, writes, points in connection.execute(others)
    ]
