"""The log viewer on a large log: how soon a page comes, how long a search takes beside grep, how much memory.

In:  a folder for the log. Out: a table.

The server is its own process, started anew for each round, so that nothing is remembered; the log is in the
system's cache for both.
"""

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import httpx

from tests.bench.logs import BenchLog, make
from tests.bench.measured import measured
from tests.peers.loopback import free_port

LOG = BenchLog(name="mixed-2gb", megabytes=2000, between=100)

ROUNDS = 3

WORDS = "EXIT_CODE=0"  # on the last line only

START_SECONDS = 60.0


def compare(folder: Path, *, keep: bool) -> None:
    """Measure and print."""
    path = make(LOG, folder)
    try:
        _compare(path)
    finally:
        if not keep:
            path.unlink()


def _compare(path: Path) -> None:
    lines = int(
        subprocess.run(["wc", "-l", path], check=True, capture_output=True, text=True).stdout.split()[0]
    )
    results: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, seconds in _round(path, lines).items():
            results.setdefault(name, []).append(seconds)
    print(
        f"\n{path.name} in the log viewer: {path.stat().st_size / 1e6:.0f} MB, {lines} lines, {ROUNDS} rounds"
    )
    for name, values in results.items():
        print(f"  {name:44} {statistics.median(values):9.3f}")
    for how in ("match case", "any case"):
        ratios = [
            a / b for a, b in zip(results[f"search to the end, {how}, s"], results["grep -F, s"], strict=True)
        ]
        print(f"  {f'search to the end, {how}, x grep -F':44} {statistics.median(ratios):9.2f}")


def _round(path: Path, lines: int) -> dict[str, float]:
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, _server(path, Path(folder)) as (process, site):
        found["first page, ms"] = _page(site, "/runs/big/log") * 1000
        found[f"line {lines // 2} at first, ms"] = _page(site, f"/runs/big/log?from={lines // 2}") * 1000
        found[f"line {lines // 3} then, ms"] = _page(site, f"/runs/big/log?from={lines // 3}") * 1000
        found["search to the end, match case, s"] = _search(site, f"/runs/big/log/search?q={WORDS}&case=yes")
        found["search to the end, any case, s"] = _search(site, f"/runs/big/log/search?q={WORDS.lower()}")
        status = Path(f"/proc/{process.pid}/status").read_text()
        found["peak memory of the server, MB"] = int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) * 1024 / 1e6
    grep = shutil.which("grep")
    assert grep
    found["grep -F, s"] = measured([grep, "-F", "-c", WORDS, str(path)], environment={"LC_ALL": "C"}).wall
    return found


def _page(site: httpx.Client, address: str) -> float:
    began = time.perf_counter()
    with site.stream("GET", address) as answer:
        assert answer.status_code == 200
        arrivals = [time.perf_counter() for _ in answer.iter_raw()]
    return arrivals[0] - began


def _search(site: httpx.Client, address: str) -> float:
    """Seconds until the words were found at the end, going on page by page as a reader does."""
    began = time.perf_counter()
    following: str | None = address
    page = ""
    while following:
        page = site.get(following).text
        found = re.search(r'rel="next" href="([^"]+)"', page)
        following = unescape(found[1]) if found else None
    assert "<mark>" in page
    return time.perf_counter() - began


@contextmanager
def _server(path: Path, folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", httpx.Client]]:
    port = free_port()
    command = [sys.executable, "-m", "tests.bench.log_server", str(path), str(folder), str(port)]
    with (
        subprocess.Popen(command) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as site,
    ):
        try:
            deadline = time.monotonic() + START_SECONDS
            while time.monotonic() < deadline and not _answers(site):
                time.sleep(0.05)
            yield process, site
        finally:
            process.terminate()


def _answers(site: httpx.Client) -> bool:
    try:
        return site.get("/healthz-of-nobody").status_code == 404
    except httpx.TransportError:
        return False
