"""An address that takes webhooks and remembers them.

In:  POST requests on a loopback port. Out: their headers and bodies, in the order they came.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request."""

    headers: Mapping[str, str]
    body: bytes


class Receiver:
    """What came in so far."""

    def __init__(self, url: str, received: list[Received]) -> None:
        self.url = url
        self.received = received

    def wait_for(self, event: str, text: str) -> Received:
        """The first delivery of an event whose body holds a text; fails when none comes."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            for one in tuple(self.received):
                if one.headers.get("x-github-event") == event and text.encode() in one.body:
                    return one
            time.sleep(0.02)
        raise AssertionError(f"no {event} with {text!r} came in {WAIT_SECONDS:.0f} s")


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Listen until the block ends."""
    received: list[Received] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append(Received(headers=headers, body=body))
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
        yield Receiver(f"http://127.0.0.1:{server.server_port}/webhook", received)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
