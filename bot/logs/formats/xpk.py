"""What surrounds a run in a log of any format: XPK's start and end, exit codes, commits named by a page."""

import re
from collections.abc import Iterator

from bot.logs.facts import Environment, Mark, MarkKind
from bot.logs.prefixes import parse_date
from bot.logs.rules import (
    ClaimedCommits,
    ExitCode,
    LiteralRule,
    Match,
    ProgramEnded,
    ProgramStarted,
    Statement,
)

# XPK Start: Tue Apr 21 10:16:19 UTC 2026, and not: echo XPK Start: $(date)
_DATED = re.compile(r"[^\n$]{0,48}?\b(?:19|20)\d\d\b")

# EXIT_CODE=143
_EXIT_CODE = re.compile(r"EXIT_CODE=(?P<code>\d{1,3})(?!\d)")

# BENCH_META {"sha": "147168c3a", "pr": 12}      BENCH_META {sha:147168c3a}
_BENCH_META = re.compile(r"BENCH_META \{[^\n}]{0,400}?[\"']?sha[\"']?\s*:\s*[\"']?(?P<sha>[0-9a-f]{7,40})\b")

# 147168c3a  ·  main_20260417_235819  ·  full log
_PAGE_HEADER = re.compile(r"(?<![0-9a-zA-Z])(?P<sha>[0-9a-f]{7,40})\s*·\s*[\w.-]{1,200}\s*·\s*\Z")

# main (574ad3fb9) vs feat/Migrate-Decoder-And-Tests-to-NNX (574ad3fb9)
_TITLE_BASE = re.compile(r"\((?P<sha>[0-9a-f]{7,40})\Z")

_TITLE_HEAD = re.compile(r"\) vs [^\s()]{1,200} \((?P<sha>[0-9a-f]{7,40})\)")


def _started(match: Match) -> Iterator[Statement]:
    text = match.text[len("XPK Start: ") :]
    if not _DATED.match(text):
        return
    time = parse_date(text)
    if time is not None:
        match.dates.see_date(time)
    yield ProgramStarted(time=time)
    yield Mark(kind=MarkKind.START, time=time, offset=match.offset)


def _ended(match: Match) -> Iterator[Statement]:
    # XPK End: Tue Apr 21 10:19:24 UTC 2026      Job End: Thu Jul 31 09:48:56 UTC 2025
    text = match.text[match.text.index("End: ") + len("End: ") :]
    if not _DATED.match(text):
        return
    time = parse_date(text)
    if time is not None:
        match.dates.see_date(time)
    yield ProgramEnded(time=time)
    yield Mark(kind=MarkKind.END, time=time, offset=match.offset)


def _exit_code(match: Match) -> Iterator[Statement]:
    found = _EXIT_CODE.match(match.text)
    if found:
        yield ExitCode(code=int(found["code"]))


def _bench_meta(match: Match) -> Iterator[Statement]:
    if found := _BENCH_META.match(match.text):
        yield Environment(commit=found["sha"])


def _page_header(match: Match) -> Iterator[Statement]:
    if found := _PAGE_HEADER.search(match.front):
        yield ClaimedCommits(commits=(found["sha"],))


def _page_title(match: Match) -> Iterator[Statement]:
    base, head = _TITLE_BASE.search(match.front), _TITLE_HEAD.match(match.text)
    if base and head:
        yield ClaimedCommits(commits=(base["sha"], head["sha"]))


XPK = (
    LiteralRule(literal=b"XPK Start: ", read=_started),
    LiteralRule(literal=b"XPK End: ", read=_ended),
    LiteralRule(literal=b"Job End: ", read=_ended),
    LiteralRule(literal=b"EXIT_CODE=", read=_exit_code, repeat_bytes=14),
    LiteralRule(literal=b"BENCH_META {", read=_bench_meta),
    LiteralRule(literal=b"full log", read=_page_header),
    LiteralRule(literal=b") vs ", read=_page_title),
)
