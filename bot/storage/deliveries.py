"""Webhook deliveries, from receipt to what came of them.

In:  deliveries as they arrived. Out: rows of `delivery`.

A delivery that was recorded is never lost and never done twice: GitHub keeps the id when it redelivers.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from bot.intake.delivery import Delivery
from bot.storage.tables import DELIVERY


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


def digest(delivery: Delivery) -> str:
    """What tells two deliveries of one id apart: a redelivery has the same body, and some servers that speak
    GitHub's language give out an id twice."""
    return hashlib.sha256(delivery.event.encode() + b"\n" + delivery.payload).hexdigest()[:16]
