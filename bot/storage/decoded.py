"""Measured runs as values, kept for a while: polls and pages ask for the same ones again and again.

In:  stored documents. Out: what they decode to.
Promises: keyed by the content itself, so nothing kept can be outdated; bounded by the size of the documents;
safe to use from several threads, since the values are frozen.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from bot.verdict.judgement import MeasuredRun

KEPT_BYTES = 2 << 20
"""Of stored documents: about 1,000 runs of ten steps, or 17 of 5,000, and some 60 MB as values."""


class Lately:
    """The values asked for last."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._size = 0
        self._known: OrderedDict[bytes, tuple[int, MeasuredRun]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, document: bytes, decode: Callable[[bytes], MeasuredRun]) -> MeasuredRun:
        """What `document` decodes to."""
        key = hashlib.blake2b(document, digest_size=16).digest()
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known[1]
        made = decode(document)
        with self._lock:
            self._keep(key, len(document), made)
        return made

    def _keep(self, key: bytes, size: int, made: MeasuredRun) -> None:
        if key in self._known or size > self._kept_bytes:
            return
        self._known[key] = (size, made)
        self._size += size
        while self._size > self._kept_bytes:
            _, (freed, _) = self._known.popitem(last=False)
            self._size -= freed


LATELY = Lately()
"""One for the whole process."""
