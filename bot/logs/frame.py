"""Reads what stands around a run whatever its format: XPK's frame, exit codes, what a page says about it.

In:  sightings of the literals in `FRAME`.
Out: statements.
"""

import re
from collections.abc import Iterator

from bot.logs.almanac import written_date
from bot.logs.facts import Environment, Mark, MarkKind
from bot.logs.sighting import Needle, Sighting
from bot.logs.statement import Began, Claimed, Ended, Exited, Statement

# XPK Start: Tue Apr 21 10:16:19 UTC 2026, and not: echo XPK Start: $(date)
_DATED = re.compile(r"[^\n$]{0,48}?\b(?:19|20)\d\d\b")
# EXIT_CODE=143
_EXIT = re.compile(r"EXIT_CODE=(?P<code>\d{1,3})(?!\d)")
# BENCH_META {"sha": "147168c3a", "pr": 12}      BENCH_META {sha:147168c3a}
_META = re.compile(r"BENCH_META \{[^\n}]{0,400}?[\"']?sha[\"']?\s*:\s*[\"']?(?P<sha>[0-9a-f]{7,40})\b")
# 147168c3a  ·  main_20260417_235819  ·  full log
_HEADER = re.compile(r"(?<![0-9a-zA-Z])(?P<sha>[0-9a-f]{7,40})\s*·\s*[\w.-]{1,200}\s*·\s*\Z")
# main (574ad3fb9) vs feat/Migrate-Decoder-And-Tests-to-NNX (574ad3fb9)
_BASE = re.compile(r"\((?P<sha>[0-9a-f]{7,40})\Z")
_HEAD = re.compile(r"\) vs [^\s()]{1,200} \((?P<sha>[0-9a-f]{7,40})\)")


def _began(seen: Sighting) -> Iterator[Statement]:
    text = seen.text[len("XPK Start: ") :]
    if not _DATED.match(text):
        return
    time = written_date(text)
    if time is not None:
        seen.almanac.anchor(time)
    yield Began(time=time)
    yield Mark(kind=MarkKind.START, time=time, offset=seen.offset)


def _ended(seen: Sighting) -> Iterator[Statement]:
    # XPK End: Tue Apr 21 10:19:24 UTC 2026      Job End: Thu Jul 31 09:48:56 UTC 2025
    text = seen.text[seen.text.index("End: ") + len("End: ") :]
    if not _DATED.match(text):
        return
    time = written_date(text)
    if time is not None:
        seen.almanac.anchor(time)
    yield Ended(time=time)
    yield Mark(kind=MarkKind.END, time=time, offset=seen.offset)


def _exited(seen: Sighting) -> Iterator[Statement]:
    found = _EXIT.match(seen.text)
    if found:
        yield Exited(code=int(found["code"]))


def _meta(seen: Sighting) -> Iterator[Statement]:
    if found := _META.match(seen.text):
        yield Environment(commit=found["sha"])


def _header(seen: Sighting) -> Iterator[Statement]:
    if found := _HEADER.search(seen.front):
        yield Claimed(commits=(found["sha"],))


def _title(seen: Sighting) -> Iterator[Statement]:
    base, head = _BASE.search(seen.front), _HEAD.match(seen.text)
    if base and head:
        yield Claimed(commits=(base["sha"], head["sha"]))


FRAME = (
    Needle(literal=b"XPK Start: ", read=_began),
    Needle(literal=b"XPK End: ", read=_ended),
    Needle(literal=b"Job End: ", read=_ended),
    Needle(literal=b"EXIT_CODE=", read=_exited, again=14),
    Needle(literal=b"BENCH_META {", read=_meta),
    Needle(literal=b"full log", read=_header),
    Needle(literal=b") vs ", read=_title),
)
