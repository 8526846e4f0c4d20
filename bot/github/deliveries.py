"""GitHub's own list of the webhook deliveries of the last days, whether or not they arrived."""

import json
from collections.abc import AsyncIterator

from msgspec import Struct

from bot.domain.delivery import Delivery, ListedDelivery
from bot.github.client import GitHubClient
from bot.github.payload import JsonFields

DELIVERIES_PATH = "/app/hook/deliveries"

MAX_PAGES = 200
"""Of a hundred each: more than a busy installation is sent in the days that GitHub keeps."""


class DeliveryPage(Struct, frozen=True, kw_only=True):
    """A part of the list; `tag` is the ETag of its first page."""

    deliveries: tuple[ListedDelivery, ...]
    tag: str | None


class DeliveryLog(Struct, frozen=True):
    """Reads the list as the App."""

    github: GitHubClient

    async def pages(self, known: str | None) -> AsyncIterator[DeliveryPage]:
        """Page by page; none where the list is still that of the ETag `known`. GitHub does not count that."""
        query: dict[str, str | int] | None = {"per_page": 100}
        first_etag: str | None = None
        for number in range(MAX_PAGES):
            etag = known if number == 0 else None
            response = await self.github.api.request(None, "GET", DELIVERIES_PATH, query=query, etag=etag)
            if response.not_modified:
                return
            first_etag = response.etag if number == 0 else first_etag
            yield DeliveryPage(deliveries=response.read_each(_read_delivery), tag=first_etag)
            if response.next_query is None:
                return
            query = {**response.next_query}

    async def payload(self, listed: ListedDelivery) -> Delivery:
        """What was sent; `NotFound` where GitHub keeps it no more."""
        response = await self.github.api.request(None, "GET", f"{DELIVERIES_PATH}/{listed.id}")
        payload = response.read(lambda fields: fields.within("request.payload").values)
        body = json.dumps(payload, separators=(",", ":")).encode()
        return Delivery(id=listed.guid, event=listed.event, payload=body, received=listed.at)


def _read_delivery(fields: JsonFields) -> ListedDelivery:
    return ListedDelivery(
        id=fields.number("id"),
        guid=fields.text("guid"),
        event=fields.text("event"),
        action=fields.text_or_none("action"),
        at=fields.time("delivered_at"),
    )
