"""How many commands a person gave lately: what keeps one person from keeping all others waiting.

In:  the name of what was asked, and when. Out: whether it is within the limit.

Counted in the database, so that restarts and several processes count together. Counting one twice changes
nothing.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, delete, func, select

from bot.storage.deliveries import insert
from bot.storage.tables import GIVEN, REPOSITORY

MOST_COMMANDS = 20
"""Of one person on one repository in `WINDOW_SECONDS`: far more than reading the answers leaves time for,
and all that 25 people can write stays below GitHub's 500 writes an hour."""

WINDOW_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Whether it may be carried out. Where it may not: when the next one may (Unix seconds), and whether
    this is the `first` that is refused, which is told; the others get a reaction alone."""

    allowed: bool
    opens: float = 0.0
    first: bool = False


def take(connection: Connection, repository: str, person: int, *, name: str, count: int, made: float) -> Turn:
    """Count `count` commands of one comment, given at `made`; they are carried out together or not at all."""
    here = and_(GIVEN.c.repository == repository, GIVEN.c.person == person)
    # One after the other: two that count at the same time would both find room for one more.
    connection.execute(select(REPOSITORY.c.id).where(REPOSITORY.c.full_name == repository).with_for_update())
    connection.execute(delete(GIVEN).where(here, GIVEN.c.made < made - WINDOW_SECONDS))
    known = _known(connection, here, name)
    if known is not None:
        return known
    carried = select(GIVEN.c.made).where(here, GIVEN.c.counted).order_by(GIVEN.c.made)
    times = list(connection.execute(carried).scalars())
    allowed = len(times) + count <= MOST_COMMANDS
    first = _told(connection, here) is None
    for place in range(count):
        connection.execute(
            insert(connection, GIVEN)
            .values(
                repository=repository, person=person, name=f"{name}:{place:02}", counted=allowed, made=made
            )
            .on_conflict_do_nothing()
        )
    if allowed:
        return Turn(allowed=True)
    freed = times[len(times) + count - MOST_COMMANDS - 1] if times else made
    return Turn(allowed=False, opens=freed + WINDOW_SECONDS, first=first)


def _known(connection: Connection, here: Any, name: str) -> Turn | None:
    """What was said of it when it was counted: a delivery may be worked on twice."""
    row = connection.execute(select(GIVEN).where(here, GIVEN.c.name == f"{name}:00")).mappings().first()
    if row is None:
        return None
    return Turn(
        allowed=row["counted"], opens=row["made"] + WINDOW_SECONDS, first=_told(connection, here) == name
    )


def _told(connection: Connection, here: Any) -> str | None:
    """The name of the first command that was refused since the last one that was carried out."""
    newest = connection.execute(select(func.max(GIVEN.c.made)).where(here, GIVEN.c.counted)).scalar() or 0.0
    refused = (
        select(GIVEN.c.name)
        .where(here, GIVEN.c.counted.is_(False), GIVEN.c.made >= newest)
        .order_by(GIVEN.c.made, GIVEN.c.name)
        .limit(1)
    )
    name = connection.execute(refused).scalar()
    return None if name is None else str(name).rsplit(":", 1)[0]
