"""Receive a webhook: check its signature, record the delivery, and only then answer 202.

202 promises that the delivery is on disk and will be processed. One writer thread records all deliveries
that wait in one commit, so the disk is waited for once a batch and not once a delivery.

Anybody can send here. What has no signature is refused before its body is read; all bodies together have a
budget of memory, and each has a deadline.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import queue
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus

import msgspec
from msgspec import Struct

from bot.domain.delivery import Delivery
from bot.errors import InternalError

MAX_BODY_BYTES = 25 * 1024 * 1024
"""GitHub sends at most 25 MB (its documentation of webhook payloads)."""

MAX_LENGTH_DIGITS = 10
"""A `Content-Length` with more digits is too large: Python refuses numbers of thousands of digits."""

MAX_BATCH = 512

MAX_BYTES_IN_FLIGHT = 64 << 20
"""All bodies that are read or recorded at a time: two of the largest, and some thousand usual ones."""

BODY_SECONDS = 10.0
"""GitHub has given up by then."""

RETRY_SECONDS = 5

RECORD_TIMEOUT_SECONDS = 9.0
"""GitHub closes the connection after 10 s. A delivery that we refuse before that stays in GitHub's log."""

WARNING_INTERVAL_SECONDS = 60.0
"""At most one log line about wrong signatures in this time."""

LOG = logging.getLogger(__name__)


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])

_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")


class WebhookResponse(Struct, frozen=True, kw_only=True):
    """An HTTP status, the JSON and the headers that go with it."""

    status: int
    body: Mapping[str, str]
    headers: Mapping[str, str] = {}


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


class BodySignature:
    """The signature of a body that comes in pieces: `sha256=` and the HMAC of its raw bytes."""

    def __init__(self, secret: bytes) -> None:
        self._digest = hmac.new(secret, digestmod=hashlib.sha256)

    def update(self, piece: bytes) -> None:
        """Add the next piece."""
        self._digest.update(piece)

    def equals(self, given: str) -> bool:
        """Whether this is the given signature, compared in constant time."""
        expected = f"sha256={self._digest.hexdigest()}".encode()
        return hmac.compare_digest(expected, given.encode("utf-8", "replace"))


class IncomingBody:
    """A body that is being read, within the budget of all bodies and its own deadline."""

    def __init__(self, budget: "BodyBudget", secret: bytes) -> None:
        self._budget = budget
        self.signature = BodySignature(secret)
        self._deadline = asyncio.timeout(BODY_SECONDS)
        self.data = bytearray()
        self.displaced = False

    async def read(self, chunks: AsyncIterator[bytes]) -> HTTPStatus:
        """Read it to its end; another status than 200 says why it is not read further."""
        try:
            async with self._deadline:
                async for chunk in chunks:
                    if len(self.data) + len(chunk) > MAX_BODY_BYTES:
                        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                    if not self._budget.take(self, len(chunk)):
                        return HTTPStatus.SERVICE_UNAVAILABLE
                    self.data += chunk
                    self.signature.update(chunk)
        except TimeoutError:
            return HTTPStatus.SERVICE_UNAVAILABLE if self.displaced else HTTPStatus.REQUEST_TIMEOUT
        return HTTPStatus.OK

    def displace(self) -> None:
        """Stop reading it, and free what it took."""
        self.displaced = True
        self.data = bytearray()
        self._deadline.reschedule(0.0)


class BodyBudget:
    """The memory of all bodies. The one that has been read longest makes room for a newer one.

    GitHub's bodies come within moments: those that take long are somebody else's, or will be delivered again.
    """

    def __init__(self, most: int = MAX_BYTES_IN_FLIGHT) -> None:
        self._free = most
        self._sizes: dict[IncomingBody, int] = {}
        self._reading: dict[IncomingBody, None] = {}

    def take(self, body: IncomingBody, size: int) -> bool:
        """Room for so many bytes more of this body; False if there is none."""
        while size > self._free:
            oldest = next(iter(self._reading), body)
            if oldest is body:
                return False
            self.release(oldest)
            oldest.displace()
        self._free -= size
        self._sizes[body] = self._sizes.get(body, 0) + size
        self._reading.setdefault(body)
        return True

    def keep(self, body: IncomingBody) -> None:
        """This body is complete and genuine: it makes room for no other."""
        self._reading.pop(body, None)

    def release(self, body: IncomingBody) -> None:
        """Nothing of this body is held any more."""
        self._reading.pop(body, None)
        self._free += self._sizes.pop(body, 0)


