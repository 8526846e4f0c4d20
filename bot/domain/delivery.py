"""A webhook delivery, as it arrived and as GitHub's own list of deliveries names it."""

from msgspec import Struct


class Delivery(Struct, frozen=True, kw_only=True):
    """A delivery whose signature was verified.

    `id` is GitHub's, the same when it redelivers; `payload` is the raw body; `received` is in Unix seconds.
    """

    id: str
    event: str
    payload: bytes
    received: float


class ListedDelivery(Struct, frozen=True, kw_only=True):
    """A delivery in GitHub's own list: `id` is of this attempt, `guid` is shared by all attempts.

    `at` is when it was sent, in Unix seconds.
    """

    id: int
    guid: str
    event: str
    action: str | None
    at: float
