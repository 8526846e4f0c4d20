"""Inserts that know ON CONFLICT, and decoders of stored values.

Make a decoder when a module is imported, never while the program works: msgspec (0.22) notes on a type
what it learns of it before it has learnt everything, and a second thread that reads the same type for the
first time just then ends the whole process with a segmentation fault.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection
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


def insert(connection: Connection, table: Any) -> Any:
    """An insert of this database's own kind: the one that knows ON CONFLICT."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    return dialect.insert(table)
