"""Take the deliveries that GitHub sent and that never arrived.

In:  GitHub's list of deliveries, and up to when it was read the last time.
Out: rows of `delivery`, as if the webhook had come.

GitHub repeats nothing by itself. What arrived is known by its GUID and left alone; a webhook that comes after
all, later than this, is the same row. Reading begins some minutes before the last time, since deliveries are
listed out of order.
"""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.controller.chores import Done
from bot.errors import Missing, Told
from bot.intake.delivery import Delivery, Heard
from bot.intake.kinds import is_used
from bot.storage import deliveries
from bot.storage.database import Database

EVERY_SECONDS = 300.0
"""Where webhooks arrive."""

PULL_SECONDS = 3.0
"""Where none do: soon enough to answer a person, and a tenth of what an App may ask in an hour."""

OVERLAP_SECONDS = 600.0

LOG = logging.getLogger(__name__)


class Page(Protocol):
    """A part of the list, newest first, and what the list was."""

    @property
    def deliveries(self) -> Sequence[Heard]:
        """Deliveries."""
        ...

    @property
    def tag(self) -> str | None:
        """Stands for the list."""
        ...


class HookLog(Protocol):
    """GitHub's list of deliveries."""

    def pages(self, known: str | None) -> AsyncIterator[Page]:
        """Page by page; none where the list is what `known` stands for."""
        ...

    async def payload(self, heard: Heard) -> Delivery:
        """What was sent, or `Missing`."""
        ...


@dataclass(slots=True, kw_only=True)
class CatchingUp:
    """Reads the list; what it was is remembered by the process, up to when it was read by the row."""

    log: HookLog
    database: Database
    wake: Callable[[], None]
    every: float = EVERY_SECONDS
    _tag: str | None = field(default=None)

    async def __call__(self, mark: str | None) -> Done:
        """Take what is missing, oldest first."""
        read_until = float(mark) if mark else 0.0
        try:
            heard, tag = await self._heard(read_until - OVERLAP_SECONDS)
        except Told as told:
            LOG.warning("missed deliveries cannot be looked for: %s", told.text)
            return Done(mark=mark, again=max(self.every, EVERY_SECONDS))
        known = await self.database.read(deliveries.known, [one.guid for one in heard])
        missing = {one.guid: one for one in heard if one.guid not in known and is_used(one.event, one.action)}
        for one in sorted(missing.values(), key=lambda delivery: (delivery.at, delivery.id)):
            await self._take(one)
        # Only now: a death in between makes the next process read the same again.
        self._tag = tag or self._tag
        newest = max((one.at for one in heard), default=read_until)
        return Done(mark=repr(max(newest, read_until)), again=self.every)

    async def _heard(self, since: float) -> tuple[list[Heard], str | None]:
        heard: list[Heard] = []
        tag: str | None = None
        async for page in self.log.pages(self._tag):
            tag = page.tag
            heard += [one for one in page.deliveries if one.at >= since]
            if page.deliveries and all(one.at < since for one in page.deliveries):
                break
        return heard, tag

    async def _take(self, one: Heard) -> None:
        try:
            delivery = await self.log.payload(one)
        except Missing as missing:
            LOG.warning("delivery %s was missed and is kept by GitHub no more: %s", one.guid, missing.text)
            return
        await self.database.write(deliveries.record, [delivery])
        LOG.info("delivery caught up", extra={"delivery": one.guid, "event": one.event})
        self.wake()
