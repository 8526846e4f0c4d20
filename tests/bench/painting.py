"""When a browser has painted a page.

In:  Chromium, and an address. Out: seconds from the beginning of the navigation to the first contentful
paint, as Chromium's own trace has them.
"""

import json
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TRIES = 3
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--timeout=4000",
    "--trace-startup=loading,blink.user_timing",
    "--trace-startup-format=json",
    "--trace-startup-duration=6",
)


def first_paint(chromium: str, address: str) -> float:
    """The median of some tries, each with an empty profile and an empty cache."""
    return statistics.median(_once(chromium, address) for _ in range(TRIES))


def _once(chromium: str, address: str) -> float:
    with TemporaryDirectory(prefix="maxview-paint-", ignore_cleanup_errors=True) as folder:
        trace = Path(folder) / "trace.json"
        own = (f"--trace-startup-file={trace}", f"--user-data-dir={folder}/profile")
        command = [chromium, *FLAGS, *own, f"--screenshot={folder}/page.png", address]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return _between(json.loads(trace.read_bytes())["traceEvents"], address)


def _between(events: Sequence[dict[str, Any]], address: str) -> float:
    """Seconds from the navigation to this address to its first contentful paint (the trace: microseconds)."""
    began = {
        event["args"]["data"]["navigationId"]: event["ts"]
        for event in events
        if event["name"] == "navigationStart" and event["args"]["data"]["documentLoaderURL"] == address
    }
    for event in events:
        if event["name"] == "firstContentfulPaint" and event["args"]["data"]["navigationId"] in began:
            return float(event["ts"] - began[event["args"]["data"]["navigationId"]]) / 1e6
    raise RuntimeError(f"{address} was never painted")
