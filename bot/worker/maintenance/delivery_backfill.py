"""Fetch deliveries that GitHub sent and that never arrived.

GitHub never resends by itself. A delivery that arrived is known by its GUID and skipped; a webhook that
arrives
later is the same row. GitHub lists deliveries out of order, so reading starts some minutes before the last
time.
"""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from msgspec import Struct, field

from bot.domain.delivery import Delivery, ListedDelivery
from bot.errors import NotFound, UserError
from bot.storage import deliveries
from bot.storage.database import Database
from bot.webhooks.events import is_used_event
from bot.worker.maintenance.tasks import TaskResult

INTERVAL_SECONDS = 300.0
"""If webhooks arrive."""

PULL_INTERVAL_SECONDS = 3.0
"""If none do: soon enough to answer a person, and a tenth of an App's hourly requests."""

OVERLAP_SECONDS = 600.0

LOG = logging.getLogger(__name__)


class DeliveryList(Protocol):
    """A page of the list, newest first, and the list's ETag."""

    @property
    def deliveries(self) -> Sequence[ListedDelivery]:
        """Deliveries."""
        ...

    @property
    def tag(self) -> str | None:
        """The ETag of the list."""
        ...


class DeliverySource(Protocol):
    """GitHub's list of deliveries."""

    def pages(self, known: str | None) -> AsyncIterator[DeliveryList]:
        """Page by page; none if the list still has the ETag `known`."""
        ...

    async def payload(self, listed: ListedDelivery) -> Delivery:
        """What was sent, or `NotFound`."""
        ...


class DeliveryBackfill(Struct, kw_only=True):
    """Reads the list. The process keeps its ETag, the row until when it was read."""

    log: DeliverySource
    database: Database
    wake: Callable[[], None]
    every: float = INTERVAL_SECONDS
    _etag: str | None = field(default=None)

    async def __call__(self, position: str | None) -> TaskResult:
        """Fetch the missing deliveries, oldest first."""
        read_until = float(position) if position else 0.0
        try:
            listed, tag = await self._listed(read_until - OVERLAP_SECONDS)
        except UserError as error:
            LOG.warning("missed deliveries cannot be looked for: %s", error.text)
            return TaskResult(position=position, repeat_after=max(self.every, INTERVAL_SECONDS))
        known = await self.database.read(deliveries.known_ids, [one.guid for one in listed])
        missing = {
            one.guid: one for one in listed if one.guid not in known and is_used_event(one.event, one.action)
        }
        for one in sorted(missing.values(), key=lambda delivery: (delivery.at, delivery.id)):
            await self._fetch(one)
        # Only now: a death in between makes the next process read the same again.
        self._etag = tag or self._etag
        newest = max((one.at for one in listed), default=read_until)
        return TaskResult(position=repr(max(newest, read_until)), repeat_after=self.every)

    async def _listed(self, since: float) -> tuple[list[ListedDelivery], str | None]:
        listed: list[ListedDelivery] = []
        tag: str | None = None
        async for page in self.log.pages(self._etag):
            tag = page.tag
            listed += [one for one in page.deliveries if one.at >= since]
            if page.deliveries and all(one.at < since for one in page.deliveries):
                break
        return listed, tag

    async def _fetch(self, one: ListedDelivery) -> None:
        try:
            delivery = await self.log.payload(one)
        except NotFound as missing:
            LOG.warning("delivery %s was missed and is kept by GitHub no more: %s", one.guid, missing.text)
            return
        await self.database.write(deliveries.record, [delivery])
        LOG.info("delivery caught up", extra={"delivery": one.guid, "event": one.event})
        self.wake()
