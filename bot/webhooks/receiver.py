"""Receive a webhook: check its signature, record the delivery, and only then answer 202.

202 promises that the delivery is on disk and will be processed. One writer thread records all deliveries
that wait in one commit, so the disk is waited for once a batch and not once a delivery.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import queue
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from bot.domain.delivery import Delivery
from bot.errors import InternalError

MAX_BODY_BYTES = 25 * 1024 * 1024
"""GitHub sends at most 25 MB (its documentation of webhook payloads)."""

MAX_LENGTH_DIGITS = 10
"""A `Content-Length` with more digits is too large: Python refuses numbers of thousands of digits."""

MAX_BATCH = 512

RECORD_TIMEOUT_SECONDS = 9.0
"""GitHub closes the connection after 10 s. A delivery that we refuse before that stays in GitHub's log."""

WARNING_INTERVAL_SECONDS = 60.0
"""At most one log line about wrong signatures in this time."""

LOG = logging.getLogger(__name__)


class WebhookResponse(Struct, frozen=True, kw_only=True):
    """An HTTP status and the JSON that goes with it."""

    status: int
    body: Mapping[str, str]


_PendingDelivery = tuple[Delivery, "asyncio.Future[None]", asyncio.AbstractEventLoop]


class DeliveryRecorder:
    """Records deliveries, many in one commit, on its own thread."""

    def __init__(self, write: Callable[[Sequence[Delivery]], None]) -> None:
        self._write = write
        self._waiting: queue.SimpleQueue[_PendingDelivery | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="deliveries", daemon=True)
        self._thread.start()

    async def record(self, delivery: Delivery) -> None:
        """Return once the delivery is on disk; raises what the write raised."""
        loop = asyncio.get_running_loop()
        written: asyncio.Future[None] = loop.create_future()
        self._waiting.put((delivery, written, loop))
        await asyncio.wait_for(written, RECORD_TIMEOUT_SECONDS)

    def close(self) -> None:
        """Record what is waiting, then stop."""
        self._waiting.put(None)
        self._thread.join(timeout=RECORD_TIMEOUT_SECONDS)

    def _work(self) -> None:
        while batch := self._next_batch():
            problem: Exception | None = None
            try:
                self._write([delivery for delivery, _, _ in batch])
            except Exception as caught:  # noqa: BLE001 - handed to each of those who wait for it
                problem = caught
            for loop in {loop for _, _, loop in batch}:
                futures = [future for _, future, its in batch if its is loop]
                with suppress(RuntimeError):  # a loop that was closed has nobody left who waits
                    loop.call_soon_threadsafe(_resolve_futures, futures, problem)

    def _next_batch(self) -> list[_PendingDelivery]:
        batch: list[_PendingDelivery] = []
        first = self._waiting.get()
        while first is not None:
            batch.append(first)
            if len(batch) == MAX_BATCH or self._waiting.empty():
                return batch
            first = self._waiting.get()
        if batch:
            self._waiting.put(None)
        return batch


class WebhookReceiver:
    """Answers webhook requests."""

    def __init__(
        self, *, secret: str, recorder: DeliveryRecorder, now: Callable[[], float], wake: Callable[[], None]
    ) -> None:
        self._secret = secret.encode()
        self._recorder = recorder
        self._now = now
        self._wake = wake
        self._warned: float | None = None

    async def receive(self, headers: Mapping[str, str], chunks: AsyncIterator[bytes]) -> WebhookResponse:
        """Read, check and record one delivery; headers are looked up in lower case."""
        body = await _read_body(headers.get("content-length"), chunks)
        if body is None:
            return WebhookResponse(status=413, body={"error": f"the body is over {MAX_BODY_BYTES} bytes"})
        if not has_valid_signature(self._secret, body, headers.get("x-hub-signature-256", "")):
            self._warn_of_signatures()
            return WebhookResponse(
                status=401,
                body={"error": "X-Hub-Signature-256 does not fit the body: check GITHUB_WEBHOOK_SECRET"},
            )
        delivery, event = headers.get("x-github-delivery", ""), headers.get("x-github-event", "")
        if not delivery or not event:
            return WebhookResponse(
                status=400, body={"error": "X-GitHub-Delivery and X-GitHub-Event are needed, both"}
            )
        if not _is_object(body):
            return WebhookResponse(
                status=400,
                body={"error": "the body is not a JSON object: set the webhook's content type to JSON"},
            )
        if event == "ping":
            return WebhookResponse(status=200, body={"delivery": delivery})
        received = Delivery(id=delivery, event=event, payload=body, received=self._now())
        return await self._record(received)

    def _warn_of_signatures(self) -> None:
        """Warn the operator, whose secret may be wrong. Rate limited: strangers cannot flood the log."""
        now = self._now()
        if self._warned is None or now - self._warned >= WARNING_INTERVAL_SECONDS:
            self._warned = now
            LOG.warning(
                "refused a webhook with a wrong signature: if GitHub sent it, "
                "GITHUB_WEBHOOK_SECRET is not the App's secret"
            )

    async def _record(self, received: Delivery) -> WebhookResponse:
        try:
            await self._recorder.record(received)
        except (InternalError, TimeoutError):
            return WebhookResponse(
                status=503, body={"error": "not recorded: the database is away; deliver it again later"}
            )
        self._wake()
        return WebhookResponse(status=202, body={"delivery": received.id})


def has_valid_signature(secret: bytes, body: bytes, signature: str) -> bool:
    """Whether `signature` is `sha256=` and the HMAC of the raw body, compared in constant time."""
    expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))


async def _read_body(announced: str | None, chunks: AsyncIterator[bytes]) -> bytes | None:
    """The whole body; None as soon as it is known to be too large."""
    digits = (announced or "").lstrip("0")
    if digits.isdecimal() and (len(digits) > MAX_LENGTH_DIGITS or int(digits) > MAX_BODY_BYTES):
        return None
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def _resolve_futures(futures: Sequence["asyncio.Future[None]"], problem: Exception | None) -> None:
    for future in futures:
        if future.done():
            continue
        if problem is None:
            future.set_result(None)
        else:
            future.set_exception(problem)
