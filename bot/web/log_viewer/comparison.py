"""Compare two logs side by side: settings first, then the output between events (steps, checkpoints, end).

What belongs to one run alone (stamps, threads, addresses, dates, names, temporary paths) is shown but not
compared. Memory is that of one page; calls block.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

from msgspec import Struct

from bot.artifacts.log_archive import LogArchive
from bot.verdict.judgement import MeasuredRun
from bot.web.log_viewer.masks import mask, names_pattern, printed_at, without_stamp, without_volatile
from bot.web.log_viewer.window import MAX_PIECE_BYTES, LogMarkKind, log_lines, log_marks, read_span
from bot.web.sanitize import sanitize
from bot.web.throttle import check_abandoned

OPENING = "what comes before the first event"


class LogSection(Struct, frozen=True, kw_only=True):
    """From the line of an event, which contains byte `begin`, to the line of the next; the last has no
    `end`."""

    words: str
    begin: int
    end: int | None


class SectionPair(Struct, frozen=True, kw_only=True):
    """The same event in both logs, or in one of them."""

    words: str
    base: LogSection | None
    head: LogSection | None


def log_sections(run: MeasuredRun) -> tuple[LogSection, ...]:
    """The sections of a log; repeated steps (after a restart) are numbered."""
    events: list[tuple[int, str]] = [(0, OPENING)]
    seen: Counter[str] = Counter()
    for mark in log_marks(run):
        if mark.kind is LogMarkKind.ERROR or mark.offset <= events[-1][0]:
            continue
        seen[mark.words] += 1
        again = f" (again, {seen[mark.words]})" if seen[mark.words] > 1 else ""
        events.append((mark.offset, mark.words + again))
    ends = [*(offset for offset, _ in events[1:]), None]
    return tuple(
        LogSection(words=words, begin=begin, end=end)
        for (begin, words), end in zip(events, ends, strict=True)
    )


def pair_sections(base: Sequence[LogSection], head: Sequence[LogSection]) -> tuple[SectionPair, ...]:
    """The sections of both logs matched by their events, in order."""
    found: list[SectionPair] = []
    matcher = SequenceMatcher(None, [one.words for one in base], [one.words for one in head], autojunk=False)
    for kind, base_begin, base_end, head_begin, head_end in matcher.get_opcodes():
        left, right = base[base_begin:base_end], head[head_begin:head_end]
        if kind == "equal":
            found += [SectionPair(words=a.words, base=a, head=b) for a, b in zip(left, right, strict=True)]
        else:
            found += [SectionPair(words=one.words, base=one, head=None) for one in left]
            found += [SectionPair(words=one.words, base=None, head=one) for one in right]
    return tuple(found)


CONTEXT_ROWS = 2
"""Equal lines shown around those that differ."""


class RowKind(StrEnum):
    """How two lines relate."""

    SAME = "same"
    FIGURES = "figures"
    APART = "apart"


class SideLine(Struct, frozen=True, kw_only=True):
    """One line of one log: the text shown, the text compared, its number, seconds since the log's start."""

    text: str
    compared: str
    number: int
    seconds: float | None


class LineRow(Struct, frozen=True, kw_only=True):
    """Two lines, one line alone, or a count of equal lines that are not shown (`same`)."""

    kind: RowKind
    base: SideLine | None = None
    head: SideLine | None = None
    same: int = 0


def pair_lines(base: Sequence[SideLine], head: Sequence[SideLine]) -> tuple[LineRow, ...]:
    """The lines of both sides matched, in order."""
    matcher = SequenceMatcher(
        None, [line.compared for line in base], [line.compared for line in head], autojunk=False
    )
    found: list[LineRow] = []
    for kind, base_begin, base_end, head_begin, head_end in matcher.get_opcodes():
        left, right = base[base_begin:base_end], head[head_begin:head_end]
        if kind == "equal":
            found += [LineRow(kind=RowKind.SAME, base=a, head=b) for a, b in zip(left, right, strict=True)]
        else:
            found += _pair_unequal(left, right)
    return tuple(found)


def fold_equal_rows(found: Sequence[LineRow]) -> tuple[LineRow, ...]:
    """Replace long stretches of equal lines by their count, but for `CONTEXT_ROWS` next to differences."""
    shown: list[LineRow] = []
    at = 0
    while at < len(found):
        end = at
        while end < len(found) and found[end].kind is RowKind.SAME:
            end += 1
        front, back = CONTEXT_ROWS if at else 0, CONTEXT_ROWS if end < len(found) else 0
        hidden = end - at - front - back
        if hidden > 1:
            shown += found[at : at + front]
            shown.append(LineRow(kind=RowKind.SAME, same=hidden))
            shown += found[end - back : end]
        else:
            shown += found[at:end]
        shown += found[end : end + 1]
        at = end + 1
    return tuple(shown)


def _pair_unequal(base: Sequence[SideLine], head: Sequence[SideLine]) -> list[LineRow]:
    """Match lines that differ only in numbers first."""
    matcher = SequenceMatcher(
        None, [mask(line.compared) for line in base], [mask(line.compared) for line in head], autojunk=False
    )
    found: list[LineRow] = []
    for kind, base_begin, base_end, head_begin, head_end in matcher.get_opcodes():
        left, right = base[base_begin:base_end], head[head_begin:head_end]
        how = RowKind.FIGURES if kind == "equal" else RowKind.APART
        found += [LineRow(kind=how, base=a, head=b) for a, b in zip_longest(left, right)]
    return found


SECTION_BYTES = 48 << 10
"""Bytes of a section that are compared: some hundred lines; the page says that the rest is in the logs."""

SECTION_LINES = 400
"""Lines of a section that are compared: the time grows with their square."""

SECTIONS_PER_PAGE = 40
"""Sections on one page."""

