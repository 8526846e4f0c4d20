"""Webhook acknowledgements: the real server against a bare one.

In:  nothing. Out: a table of requests a second and answer times, with ratios.

The real server writes every delivery to disk before it says yes, and works on them meanwhile.
"""

import os
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.bench.client import Load, load
from tests.peers.loopback import free_port

SECRET = "bench"

CONCURRENCY = (4, 32)

ROUNDS = 3

REQUESTS = 2000

START_SECONDS = 30.0

STOP_SECONDS = 15.0


def compare() -> None:
    """Measure both servers in turns and print the table."""
    with ExitStack() as running:
        folder = Path(running.enter_context(TemporaryDirectory(prefix="maxview-bench-")))
        ports = {"maxview serve": free_port(), "bare Starlette": free_port()}
        running.enter_context(_maxview(folder, ports["maxview serve"]))
        running.enter_context(_bare(folder, ports["bare Starlette"]))
        print(f"\nwebhook: {REQUESTS} signed deliveries of 21 kB a round, {ROUNDS} rounds in turns")
        print(f"  {'':16} {'at once':>7} {'req/s':>8} {'x bare':>7} {'p50 ms':>8} {'p99 ms':>8}")
        for at_once in CONCURRENCY:
            _compare_at(at_once, ports)


def _compare_at(at_once: int, ports: Mapping[str, int]) -> None:
    results: dict[str, list[Load]] = {title: [] for title in ports}
    for port in ports.values():
        load(port, SECRET, at_once=at_once, total=200)
    for _ in range(ROUNDS):
        for title, port in ports.items():
            results[title].append(load(port, SECRET, at_once=at_once, total=REQUESTS))
    for title, rounds in results.items():
        ratio = statistics.median(
            ours.per_second / bare.per_second
            for ours, bare in zip(rounds, results["bare Starlette"], strict=True)
        )
        p50, p99 = (1000 * statistics.median(one.percentile(p) for one in rounds) for p in (50, 99))
        speed = statistics.median(one.per_second for one in rounds)
        print(f"  {title:16} {at_once:7} {speed:8.0f} {ratio:7.2f} {p50:8.2f} {p99:8.2f}")


@contextmanager
def _maxview(folder: Path, port: int) -> Iterator[None]:
    """The real server with a SQLite file, and a GitHub that is never reached."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    settings = {
        "GITHUB_APP_ID": "1",
        "GITHUB_PRIVATE_KEY": pem,
        "GITHUB_WEBHOOK_SECRET": SECRET,
        "GITHUB_API_URL": f"http://127.0.0.1:{free_port()}",
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "DATA_DIR": str(folder / "data"),
    }
    with server(["-m", "bot", "serve"], folder / "maxview.log", port, os.environ | settings):
        yield


@contextmanager
def _bare(folder: Path, port: int) -> Iterator[None]:
    with server(["-m", "tests.bench.bare", str(port), SECRET], folder / "bare.log", port, os.environ):
        yield


@contextmanager
def server(arguments: list[str], log: Path, port: int, environment: Mapping[str, str]) -> Iterator[None]:
    """A server of Python's, up when this yields and gone afterwards."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, *arguments], stdout=said, stderr=said, env=dict(environment)
        )
    try:
        _wait_until_up(process, port, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_up(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"the server did not come up: {log.read_text()[-2000:]}")
