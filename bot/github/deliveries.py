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
    """A part of the list; `tag` stands for what the list was when its first page was read."""

    deliveries: tuple[ListedDelivery, ...]
    tag: str | None


class DeliveryLog(Struct, frozen=True):
    """Reads the list as the App."""

    github: GitHubClient

    async def pages(self, known: str | None) -> AsyncIterator[DeliveryPage]:
        """Page by page; none at all where the list is still what `known` stands for, which costs GitHub
        nothing and is not counted."""
        query: dict[str, str | int] | None = {"per_page": 100}
        tag: str | None = None
        for number in range(MAX_PAGES):
            unless = known if number == 0 else None
            answer = await self.github.door.ask(None, "GET", DELIVERIES_PATH, query=query, unless=unless)
            if answer.unchanged:
                return
            tag = answer.tag if number == 0 else tag
            yield DeliveryPage(deliveries=answer.read_each(_read_delivery), tag=tag)
            if answer.following is None:
                return
            query = {**answer.following}

    async def payload(self, heard: ListedDelivery) -> Delivery:
        """What was sent; `Missing` where GitHub keeps it no more."""
        answer = await self.github.door.ask(None, "GET", f"{DELIVERIES_PATH}/{heard.id}")
        payload = answer.read(lambda fields: fields.within("request.payload").values)
        body = json.dumps(payload, separators=(",", ":")).encode()
        return Delivery(id=heard.guid, event=heard.event, payload=body, received=heard.at)


def _read_delivery(fields: JsonFields) -> ListedDelivery:
    return ListedDelivery(
        id=fields.number("id"),
        guid=fields.text("guid"),
        event=fields.text("event"),
        action=fields.text_or_none("action"),
        at=fields.time("delivered_at"),
    )
