"""The few answers of Google Cloud Storage that the emulator does not give: pages, generations, refusals,
broken downloads.

In:  objects and faults. Out: a bucket's address for STORAGE_EMULATOR_HOST, and what was asked of it.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.globs import matches
from tests.peers.loopback import Answer, Request, serve


@dataclass(slots=True)
class FaultyBucket:
    """One bucket, `runs`. `faults` are answered first, each once, to whatever is asked for media."""

    objects: dict[str, bytes] = field(default_factory=dict)
    generation: int = 7
    page: int = 2
    refuse: int | None = None
    cuts: list[int] = field(default_factory=list)
    crc32c: str | None = None
    asked: list[Request] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Its address, while it serves."""
        with serve(self._answer) as address:
            yield address

    def _answer(self, request: Request) -> Answer:
        self.asked.append(request)
        if self.refuse is not None:
            return _error(self.refuse)
        if request.path.endswith("/o"):
            return self._list(request.query)
        name = request.path.partition("/o/")[2]
        pinned = request.query.get("generation", str(self.generation))
        if name not in self.objects or pinned != str(self.generation):
            return _error(404)
        if request.query.get("alt") == "media":
            return self._media(self.objects[name], request.headers.get("range", ""))
        return _json(self._described(name))

    def _media(self, content: bytes, wanted: str) -> Answer:
        whole = len(content)
        span = re.fullmatch(r"bytes=(?P<first>\d+)-(?P<last>\d+)", wanted)
        first, last = (int(span["first"]), int(span["last"])) if span else (0, whole - 1)
        if first >= whole:
            return _error(416)
        cut = self.cuts.pop(0) if self.cuts else None
        said = {"content-range": f"bytes {first}-{min(last, whole - 1)}/{whole}"}
        return Answer(status=206, headers=said, body=content[first : last + 1], cut=cut)

    def _list(self, query: dict[str, str] | object) -> Answer:
        assert isinstance(query, dict)
        names = [
            name
            for name in sorted(self.objects)
            if name.startswith(query.get("prefix", ""))
            and matches(query.get("matchGlob", "**"), name)
            and name >= query.get("startOffset", "")
        ]
        start = int(query.get("pageToken", "0"))
        body: dict[str, object] = {"items": [self._described(n) for n in names[start : start + self.page]]}
        if start + self.page < len(names) and "nextPageToken" in query.get("fields", ""):
            body["nextPageToken"] = str(start + self.page)
        return _json(body)

    def _described(self, name: str) -> dict[str, object]:
        described: dict[str, object] = {
            "name": name,
            "bucket": "runs",
            "size": str(len(self.objects[name])),
            "generation": str(self.generation),
            "updated": "2026-04-18T00:00:00.000Z",
        }
        return described | ({"crc32c": self.crc32c} if self.crc32c else {})


def _json(body: object) -> Answer:
    return Answer(headers={"content-type": "application/json"}, body=json.dumps(body).encode())


def _error(status: int) -> Answer:
    body = {"error": {"code": status, "message": f"refused with {status}"}}
    return Answer(status=status, headers={"content-type": "application/json"}, body=json.dumps(body).encode())
