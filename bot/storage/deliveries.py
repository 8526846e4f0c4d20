"""Webhook deliveries, from receipt to outcome.

A recorded delivery is never lost and never processed twice: GitHub keeps the id when it redelivers.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum

import msgspec
from sqlalchemy import Connection, select

from bot.domain.delivery import Delivery
from bot.storage.sql import insert
from bot.storage.tables import DELIVERY

_IDS_PER_STATEMENT = 500
"""Ids in one question: databases take so many values and not many more."""


class DeliveryState(StrEnum):
    """What came of a delivery."""

    RECEIVED = "received"
    DONE = "done"
    IGNORED = "ignored"
    FAILED = "failed"


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
        }
        for delivery in deliveries
    ]
    connection.execute(
        insert(connection, DELIVERY).on_conflict_do_nothing(index_elements=["id", "digest"]), rows
    )


def known_ids(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Those of these ids that were recorded, whatever came of them."""
    found: set[str] = set()
    for at in range(0, len(ids), _IDS_PER_STATEMENT):
        some = select(DELIVERY.c.id).where(DELIVERY.c.id.in_(ids[at : at + _IDS_PER_STATEMENT]))
        found.update(connection.execute(some).scalars())
    return found


def digest(delivery: Delivery) -> str:
    """Distinguishes two deliveries of one id: a redelivery has the same content, also where GitHub's list of
    deliveries writes it otherwise, and some servers that speak GitHub's language give out an id twice."""
    return hashlib.sha256(delivery.event.encode() + b"\n" + _canonical_json(delivery.payload)).hexdigest()[
        :16
    ]


def _canonical_json(payload: bytes) -> bytes:
    """The JSON without the freedom of how it is written."""
    try:
        return msgspec.json.encode(msgspec.json.decode(payload), order="deterministic")
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return payload