class WebhookReceiver:
    """Answers webhook requests."""

    def __init__(
        self, *, secret: str, recorder: DeliveryRecorder, now: Callable[[], float], wake: Callable[[], None]
    ) -> None:
        self._secret = secret.encode()
        self._recorder = recorder
        self._now = now
        self._wake = wake
        self._budget = BodyBudget()
        self._warned: float | None = None

    async def receive(self, headers: Mapping[str, str], chunks: AsyncIterator[bytes]) -> WebhookResponse:
        """Read, check and record one delivery; headers are looked up in lower case."""
        signature = headers.get("x-hub-signature-256", "")
        if not _SIGNATURE.fullmatch(signature):
            self._warn_of_signatures()
            return _refusal(
                HTTPStatus.UNAUTHORIZED,
                "X-Hub-Signature-256 is missing or malformed: set the webhook's secret in the App's settings",
            )
        if _is_too_long(headers.get("content-length")):
            return _refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is over {MAX_BODY_BYTES} bytes")
        body = IncomingBody(self._budget, self._secret)
        try:
            return await self._read(headers, signature, body, chunks)
        finally:
            self._budget.release(body)

    async def _read(
        self, headers: Mapping[str, str], signature: str, body: IncomingBody, chunks: AsyncIterator[bytes]
    ) -> WebhookResponse:
        match await body.read(chunks):
            case HTTPStatus.OK:
                pass
            case HTTPStatus.REQUEST_ENTITY_TOO_LARGE as status:
                return _refusal(status, f"the body is over {MAX_BODY_BYTES} bytes")
            case HTTPStatus.REQUEST_TIMEOUT as status:
                return _refusal(status, f"the body did not arrive within {BODY_SECONDS:.0f} s")
            case status:
                return _refusal(status, "too many bodies at once; deliver it again later")
        if not body.signature.equals(signature):
            self._warn_of_signatures()
            return WebhookResponse(
                status=401,
                body={"error": "X-Hub-Signature-256 does not fit the body: check GITHUB_WEBHOOK_SECRET"},
            )
        self._budget.keep(body)
        return await self._accept(headers, body)

    async def _accept(self, headers: Mapping[str, str], body: IncomingBody) -> WebhookResponse:
        """Record a genuine delivery."""
        delivery, event = headers.get("x-github-delivery", ""), headers.get("x-github-event", "")
        if not delivery or not event:
            return WebhookResponse(
                status=400, body={"error": "X-GitHub-Delivery and X-GitHub-Event are needed, both"}
            )
        payload, body.data = bytes(body.data), bytearray()
        if not _is_object(payload):
            return WebhookResponse(
                status=400,
                body={"error": "the body is not a JSON object: set the webhook's content type to JSON"},
            )
        if event == "ping":
            return WebhookResponse(status=200, body={"delivery": delivery})
        received = Delivery(id=delivery, event=event, payload=payload, received=self._now())
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
                status=503,
                body={"error": "not recorded: the database is away; deliver it again later"},
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        self._wake()
        return WebhookResponse(status=202, body={"delivery": received.id})


def _refusal(status: HTTPStatus, error: str) -> WebhookResponse:
    """The answer to a request whose body is not read to its end, so that the connection cannot go on."""
    later = {"Retry-After": str(RETRY_SECONDS)} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return WebhookResponse(status=status, body={"error": error}, headers={"Connection": "close", **later})


def _is_too_long(announced: str | None) -> bool:
    """Whether the announced length is more than GitHub sends."""
    digits = (announced or "").lstrip("0")
    return digits.isdecimal() and (len(digits) > MAX_LENGTH_DIGITS or int(digits) > MAX_BODY_BYTES)


def _is_object(body: bytes) -> bool:
    """Whether it is a JSON object in UTF-8; nothing is built from it, so a large one takes no memory."""
    try:
        body.decode()
        _OBJECT.decode(body)
    except (UnicodeDecodeError, RecursionError, msgspec.ValidationError):
        return False
    except msgspec.DecodeError:
        return _is_lenient_object(body)
    return True


def _is_lenient_object(body: bytes) -> bool:
    """Whether it is a JSON object for Python's reader, which takes half surrogates too."""
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
