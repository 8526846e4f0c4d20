"""What a line begins with, apart from the time of day: lines of one place of a program begin alike.

In:  bytes around a literal.
Out: the opening of its line, to be compared with other ones, and the clock that was left out of it.

Where the text in front of the line could change what is read in it, or the line has terminal codes, there is
no opening to rely on: `None`.
"""

import re

REACH = 400
"""Bytes read in front of a literal: as many as are read of a prefix."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196]
CLOCK = re.compile(rb"([IWEF]\d{4} )(\d\d:\d\d:)(\d\d\.\d{6})(?= )")
# 2026-07-30T19:22:14.580032463Z I0730 ...
_DATE = re.compile(rb"(\d{4}-\d\d-\d\d[T ])\d\d:\d\d:\d\d[.,]\d{1,9}")
_SETTLED = frozenset(range(33, 127)) - frozenset(b']"')
"""Ends of the line before that do not make it part of this one, as a stamp alone on its line does, or the
start of an entry of an export."""

Opening = tuple[bytes, re.Match[bytes] | None]


def opening(raw: bytes, at: int, end: int) -> Opening | None:
    """The line from its start to byte `end`, without the clock; the literal is at byte `at`."""
    start = raw.rfind(b"\n", 0, at) + 1
    if not start:
        return None
    clock = CLOCK.search(raw, start, at)
    if clock is not None:
        front = raw[start : clock.end(1)]
        if front[:2] == b"20" and (date := _DATE.match(front)):
            front = date[1] + front[date.end() :]
        return front + raw[clock.end() : end], clock
    before = raw[: start - 1].removesuffix(b"\r")
    if not before or before[-1] not in _SETTLED:
        return None
    return raw[start:end], None


def reliable(words: bytes) -> bool:
    """Whether these words mean the same wherever they stand: no terminal code, no entry of an export."""
    return not any(sign in words for sign in (b"\x1b", b"\x07", b"\0", b'"'))
