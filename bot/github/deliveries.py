"""GitHub's own list of what it sent to the App: every delivery of the last days, whether or not it arrived.

In:  nothing. Out: pages of the list, newest first; the payload of a delivery.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bot.github.client import GitHub
from bot.intake.delivery import Delivery, Heard
from bot.intake.fields import Fields

PATH = "/app/hook/deliveries"
MOST_PAGES = 200
"""Of a hundred each: more than a busy installation is sent in the days that GitHub keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of the list; `tag` stands for what the list was when its first page was read."""

    deliveries: tuple[Heard, ...]
    tag: str | None


@dataclass(frozen=True, slots=True)
class HookLog:
    """Reads the list as the App."""

    github: GitHub

    async def pages(self, known: str | None) -> AsyncIterator[Page]:
        """Page by page; none at all where the list is still what `known` stands for, which costs GitHub
        nothing and is not counted."""
        query: dict[str, str | int] | None = {"per_page": 100}
        tag: str | None = None
        for number in range(MOST_PAGES):
            unless = known if number == 0 else None
            answer = await self.github.door.ask(None, "GET", PATH, query=query, unless=unless)
            if answer.unchanged:
                return
            tag = answer.tag if number == 0 else tag
            yield Page(deliveries=answer.read_each(_heard), tag=tag)
            if answer.following is None:
                return
            query = {**answer.following}

    async def payload(self, heard: Heard) -> Delivery:
        """What was sent; `Missing` where GitHub keeps it no more."""
        answer = await self.github.door.ask(None, "GET", f"{PATH}/{heard.id}")
        payload = answer.read(lambda fields: fields.within("request.payload").values)
        body = json.dumps(payload, separators=(",", ":")).encode()
        return Delivery(id=heard.guid, event=heard.event, payload=body, received=heard.at)


def _heard(fields: Fields) -> Heard:
    return Heard(
        id=fields.number("id"),
        guid=fields.text("guid"),
        event=fields.text("event"),
        action=fields.text_or_none("action"),
        at=fields.time("delivered_at"),
    )
