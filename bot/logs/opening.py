"""What a line begins with, apart from the time of day: lines of one place of a program begin alike.

In:  the bytes around a literal.
Out: the opening of its line, to be compared with other ones, and the clock that was left out of it.

Where the text in front of the line could change what is read in it, there is no opening to rely on: `None`.
"""

import re
from mmap import mmap

REACH = 400
"""Bytes in front of a literal in which its line must begin: as many as are read of a prefix."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196]
_STAMPS = frozenset(severity + b"0000 00:00:00.000000 " for severity in (b"I", b"W", b"E", b"F"))
_ANY_DIGIT = bytes(ord("0") if chr(n) in "123456789" else n for n in range(256))
_CLOCK = re.compile(rb"(?P<day>[IWEF]\d{4} )(?P<minute>\d\d:\d\d:)(?P<second>\d\d\.\d{6})(?= )")
# 2026-07-30T19:22:14.580032463Z I0730 ...
_DATE = re.compile(rb"(\d{4}-\d\d-\d\d[T ])\d\d:\d\d:\d\d[.,]\d{1,9}")
_SETTLED = frozenset(range(33, 127)) - frozenset(b']"')
"""Ends of the line before that do not make it part of this one, as a stamp alone on its line does, or the
start of an entry of an export."""

Opening = tuple[bytes, bytes, bytes]


def opening(buffer: bytes | mmap, at: int, end: int) -> Opening | None:
    """The line from its start to byte `end`, without the clock, of the literal at byte `at`; then the day
    with the minute, and the second: both empty where the line has no stamp."""
    start = buffer.rfind(b"\n", max(0, at - REACH), at) + 1
    if not start:
        return None
    line = buffer[start:end]
    if line[:22].translate(_ANY_DIGIT) in _STAMPS and start + 22 <= at:
        return line[:6] + line[21:], line[:12], line[12:21]
    clock = _CLOCK.search(line, 0, at - start)
    if clock is not None:
        front = line[: clock.end("day")]
        if date := _DATE.match(front):
            front = date[1] + front[date.end() :]
        return front + line[clock.end() :], clock["day"] + clock["minute"], clock["second"]
    before = buffer[max(0, start - 3) : start - 1].removesuffix(b"\r")
    if not before or before[-1] not in _SETTLED:
        return None
    return line, b"", b""


def words(buffer: bytes | mmap, at: int, end: int) -> bytes | None:
    """The line alone, as `opening` has it, in half the time."""
    start = buffer.rfind(b"\n", at - REACH if at > REACH else 0, at) + 1
    line = buffer[start:end]
    if start and line[:22].translate(_ANY_DIGIT) in _STAMPS and start + 22 <= at:
        return line[:6] + line[21:]
    found = opening(buffer, at, end)
    return found and found[0]


def reliable(words: bytes) -> bool:
    """Whether these words mean the same wherever they stand: no terminal code, no entry of an export."""
    return not any(sign in words for sign in (b"\x1b", b"\x07", b"\0", b'"'))
