"""Fast path for repeated facts and for step lines of one layout.

The result is the one that the rule's own function gives. What was learnt holds while statements go to the
same run and a day has the same date.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from mmap import mmap
from typing import NamedTuple

from msgspec import Struct

from bot.logs.facts import CallSite, Environment, Step, StepKind
from bot.logs.prefixes import DateResolver
from bot.logs.rules import MATCH_WINDOW, ExitCode, LiteralRule, LogFormat, Match, Quantity, Statement
from bot.logs.scanner import LiteralHit
from bot.logs.segments import FormatCollector, RunSplitter
from bot.logs.steps import StepLayout, StepSeries

LINE_BYTES = 400
"""Bytes in front of a literal within which its line must begin: the length that is read of a prefix."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196]
_GLOG_STAMPS = frozenset(severity + b"0000 00:00:00.000000 " for severity in (b"I", b"W", b"E", b"F"))
_DIGITS_TO_ZERO = bytes(ord("0") if chr(n) in "123456789" else n for n in range(256))
_CLOCK = re.compile(rb"(?P<day>[IWEF]\d{4} )(?P<minute>\d\d:\d\d:)(?P<second>\d\d\.\d{6})(?= )")
# 2026-07-30T19:22:14.580032463Z I0730 ...
_DATE = re.compile(rb"(\d{4}-\d\d-\d\d[T ])\d\d:\d\d:\d\d[.,]\d{1,9}")
_SAFE_LINE_ENDS = frozenset(range(33, 127)) - frozenset(b']"')
"""Last bytes of the line before that cannot change the meaning of this line. A stamp that stands alone on its
line can, and so can the start of an export's entry."""

LineOpening = tuple[bytes, bytes, bytes]
"""What a line begins with, without the time of day; its day and minute; its second.

Lines from one place of a program begin alike. Minute and second are empty where the line has no stamp.
"""


def line_opening(buffer: bytes | mmap, at: int, end: int) -> LineOpening | None:
    """The opening of the line with a literal at byte `at`, up to byte `end`.

    `None` where the text in front of the line could change what the line means.
    """
    start = buffer.rfind(b"\n", max(0, at - LINE_BYTES), at) + 1
    if not start:
        return None
    line = buffer[start:end]
    if line[:22].translate(_DIGITS_TO_ZERO) in _GLOG_STAMPS and start + 22 <= at:
        return line[:6] + line[21:], line[:12], line[12:21]
    clock = _CLOCK.search(line, 0, at - start)
    if clock is not None:
        front = line[: clock.end("day")]
        if date := _DATE.match(front):
            front = date[1] + front[date.end() :]
        return front + line[clock.end() :], clock["day"] + clock["minute"], clock["second"]
    before = buffer[max(0, start - 3) : start - 1].removesuffix(b"\r")
    if not before or before[-1] not in _SAFE_LINE_ENDS:
        return None
    return line, b"", b""


def line_text(buffer: bytes | mmap, at: int, end: int) -> bytes | None:
    """The first part of `line_opening`, in half the time."""
    start = buffer.rfind(b"\n", at - LINE_BYTES if at > LINE_BYTES else 0, at) + 1
    line = buffer[start:end]
    if start and line[:22].translate(_DIGITS_TO_ZERO) in _GLOG_STAMPS and start + 22 <= at:
        return line[:6] + line[21:]
    opening = line_opening(buffer, at, end)
    return opening and opening[0]


def is_context_free(line: bytes) -> bool:
    """Whether this text means the same in any place: no terminal code, no entry of an export."""
    return not any(sign in line for sign in (b"\x1b", b"\x07", b"\0", b'"'))


MAX_OPENINGS = 4_096
"""Line openings kept per rule: a thousand hosts' lines, from several places of the program."""


class _CachedLayout(Struct, frozen=True, kw_only=True):
    """How the step lines of one opening look, and where they go.

    `distinctive`: by how much each of them raises the collector's `distinctive_count`.
    """

    layout: StepLayout
    pattern: re.Pattern[bytes]
    kind: StepKind
    series: StepSeries
    anonymous: bool
    collector: FormatCollector
    distinctive: int


class _CachedFacts(NamedTuple):
    """Facts that are known. `distinctive`: by how much each repetition raises `distinctive_count`."""

    collector: FormatCollector | None
    distinctive: int


