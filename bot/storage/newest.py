"""The newest runs of many cases in one question: each case is read from the end of its own index.

In:  case keys of a branch. Out: rows, by the place of their key.
Promises: it takes no longer the more runs a branch has; one statement for a hundred keys.

Written as text, because a statement of a hundred parts that is put together anew costs more than it reads.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, TextClause, text

PARTS = 100
"""Keys of one statement; SQLite takes 500 parts."""


def newest_rows(
    connection: Connection,
    columns: Sequence[str],
    keys: Sequence[tuple[str, str]],
    *,
    most: int,
    given: Mapping[str, object],
    where: str = "",
    own: Sequence[Mapping[str, object]] = (),
) -> Iterator[tuple[int, Any]]:
    """The newest ended, measured runs of each key: its place, and the row.

    `given` has `repository` and `branch`; `where` may add conditions, in which `{n}` numbers the key, and
    `own` holds what they name for each key, without the number. None of these texts comes from outside.
    """
    for start in range(0, len(keys), PARTS):
        part = keys[start : start + PARTS]
        asked = dict(given)
        for number, (case, variant) in enumerate(part):
            asked |= {f"case{number}": case, f"variant{number}": variant}
            more = own[start + number] if own else {}
            asked |= {f"{name}{number}": value for name, value in more.items()}
        # All of them at once: one by one they cost three times as much.
        for row in connection.execute(_statement(tuple(columns), len(part), most, where), asked).all():
            yield start + row[0], row


@lru_cache(maxsize=64)
def _statement(columns: tuple[str, ...], count: int, most: int, where: str) -> TextClause:
    parts = (
        f"SELECT * FROM (SELECT {number} AS place, {', '.join(columns)} "  # noqa: S608 - all of it is ours
        "FROM run JOIN measurement ON measurement.run = run.id "
        "WHERE run.repository = :repository AND run.branch = :branch AND run.state = 'ended' "
        f'AND run."case" = :case{number} AND run.variant = :variant{number} '
        f"{where.format(n=number)} ORDER BY run.started DESC NULLS LAST, run.id LIMIT {most}) AS part{number}"
        for number in range(count)
    )
    return text(" UNION ALL ".join(parts))
