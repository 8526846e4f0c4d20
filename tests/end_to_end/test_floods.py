"""A stranger floods the real server with everything that needs no account; GitHub's webhooks go on."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from bot.domain.run import RunOrigin
from bot.logs.reader import read_log
from bot.storage.database import Database
from bot.verdict.measure import measure
from tests.end_to_end.floods import (
    MEGABYTE,
    OTHER,
    STRANGER,
    WRONG_SIGNATURE,
    Answer,
    Stranger,
    count_open,
    deliver_for,
    delivery_head,
    family_of,
    play,
    raise_file_limit,
    repeat_for,
    send_body,
    watched_memory,
)
from tests.end_to_end.server import Server
from tests.log_writers.maxtext import maxtext_log
from tests.peers.keys import private_key
from tests.web.site_under_test import PUBLIC, SiteUnderTest

SECRET = "a secret of the floods"

SMALL_MACHINE = 512 * MEGABYTE

WEBHOOK_SECONDS = 1.0

BUSY_LOAD = 2.0
"""Processes that want each processor: where others keep it so busy, nothing can be timed."""

FLOOD_SECONDS = 8.0

SEARCH = "/runs/worst/log/search?q=(a|b)*c.*[^x]$&regex=yes"

COMPARE = f"/{PUBLIC}/compare-logs?base=worst&head=other"


def worst_log(letter: str) -> bytes:
    """Two megabytes in which everything looks a little like a secret, or like an escape."""
    line = "%" * 60 + "token%3Dabc%20%25%41 " * 4 + letter * 40 + "\n"
    return (maxtext_log(steps=200) + line * (2 * MEGABYTE // len(line))).encode()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with a public repository, whose runs have the worst of logs."""
    raise_file_limit()
    folder = tmp_path / "data"
    folder.mkdir()
    database = Database(f"sqlite:///{folder}/maxview.sqlite")
    database.migrate()
    site = SiteUnderTest(folder=folder, database=database, now=time.time())
    for name, letter in (("worst", "x"), ("other", "y")):
        text = worst_log(letter)
        (log,) = read_log([text], f"file:{name}.log")
        made_run = site.add_run(name, text, measured=measure(log))
        # Its log is among the server's own data, where no policy lets a found one be.
        site.update_run(made_run, origin=RunOrigin.LAUNCHED)
    site.add_main_runs("04_int8", [0.2] * 100)
    database.close()
    made = Server(
        folder=tmp_path,
        secret=SECRET,
        settings={
            "GITHUB_APP_ID": "42",
            "GITHUB_PRIVATE_KEY": private_key(),
            "GITHUB_API_URL": "http://127.0.0.1:9",
        },
    )
    made.start()
    for name in ("worst", "other"):
        made.wait_until(partial(shows_log, made, name), f"the log of {name} is prepared")
    yield made
    made.kill()


def shows_log(server: Server, name: str) -> bool:
    """Whether the log of a run is ready to be read."""
    return server.status(f"/runs/{name}/log") == 200


def pid_of(server: Server) -> int:
    """The number of its process."""
    assert server.process is not None
    assert server.process.pid is not None
    return server.process.pid


def is_busy() -> bool:
    """Whether other programs leave this one too little of the machine."""
    return os.getloadavg()[0] > BUSY_LOAD * (os.cpu_count() or 1)


def test_the_process_of_the_pages_has_no_secret_in_its_environment(server: Server) -> None:
    """Another process of the same user can read it; the settings come through a pipe."""
    page_processes = family_of(pid_of(server))[1:]
    assert page_processes
    for pid in page_processes:
        shown = Path(f"/proc/{pid}/environ").read_text() + Path(f"/proc/{pid}/cmdline").read_text()
        assert SECRET not in shown
        assert "PRIVATE KEY" not in shown


def test_an_unsigned_body_is_refused_before_it_is_sent(server: Server) -> None:
    """401 comes for the header alone, whatever the signature's form; 413 for a length that GitHub never
    sends."""

    async def attack() -> None:
        stranger = Stranger(port=server.port)
        for signature in (None, "", "sha1=" + "0" * 40, "sha256=" + "0" * 63, "sha256=" + "g" * 64):
            made = await stranger.connect(delivery_head(24 * MEGABYTE, signature))
            answer = Answer.parse(await made.answer(5), 0)
            assert (answer.status, answer.headers["connection"]) == (401, "close")
            assert await made.is_closed(5)
        made = await stranger.connect(delivery_head(26 * MEGABYTE, WRONG_SIGNATURE))
        assert Answer.parse(await made.answer(5), 0).status == 413
        stranger.leave()

    play(attack())


