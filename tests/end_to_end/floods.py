"""What a stranger can send to the real server, and what the server does meanwhile: memory, webhook answers.

Everything is bounded: loopback only, some seconds, some hundred connections. GitHub is a process of its own
(`python -m tests.end_to_end.floods PORT SECRET SECONDS ADDRESS…`): what the flood costs its sender is no time
of the server's.
"""

import asyncio
import hashlib
import hmac
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MEGABYTE = 1 << 20

STRANGER, OTHER = "127.0.0.1", "127.0.0.2"
"""Two addresses of the loopback network: on Linux a client may come from any of them."""


def raise_file_limit() -> None:
    """Allow this process the connections of a flood."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass(slots=True)
class Connection:
    """One connection of a stranger."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> bool:
        """Send, and wait until it is taken; False once the server has closed."""
        try:
            self.writer.write(data)
            await self.writer.drain()
        except OSError:
            return False
        return True

    async def answer(self, seconds: float) -> bytes:
        """Everything that the server sends until it closes, or what came in this time."""
        got = bytearray()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(seconds):
                while piece := await self.reader.read(65536):
                    got += piece
        return bytes(got)

    async def is_closed(self, seconds: float) -> bool:
        """Whether the server ends the connection within this time."""
        try:
            async with asyncio.timeout(seconds):
                while await self.reader.read(65536):
                    pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        """End it at once."""
        self.writer.transport.abort()


_OPENED: list[Connection] = []


def play(attack: Awaitable[T]) -> T:
    """Run an attack, and end every connection that it left."""

    async def played() -> T:
        try:
            return await attack
        finally:
            for one in _OPENED:
                one.close()
            _OPENED.clear()
            await asyncio.sleep(0.1)

    return asyncio.run(played())


@dataclass(slots=True, kw_only=True)
class Stranger:
    """Somebody without the webhook's secret, who opens connections from one address."""

    port: int
    address: str = STRANGER
    opened: list[Connection] = field(default_factory=list)

    async def connect(self, first: bytes = b"") -> Connection:
        """A new connection, on which these bytes are sent."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(self.address, 0), limit=65536
        )
        made = Connection(reader, writer)
        self.opened.append(made)
        _OPENED.append(made)
        if first:
            await made.send(first)
        return made

    async def connect_many(self, count: int, first: bytes) -> list[Connection]:
        """Many connections; those that are refused at once are left out."""
        made = []
        for _ in range(count):
            with suppress(OSError):
                made.append(await self.connect(first))
        return made

    async def get(self, path: str, seconds: float = 30.0) -> "Answer":
        """One page over a connection of its own."""
        begun = time.monotonic()
        made = await self.connect(
            f"GET {path} HTTP/1.1\r\nHost: maxview.test\r\nConnection: close\r\n\r\n".encode()
        )
        text = await made.answer(seconds)
        made.close()
        return Answer.parse(text, time.monotonic() - begun)

    def leave(self) -> None:
        """Close every connection."""
        for one in self.opened:
            one.close()
        self.opened.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer; status 0 if there was none."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    @staticmethod
    def parse(text: bytes, seconds: float) -> "Answer":
        """The first answer in these bytes."""
        head, _, body = text.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split(" ")[1]) if first.startswith("HTTP/1.1 ") else 0
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Answer(status=status, headers=headers, body=body, seconds=seconds)


def delivery_head(length: int, signature: str | None, *, name: str = "d", chunked: bool = False) -> bytes:
    """The header of a webhook request whose body is not sent yet."""
    lines = ["POST /webhook HTTP/1.1", "Host: maxview.test", "X-GitHub-Event: push"]
    lines += [f"X-GitHub-Delivery: {name}", "Content-Type: application/json"]
    lines += [f"X-Hub-Signature-256: {signature}"] if signature is not None else []
    lines += ["Transfer-Encoding: chunked"] if chunked else [f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


WRONG_SIGNATURE = "sha256=" + "0" * 64


async def send_body(connection: Connection, length: int) -> None:
    """Send a body of this length, as long as the server takes it."""
    piece = b"x" * 65536
    for at in range(0, length, len(piece)):
        if not await connection.send(piece[: length - at]):
            return


@dataclass(slots=True, kw_only=True)
class SignedDeliveries:
    """GitHub: a signed webhook every `pause` seconds, each over a connection of its own."""

    port: int
    secret: str
    address: str = STRANGER
    pause: float = 0.02
    seconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    async def send_one(self) -> None:
        """One delivery; the time until its answer is kept."""
        n = f"{self.address}-{len(self.seconds)}"
        body = json.dumps({"zen": "x" * 8000, "n": n}).encode()
        digest = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        begun = time.monotonic()
        status = 0
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(20):
                github = Stranger(port=self.port, address=self.address)
                made = await github.connect(
                    delivery_head(len(body), f"sha256={digest}", name=f"signed-{n}") + body
                )
                line = await made.reader.readline()
                status = int(line.split()[1]) if line else 0
                made.close()
        self.seconds.append(time.monotonic() - begun)
        self.statuses.append(status)

    async def send_for(self, seconds: float) -> None:
        """Deliveries one after the other for this time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await self.send_one()
            await asyncio.sleep(self.pause)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What became of deliveries: the seconds until each answer, and its status."""

    seconds: list[float]
    statuses: list[int]

    def percentile(self, share: float) -> float:
        """Seconds until the answer that this share of the deliveries had."""
        ordered = sorted(self.seconds)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]

    @property
    def refused(self) -> int:
        """Deliveries that were not taken."""
        return sum(status != 202 for status in self.statuses)


async def deliver_for(port: int, secret: str, seconds: float, *addresses: str) -> Delivered:
    """GitHub's deliveries for this time, from each of these addresses, sent by a process of their own."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.end_to_end.floods",
        *(str(port), secret, str(seconds), *addresses),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    text, _ = await child.communicate()
    return Delivered(**json.loads(text))


async def _deliver(port: str, secret: str, seconds: str, *addresses: str) -> None:
    senders = [SignedDeliveries(port=int(port), secret=secret, address=one) for one in addresses]
    await asyncio.gather(*(one.send_for(float(seconds)) for one in senders))
    times = [value for one in senders for value in one.seconds]
    print(json.dumps({"seconds": times, "statuses": [value for one in senders for value in one.statuses]}))


def family_of(pid: int) -> list[int]:
    """A process and all its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        below = [int(word) for word in children.read_text().split()]
    except OSError:
        return []
    return [pid, *(other for child in below for other in family_of(child))]


def memory_of(pid: int) -> int:
    """Bytes of memory of a process and its children; what they share counts once (PSS)."""
    total = 0
    for one in family_of(pid):
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024
    return total


@asynccontextmanager
async def watched_memory(pid: int) -> AsyncIterator[list[int]]:
    """The memory of a process and its children, several times a second."""
    seen = [memory_of(pid)]

    async def watch() -> None:
        while True:
            seen.append(await asyncio.to_thread(memory_of, pid))
            await asyncio.sleep(0.1)

    task = asyncio.create_task(watch())
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def count_open(connections: Sequence[Connection], seconds: float) -> int:
    """How many the server still keeps open after this time."""
    closed = await asyncio.gather(*(one.is_closed(seconds) for one in connections))
    return closed.count(False)


async def repeat_for(seconds: float, act: Callable[[], Awaitable[T]]) -> list[T]:
    """What an act gave, again and again for this time."""
    until, found = time.monotonic() + seconds, []
    while time.monotonic() < until:
        with suppress(OSError):
            found.append(await act())
    return found


if __name__ == "__main__":
    asyncio.run(_deliver(*sys.argv[1:]))
