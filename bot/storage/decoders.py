"""Readers of values that are kept as JSON, as MessagePack, or column by column.

In:  a type. Out: the function that reads a value of it.

Make one when a module is imported, never while the program works: msgspec (0.22) notes on a type what it
learns of it before it has learnt everything, and a second thread that reads the same type for the first time
just then ends the whole process with a segmentation fault.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def of_json(kind: type[T]) -> Callable[[bytes | str], T]:
    """Reads JSON."""
    return msgspec.json.Decoder(kind).decode


def of_msgpack(kind: type[T]) -> Callable[[bytes], T]:
    """Reads MessagePack."""
    return msgspec.msgpack.Decoder(kind).decode


def of_columns(kind: type[T]) -> Callable[[dict[str, Any]], T]:
    """Reads a mapping of plain values."""
    msgspec.json.Decoder(kind)

    def read(values: dict[str, Any]) -> T:
        return msgspec.convert(values, type=kind)

    return read
