"""Pages over a hundred thousand runs, against a bare server that gives the same bytes through Jinja.

In:  nothing. Out: a table of times a request, as medians, with the ratio to the bare one; and the time until
Chromium has painted a page, where there is one.

Both are asked in turns by one visitor, so that what else the machine does befalls both alike.
"""

import http.client
import os
import shutil
import statistics
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import stored
from tests.bench.acknowledging import server
from tests.bench.painting import first_paint
from tests.peers.loopback import free_port

ROUNDS = 15

HERE = f"/{stored.REPOSITORY}"

HEAD = stored.HEAD[:12]


def _cold() -> list[str]:
    """Pairs that nobody compared yet: each commit of main that has every case."""
    return [f"{HERE}/compare/{stored.commit(500 + n)[:12]}...{HEAD}" for n in range(ROUNDS)]


PAGES: dict[str, Sequence[str]] = {
    "compare, 25 cases, new": _cold(),
    "compare, 25 cases, again": [f"{HERE}/compare/main...{HEAD}"],
    "compare, one case": [f"{HERE}/compare/main...{HEAD}?case={stored.CASES[5]}"],
    "history, 10 000 points": [f"{HERE}/history?case={stored.LONG}"],
    "repository": [HERE],
    "parity": [f"{HERE}/parity/{HEAD}"],
}


def compare() -> None:
    """Write the store, start both servers, and print the table."""
    with ExitStack() as running:
        folder = Path(running.enter_context(TemporaryDirectory(prefix="maxview-bench-")))
        began = time.perf_counter()
        stored.store(folder).close()
        print(f"\npages: {stored.RUNS:,} runs stored (written in {time.perf_counter() - began:.0f} s)")
        ours, bare = free_port(), free_port()
        running.enter_context(_server(folder, ours, str(folder)))
        _ask(ours, HERE)
        print(f"  {'':26} {'cpu ms':>8} {'bare':>8} {'x bare':>7} {'wall ms':>8} {'bytes':>8}")
        for title, paths in PAGES.items():
            page = folder / "page.html"
            page.write_bytes(
                _ask(ours, PAGES["compare, 25 cases, again"][0] if len(paths) > 1 else paths[0])[1]
            )
            with _server(folder, bare, "--bare", str(page)):
                _row(title, ours, bare, paths, page.stat().st_size)
        if (chromium := shutil.which("chromium")) is not None:
            _paint(chromium, ours)


def _row(title: str, ours: int, bare: int, paths: Sequence[str], size: int) -> None:
    """What one page costs: the processor's time, which other work on the machine does not stretch much, and
    the visitor's."""
    taken, bares = [], []
    _timed(bare, "/page")
    for number in range(ROUNDS):
        taken.append(_timed(ours, paths[number % len(paths)]))
        bares.append(_timed(bare, "/page"))
    ratio = statistics.median(one[0] / other[0] for one, other in zip(taken, bares, strict=True))
    cpu, wall = (1000 * statistics.median(one[at] for one in taken) for at in (0, 1))
    its = 1000 * statistics.median(one[0] for one in bares)
    print(f"  {title:26} {cpu:8.1f} {its:8.2f} {ratio:7.1f} {wall:8.1f} {size:8}")


def _timed(port: int, path: str) -> tuple[float, float]:
    """Seconds of the server's processor, and of the visitor, until the whole answer is there."""
    before = float(_ask(port, "/cpu")[1])
    took = _ask(port, path)[0]
    return float(_ask(port, "/cpu")[1]) - before, took


def _paint(chromium: str, port: int) -> None:
    for title in ("compare, 25 cases, again", "history, 10 000 points"):
        seconds = first_paint(chromium, f"http://127.0.0.1:{port}{PAGES[title][0]}")
        print(f"  first paint of {title}: {1000 * seconds:.0f} ms in Chromium (cold cache, median of 3)")


def _ask(port: int, path: str) -> tuple[float, bytes]:
    """Seconds until the whole answer is there, and it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    took = time.perf_counter() - began
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status}")
    return took, body


def _server(folder: Path, port: int, *arguments: str) -> AbstractContextManager[None]:
    command = ["-m", "tests.bench.page_server", str(port), *arguments]
    return server(command, folder / f"{port}.log", port, os.environ)
