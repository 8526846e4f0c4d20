"""Google Cloud Storage on loopback: PyPI's gcp-storage-emulator, and a scripted bucket for what it lacks.

`FaultyBucket` has pages, generations, refusals and broken downloads.
"""

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import quote

from gcp_storage_emulator.server import create_server

from bot.domain.globs import glob_matches
from tests.peers.loopback import HttpAnswer, HttpRequest, scripted_server


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
            _post_to_emulator(self.host, f"{path}&uploadType=media", content, content_type)
            return
        # The emulator takes an empty object only in parts: its description, then nothing.
        parts = (
            b"--cut\r\ncontent-type: application/json\r\n\r\n{}\r\n"
            b"--cut\r\ncontent-type: text/plain\r\n\r\n\r\n--cut--\r\n"
        )
        _post_to_emulator(self.host, f"{path}&uploadType=multipart", parts, "multipart/related; boundary=cut")


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketEmulator:
    """A running emulator that makes buckets."""

    host: str
    _made: list[str] = field(default_factory=list)

    def bucket(self) -> Bucket:
        """A new, empty bucket."""
        name = f"runs-{len(self._made)}"
        body = json.dumps({"name": name}).encode()
        _post_to_emulator(self.host, "/storage/v1/b?project=test", body, "application/json")
        self._made.append(name)
        return Bucket(name=name, host=self.host)


def _post_to_emulator(host: str, path: str, body: bytes, content_type: str) -> None:
    connection = HTTPConnection(host.removeprefix("http://"), timeout=10)
    with closing(connection):
        connection.request("POST", path, body, {"content-type": content_type})
        answer = connection.getresponse()
        said = answer.read()
    assert answer.status == 200, (answer.status, said)


@contextmanager
def serve_buckets() -> Iterator[BucketEmulator]:
    """The emulator, in a thread of this process, until the end of the `with` statement."""
    server = create_server("127.0.0.1", 0, in_memory=True)
    server.start()
    port = server._api._httpd.server_address[1]
    try:
        yield BucketEmulator(host=f"http://127.0.0.1:{port}")
    finally:
        server.stop()


@dataclass(slots=True)
class FaultyBucket:
    """One bucket, `runs`. `faults` are answered first, each once, to whatever is asked for media."""

    objects: dict[str, bytes] = field(default_factory=dict)
    generation: int = 7
    page: int = 2
    refuse: int | None = None
    cuts: list[int] = field(default_factory=list)
    crc32c: str | None = None
    asked: list[HttpRequest] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Its address, while it serves."""
        with scripted_server(self._answer) as address:
            yield address

    def _answer(self, request: HttpRequest) -> HttpAnswer:
        self.asked.append(request)
        if self.refuse is not None:
            return _error_answer(self.refuse)
        if request.path.endswith("/o"):
            return self._list(request.query)
        name = request.path.partition("/o/")[2]
        pinned = request.query.get("generation", str(self.generation))
        if name not in self.objects or pinned != str(self.generation):
            return _error_answer(404)
        if request.query.get("alt") == "media":
            return self._media(self.objects[name], request.headers.get("range", ""))
        return _json_answer(self._described(name))

    def _media(self, content: bytes, wanted: str) -> HttpAnswer:
        whole = len(content)
        span = re.fullmatch(r"bytes=(?P<first>\d+)-(?P<last>\d+)", wanted)
        first, last = (int(span["first"]), int(span["last"])) if span else (0, whole - 1)
        if first >= whole:
            return _error_answer(416)
        cut = self.cuts.pop(0) if self.cuts else None
        said = {"content-range": f"bytes {first}-{min(last, whole - 1)}/{whole}"}
        return HttpAnswer(status=206, headers=said, body=content[first : last + 1], cut=cut)

    def _list(self, query: dict[str, str] | object) -> HttpAnswer:
        assert isinstance(query, dict)
        names = [
            name
            for name in sorted(self.objects)
            if name.startswith(query.get("prefix", ""))
            and glob_matches(query.get("matchGlob", "**"), name)
            and name >= query.get("startOffset", "")
        ]
        start = int(query.get("pageToken", "0"))
        body: dict[str, object] = {"items": [self._described(n) for n in names[start : start + self.page]]}
        if start + self.page < len(names) and "nextPageToken" in query.get("fields", ""):
            body["nextPageToken"] = str(start + self.page)
        return _json_answer(body)

    def _described(self, name: str) -> dict[str, object]:
        described: dict[str, object] = {
            "name": name,
            "bucket": "runs",
            "size": str(len(self.objects[name])),
            "generation": str(self.generation),
            "updated": "2026-04-18T00:00:00.000Z",
        }
        return described | ({"crc32c": self.crc32c} if self.crc32c else {})


def _json_answer(body: object) -> HttpAnswer:
    return HttpAnswer(headers={"content-type": "application/json"}, body=json.dumps(body).encode())


def _error_answer(status: int) -> HttpAnswer:
    body = {"error": {"code": status, "message": f"refused with {status}"}}
    return HttpAnswer(
        status=status, headers={"content-type": "application/json"}, body=json.dumps(body).encode()
    )
