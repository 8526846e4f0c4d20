"""A webhook delivery, as it arrived.

In:  nothing. Out: `Delivery`, the word that the webhook, the tables and the controller share.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One delivery that is who it says it is.

    `id` is GitHub's, the same when it redelivers; `payload` is the raw body; `received` is in Unix seconds.
    """

    id: str
    event: str
    payload: bytes
    received: float
