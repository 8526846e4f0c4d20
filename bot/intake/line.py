"""Takes the line of a command apart into words.

In:  what stands behind `/benchmark`. Out: its words, without the quotes and backticks around them.

Any space of Unicode parts words. A quote opens at the beginning of a word or behind `=`, so that the one in
`don't` is a letter; inside quotes a backslash makes a letter of the next quote or backslash. Typographic
quotes count too: telephones write them by themselves.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# What closes a quote that opens so.
_CLOSED_BY = {
    '"': '"',
    "'": "'",
    "“": '”“"',
    "”": '”"',
    "„": '“”"',
    "«": '»"',
    "‘": "’'",
    "’": "’'",
}
# Zero-width spaces and joiners, marks of direction, a byte order mark.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_ESCAPED = frozenset("\\\"'")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a line. `closed` is false where its last quote never ends."""

    words: tuple[str, ...]
    closed: bool


@dataclass(slots=True)
class _Scan:
    rest: str
    at: int = 0
    closed: bool = True

    def words(self) -> Iterator[str]:
        while self.at < len(self.rest):
            if _parts(self.rest[self.at]):
                self.at += 1
            else:
                yield self._word()

    def _word(self) -> str:
        word = ""
        while self.at < len(self.rest) and not _parts(self.rest[self.at]):
            letter = self.rest[self.at]
            self.at += 1
            opens = letter in _CLOSED_BY and (not word or word.endswith("="))
            word += self._quoted(_CLOSED_BY[letter]) if opens else letter
        return word

    def _quoted(self, closers: str) -> str:
        inside = ""
        while self.at < len(self.rest):
            letter = self.rest[self.at]
            self.at += 1
            if letter in closers:
                return inside
            if letter == "\\" and self.rest[self.at : self.at + 1] in _ESCAPED:
                letter = self.rest[self.at]
                self.at += 1
            inside += letter
        self.closed = False
        return inside


def split(rest: str) -> Words:
    """The words of `rest`; signs that nobody sees, which copying brings along, are left out."""
    scan = _Scan(_INVISIBLE.sub("", rest))
    words = tuple(word for word in scan.words() if word)
    return Words(words, scan.closed)


def _parts(letter: str) -> bool:
    return letter.isspace() or letter == "`"
