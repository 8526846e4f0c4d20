"""Upserts, and decoders of stored values.

Make a decoder when a module is imported, never while the program works: msgspec (0.22) notes on a type
what it learns of it before it has learnt everything, and a second thread that reads the same type for the
first time just then ends the whole process with a segmentation fault.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")


def json_decoder(kind: type[T]) -> Callable[[bytes | str], T]:
    """Reads JSON."""
    return msgspec.json.Decoder(kind).decode


def msgpack_decoder(kind: type[T]) -> Callable[[bytes], T]:
    """Reads MessagePack."""
    return msgspec.msgpack.Decoder(kind).decode


def column_decoder(kind: type[T]) -> Callable[[dict[str, Any]], T]:
    """Reads a mapping of plain values."""
    msgspec.json.Decoder(kind)

    def read(values: dict[str, Any]) -> T:
        return msgspec.convert(values, type=kind)

    return read


def insert(connection: Connection, table: Table) -> Any:
    """An insert of this database's own dialect, which knows ON CONFLICT."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    return dialect.insert(table)


def insert_missing(connection: Connection, table: Table, /, **values: Any) -> None:
    """Insert a row; one that is there stays as it is."""
    connection.execute(insert(connection, table).values(**values).on_conflict_do_nothing())


def upsert(
    connection: Connection,
    table: Table,
    key: Mapping[str, Any],
    values: Mapping[str, Any],
    *,
    new: Mapping[str, Any] | None = None,
    where: ColumnElement[bool] | None = None,
) -> bool:
    """Insert a row, or write `values` into the one with this key; False where nothing was written.

    A new row takes `new` besides, or instead of, `values`. `where` limits which rows are overwritten.
    """
    statement = insert(connection, table).values({**key, **values, **(new or {})})
    written = statement.on_conflict_do_update(index_elements=list(key), set_=dict(values), where=where)
    return connection.execute(written.returning(table.c[next(iter(key))])).first() is not None
