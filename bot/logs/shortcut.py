"""Reads at once what is said again: repeated facts not at all, step lines by the layout of the one before.

In:  every hit of a needle that allows it, and what its reader said where it was read with care.
Out: whether the hit is done with. The answer is the one that the reader would have given.

What was learnt holds as long as statements go to the same run and a day has the same date.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bot.logs.almanac import Almanac
from bot.logs.chapters import Chapters
from bot.logs.collector import Collector
from bot.logs.facts import CallSite, Environment, Step, StepKind
from bot.logs.formats import Format
from bot.logs.layout import Layout
from bot.logs.opening import Opening, opening, reliable, words
from bot.logs.scan import Hit
from bot.logs.sighting import WINDOW, Needle, Sighting
from bot.logs.statement import Exited, Quantity, Statement
from bot.logs.track import Row, Track, row_of

KEPT = 4_096
"""Openings remembered of each needle: a thousand hosts' lines, from several places of the program."""

_tuple = tuple.__new__  # of a named tuple, without its own check of the length


@dataclass(frozen=True, slots=True)
class _Course:
    """Where the step lines of one opening go. `telling`: the statements that each of them makes."""

    layout: Layout
    pattern: re.Pattern[bytes]
    kind: StepKind
    track: Track
    anonymous: bool
    collector: Collector
    telling: int


class _Known(NamedTuple):
    """Facts that need not be heard again. `telling`: the statements that speak for the collector's format."""

    collector: Collector | None
    telling: int


class Shortcuts:
    """What has been learnt of one log."""

    def __init__(self, almanac: Almanac, chapters: Chapters, needles: Mapping[int, Needle]) -> None:
        self._almanac = almanac
        self._chapters = chapters
        self._again = {n: needle.again for n, needle in needles.items() if needle.again is not None}
        self._laid_out = [n for n, needle in needles.items() if needle.layout is not None]
        self._said: dict[int, dict[bytes | None, _Known]] = {n: {} for n in self._again}
        self._courses: dict[int, dict[bytes, _Course]] = {n: {} for n in self._laid_out}
        self._minutes: dict[bytes, float | None] = {b"": None}
        self._turns = 0

    def passing(self) -> dict[int, Callable[[Hit], bool]]:
        """By needle, what says whether a hit is done with."""
        found: dict[int, Callable[[Hit], bool]] = dict.fromkeys(self._again, self._known)
        found.update(dict.fromkeys(self._laid_out, self._followed))
        return found

    def learns(self, needle: int) -> bool:
        """Whether it wants to know what the reader of this needle said."""
        return needle in self._said or needle in self._courses

    def _known(self, hit: Hit) -> bool:
        """Whether these words were read before."""
        if self._turns != self._almanac.turns + self._chapters.turns:
            self._forget()
        needle, at = hit.needle, hit.at
        end = at + self._again[needle]
        known = self._said[needle].get(words(hit.buffer, at, end if end < hit.filled else hit.filled))
        if known is None:
            return False
        if known.collector is not None:
            known.collector.telling += known.telling
        return True

    def _followed(self, hit: Hit) -> bool:
        """Whether this step line is laid out like one before it; if so it goes where that one went."""
        if self._turns != self._almanac.turns + self._chapters.turns:
            self._forget()
        found = opening(hit.buffer, hit.at, hit.at)
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
        self, hit: Hit, seen: Sighting, form: Format | None, needle: Needle, said: list[Statement]
    ) -> None:
        """Remember what the hit that was not done with was found to say."""
        found = opening(hit.buffer, hit.at, min(hit.filled, hit.at + (needle.again or 0)))
        if found is None or not said or not reliable(found[0]):
            return
        if self._turns != self._almanac.turns + self._chapters.turns:
            return
        if needle.again is not None:
            known = self._said[hit.needle]
            collector = self._chapters.episodes[-1].collectors.get(form.name) if form is not None else None
            if len(known) < KEPT and all(map(_counts_once, said)):
                known[found[0]] = _Known(collector, len(said) * needle.telling)
        elif form is not None and isinstance(step := said[0], Step):
            courses = self._courses[hit.needle]
            course = self._course(seen, form, needle, step, said)
            if course and len(courses) < KEPT and row_of(step) == self._row(course, hit, found):
                courses[found[0]] = course

    def _forget(self) -> None:
        self._turns = self._almanac.turns + self._chapters.turns
        self._minutes = {b"": None}
        for said in self._said.values():
            said.clear()
        for courses in self._courses.values():
            courses.clear()

    def _course(
        self, seen: Sighting, form: Format, needle: Needle, step: Step, said: Sequence[Statement]
    ) -> _Course | None:
        collector = self._chapters.episodes[-1].collectors.get(form.name)
        host = collector.host(seen.prefix) if collector else None
        layout = needle.layout(seen.text) if needle.layout else None
        if collector is None or host is None or host.follower or layout is None or not host.track.seen:
            return None
        if not all(isinstance(other, CallSite) for other in said[1:]):
            return None
        return _Course(
            layout=layout,
            pattern=layout.pattern,
            kind=step.kind,
            track=host.track,
            anonymous=form.per_host and not (seen.prefix.host or seen.prefix.thread),
            collector=collector,
            telling=len(said) * needle.telling,
        )

    def _row(self, course: _Course, hit: Hit, found: Opening) -> Row | None:
        """The step that stands here, or `None` where it is not laid out like this."""
        _, minute, second = found
        if minute not in self._minutes:
            self._minutes[minute] = self._minute(minute)
        time = self._minutes[minute]
        record = course.pattern.match(hit.buffer, hit.at, min(hit.filled, hit.at + WINDOW))
        if record is None or (minute and time is None):
            return None
        if time is not None:
            time += float(second)
        step, fields, extras = course.layout.numbers(record.groups())
        return _tuple(Row, (step, *fields, time, course.kind, hit.offset, extras))

    def _minute(self, text: bytes) -> float | None:
        """The time of `I0421 10:17:`, if that is a date."""
        if len(self._minutes) > KEPT:
            self._minutes = {b"": None}
        day = text.decode("ascii")
        return self._almanac.place(day[1:3], day[3:5], f"{day[6:]}00")


def _counts_once(said: Statement) -> bool:
    """Whether saying it again to the same run on the same host changes nothing."""
    if isinstance(said, Environment):
        return said.commit is None
    return isinstance(said, Quantity | CallSite | Exited)
