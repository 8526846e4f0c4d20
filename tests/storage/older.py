"""A database as an older program left it: its tables and its rows.

`e0765e0.jsonl` was written by that commit's server: pull requests, one of a fork and one that landed, watched
branches, runs that were found, launched, running, queued, waiting and cancelled, commands, a label, a button,
an acknowledgement, an approval, a merge queue, a renamed repository. The power failed in the middle of it.
One row a line; documents are written out as JSON.
"""

import json
import zlib
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from alembic.command import upgrade
from sqlalchemy import Connection, MetaData

from bot.storage.migrations import configuration

REVISION = "0003"
"""The newest revision that the commit knew."""

ROWS = Path(__file__).parent / "e0765e0.jsonl"


def read_rows() -> list[tuple[str, dict[str, Any]]]:
    """Each row with the name of its table."""
    return [next(iter(json.loads(line).items())) for line in ROWS.read_text(encoding="utf-8").splitlines()]


def make_older(connection: Connection) -> None:
    """Make the tables of that commit, and fill them."""
    config = configuration()
    config.attributes["connection"] = connection
    upgrade(config, REVISION)
    tables = MetaData()
    tables.reflect(bind=connection)
    by_table: dict[str, list[dict[str, Any]]] = {}
    for name, row in read_rows():
        by_table.setdefault(name, []).append(row)
    for table in tables.sorted_tables:
        rows = [] if table.name == "alembic_version" else by_table[table.name]
        for row in rows:
            connection.execute(
                table.insert().values({name: _stored(table.c[name], row[name]) for name in row})
            )


def _stored(column: sa.Column[Any], value: Any) -> Any:
    match value:
        case {"zlib+msgpack": document}:
            return zlib.compress(msgspec.msgpack.encode(document))
        case {"msgpack": document}:
            return msgspec.msgpack.encode(document)
        case {"json": document}:
            return msgspec.json.encode(document)
        case 0 | 1 if isinstance(column.type, sa.Boolean):
            return bool(value)
        case _:
            return value
