"""The redaction of whole logs: ordinary texts of three kinds, and texts made to be slow.

In:  nothing. Out: a table for each. Times are of the processor.
"""

import json
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from bot.redaction.stream import Redactor
from tests.bench.logs import BenchLog, Noise, make
from tests.redaction.harmless import harmless
from tests.redaction.hostile import HOSTILE, repeated

MEGABYTE = 1 << 20

PIECE, SIZE, ROUNDS = MEGABYTE, 16 * MEGABYTE, 5

CHATTER = BenchLog(name="chatty-20mb", megabytes=20, between=10_000, noise=Noise.CHATTY)

QUIET = BenchLog(name="quiet-20mb", megabytes=20, between=4)


def compare(folder: Path) -> None:
    """Print how many megabytes a second are redacted."""
    print(f"\nredaction, {SIZE // MEGABYTE} MB each, {ROUNDS} rounds")
    print(f"  {'':34} {'MB/s':>8} {'peak MB':>8}")
    kinds: dict[str, Callable[[], str]] = {
        "MaxText, chatter": lambda: make(CHATTER, folder).read_text()[:SIZE],
        "MaxText, a step in five lines": lambda: make(QUIET, folder).read_text()[:SIZE],
        "tracebacks and pip": _tracebacks,
        "Cloud Logging, JSON lines": _json_lines,
        "lines that look like secrets": lambda: repeated("\n".join(harmless()) + "\n", SIZE),
    }
    for name, text in kinds.items():
        log = text()
        _seconds(log[:MEGABYTE])
        seconds = statistics.median(_seconds(log) for _ in range(ROUNDS))
        print(f"  {name:34} {len(log.encode()) / seconds / 1e6:8.1f} {_peak(log):8.1f}")
    print(f"\n  {'texts made to be slow':34} {'1 MB':>8} {'8 MB':>8} {'ratio':>6}   (MB/s; time for each MB)")
    for name, part in HOSTILE.items():
        small, large = _seconds(repeated(part, MEGABYTE)), _seconds(repeated(part, 8 * MEGABYTE)) / 8
        print(f"  {name:34} {1 / small:8.2f} {1 / large:8.2f} {large / small:6.2f}")


def _seconds(log: str) -> float:
    began = time.process_time()
    redactor = Redactor()
    for at in range(0, len(log), PIECE):
        redactor.feed(log[at : at + PIECE])
    redactor.close()
    return time.process_time() - began


def _peak(log: str) -> float:
    """Megabytes that Python holds at most beside the log."""
    tracemalloc.start()
    _seconds(log)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def _tracebacks() -> str:
    dice = random.Random(1)  # noqa: S311 - the same text every time
    parts = []
    for n in range(2_000):
        parts.append("Traceback (most recent call last):")
        for _ in range(dice.randrange(4, 14)):
            module = dice.choice(
                ("jax/_src/pjit", "flax/linen/module", "maxtext/layers/decoders", "orbax/checkpoint")
            )
            parts.append(
                f'  File "/usr/local/lib/python3.11/site-packages/{module}.py", line {dice.randrange(3000)}, in apply'
            )
            parts.append(
                f"    return self._call_wrapped_method(fun, args, kwargs, step={dice.randrange(99)})"
            )
        parts.append(f"ValueError: shapes ({n}, 2048) and (4096, {dice.randrange(99)}) do not fit")
        parts.append(f"Collecting jax=={n % 9}.{n % 40}.1 (from -r requirements.txt (line {n % 70}))")
        parts.append(f"  Downloading jax-0.{n % 40}.1-py3-none-any.whl.metadata (13 kB)")
        parts.append(
            f"Requirement already satisfied: numpy>=1.{n % 30} in ./.venv/lib/python3.11/site-packages (from jax)"
        )
        parts.append(f"    --hash=sha256:{dice.getrandbits(256):064x} \\")
    return repeated("\n".join(parts) + "\n", SIZE)


def _json_lines() -> str:
    dice = random.Random(2)  # noqa: S311 - as above
    lines = [
        json.dumps(
            {
                "insertId": f"{dice.getrandbits(64):x}",
                "jsonPayload": {
                    "message": f"completed step: {n}, seconds: {dice.random():.3f}, loss: {dice.random():.3f}"
                },
                "labels": {
                    "compute.googleapis.com/resource_name": f"tpu-{n % 32}",
                    "k8s-pod/job-index": str(n % 8),
                },
                "resource": {
                    "type": "k8s_container",
                    "labels": {"container_name": "jax-tpu", "location": "us-east5"},
                },
                "severity": dice.choice(("INFO", "INFO", "WARNING")),
                "timestamp": f"2026-07-21T10:{n // 60 % 60:02}:{n % 60:02}.{dice.randrange(10**9):09}Z",
            }
        )
        for n in range(20_000)
    ]
    return repeated("\n".join(lines) + "\n", SIZE)
