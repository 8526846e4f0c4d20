"""Which lines of a window say the same over and over: they are shown as one, and open on request.

In:  the lines of a window. Out: `Fold`s. Pure.

Lines are alike where their masks are: the text without its stamp, with numbers, addresses and names that
change from line to line replaced. Errors, warnings and marked lines are never folded.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bot.web.log.masks import mask, message
from bot.web.log.window import LogLine

FEWEST_ALIKE = 5
"""Lines of a window that must share a mask before it is chatter."""

SHORTEST_FOLD = 8
"""Lines in a row that are worth folding: fewer are read as fast as the words that would stand for them."""

MOST_MASKS = 3
"""Masks that a fold names."""

_TELLING = re.compile(
    r"^[EF]\d{4} |\b(?:error|exception|traceback|fatal|fail(?:ed|ure)?|warning|warn|abort(?:ed)?|killed"
    r"|nan)\b",
    re.IGNORECASE,
)

# What the programs we know are chatting about, in the order in which it is looked for.
_SUBJECTS = (
    (re.compile(r"Logical:|Physical:|[Ss]harding|nnx_wrappers"), "sharding chatter"),
    (re.compile(r"checkpoint|orbax|ocdbt|array_metadata|tensorstore", re.IGNORECASE), "checkpoint chatter"),
    (re.compile(r"allocator|memory", re.IGNORECASE), "memory chatter"),
    (re.compile(r"compil|\bhlo\b|xla", re.IGNORECASE), "compiler chatter"),
    (re.compile(r"grpc|http|socket|connect|auth|credential", re.IGNORECASE), "network chatter"),
    (re.compile(r"[Cc]onfig param"), "configuration"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Lines from `begin` to `end` of the window, what they are about, and their most frequent masks."""

    begin: int
    end: int
    subject: str
    masks: tuple[tuple[str, int], ...]

    @property
    def count(self) -> int:
        """How many lines it holds."""
        return self.end - self.begin


def folds(lines: Sequence[LogLine]) -> tuple[Fold, ...]:
    """The folds of a window in its order; they do not overlap."""
    masks = [None if _tells(line) else mask(line.text) for line in lines]
    counts = Counter(found for found in masks if found)
    found, begin = [], 0
    for n in range(len(lines) + 1):
        alike = n < len(lines) and counts[masks[n] or ""] >= FEWEST_ALIKE
        if alike:
            continue
        if n - begin >= SHORTEST_FOLD:
            found.append(_fold(lines, begin, n, Counter(text for text in masks[begin:n] if text)))
        begin = n + 1
    return tuple(found)


def _fold(lines: Sequence[LogLine], begin: int, end: int, counts: Counter[str]) -> Fold:
    usual = tuple(counts.most_common(MOST_MASKS))
    sample = " ".join(message(line.text) for line in lines[begin : begin + 3]) + usual[0][0]
    subject = next((words for pattern, words in _SUBJECTS if pattern.search(sample)), "lines alike")
    return Fold(begin=begin, end=end, subject=subject, masks=usual)


def _tells(line: LogLine) -> bool:
    return (
        line.mark is not None
        or line.continues
        or not line.text.strip()
        or bool(_TELLING.search(line.text[:500]))
    )