CONFIG_BYTES = 2 << 20
"""Bytes at the start of a log that are searched for settings: trainers print them first."""

MAX_SETTINGS = 4_000

MAX_OPEN_SECTIONS = 6
"""Sections that are open at first: the first ones with lines that differ."""

ENVIRONMENT_FIELDS = ("jax", "jaxlib", "libtpu", "orbax", "device_kind", "devices", "mesh", "dtype", "commit")

# I0421 10:16:59.913201 1366 pyconfig.py:511] Config param base_emb_dim: 2048
_SETTING = re.compile(rb"Config param ([A-Za-z_][\w.]{0,80}): ([^\r\n]{0,400})")


class LogSide(Struct, frozen=True, kw_only=True):
    """One of the two logs, with its measurements and the names that belong to its run."""

    archive: LogArchive
    run: MeasuredRun
    names: tuple[str | None, ...]


class SettingDifference(Struct, frozen=True, kw_only=True):
    """A setting that differs; None if a side does not state it."""

    name: str
    base: str | None
    head: str | None


class SectionView(Struct, frozen=True, kw_only=True):
    """A section of both logs; `truncated` if it is longer than what is compared."""

    words: str
    rows: tuple[LineRow, ...]
    apart: int
    figures: int
    same: int
    only_in: str | None
    truncated: bool
    open: bool


class LogComparison(Struct, frozen=True, kw_only=True):
    """One page of a comparison: the sections from `first` on, of `count`."""

    settings: tuple[SettingDifference, ...]
    sections: tuple[SectionView, ...]
    first: int
    count: int


def compare_logs(base: LogSide, head: LogSide, first: int) -> LogComparison:
    """The settings (for the first page only) and the sections of the page."""
    found = pair_sections(log_sections(base.run), log_sections(head.run))
    shown: list[SectionView] = []
    for pair in found[first : first + SECTIONS_PER_PAGE]:
        check_abandoned()
        opened = sum(one.open for one in shown)
        shown.append(_section_view(pair, base, head, may_open=opened < MAX_OPEN_SECTIONS))
    return LogComparison(
        settings=setting_differences(base, head) if first == 0 else (),
        sections=tuple(shown),
        first=first,
        count=len(found),
    )


def setting_differences(base: LogSide, head: LogSide) -> tuple[SettingDifference, ...]:
    """Versions, devices and settings that differ, but for names that belong to one run."""
    one, other = ({**_environment(side.run), **_settings(side)} for side in (base, head))
    names = names_pattern(*base.names, *head.names)
    return tuple(
        SettingDifference(name=name, base=one.get(name), head=other.get(name))
        for name in dict.fromkeys((*one, *other))
        if without_volatile(one.get(name) or "", names) != without_volatile(other.get(name) or "", names)
    )


def _environment(run: MeasuredRun) -> dict[str, str]:
    said = {name: getattr(run.log.environment, name) for name in ENVIRONMENT_FIELDS}
    return {name.replace("_", " "): str(value) for name, value in said.items() if value is not None}


def _settings(side: LogSide) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in side.archive.blocks(0, side.archive.block_at(CONFIG_BYTES) + 1):
        for setting in _SETTING.finditer(block.text):
            if len(found) < MAX_SETTINGS:
                value = sanitize(setting[2].decode("utf-8", "replace"))
                found[setting[1].decode()] = value.strip()
    return found


def _section_view(pair: SectionPair, base: LogSide, head: LogSide, *, may_open: bool) -> SectionView:
    left, left_truncated = _section_lines(base, pair.base)
    right, right_truncated = _section_lines(head, pair.head)
    only_in = None if pair.base and pair.head else "base" if pair.base else "head"
    found = pair_lines(left, right)
    counts = {kind: sum(row.kind is kind for row in found) for kind in RowKind}
    return SectionView(
        words=pair.words,
        rows=fold_equal_rows(found),
        apart=counts[RowKind.APART],
        figures=counts[RowKind.FIGURES],
        same=counts[RowKind.SAME],
        only_in=only_in,
        truncated=left_truncated or right_truncated,
        open=may_open and only_in is None and counts[RowKind.APART] > 0,
    )


def _section_lines(side: LogSide, section: LogSection | None) -> tuple[Sequence[SideLine], bool]:
    """The lines of a section, and whether it has more than are read."""
    if section is None:
        return (), False
    wanted = section.begin + SECTION_BYTES if section.end is None else section.end
    length = min(wanted - section.begin, SECTION_BYTES) + MAX_PIECE_BYTES
    span = read_span(side.archive, section.begin, length)
    shown = tuple(log_lines(span.lines, (), span.before))
    # The line that contains the next event belongs to the next section.
    ends = [*(line.offset for line in shown[1:]), span.end]
    kept = [line for line, end in zip(shown, ends, strict=True) if end <= wanted or section.end is None]
    names, start = names_pattern(*side.names), _log_start(side.run)
    year = datetime.fromtimestamp(start, UTC).year if start is not None else 2000
    cut = not span.ends if section.end is None else span.end < wanted
    return [
        SideLine(
            text=without_stamp(line.text),
            compared=without_volatile(line.text, names),
            number=line.number,
            seconds=_seconds_since(printed_at(line.text, year), start),
        )
        for line in kept[:SECTION_LINES]
    ], cut or len(kept) > SECTION_LINES


def _log_start(run: MeasuredRun) -> float | None:
    times = [mark.time for mark in run.log.marks] + [step.time for step in run.log.steps[:1]]
    return min((time for time in times if time is not None), default=None)


def _seconds_since(moment: float | None, start: float | None) -> float | None:
    if moment is None or start is None or not -86_400 < moment - start < 400 * 86_400:
        return None
    return moment - start
