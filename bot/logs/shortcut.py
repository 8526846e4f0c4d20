"""Reads at once what is said again: repeated facts not at all, step lines by the layout of the one before.

In:  every hit of a needle that allows it, and what its reader said where it was read with care.
Out: whether the hit is done with. The answer is the one that the reader would have given.

What was learnt holds as long as statements go to the same run and a day has the same date.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.logs.almanac import Almanac
from bot.logs.chapters import Chapters
from bot.logs.collector import Collector
from bot.logs.facts import CallSite, Environment, Step, StepKind
from bot.logs.formats import Format
from bot.logs.layout import Layout
from bot.logs.opening import REACH, Opening, opening, reliable
from bot.logs.scan import Hit
from bot.logs.sighting import WINDOW, Needle, Sighting
from bot.logs.statement import Quantity, Statement
from bot.logs.track import Row, Track, row_of

KEPT = 4_096
"""Openings remembered of each needle: a thousand hosts' lines, from several places of the program."""


@dataclass(frozen=True, slots=True)
class _Course:
    """Where the step lines of one opening go. `telling`: the statements that each of them makes."""

    layout: Layout
    kind: StepKind
    track: Track
    anonymous: bool
    collector: Collector
    telling: int


class Shortcuts:
    """What has been learnt of one log."""

    def __init__(self, almanac: Almanac, chapters: Chapters, needles: int) -> None:
        self._almanac = almanac
        self._chapters = chapters
        self._said: list[set[bytes]] = [set() for _ in range(needles)]
        self._courses: list[dict[bytes, _Course]] = [{} for _ in range(needles)]
        self._minutes: dict[bytes, float | None] = {}
        self._turns = 0
        self._opening: Opening | None = None  # of the hit that was asked for last
        self.taken = 0  # hits that were not read with care: the work saved

    def takes(self, hit: Hit, needle: Needle) -> bool:
        """Whether this hit is done with."""
        if self._turns != self._almanac.turns + self._chapters.turns:
            self._forget()
        if needle.again is not None:
            raw, at = hit.around(REACH, needle.again)
            self._opening = found = opening(raw, at, at + needle.again)
            known = found is not None and found[0] in self._said[hit.needle]
        else:
            raw, at = hit.around(REACH, WINDOW)
            self._opening = found = opening(raw, at, at)
            course = self._courses[hit.needle].get(found[0]) if found is not None else None
            known = course is not None and found is not None and self._follows(course, hit, found, raw, at)
        self.taken += known
        return known

    def learn(
        self, hit: Hit, seen: Sighting, form: Format | None, needle: Needle, said: list[Statement]
    ) -> None:
        """Remember what the hit that was not done with was found to say."""
        found = self._opening
        if found is None or not reliable(found[0]) or not said:
            return
        if self._turns != self._almanac.turns + self._chapters.turns:
            return
        if needle.again is not None:
            known = self._said[hit.needle]
            if len(known) < KEPT and not needle.telling and all(map(_counts_once, said)):
                known.add(found[0])
        elif form is not None and isinstance(step := said[0], Step):
            course = self._course(seen, form, needle, step, said)
            if course is not None and len(self._courses[hit.needle]) < KEPT:
                raw, at = hit.around(REACH, WINDOW)
                if row_of(step) == self._row(course, hit, found, raw, at):
                    self._courses[hit.needle][found[0]] = course

    def _forget(self) -> None:
        self._turns = self._almanac.turns + self._chapters.turns
        self._minutes.clear()
        for said, courses in zip(self._said, self._courses, strict=True):
            said.clear()
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
            kind=step.kind,
            track=host.track,
            anonymous=form.per_host and not (seen.prefix.host or seen.prefix.thread),
            collector=collector,
            telling=len(said) * needle.telling,
        )

    def _follows(self, course: _Course, hit: Hit, found: Opening, raw: bytes, at: int) -> bool:
        row = self._row(course, hit, found, raw, at)
        if row is None:
            return False
        course.track.take(row, anonymous=course.anonymous)
        course.collector.telling += course.telling
        return True

    def _row(self, course: _Course, hit: Hit, found: Opening, raw: bytes, at: int) -> Row | None:
        """The step that stands here, or `None` where it is not laid out like this."""
        record = course.layout.pattern.match(raw, at)
        if record is None:
            return None
        clock, time = found[1], None
        if clock is not None:
            minute = clock[1] + clock[2]
            if minute not in self._minutes:
                self._minutes[minute] = self._minute(minute)
            whole = self._minutes[minute]
            if whole is None:
                return None
            time = whole + float(clock[3])
        step, fields, extras = course.layout.numbers(record.groups())
        return Row._make((step, *fields, time, course.kind, hit.offset, extras))

    def _minute(self, text: bytes) -> float | None:
        """The time of `I0421 10:17:`, if that is a date and asking for it turns no page of the calendar."""
        if len(self._minutes) > KEPT:
            self._minutes.clear()
        day = text.decode("ascii")
        return self._almanac.place(day[1:3], day[3:5], f"{day[6:11]}:00")


def _counts_once(said: Statement) -> bool:
    """Whether saying it again to the same run on the same host changes nothing."""
    return isinstance(said, Quantity | CallSite) or (isinstance(said, Environment) and said.commit is None)
