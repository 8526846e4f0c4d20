"""Webhook deliveries, from receipt to what came of them.

In:  deliveries as they arrived. Out: rows of `delivery`.

A delivery that was recorded is never lost and never done twice: GitHub keeps the id when it redelivers.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.intake.delivery import Delivery
from bot.storage.tables import DELIVERY

_AT_ONCE = 500
"""Ids in one question: databases take so many values and not many more."""


class DeliveryState(StrEnum):
    """What came of a delivery."""

    RECEIVED = "received"
    DONE = "done"
    IGNORED = "ignored"
    FAILED = "failed"


def insert(connection: Connection, table: Any) -> Any:
    """An insert of this database's own kind: the one that knows ON CONFLICT."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    return dialect.insert(table)


def record(connection: Connection, deliveries: Sequence[Delivery]) -> None:
    """Keep these deliveries; ones that are known are left as they are."""
    rows = [
        {
            "id": delivery.id,
            "digest": digest(delivery),
            "event": delivery.event,
            "payload": delivery.payload,
            "received": delivery.received,
            "state": DeliveryState.RECEIVED,
            "due": delivery.received,
            "lease_until": 0.0,
            "token": 0,
            "attempts": 0,
        }
        for delivery in deliveries
    ]
    connection.execute(
        insert(connection, DELIVERY).on_conflict_do_nothing(index_elements=["id", "digest"]), rows
    )


def known(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Those of these ids that were recorded, whatever came of them."""
    found: set[str] = set()
    for at in range(0, len(ids), _AT_ONCE):
        some = select(DELIVERY.c.id).where(DELIVERY.c.id.in_(ids[at : at + _AT_ONCE]))
        found.update(connection.execute(some).scalars())
    return found


def digest(delivery: Delivery) -> str:
    """What tells two deliveries of one id apart: a redelivery has the same content, also where GitHub's list
    of deliveries writes it otherwise, and some servers that speak GitHub's language give out an id twice."""
    return hashlib.sha256(delivery.event.encode() + b"\n" + _content(delivery.payload)).hexdigest()[:16]


def _content(payload: bytes) -> bytes:
    """The JSON without the freedom of how it is written."""
    try:
        return msgspec.json.encode(msgspec.json.decode(payload), order="deterministic")
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return payload
