"""Which configuration of a repository was seen last, by any process.

In:  what the default branch says, as a digest. Out: how often that changed.

A process keeps a copy for a while; the count tells it that another one has seen something else meanwhile.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from bot.storage import mainline, pulls
from bot.storage.tables import REPOSITORY


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSeen:
    """A digest of what was seen last, None where nothing was; and how often it was another than before."""

    digest: str | None
    changes: int


def last_seen(connection: Connection, full_name: str) -> LastSeen | None:
    """What any process saw last; None for a repository that is not remembered."""
    query = select(REPOSITORY.c.configuration, REPOSITORY.c.configured)
    row = connection.execute(query.where(REPOSITORY.c.full_name == full_name)).first()
    return LastSeen(digest=row.configuration, changes=row.configured) if row else None


def seen(connection: Connection, full_name: str, *, digest: str, since: int, now: float) -> bool:
    """Remember another configuration, and have looked at whatever it decides: the open pull requests, and
    main. False where a change was seen `since`: the reading may be older than that one."""
    here = REPOSITORY.c.full_name == full_name
    if connection.execute(select(REPOSITORY.c.configured).where(here)).scalar_one_or_none() != since:
        return False
    # First the rows of others, then its own: everybody who locks several does it in this order.
    mainline.touch(connection, full_name, now=now)
    pulls.touch_open(connection, repository=full_name, now=now)
    changed = connection.execute(
        update(REPOSITORY)
        .where(here, REPOSITORY.c.configured == since)
        .values(configuration=digest, configured=since + 1)
    )
    return changed.rowcount == 1


def doubt(connection: Connection, full_name: str) -> None:
    """Have it read anew by every process at its next look: it may be another file by now."""
    here, again = REPOSITORY.c.full_name == full_name, REPOSITORY.c.configured + 1
    connection.execute(update(REPOSITORY).where(here).values(configured=again))
