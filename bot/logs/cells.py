"""Reads the moment that a table puts beside a message: a logfmt line, or a row of a CSV export.

In:  the text in front of and behind a message that no other prefix dates.
Out: its moment, `None` where it does not stand in such a line.

The moment must be a cell of its own, on the message's own line: a date within a message dates nothing.
"""

import re

from bot.logs.almanac import RFC, rfc_time

# time=2026-07-30T19:22:14.580032Z level=info msg="completed step: 3, ...
_LOGFMT = re.compile(
    rf'(?:[\w.]{{1,40}}=[^\s"]{{0,80}} )*?(?:time|ts|timestamp)="?{RFC}"?'
    r'(?: [\w.]{1,40}=(?:"[^"]{0,80}"|[^\s"]{0,80})){0,8} (?:msg|message)="[^"]{0,120}\Z'
)
_CELL = r'(?:"[^",]{0,80}"|[^",]{0,80})'
# 2026-07-30T19:22:14.580032Z,INFO,"completed step: 3, ...
_ROW = re.compile(rf'(?:{_CELL},){{0,4}}?"?{RFC}"?(?:,{_CELL}){{0,4}},"[^"]{{0,120}}\Z')
# 1qmzk2f8,"completed step: 3, ... loss: 9.100",2026-07-30T19:22:14.580032Z
_BEFORE = re.compile(rf'(?:{_CELL},){{0,8}}"[^"]{{0,120}}\Z')
_BEHIND = re.compile(rf'[^"\n]{{0,1400}}"(?:,{_CELL}){{0,4}}?,"?{RFC}"?(?=[,\r\n]|\Z)')


def moment(front: str, text: str) -> float | None:
    """Unix seconds of the line whose message is `text`, as far as it begins in `front`."""
    line = front[max(front.rfind("\n"), front.rfind("\r")) + 1 :]
    found = _LOGFMT.match(line) or _ROW.match(line)
    if found is None and _BEFORE.match(line):
        found = _BEHIND.match(text)
    return rfc_time(found) if found else None
