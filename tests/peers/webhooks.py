"""Webhook bodies that GitHub really sent (npm's `@octokit/webhooks-examples`), and an address that records
webhooks.

The examples come from a repository's webhook, so most lack the `installation` of an App's deliveries;
`for_an_app` adds one.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.peers.node import node_modules

Json = dict[str, Any]

INSTALLATION = 100


@cache
def webhook_examples() -> tuple[tuple[str, Json], ...]:
    """Every example: the event's name and its payload."""
    source = node_modules() / "@octokit" / "webhooks-examples" / "api.github.com" / "index.json"
    return tuple(
        (group["name"], one) for group in json.loads(source.read_text()) for one in group["examples"]
    )


def examples_of(*names: str) -> tuple[tuple[str, Json], ...]:
    """The examples of some events, as an App gets them."""
    return tuple((name, for_an_app(one)) for name, one in webhook_examples() if name in names)


def for_an_app(payload: Json) -> Json:
    """The payload with an installation, where it has none."""
    return {"installation": {"id": INSTALLATION}, **payload}


WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedWebhook:
    """One request."""

    headers: Mapping[str, str]
    body: bytes


class WebhookReceiver:
    """What came in so far."""

    def __init__(self, url: str, received: list[ReceivedWebhook]) -> None:
        self.url = url
        self.received = received

    def wait_for(self, event: str, text: str) -> ReceivedWebhook:
        """The first delivery of an event whose body holds a text; fails when none comes."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            for one in tuple(self.received):
                if one.headers.get("x-github-event") == event and text.encode() in one.body:
                    return one
            time.sleep(0.02)
        raise AssertionError(f"no {event} with {text!r} came in {WAIT_SECONDS:.0f} s")


@contextmanager
def webhook_receiver() -> Iterator[WebhookReceiver]:
    """Listen until the block ends."""
    received: list[ReceivedWebhook] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append(ReceivedWebhook(headers=headers, body=body))
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield WebhookReceiver(f"http://127.0.0.1:{server.server_port}/webhook", received)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
