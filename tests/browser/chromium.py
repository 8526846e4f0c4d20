"""The system's Chromium without a window, and what the tests check in a page."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request
from starlette.applications import Starlette

from tests.peers.node import node_modules

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

NARROW, WIDE = 360, 1280

START_SECONDS = 30.0


def chromium_path() -> str:
    """Where Chromium is. A machine that checks changes must have one; on another the tests are left out."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        missing = "NO BROWSER: the pages are not tested. Install one: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return found


def launch(playwright: Playwright) -> Browser:
    """A browser of its own, with nothing kept from before."""
    return playwright.chromium.launch(executable_path=chromium_path(), args=[*OPTIONS])


@contextmanager
def serving(app: Starlette, port: int) -> Iterator[str]:
    """The site on loopback, in a thread."""
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, lifespan="off", loop="asyncio")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        waited = threading.Event()
        for _ in range(int(START_SECONDS / 0.02)):
            if server.started:
                break
            waited.wait(0.02)
        assert server.started
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@dataclass
class OpenedPage:
    """A page and everything it complains about."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def violations(self) -> list[str]:
        """What axe finds, each as its rule and the places that break it."""
        if not self.page.evaluate("typeof axe === 'object'"):
            # Through the debugger, which the page's policy does not bind.
            self.page.evaluate(Path(node_modules() / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
        found: dict[str, Any] = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
            for rule in found["violations"]
            for node in rule["nodes"][:3]
        ]

    def width(self) -> int:
        """How wide the page is; wider than the window means that it scrolls sideways."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth")
        return width

    def _failed(self, request: Request) -> None:
        # A browser gives up what it is fetching when one goes on to another page.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed: {request.url} {request.failure}")

    def _console(self, message: ConsoleMessage) -> None:
        self.complaints.append(f"{message.type}: {message.text}")