def test_wrongly_signed_bodies_share_a_budget(server: Server) -> None:
    """Thirty bodies of 24 MB that nobody can tell from GitHub's before their end: most are told to come
    later."""

    async def attack() -> None:
        stranger = Stranger(port=server.port)
        busy = is_busy()
        async with watched_memory(pid_of(server)) as seen:
            opened = await stranger.connect_many(30, delivery_head(24 * MEGABYTE, WRONG_SIGNATURE))
            sending = asyncio.gather(*(send_body(one, 24 * MEGABYTE - 10) for one in opened))
            _, github = await asyncio.gather(
                asyncio.wait_for(sending, 30), deliver_for(server.port, SECRET, 3, OTHER)
            )
            answers = await asyncio.gather(*(one.answer(0.5) for one in opened))
        told = [Answer.parse(text, 0) for text in answers if text]
        assert max(seen) < SMALL_MACHINE, f"{max(seen) / MEGABYTE:.0f} MB"
        assert [one.headers["retry-after"] for one in told if one.status == 503]
        assert github.refused == 0
        assert busy or github.percentile(0.99) < WEBHOOK_SECONDS
        stranger.leave()

    play(attack())


def test_one_readers_flood_leaves_room_for_another(server: Server) -> None:
    """Searches and comparisons beyond one reader's share are told 429 and when to come again; another address
    has its pages meanwhile."""

    async def attack() -> None:
        stranger, other = Stranger(port=server.port), Stranger(port=server.port, address=OTHER)
        flood = [repeat_for(FLOOD_SECONDS, partial(stranger.get, path)) for path in (SEARCH, COMPARE) * 12]
        reading = repeat_for(FLOOD_SECONDS, lambda: other.get(f"/{PUBLIC}"))
        *found, pages = await asyncio.gather(*flood, reading)
        statuses = Counter(one.status for part in found for one in part)
        refused = [one for part in found for one in part if one.status == 429]
        assert statuses[200] > 0, statuses
        assert refused, statuses
        assert all(int(one.headers["retry-after"]) > 0 for one in refused)
        assert set(statuses) <= {200, 429, 503}
        assert {200} == {one.status for one in pages}
        stranger.leave()
        other.leave()

    play(attack())


@asynccontextmanager
async def everything(server: Server) -> AsyncIterator[list[Stranger]]:
    """Every attack at once, from a few addresses."""
    half, slow, bodies, lazy, readers = strangers = [
        Stranger(port=server.port, address=address)
        for address in (STRANGER, "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6")
    ]
    await half.connect_many(500, b"GET / HTTP/1.1\r\nHost: a\r\nX-A: ")
    await slow.connect_many(500, delivery_head(1000, WRONG_SIGNATURE) + b"{")
    await lazy.connect_many(100, b"GET /runs/worst/log/raw HTTP/1.1\r\nHost: a\r\n\r\n")
    unsigned = await bodies.connect_many(30, delivery_head(24 * MEGABYTE, None))
    wrong = await bodies.connect_many(30, delivery_head(24 * MEGABYTE, WRONG_SIGNATURE))
    tasks: list[asyncio.Task[object]] = [
        asyncio.create_task(send_body(one, 24 * MEGABYTE - 10)) for one in (*unsigned, *wrong)
    ]
    paths = ("/runs/worst/log", "/runs/worst/log/raw", SEARCH, COMPARE)
    tasks += [
        asyncio.create_task(repeat_for(60, partial(readers.get, path)))
        for path in (*paths, *paths, *[SEARCH, COMPARE] * 6)
    ]
    try:
        yield strangers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_webhooks_are_answered_while_everything_is_flooded(server: Server) -> None:
    """On a machine of 512 MB: half headers, slow, unsigned and wrongly signed bodies, readers who take
    nothing, and readers who take all, at once. GitHub's webhooks are answered within a second, also from an
    address that floods."""

    async def attack() -> tuple[bool, float, int]:
        busy = is_busy()
        async with watched_memory(pid_of(server)) as seen, everything(server) as strangers:
            github = await deliver_for(server.port, SECRET, FLOOD_SECONDS, OTHER, STRANGER)
            half, slow, *_ = strangers
            assert 0 == await count_open([*half.opened, *slow.opened], 12)
        for one in strangers:
            one.leave()
        assert github.refused == 0
        page = await Stranger(port=server.port, address="127.0.0.9").get("/runs/worst/log")
        assert page.status in ({0, 200, 503} if busy else {200})
        return busy, github.percentile(0.99), max(seen)

    busy, slowest, memory = play(attack())
    print(f"webhook p99 {slowest:.3f} s{' on a busy machine' * busy}, memory {memory / MEGABYTE:.0f} MB")
    assert memory < SMALL_MACHINE
    assert "Exception in ASGI application" not in server.log
    assert busy or slowest < WEBHOOK_SECONDS
