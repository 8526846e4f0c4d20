"""A real bucket to test against: PyPI's gcp-storage-emulator on a free loopback port.

In:  nothing. Out: a `Bucket` to fill, with the environment that points google-cloud-storage at it.
What the emulator lacks (pages, preconditions, faults) is in `tests.peers.bucket_faults`.
"""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import quote

from gcp_storage_emulator.server import create_server


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """An empty bucket: `url` is `gs://…`, `host` the address of the emulator."""

    name: str
    host: str

    @property
    def url(self) -> str:
        """How the configuration names it."""
        return f"gs://{self.name}"

    @property
    def env(self) -> dict[str, str]:
        """What a process needs in its environment to use this bucket."""
        return {"STORAGE_EMULATOR_HOST": self.host}

    def upload(self, name: str, content: bytes, content_type: str = "text/plain") -> None:
        """Put one object into it."""
        path = f"/upload/storage/v1/b/{self.name}/o?name={quote(name, safe='')}"
        if content:
            _post(self.host, f"{path}&uploadType=media", content, content_type)
            return
        # The emulator takes an empty object only in parts: its description, then nothing.
        parts = (
            b"--cut\r\ncontent-type: application/json\r\n\r\n{}\r\n"
            b"--cut\r\ncontent-type: text/plain\r\n\r\n\r\n--cut--\r\n"
        )
        _post(self.host, f"{path}&uploadType=multipart", parts, "multipart/related; boundary=cut")


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulator:
    """A running emulator that makes buckets."""

    host: str
    _made: list[str] = field(default_factory=list)

    def bucket(self) -> Bucket:
        """A new, empty bucket."""
        name = f"runs-{len(self._made)}"
        body = json.dumps({"name": name}).encode()
        _post(self.host, "/storage/v1/b?project=test", body, "application/json")
        self._made.append(name)
        return Bucket(name=name, host=self.host)


def _post(host: str, path: str, body: bytes, content_type: str) -> None:
    connection = HTTPConnection(host.removeprefix("http://"), timeout=10)
    with closing(connection):
        connection.request("POST", path, body, {"content-type": content_type})
        answer = connection.getresponse()
        said = answer.read()
    assert answer.status == 200, (answer.status, said)


@contextmanager
def serve_buckets() -> Iterator[Emulator]:
    """The emulator, in a thread of this process, until the end of the `with` statement."""
    server = create_server("127.0.0.1", 0, in_memory=True)
    server.start()
    port = server._api._httpd.server_address[1]
    try:
        yield Emulator(host=f"http://127.0.0.1:{port}")
    finally:
        server.stop()
