"""What each process sent to GitHub lately: its limits are an installation's, whoever sends.

In:  what one process sent, in stretches of time. Out: what all others did.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, select

from bot.storage.database import Away, Database
from bot.storage.deliveries import insert
from bot.storage.tables import SENT

Sent = tuple[int, int, int]
"""The number of a stretch, and the writes and points in it."""


class Ledger:
    """What a process tells the others; who cannot reach the database counts for itself alone meanwhile."""

    def __init__(self, database: Database, process: str) -> None:
        self._database, self._process = database, process

    async def __call__(self, installation: int, sent: Sequence[Sent], since: int) -> Sequence[Sent] | None:
        """Remember what was sent, and say what others sent in the stretch `since` and later."""
        try:
            return await self._database.write(
                exchange, installation, process=self._process, sent=sent, since=since
            )
        except Away:
            return None


def exchange(
    connection: Connection, installation: int, *, process: str, sent: Sequence[Sent], since: int
) -> list[Sent]:
    """Keep what this process sent, in place of what it said of the same stretches, and forget what no longer
    counts; what others sent since."""
    here, own = SENT.c.installation == installation, SENT.c.process == process
    connection.execute(delete(SENT).where(here, SENT.c.stretch < since))
    for stretch, writes, points in sent:
        key = {"installation": installation, "process": process, "stretch": stretch}
        counted = {"writes": writes, "points": points}
        statement = insert(connection, SENT).values(**key, **counted)
        connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=counted))
    others = (
        select(SENT.c.stretch, func.sum(SENT.c.writes), func.sum(SENT.c.points))
        .where(here, ~own, SENT.c.stretch >= since)
        .group_by(SENT.c.stretch)
    )
    return [
        (int(stretch), int(writes), int(points)) for stretch, writes, points in connection.execute(others)
    ]
