"""Two logs side by side: reads the sections of one page from both, and compares them.

In:  two logs and what was measured from them. Out: a `Comparison`: first how the runs were set up, then what
they printed, event by event. Memory is that of one page; the calls block.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.verdict.judgement import MeasuredRun
from bot.web.log.masks import moment_of, names_of, steady, unstamped
from bot.web.log.source import Logs, LogSource
from bot.web.log.window import LONGEST_PIECE, lines
from bot.web.log_compare.pairs import Kind, Row, SideLine, folded, rows
from bot.web.log_compare.sections import Pair, Section, pairs, sections
from bot.web.log_viewer.view import read_span, redacted_lines

SECTION_BYTES = 48 << 10
"""Bytes of a section that are compared: some hundred lines; the rest is said, and stands in the logs."""

SECTION_LINES = 400
"""Lines of a section that are compared: the time this takes grows with their square."""

SECTIONS = 40
"""Sections on one page."""

CONFIG_BYTES = 2 << 20
"""Bytes at the begin of a log in which the configuration is looked for: trainers print it first."""

MOST_SETTINGS = 4_000
OPENED = 6
"""Sections that are open when the page comes: the first of those that are apart."""

ENVIRONMENT = ("jax", "jaxlib", "libtpu", "orbax", "device_kind", "devices", "mesh", "dtype", "commit")

# I0421 10:16:59.913201 1366 pyconfig.py:511] Config param base_emb_dim: 2048
_SETTING = re.compile(rb"Config param ([A-Za-z_][\w.]{0,80}): ([^\r\n]{0,400})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two: its log, what was measured from it, and the names that are its own."""

    source: LogSource
    run: MeasuredRun
    names: tuple[str | None, ...]
    redacts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A setting that is not the same on both sides; None where a side does not state it."""

    name: str
    base: str | None
    head: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """A section of both logs. `more` says that the section is longer than what is compared of it."""

    words: str
    rows: tuple[Row, ...]
    apart: int
    figures: int
    same: int
    alone: str | None
    more: bool
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One page of it: the sections from `first` on, of `count`."""

    settings: tuple[Difference, ...]
    sections: tuple[PairView, ...]
    first: int
    count: int


def compare(base: Side, head: Side, logs: Logs, first: int) -> Comparison:
    """The configuration, where the first page is asked for, and the sections of the page."""
    found = pairs(sections(base.run), sections(head.run))
    shown: list[PairView] = []
    for pair in found[first : first + SECTIONS]:
        opened = sum(one.open for one in shown)
        shown.append(_view(pair, base, head, logs, may_open=opened < OPENED))
    return Comparison(
        settings=differences(base, head) if first == 0 else (),
        sections=tuple(shown),
        first=first,
        count=len(found),
    )


def differences(base: Side, head: Side) -> tuple[Difference, ...]:
    """Versions, devices and settings that differ, but for names that belong to one run."""
    one, other = ({**_environment(side.run), **_settings(side)} for side in (base, head))
    names = names_of(*base.names, *head.names)
    return tuple(
        Difference(name=name, base=one.get(name), head=other.get(name))
        for name in dict.fromkeys((*one, *other))
        if steady(one.get(name) or "", names) != steady(other.get(name) or "", names)
    )


def _environment(run: MeasuredRun) -> dict[str, str]:
    said = {name: getattr(run.log.environment, name) for name in ENVIRONMENT}
    return {name.replace("_", " "): str(value) for name, value in said.items() if value is not None}


def _settings(side: Side) -> dict[str, str]:
    span, before = read_span(side.source, 0, CONFIG_BYTES)
    found: dict[str, str] = {}
    shown = lines(span, (), 1, before) if b"Config param " in span.text else ()
    kept = [line for line in shown if "Config param " in line.text][:MOST_SETTINGS]
    if side.redacts:
        kept = list(redacted_lines(kept, "", span))
    for line in kept:
        if setting := _SETTING.search(line.text.encode()):
            found[setting[1].decode()] = setting[2].decode("utf-8", "replace").strip()
    return found


def _view(pair: Pair, base: Side, head: Side, logs: Logs, *, may_open: bool) -> PairView:
    left, left_more = _lines(base, pair.base, logs)
    right, right_more = _lines(head, pair.head, logs)
    alone = None if pair.base and pair.head else "base" if pair.base else "head"
    found = rows(left, right)
    counts = {kind: sum(row.kind is kind for row in found) for kind in Kind}
    return PairView(
        words=pair.words,
        rows=folded(found),
        apart=counts[Kind.APART],
        figures=counts[Kind.FIGURES],
        same=counts[Kind.SAME],
        alone=alone,
        more=left_more or right_more,
        open=may_open and alone is None and counts[Kind.APART] > 0,
    )


def _lines(side: Side, section: Section | None, logs: Logs) -> tuple[Sequence[SideLine], bool]:
    """The lines of a section, and whether it has more than are read."""
    if section is None:
        return (), False
    wanted = section.begin + SECTION_BYTES if section.end is None else section.end
    length = min(wanted - section.begin, SECTION_BYTES) + LONGEST_PIECE
    span, before = read_span(side.source, section.begin, length)
    first = logs.number_at(side.source, span.at)
    shown = tuple(lines(span, (), first, before))
    if side.redacts:
        shown = redacted_lines(shown, before, span)
    # The line in which the next event stands belongs to the next section.
    ends = [*(line.offset for line in shown[1:]), span.end]
    kept = [line for line, end in zip(shown, ends, strict=True) if end <= wanted or section.end is None]
    names, start = names_of(*side.names), _start(side.run)
    year = datetime.fromtimestamp(start, UTC).year if start is not None else 2000
    cut = not span.ends if section.end is None else span.end < wanted
    return [
        SideLine(
            text=unstamped(line.text),
            counts=steady(line.text, names),
            number=line.number,
            seconds=_since(moment_of(line.text, year), start),
        )
        for line in kept[:SECTION_LINES]
    ], cut or len(kept) > SECTION_LINES


def _start(run: MeasuredRun) -> float | None:
    times = [mark.time for mark in run.log.marks] + [step.time for step in run.log.steps[:1]]
    return min((time for time in times if time is not None), default=None)


def _since(moment: float | None, start: float | None) -> float | None:
    if moment is None or start is None or not -86_400 < moment - start < 400 * 86_400:
        return None
    return moment - start
