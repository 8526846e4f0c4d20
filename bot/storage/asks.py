"""What was asked of pull requests and withdrawn.

In:  asks and withdrawals. Out: the same, in the order in which people made them.

Writing one twice changes nothing: its name says which comment and line, or which label, it came from.
"""

from typing import Any, assert_never

import msgspec
from sqlalchemy import Connection, and_, delete, select

from bot.runs.asks import Ask, Source, Withdrawal
from bot.storage.decoders import of_json
from bot.storage.deliveries import insert
from bot.storage.tables import ASK

WITHDRAWAL = "withdrawal"

_KEYS = of_json(list[str])


def keep(connection: Connection, repository: str, number: int, one: Ask | Withdrawal) -> None:
    """Remember what was asked or withdrawn, in place of what bears the same name."""
    values = _values(one)
    keys = {"repository": repository, "number": number, "source": values.pop("source"), "name": one.name}
    statement = insert(connection, ASK).values(**keys, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=values))


def of_pull(connection: Connection, repository: str, number: int) -> tuple[Ask | Withdrawal, ...]:
    """Everything that was asked of a pull request and withdrawn."""
    rows = connection.execute(select(ASK).where(_here(repository, number))).mappings()
    return tuple(sorted((_read(row) for row in rows), key=lambda one: one.order))


def take_back(
    connection: Connection, repository: str, number: int, *, source: Source, name: str, made: float
) -> bool:
    """Forget an ask that was made no later than `made` (Unix seconds); False where there was none."""
    older = and_(ASK.c.source == source, ASK.c.name == name, ASK.c.made <= made)
    return connection.execute(delete(ASK).where(_here(repository, number), older)).rowcount > 0


def _here(repository: str, number: int) -> Any:
    return and_(ASK.c.repository == repository, ASK.c.number == number)


def _values(one: Ask | Withdrawal) -> dict[str, Any]:
    values = {
        "keys": msgspec.json.encode(sorted(one.keys)).decode(),
        "by": one.by,
        "head_sha": one.head_sha,
        "made": one.made,
    }
    match one:
        case Ask():
            return {**values, "source": one.source, "fresh": one.fresh}
        case Withdrawal():
            return {**values, "source": WITHDRAWAL, "fresh": 0}
        case _:
            assert_never(one)


def _read(row: Any) -> Ask | Withdrawal:
    keys = frozenset(_KEYS(row["keys"]))
    said = {name: row[name] for name in ("name", "by", "head_sha", "made")}
    if row["source"] == WITHDRAWAL:
        return Withdrawal(keys=keys, **said)
    return Ask(source=Source(row["source"]), keys=keys, fresh=row["fresh"], **said)
