"""Turns a log that was saved as UTF-16, as Windows PowerShell redirects a program's output, into UTF-8.

In:  plain chunks of bytes of any size.
Out: chunks of the same text in UTF-8; what is not UTF-16 is handed on as it is.

Told by the mark at the very start or, without one, by two letters there of which each has its zero byte.
Nothing raises, and the answer does not depend on where the chunks were cut.
"""

import codecs
import re
from collections.abc import Iterator

NOTE = "The log is UTF-16 text: it was read as UTF-8, and the places named in it are counted there."

_HEAD = 4
"""Bytes that decide."""
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LITTLE = re.compile(rb"\xff\xfe(?!\0\0)|[\t\n\r -~]\0[\t\n\r -~]\0")
_BIG = re.compile(rb"\xfe\xff|\0[\t\n\r -~]\0[\t\n\r -~]")


def is_utf16(head: bytes) -> bool:
    """Whether a log that begins with these bytes, four or more of them, is UTF-16."""
    return any(pattern.match(head) for pattern in (_LITTLE, _BIG))


class Transcoder:
    """Feed it chunks, then close it."""

    def __init__(self) -> None:
        self._head = b""
        self._decided = False
        self._decoder: codecs.IncrementalDecoder | None = None

    @property
    def remark(self) -> str | None:
        """What a reader of the report should know, `None` where the bytes were taken as they are."""
        return NOTE if self._decoder is not None else None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The text that `chunk` brings, in UTF-8."""
        if not self._decided:
            chunk, self._head = self._head + chunk, b""
            if len(chunk) < _HEAD:
                self._head = chunk
                return
            chunk = self._decide(chunk)
        if piece := self._in_utf8(chunk, final=False):
            yield piece

    def close(self) -> Iterator[bytes]:
        """What was held back."""
        if not self._decided:
            self._head = self._decide(self._head)
        if piece := self._in_utf8(self._head, final=True):
            yield piece

    def _decide(self, head: bytes) -> bytes:
        """What is to be read of the first bytes: all but the mark."""
        self._decided = True
        for pattern, name in ((_LITTLE, "utf-16-le"), (_BIG, "utf-16-be")):
            if pattern.match(head):
                self._decoder = codecs.getincrementaldecoder(name)("replace")
        marked = self._decoder is not None and head.startswith(_MARKS)
        return head[len(_MARKS[0]) :] if marked else head

    def _in_utf8(self, chunk: bytes, *, final: bool) -> bytes:
        if self._decoder is None:
            return chunk
        return self._decoder.decode(chunk, final).encode("utf-8", "replace")
