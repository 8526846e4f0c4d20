"""Verdicts that somebody accepted.

In:  acknowledgements. Out: the newest of each case and variant of a pull request.
"""

import msgspec
from sqlalchemy import Connection, select

from bot.report.model import Acknowledgement, Grounds, RowState
from bot.storage.decoders import of_json
from bot.storage.deliveries import insert
from bot.storage.tables import ACKNOWLEDGEMENT

_GROUNDS = of_json(Grounds)
_PLAIN = ("case", "variant", "head_sha", "by", "reason", "made")
_KEYS = ("repository", "number", "case", "variant")


def keep(connection: Connection, repository: str, number: int, one: Acknowledgement) -> None:
    """Remember an acknowledgement in place of the one before it."""
    values = {name: getattr(one, name) for name in _PLAIN}
    values |= {
        "repository": repository,
        "number": number,
        "verdict": one.verdict.value,
        "grounds": msgspec.json.encode(one.grounds).decode(),
    }
    changed = {name: value for name, value in values.items() if name not in _KEYS}
    statement = insert(connection, ACKNOWLEDGEMENT).values(**values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(_KEYS), set_=changed))


def of_pull(connection: Connection, repository: str, number: int) -> tuple[Acknowledgement, ...]:
    """Everything that was accepted on a pull request, oldest first."""
    table = ACKNOWLEDGEMENT.c
    rows = connection.execute(
        select(ACKNOWLEDGEMENT)
        .where(table.repository == repository, table.number == number)
        .order_by(table.made, table.case, table.variant)
    )
    return tuple(
        Acknowledgement(
            **{name: row[name] for name in _PLAIN},
            verdict=RowState(row["verdict"]),
            grounds=_GROUNDS(row["grounds"]),
        )
        for row in rows.mappings()
    )
