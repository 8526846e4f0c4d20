"""Reads the `key: value` numbers of a step line, whatever is glued to them.

In:  the text from a record's head on.
Out: names and numbers in the order printed, and where the record ends.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

# , TFLOP/s/device: 59.366     , loss 8.174     , live slice count: 2     ,  loss: nan
# What is glued to a number is another record: a date (10.8742026-04-18), a task label (8.1743: completed).
_PAIR = re.compile(
    r",[ \t]{0,4}(?P<name>[A-Za-z][\w./-]{0,60}(?: [a-z]{1,12}){0,2}):?[ \t]{1,4}"
    r"(?P<value>-?(?:nan|inf|\d{1,24}(?:\.\d{1,24}?(?=(?:19|20)\d\d[-/]\d\d[-/]\d\d)|\.\d{3}(?=\d{1,4}: )"
    r"|\.\d{1,24})?(?:e[+-]?\d{1,3})?))",
    re.IGNORECASE,
)
_THREE = 3
"""Decimals that MaxText prints; fewer at the end of a log are a number that was cut."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one record. `end` is where the text of the record ends; `whole` is false where the last
    number may have been cut by the end of the text."""

    pairs: dict[str, float]
    end: int
    whole: bool


def number(text: str | bytes) -> float:
    """The number of this text; what is no number is always the same object, so that two lines which say it
    say the same."""
    value = float(text)
    return math.nan if math.isnan(value) else value


def places(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The names of the same pairs, and from where to where their numbers stand."""
    for name in read_numbers(text, start).pairs:
        if found := _PAIR.match(text, start):
            yield name, found.start("value"), found.end("value")
            start = found.end()


def read_numbers(text: str, start: int) -> Numbers:
    """The pairs of `text` from `start` on, as far as they follow each other."""
    pairs: dict[str, float] = {}
    end, cut = start, False
    while (found := _PAIR.match(text, end)) and found["name"] not in pairs:
        value = found["value"]
        pairs[found["name"]] = number(value)
        end = found.end()
        cut = end >= len(text) and len(value.partition(".")[2]) < _THREE
    return Numbers(pairs=pairs, end=end, whole=not cut)
