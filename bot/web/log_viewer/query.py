"""What is looked for in a log: words as they are written, or a regular expression.

In:  the words. Out: `Query`, which finds them in bytes and in a text that is shown.
Promises time in proportion to what is searched, whatever the expression: RE2 has no backtracking, and an
expression whose machine would be large is refused (`NotSearchable`). No match goes beyond its line, and none
is empty.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import re2

from bot.errors import Told

LONGEST_WORDS = 200

MOST_MEMORY = 1 << 18
"""Bytes of an expression's machine: some thousand states, far more than a log's lines ask for."""


LINES = "(?m)"
"""Makes ^ and $ the ends of a line."""


class NotSearchable(Told):
    """A text is no regular expression that can be searched for; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Words. `cased` says that A is not a, `regular` that they are a regular expression."""

    words: str
    cased: bool
    regular: bool = False

    @property
    def needle(self) -> bytes:
        """What to look for in a block that `folded` returned, where it is no expression."""
        return (self.words if self.cased else self.words.lower()).encode("utf-8", "replace")

    def folded(self, block: bytes) -> bytes:
        """The block as it is searched; of words, letters beyond ASCII are told apart by case."""
        return block if self.cased or self.regular else block.lower()

    def spot(self, block: bytes, begin: int, end: int) -> tuple[int, int] | None:
        """The first place in a folded block that begins between two bytes of it."""
        if not self.regular:
            needle = self.needle
            at = block.find(needle, begin, end + len(needle) - 1)
            return (at, at + len(needle)) if at >= 0 else None
        found = compiled(self.words, cased=self.cased).search(block, begin, end)
        return _not_empty(found.span()) if found else None

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it stands in a text that is shown."""
        if self.regular:
            found = compiled(self.words, cased=self.cased).finditer(text)
            yield from (_not_empty(one.span()) for one in found)
            return
        within, words = (text, self.words) if self.cased else (text.lower(), self.words.lower())
        if len(within) != len(text):
            return
        at = within.find(words)
        while at >= 0:
            yield at, at + len(words)
            at = within.find(words, at + len(words))


@lru_cache(maxsize=64)
def compiled(words: str, *, cased: bool) -> "re2._Regexp":
    """The expression, for bytes and for texts; `NotSearchable` where it cannot be searched for."""
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.max_mem = MOST_MEMORY
    options.case_sensitive = cased
    try:
        pattern = re2.compile(LINES + words, options)
    except re2.error as problem:
        raise NotSearchable(f"This is no regular expression of RE2: {_why(problem)}") from problem
    if pattern.search("") is not None:
        raise NotSearchable("This expression also stands for nothing at all, so it would be found everywhere")
    return pattern


def _why(problem: Exception) -> str:
    """What RE2 says, which is bytes, as `missing ) at “(a”`."""
    said = problem.args[0].decode("utf-8", "replace") if problem.args else "it cannot be read"
    what, _, place = said.partition(": ")
    return f"{what} at “{place.replace(LINES, '', 1)}”" if place else what


def _not_empty(span: tuple[int, int]) -> tuple[int, int]:
    if span[0] == span[1]:
        raise NotSearchable("This expression is found where no letter stands, so it cannot be shown")
    return span
