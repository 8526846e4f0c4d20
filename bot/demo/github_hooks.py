"""Delivers the stand-in's webhooks, signed as GitHub signs them.

In:  an event and its payload. Out: a POST to the App's address, and a record of it.

As with GitHub, a delivery that fails is recorded and not repeated by itself; a repetition keeps its GUID.
"""

import hashlib
import hmac
import json
import ssl
import uuid
from collections.abc import Mapping
from time import perf_counter

import httpx

from bot.demo.github_state import Delivery, World

# GitHub gives up after this time.
TIMEOUT_SECONDS = 10.0


class Hooks:
    """The App's webhook. Without an address deliveries are recorded only, as if nobody answered."""

    def __init__(
        self,
        world: World,
        *,
        webhook_url: str | None,
        secret: str,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._world = world
        self.webhook_url = webhook_url
        self._secret = secret.encode()
        self._transport = transport
        self._certificates = ssl.create_default_context()  # read once, not for each delivery

    async def deliver(
        self, event: str, payload: Mapping[str, object], *, guid: str | None = None
    ) -> Delivery:
        """Sign and send one event; with `guid` it repeats an earlier delivery."""
        body = json.dumps(payload, separators=(",", ":")).encode()
        delivery_guid = guid or str(uuid.uuid4())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/stand-in",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery_guid,
            "X-GitHub-Hook-Installation-Target-ID": str(self._world.app_id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature-256": sign(self._secret, body),
        }
        started = perf_counter()
        status, code = await self._post(body, headers)
        action = payload.get("action")
        made = Delivery(
            id=next(self._world.ids),
            guid=delivery_guid,
            event=event,
            action=action if isinstance(action, str) else None,
            payload=payload,
            headers=headers,
            delivered_at=self._world.now(),
            redelivery=guid is not None,
            status=status,
            status_code=code,
            duration=round(perf_counter() - started, 3),
        )
        self._world.deliveries.append(made)
        return made

    async def redeliver(self, delivery_id: int) -> bool:
        """Repeat a delivery under its GUID; false where there is none of this id."""
        for made in self._world.deliveries:
            if made.id == delivery_id:
                await self.deliver(made.event, made.payload, guid=made.guid)
                return True
        return False

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> tuple[str, int]:
        if self.webhook_url is None:
            return "failed to connect to host", 0
        try:
            async with httpx.AsyncClient(
                transport=self._transport, timeout=TIMEOUT_SECONDS, verify=self._certificates
            ) as client:
                response = await client.post(self.webhook_url, content=body, headers=headers)
        except httpx.TransportError as problem:
            return f"failed to connect to host: {type(problem).__name__}", 0
        return (
            "OK" if response.is_success else f"Invalid HTTP Response: {response.status_code}",
            response.status_code,
        )


def sign(secret: bytes, body: bytes) -> str:
    """The value of `X-Hub-Signature-256`."""
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"
