"""A log as strangers may read it: the rules for public places, applied to text that comes in parts.

In:  the lines of a window, or the pieces of a whole log.
Out: the same without what the rules take out; one line stays one line, so that line numbers hold.

A private key spans lines; it is followed from its first line to its last, wherever the parts are cut.
"""

import re
from collections.abc import Iterator, Sequence

from bot.report.redact import redacted

BLOCK = 16_000
"""Bytes given to the rules at once: below the most they look at."""

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END [A-Z ]{0,30}PRIVATE KEY-----")


class Redaction:
    """Redacts one part after the other; `before` is what stands before the first."""

    def __init__(self, before: str = "") -> None:
        self._in_key = _leaves_open(before)

    def text(self, part: str) -> str:
        """The next part, without what must not be shown."""
        rest = part
        if self._in_key:
            end = _KEY_ENDS.search(part)
            if end is None:
                return "[private key]"
            rest = part[end.end() :]
        self._in_key = _leaves_open(rest)
        return redacted(rest)

    def lines(self, texts: Sequence[str]) -> Iterator[str]:
        """The lines of a window. Many are looked at together, which is ten times as fast; one by one where a
        rule meets several of them at once."""
        for some in _blocks(texts):
            together = "\n".join(some)
            shown = [] if self._in_key or _KEY_BEGINS.search(together) else redacted(together).split("\n")
            yield from shown if len(shown) == len(some) else map(self.text, some)

    def stream(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """A whole log, as it can be sent on; bytes that are no text are kept as they are."""
        kept = b""
        for piece in pieces:
            kept += piece
            at = 0
            while len(kept) - at > BLOCK:
                end = _block_end(kept, at)
                yield self._encoded(kept[at:end])
                at = end
            kept = kept[at:]
        yield self._encoded(kept)

    def whole(self, text: bytes) -> bytes:
        """A text that is at hand."""
        return b"".join(self.stream(iter([text])))

    def _encoded(self, block: bytes) -> bytes:
        return self.text(block.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _leaves_open(text: str) -> bool:
    """Whether a private key begins in `text` and does not end there."""
    begins = [found.end() for found in _KEY_BEGINS.finditer(text)]
    return bool(begins) and _KEY_ENDS.search(text, begins[-1]) is None


def _blocks(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in their order, so many at a time as the rules look at."""
    block: list[str] = []
    size = 0
    for text in texts:
        if block and size + len(text) + 1 > BLOCK:
            yield block
            block, size = [], 0
        block.append(text)
        size += len(text) + 1
    if block:
        yield block


def _block_end(text: bytes, start: int) -> int:
    for sign in (b"\n", b" "):
        if (last := text.rfind(sign, start, start + BLOCK)) > start:
            return last + 1
    return start + BLOCK
