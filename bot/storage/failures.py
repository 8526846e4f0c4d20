"""The failures that the newest reports of pull requests speak of, so that each can say who else has them.

In:  reports. Out: the numbers of pull requests, by fingerprint.
"""

from collections.abc import Collection

from sqlalchemy import Connection, and_, select

from bot.report.model import Kinship, Report
from bot.storage.deliveries import insert
from bot.storage.tables import FAILURE, PULL_REQUEST


def keep(connection: Connection, report: Report) -> None:
    """Keep what fails on this pull request now, instead of what failed before."""
    here = {"repository": report.repository, "number": report.number}
    connection.execute(
        FAILURE.delete().where(FAILURE.c.repository == report.repository, FAILURE.c.number == report.number)
    )
    for row in report.rows:
        if row.failure and row.failure.fingerprint and row.failure.kinship is not Kinship.FIXED:
            values = {"case": row.case, "variant": row.variant, "fingerprint": row.failure.fingerprint}
            connection.execute(insert(connection, FAILURE).values(**here, **values).on_conflict_do_nothing())


def elsewhere(
    connection: Connection, *, repository: str, number: int, fingerprints: Collection[str]
) -> dict[str, tuple[int, ...]]:
    """The other open pull requests of a repository whose newest report has one of these failures."""
    if not fingerprints:
        return {}
    rows = connection.execute(
        select(FAILURE.c.fingerprint, FAILURE.c.number)
        .distinct()
        .join(
            PULL_REQUEST,
            and_(
                PULL_REQUEST.c.repository == FAILURE.c.repository, PULL_REQUEST.c.number == FAILURE.c.number
            ),
        )
        .where(
            FAILURE.c.repository == repository,
            FAILURE.c.number != number,
            FAILURE.c.number > 0,
            FAILURE.c.fingerprint.in_(sorted(fingerprints)),
            PULL_REQUEST.c.open,
        )
        .order_by(FAILURE.c.number)
    )
    found: dict[str, tuple[int, ...]] = {}
    for fingerprint, other in rows:
        found[fingerprint] = (*found.get(fingerprint, ()), other)
    return found
