"""Fast path for repeated facts and for step lines of one layout.

The result is the one that the rule's own function gives. What was learnt holds while statements go to the
same run and a day has the same date.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import NamedTuple

from bot.logs.facts import CallSite, Environment, Step, StepKind
from bot.logs.prefixes import DateResolver
from bot.logs.rules import MATCH_WINDOW, ExitCode, LiteralRule, LogFormat, Match, Quantity, Statement
from bot.logs.scanner import LiteralHit
from bot.logs.segments import FormatCollector, RunSplitter
from bot.logs.steps import StepLayout, StepRow, StepSeries, step_row

LINE_BYTES = 400
"""Bytes in front of a literal in which its line must begin: as many as are read of a prefix."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196]
_GLOG_STAMPS = frozenset(severity + b"0000 00:00:00.000000 " for severity in (b"I", b"W", b"E", b"F"))

_DIGITS_TO_ZERO = bytes(ord("0") if chr(n) in "123456789" else n for n in range(256))

_CLOCK = re.compile(rb"(?P<day>[IWEF]\d{4} )(?P<minute>\d\d:\d\d:)(?P<second>\d\d\.\d{6})(?= )")

# 2026-07-30T19:22:14.580032463Z I0730 ...
_DATE = re.compile(rb"(\d{4}-\d\d-\d\d[T ])\d\d:\d\d:\d\d[.,]\d{1,9}")

_SAFE_LINE_ENDS = frozenset(range(33, 127)) - frozenset(b']"')
"""Ends of the line before that do not make it part of this one, as a stamp alone on its line does, or the
start of an entry of an export."""

LineOpening = tuple[bytes, bytes, bytes]


def line_opening(buffer: bytes | mmap, at: int, end: int) -> LineOpening | None:
    """The line from its start to byte `end`, without the clock, of the literal at byte `at`; then the day
    with the minute, and the second: both empty where the line has no stamp."""
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
    """The line alone, as `opening` has it, in half the time."""
    start = buffer.rfind(b"\n", at - LINE_BYTES if at > LINE_BYTES else 0, at) + 1
    line = buffer[start:end]
    if start and line[:22].translate(_DIGITS_TO_ZERO) in _GLOG_STAMPS and start + 22 <= at:
        return line[:6] + line[21:]
    found = line_opening(buffer, at, end)
    return found and found[0]


def is_context_free(words: bytes) -> bool:
    """Whether these words mean the same wherever they stand: no terminal code, no entry of an export."""
    return not any(sign in words for sign in (b"\x1b", b"\x07", b"\0", b'"'))


MAX_OPENINGS = 4_096
"""Openings remembered of each needle: a thousand hosts' lines, from several places of the program."""

_new_tuple = tuple.__new__  # of a named tuple, without its own check of the length


@dataclass(frozen=True, slots=True)
class _LayoutCache:
    """Where the step lines of one opening go. `telling`: the statements that each of them makes."""

    layout: StepLayout
    pattern: re.Pattern[bytes]
    kind: StepKind
    track: StepSeries
    anonymous: bool
    collector: FormatCollector
    telling: int


class _RepeatedFacts(NamedTuple):
    """Facts that need not be heard again. `telling`: the statements that speak for the collector's format."""

    collector: FormatCollector | None
    telling: int