class FastPath:
    """What has been learnt of one log."""

    def __init__(self, dates: DateResolver, splitter: RunSplitter, rules: Mapping[int, LiteralRule]) -> None:
        self._dates = dates
        self._splitter = splitter
        self._repeat_bytes = {
            n: rule.repeat_bytes for n, rule in rules.items() if rule.repeat_bytes is not None
        }
        self._facts: dict[int, dict[bytes | None, _CachedFacts]] = {n: {} for n in self._repeat_bytes}
        self._layouts: dict[int, dict[bytes, _CachedLayout]] = {
            n: {} for n, rule in rules.items() if rule.layout is not None
        }
        self._minutes: dict[bytes, float | None] = {b"": None}
        self._version = 0

    def skippers(self) -> dict[int, Callable[[LiteralHit], bool]]:
        """By rule: the function that handles a hit if it can, and says whether it did."""
        found: dict[int, Callable[[LiteralHit], bool]] = dict.fromkeys(self._facts, self._skip_known_facts)
        found.update(dict.fromkeys(self._layouts, self._read_by_layout))
        return found

    def learns(self, rule: int) -> bool:
        """Whether `learn` wants the statements of this rule."""
        return rule in self._facts or rule in self._layouts

    def _skip_known_facts(self, hit: LiteralHit) -> bool:
        """Whether the facts of this line are known."""
        if self._version != self._dates.version + self._splitter.version:
            self._forget()
        rule, at = hit.literal, hit.at
        end = at + self._repeat_bytes[rule]
        known = self._facts[rule].get(line_text(hit.buffer, at, end if end < hit.filled else hit.filled))
        if known is None:
            return False
        if known.collector is not None:
            known.collector.distinctive_count += known.distinctive
        return True

    def _read_by_layout(self, hit: LiteralHit) -> bool:
        """Read a step line that looks like one before it. It goes where that one went."""
        if self._version != self._dates.version + self._splitter.version:
            self._forget()
        opening = line_opening(hit.buffer, hit.at, hit.at)
        cached = self._layouts[hit.literal].get(opening[0]) if opening is not None else None
        if cached is None or opening is None:
            return False
        step = self._step(cached, hit, opening)
        if step is None:
            return False
        cached.series.add(step, anonymous=cached.anonymous)
        cached.collector.distinctive_count += cached.distinctive
        return True

    def learn(
        self,
        hit: LiteralHit,
        match: Match,
        log_format: LogFormat | None,
        rule: LiteralRule,
        statements: list[Statement],
    ) -> None:
        """Remember what the rule's own function made of a hit that was not skipped."""
        opening = line_opening(hit.buffer, hit.at, min(hit.filled, hit.at + (rule.repeat_bytes or 0)))
        if opening is None or not statements or not is_context_free(opening[0]):
            return
        if self._version != self._dates.version + self._splitter.version:
            return
        if rule.repeat_bytes is not None:
            facts = self._facts[hit.literal]
            collectors = self._splitter.segments[-1].collectors
            collector = collectors.get(log_format.name) if log_format is not None else None
            if len(facts) < MAX_OPENINGS and all(map(_is_idempotent, statements)):
                facts[opening[0]] = _CachedFacts(collector, len(statements) * rule.distinctive)
        elif log_format is not None and isinstance(step := statements[0], Step):
            layouts = self._layouts[hit.literal]
            cached = self._cached_layout(match, log_format, rule, step, statements)
            if cached and len(layouts) < MAX_OPENINGS and step == self._step(cached, hit, opening):
                layouts[opening[0]] = cached

    def _forget(self) -> None:
        self._version = self._dates.version + self._splitter.version
        self._minutes = {b"": None}
        for facts in self._facts.values():
            facts.clear()
        for layouts in self._layouts.values():
            layouts.clear()

    def _cached_layout(
        self,
        match: Match,
        log_format: LogFormat,
        rule: LiteralRule,
        step: Step,
        statements: Sequence[Statement],
    ) -> _CachedLayout | None:
        collector = self._splitter.segments[-1].collectors.get(log_format.name)
        host = collector.host(match.prefix) if collector else None
        layout = rule.layout(match.text) if rule.layout else None
        if collector is None or host is None or host.stateful_reader or layout is None:
            return None
        if not host.series.steps_seen or not all(isinstance(other, CallSite) for other in statements[1:]):
            return None
        return _CachedLayout(
            layout=layout,
            pattern=layout.pattern,
            kind=step.kind,
            series=host.series,
            anonymous=log_format.per_host and not (match.prefix.host or match.prefix.thread),
            collector=collector,
            distinctive=len(statements) * rule.distinctive,
        )

    def _step(self, cached: _CachedLayout, hit: LiteralHit, opening: LineOpening) -> Step | None:
        """The step of this line, or `None` where the line looks different."""
        _, minute, second = opening
        if minute not in self._minutes:
            self._minutes[minute] = self._minute_time(minute)
        time = self._minutes[minute]
        record = cached.pattern.match(hit.buffer, hit.at, min(hit.filled, hit.at + MATCH_WINDOW))
        if record is None or (minute and time is None):
            return None
        if time is not None:
            time += float(second)
        number, fields, extras = cached.layout.numbers(record.groups())
        return Step(number, *fields, time, cached.kind, hit.offset, extras)

    def _minute_time(self, text: bytes) -> float | None:
        """The time of `I0421 10:17:`, or `None` where that is no date."""
        if len(self._minutes) > MAX_OPENINGS:
            self._minutes = {b"": None}
        day = text.decode("ascii")
        return self._dates.resolve(day[1:3], day[3:5], f"{day[6:]}00")


def _is_idempotent(statement: Statement) -> bool:
    """Whether a repetition by the same host in the same run changes nothing."""
    if isinstance(statement, Environment):
        return statement.commit is None
    return isinstance(statement, Quantity | CallSite | ExitCode)
