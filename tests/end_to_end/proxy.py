"""A proxy between the server and GitHub that sees every request and can act at an exact moment.

A test uses it to kill the server right before or after a write took effect, to push while a report is being
made, or to keep GitHub from answering.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

_CONNECTION_HEADERS = {"connection", "transfer-encoding", "content-encoding", "content-length", "host"}


class Moment(StrEnum):
    """Before GitHub sees the request, or after GitHub carried it out and before the answer arrives."""

    BEFORE = "before"
    AFTER = "after"


class DropConnection(Exception):
    """Raised by an action: the connection ends without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyAction:
    """What to do, once, at a request whose method and path match."""

    method: str
    path: re.Pattern[str]
    moment: Moment
    do: Callable[[], None]


@dataclass(slots=True, kw_only=True)
class FaultProxy:
    """The running proxy: `url` is for the server, `requests` are those that it has sent so far."""

    github: str
    url: str = ""
    requests: list[str] = field(default_factory=list)
    _actions: list[ProxyAction] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def once(self, moment: Moment, method: str, path: str, do: Callable[[], None]) -> None:
        """Do something at the next request that matches; `path` is a regular expression."""
        self._actions.append(ProxyAction(method=method, path=re.compile(path), moment=moment, do=do))

    def count(self, method: str, path: str) -> int:
        """How many requests matched so far."""
        return sum(re.search(rf"^{method} .*{path}", one) is not None for one in self.requests)

    def writes(self) -> int:
        """How often a comment was written, edited or deleted."""
        return sum(self.count(method, "/comments") for method in ("POST", "PATCH", "DELETE"))

    def run_actions(self, moment: Moment, method: str, path: str) -> None:
        """Run the first action registered for this moment and request."""
        with self._lock:
            due = [
                one
                for one in self._actions
                if (one.moment, one.method) == (moment, method) and one.path.search(path)
            ][:1]
            self._actions = [one for one in self._actions if one not in due]
        for one in due:
            one.do()


@contextmanager
def running_proxy(github: str) -> Iterator[FaultProxy]:
    """A proxy to `github`, until the end of the `with` statement."""
    proxy = FaultProxy(github=github)
    with httpx.Client(base_url=github, timeout=30) as client:

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self) -> None:
                """Send the request on, and its answer back."""
                try:
                    _forward(self, proxy, client)
                except (DropConnection, OSError):
                    self.close_connection = True

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = pass_on  # noqa: N815 - the library's names

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                """Say nothing: the test shows what matters."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _forward(handler: BaseHTTPRequestHandler, proxy: FaultProxy, client: httpx.Client) -> None:
    method, path = handler.command, handler.path
    body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
    headers = {
        name: value for name, value in handler.headers.items() if name.lower() not in _CONNECTION_HEADERS
    }
    proxy.requests.append(f"{method} {path.partition('?')[0]}")
    proxy.run_actions(Moment.BEFORE, method, path)
    answer = client.request(method, path, content=body, headers=headers)
    proxy.run_actions(Moment.AFTER, method, path)
    handler.send_response(answer.status_code)
    for name, value in answer.headers.items():
        if name.lower() not in _CONNECTION_HEADERS:
            handler.send_header(name, value)
    handler.send_header("content-length", str(len(answer.content)))
    handler.end_headers()
    handler.wfile.write(answer.content)