class FastPath:
    """What has been learnt of one log."""

    def __init__(
        self, almanac: DateResolver, chapters: RunSplitter, needles: Mapping[int, LiteralRule]
    ) -> None:
        self._almanac = almanac
        self._chapters = chapters
        self._again = {n: needle.again for n, needle in needles.items() if needle.again is not None}
        self._laid_out = [n for n, needle in needles.items() if needle.layout is not None]
        self._said: dict[int, dict[bytes | None, _RepeatedFacts]] = {n: {} for n in self._again}
        self._courses: dict[int, dict[bytes, _LayoutCache]] = {n: {} for n in self._laid_out}
        self._minutes: dict[bytes, float | None] = {b"": None}
        self._turns = 0

    def passing(self) -> dict[int, Callable[[LiteralHit], bool]]:
        """By needle, what says whether a hit is done with."""
        found: dict[int, Callable[[LiteralHit], bool]] = dict.fromkeys(self._again, self._known)
        found.update(dict.fromkeys(self._laid_out, self._followed))
        return found

    def learns(self, needle: int) -> bool:
        """Whether it wants to know what the reader of this needle said."""
        return needle in self._said or needle in self._courses

    def _known(self, hit: LiteralHit) -> bool:
        """Whether these words were read before."""
        if self._turns != self._almanac.turns + self._chapters.turns:
            self._forget()
        needle, at = hit.needle, hit.at
        end = at + self._again[needle]
        known = self._said[needle].get(line_text(hit.buffer, at, end if end < hit.filled else hit.filled))
        if known is None:
            return False
        if known.collector is not None:
            known.collector.telling += known.telling
        return True

    def _followed(self, hit: LiteralHit) -> bool:
        """Whether this step line is laid out like one before it; if so it goes where that one went."""
        if self._turns != self._almanac.turns + self._chapters.turns:
            self._forget()
        found = line_opening(hit.buffer, hit.at, hit.at)
        course = self._courses[hit.needle].get(found[0]) if found is not None else None
        if course is None or found is None:
            return False
        row = self._row(course, hit, found)
        if row is None:
            return False
        course.track.take(row, anonymous=course.anonymous)
        course.collector.telling += course.telling
        return True

    def learn(
        self, hit: LiteralHit, seen: Match, form: LogFormat | None, needle: LiteralRule, said: list[Statement]
    ) -> None:
        """Remember what the hit that was not done with was found to say."""
        found = line_opening(hit.buffer, hit.at, min(hit.filled, hit.at + (needle.again or 0)))
        if found is None or not said or not is_context_free(found[0]):
            return
        if self._turns != self._almanac.turns + self._chapters.turns:
            return
        if needle.again is not None:
            known = self._said[hit.needle]
            collector = self._chapters.episodes[-1].collectors.get(form.name) if form is not None else None
            if len(known) < MAX_OPENINGS and all(map(_is_idempotent, said)):
                known[found[0]] = _RepeatedFacts(collector, len(said) * needle.telling)
        elif form is not None and isinstance(step := said[0], Step):
            courses = self._courses[hit.needle]
            course = self._course(seen, form, needle, step, said)
            if course and len(courses) < MAX_OPENINGS and step_row(step) == self._row(course, hit, found):
                courses[found[0]] = course

    def _forget(self) -> None:
        self._turns = self._almanac.turns + self._chapters.turns
        self._minutes = {b"": None}
        for said in self._said.values():
            said.clear()
        for courses in self._courses.values():
            courses.clear()

    def _course(
        self, seen: Match, form: LogFormat, needle: LiteralRule, step: Step, said: Sequence[Statement]
    ) -> _LayoutCache | None:
        collector = self._chapters.episodes[-1].collectors.get(form.name)
        host = collector.host(seen.prefix) if collector else None
        layout = needle.layout(seen.text) if needle.layout else None
        if collector is None or host is None or host.follower or layout is None or not host.track.seen:
            return None
        if not all(isinstance(other, CallSite) for other in said[1:]):
            return None
        return _LayoutCache(
            layout=layout,
            pattern=layout.pattern,
            kind=step.kind,
            track=host.track,
            anonymous=form.per_host and not (seen.prefix.host or seen.prefix.thread),
            collector=collector,
            telling=len(said) * needle.telling,
        )

    def _row(self, course: _LayoutCache, hit: LiteralHit, found: LineOpening) -> StepRow | None:
        """The step that stands here, or `None` where it is not laid out like this."""
        _, minute, second = found
        if minute not in self._minutes:
            self._minutes[minute] = self._minute(minute)
        time = self._minutes[minute]
        record = course.pattern.match(hit.buffer, hit.at, min(hit.filled, hit.at + MATCH_WINDOW))
        if record is None or (minute and time is None):
            return None
        if time is not None:
            time += float(second)
        step, fields, extras = course.layout.numbers(record.groups())
        return _new_tuple(StepRow, (step, *fields, time, course.kind, hit.offset, extras))

    def _minute(self, text: bytes) -> float | None:
        """The time of `I0421 10:17:`, if that is a date."""
        if len(self._minutes) > MAX_OPENINGS:
            self._minutes = {b"": None}
        day = text.decode("ascii")
        return self._almanac.place(day[1:3], day[3:5], f"{day[6:]}00")


def _is_idempotent(said: Statement) -> bool:
    """Whether saying it again to the same run on the same host changes nothing."""
    if isinstance(said, Environment):
        return said.commit is None
    return isinstance(said, Quantity | CallSite | ExitCode)
