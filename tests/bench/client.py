"""A bounded client on the loopback address: signed deliveries over connections that stay open.

In:  a port, a secret, how many at once, how many in all. Out: `Load`, the time each answer took.
"""

import asyncio
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

# A pull request's comment as GitHub sends it is about this long.
BODY_BYTES = 21_000
BODIES = 32
LONGEST_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one round measured: answers a second, and each answer's seconds in ascending order."""

    per_second: float
    seconds: tuple[float, ...]

    def percentile(self, percent: float) -> float:
        """The time that this share of the answers stayed below."""
        return self.seconds[min(len(self.seconds) - 1, int(len(self.seconds) * percent / 100))]


def bodies() -> tuple[bytes, ...]:
    """Comments without a command: recorded, read, and found to ask for nothing."""
    return tuple(
        json.dumps(
            {
                "action": "created",
                "issue": {"number": number, "pull_request": {}, "body": "x" * BODY_BYTES},
                "comment": {"id": number, "body": "Looks right to me.", "user": {"id": 1, "type": "User"}},
                "repository": {"id": 1, "full_name": "octo/trainer", "private": False},
                "installation": {"id": 1},
                "sender": {"id": 1, "login": "octo", "type": "User"},
            }
        ).encode()
        for number in range(1, BODIES + 1)
    )


def requests(port: int, secret: str) -> Iterator[bytes]:
    """Whole requests without end, each with an id of its own."""
    signed = [(body, hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()) for body in bodies()]
    while True:
        for body, signature in signed:
            head = (
                f"POST /webhook HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                f"X-GitHub-Event: issue_comment\r\nX-GitHub-Delivery: {uuid.uuid4()}\r\n"
                f"X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            yield head.encode() + body


def load(port: int, secret: str, *, at_once: int, total: int) -> Load:
    """Send `total` requests over `at_once` connections; raises where one is not answered with 202."""
    return asyncio.run(_load(requests(port, secret), port, at_once=at_once, total=total))


async def _load(source: Iterator[bytes], port: int, *, at_once: int, total: int) -> Load:
    seconds: list[float] = []
    began = time.perf_counter()
    async with asyncio.timeout(LONGEST_SECONDS), asyncio.TaskGroup() as group:
        for number in range(at_once):
            share = total // at_once + (number < total % at_once)
            group.create_task(_connection(source, port, share, seconds))
    passed = time.perf_counter() - began
    return Load(per_second=len(seconds) / passed, seconds=tuple(sorted(seconds)))


async def _connection(source: Iterator[bytes], port: int, share: int, seconds: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for _ in range(share):
            request = next(source)
            asked = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(head))
            seconds.append(time.perf_counter() - asked)
            if not head.startswith(b"HTTP/1.1 202 "):
                raise RuntimeError(f"answered {head.splitlines()[0].decode()!r}")
    finally:
        writer.close()
        await writer.wait_closed()


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0
