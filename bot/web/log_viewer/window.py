"""Which bytes of a log a page shows, how they read as lines, and the marks in them (error, steps,
checkpoints).

Pure. A window begins and ends between lines. A line longer than a window (a log pasted as one line) is broken
at its stamps and marks, at spaces, and never inside a character.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from bot.logs.facts import MarkKind
from bot.verdict.judgement import MeasuredRun
from bot.web.log_viewer.ansi import AnsiReader, StyledSpan
from bot.web.sanitize import sanitize

WINDOW_BYTES = 256 << 10
"""Bytes of one page: some thousand lines, which a browser shows at once."""

MAX_LINES = 5_000
"""Lines of one page: a browser lays these out in a moment, however short they are."""

LOOK_BACK = 16 << 10
"""Bytes before the requested place that are searched for the start of its line."""

MAX_PIECE_BYTES = 2_000
"""Bytes of a line shown in one piece: some screens of text, so a line of megabytes stays readable."""

FOLD_BACK = 300
"""A piece ends at a space if there is one this close before its longest end."""

# I0421 10:17:39.824857 136682829195072 metric_logger.py:196] …
_STAMP = re.compile(rb"(?<![^\s])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} ")

STAMP_REACH = 160
"""Bytes behind a timestamp that belong to it: a mark there needs no piece of its own."""

# Words that belong to the word behind them: `token = …`, `Authorization: Bearer …`
_BINDS_NEXT = re.compile(rb"(?:[=:]|bearer|basic)\Z", re.IGNORECASE)


class LogMarkKind(StrEnum):
    """What a mark is of, the most important first; pages use it as a CSS class."""

    ERROR = "error"
    STEP = "step"
    EVENT = "mark"


class LogMark(Struct, frozen=True, kw_only=True):
    """A notable place of the log: `anchor` is its HTML id, `words` its label."""

    offset: int
    anchor: str
    words: str
    kind: LogMarkKind


class LogLine(Struct, frozen=True, kw_only=True):
    """One line, or a piece of a long one: `continues` if it began in the piece before.

    `mark` is the first mark in it, `also` are the anchors of further ones. `spans` are its styled spans.
    """

    number: int
    offset: int
    text: str
    continues: bool = False
    mark: LogMark | None = None
    also: tuple[str, ...] = ()
    spans: tuple[StyledSpan, ...] = ()

    @property
    def anchor(self) -> str:
        """Its HTML id."""
        return f"B{self.offset}" if self.continues else f"L{self.number}"

    @property
    def styled_parts(self) -> tuple[tuple[str, str], ...]:
        """CSS classes and text, part by part."""
        parts, at = [], 0
        for run in self.spans:
            parts += [("", self.text[at : run.start]), (run.style, self.text[run.start : run.end])]
            at = run.end
        return tuple(part for part in (*parts, ("", self.text[at:])) if part[1])


class LogSpan(Struct, frozen=True, kw_only=True):
    """The bytes of a window: byte `at` of the log is `text[0]`; `ends` if the log ends with it.

    `after` is some of what follows, to recognize a token that the end cuts in two.
    """

    at: int
    text: bytes
    ends: bool
    after: bytes = b""

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.at + len(self.text)


def cut_window(around: bytes, *, base: int, wanted: int, most: int = WINDOW_BYTES, ends: bool) -> LogSpan:
    """The whole lines from the one that contains byte `wanted`; `around` begins at byte `base` of the log."""
    start = _line_start(around, wanted - base)
    if base == 0 and wanted <= 0:
        start = 0
    whole = around[start : start + most]
    rest = whole.split(b"\n", MAX_LINES)[MAX_LINES:]
    if rest and rest[0]:
        return LogSpan(at=base + start, text=whole.removesuffix(rest[0]), ends=False)
    if ends and start + most >= len(around):
        return LogSpan(at=base + start, text=whole, ends=True)
    return LogSpan(at=base + start, text=whole[: _window_end(whole)], ends=False)


def log_lines(
    span: LogSpan, marks: Sequence[LogMark], first_number: int, before: str = ""
) -> Iterator[LogLine]:
    """The span line by line; `marks` in the order of their offsets, `before` the text before it."""
    colours = AnsiReader(before)
    inside = bool(before) and not before.endswith("\n")
    number, begin = first_number, span.at
    for line in span.text.removesuffix(b"\n").split(b"\n") if span.text else ():
        for piece in _line_pieces(line.rstrip(b"\r"), begin, number, marks):
            text, runs = colours.read(piece.text)
            yield replace(piece, text=text, spans=runs, continues=piece.continues or inside)
            inside = False
        number += 1
        begin += len(line) + 1


def _line_pieces(line: bytes, begin: int, number: int, marks: Sequence[LogMark]) -> Iterator[LogLine]:
    last = begin + max(len(line) - 1, 0)
    here = marks[bisect_left(marks, begin, key=_mark_offset) : bisect_right(marks, last, key=_mark_offset)]
    breaks = _piece_starts(line, [mark.offset - begin for mark in here])
    for index, (start, end) in enumerate(zip(breaks, [*breaks[1:], len(line)], strict=True)):
        inside = [mark for mark in here if start <= mark.offset - begin < max(end, start + 1)]
        yield LogLine(
            number=number,
            offset=begin + start,
            text=line[start:end].decode("utf-8", "replace"),
            continues=index > 0,
            mark=inside[0] if inside else None,
            also=tuple(mark.anchor for mark in inside[1:]),
        )


def _mark_offset(mark: LogMark) -> int:
    return mark.offset


def _piece_starts(line: bytes, marked: Sequence[int]) -> list[int]:
    """Where the pieces of a line begin: at timestamps and marks, and where a piece would be too long."""
    breaks = [0]
    for end in [*_break_places(line, marked), len(line)]:
        while end - breaks[-1] > MAX_PIECE_BYTES:
            breaks.append(_soft_break(line, breaks[-1]))
        if breaks[-1] < end < len(line):
            breaks.append(end)
    return breaks


def _break_places(line: bytes, marked: Sequence[int]) -> list[int]:
    """The timestamps of a long line (once many lines), and the marks that are far from one."""
    if len(line) <= MAX_PIECE_BYTES:
        return []
    stamps = [found.start() for found in _STAMP.finditer(line)]
    before = [bisect_right(stamps, place) for place in marked]
    apart = [
        place
        for place, count in zip(marked, before, strict=True)
        if not count or place - stamps[count - 1] > STAMP_REACH
    ]
    return sorted({*stamps, *apart} - {0})


def _soft_break(line: bytes, start: int) -> int:
    """A space near the longest end, but not one between a name and its value: they are redacted together."""
    end = start + MAX_PIECE_BYTES
    near = [place for place in range(end - 1, end - FOLD_BACK, -1) if line[place] in b" \r"]
    space = next((place for place in near if not _BINDS_NEXT.search(line[max(place - 16, 0) : place])), None)
    return _character_start(line, end) if space is None else space + 1


def _line_start(around: bytes, place: int) -> int:
    """The start of the line that contains `place`, or of its word if the line began too far before."""
    place = min(max(place, 0), len(around))
    for sign in (b"\n", b" "):
        if (before := around.rfind(sign, 0, place)) >= 0:
            return before + 1
    return _character_start(around, place) if place < len(around) else place


def _window_end(whole: bytes) -> int:
    for sign in (b"\n", b" "):
        if (last := whole.rfind(sign)) > 0:
            return last + 1
    return _character_start(whole, len(whole) - 1) or len(whole)


def _character_start(text: bytes, place: int) -> int:
    """`place`, or the start of the UTF-8 character that contains it."""
    for back in range(4):
        if place - back >= 0 and text[place - back] & 0xC0 != 0x80:
            return place - back
    return place


def readable(text: bytes) -> str:
    """The bytes as sanitized text."""
    return sanitize(text.decode("utf-8", errors="replace"))


MARK_WORDS = {
    MarkKind.START: "start",
    MarkKind.END: "end",
    MarkKind.COMPILED: "compiled",
    MarkKind.CHECKPOINT_WAITED: "waited for checkpoint",
    MarkKind.CHECKPOINT_STARTED: "checkpoint started",
    MarkKind.CHECKPOINT_SAVED: "checkpoint saved",
    MarkKind.EVAL_STARTED: "eval started",
    MarkKind.EVAL_ENDED: "eval ended",
    MarkKind.RESTORED: "restored",
}

FIRST_PAGE_BYTES = 100_000
"""Bytes of a log on its first page, unless its lines are shorter than 20 bytes on average."""

BYTES_BEFORE_LINK = 20_000
"""Bytes shown before the place that a link leads to."""


def log_marks(run: MeasuredRun | None) -> tuple[LogMark, ...]:
    """The marks in the order of the log; at one place the first error comes first, then a step."""
    if run is None:
        return ()
    marks = [
        *(
            LogMark(
                offset=step.offset,
                anchor=f"step-{step.step}",
                words=f"step {step.step}",
                kind=LogMarkKind.STEP,
            )
            for step in run.log.steps
        ),
        *(
            LogMark(
                offset=mark.offset,
                anchor=mark.kind.value,
                words=MARK_WORDS[mark.kind] + (f", step {mark.step}" if mark.step is not None else ""),
                kind=LogMarkKind.EVENT,
            )
            for mark in run.log.marks
        ),
    ]
    failure = run.log.outcome.failure
    if failure is not None and failure.error:
        error = LogMark(offset=failure.offset, anchor="error", words="error", kind=LogMarkKind.ERROR)
        marks.append(error)
    return tuple(_with_unique_anchors(sorted(set(marks), key=_mark_order)))


def _mark_order(mark: LogMark) -> tuple[int, int, str, str]:
    return mark.offset, list(LogMarkKind).index(mark.kind), mark.anchor, mark.words


def _with_unique_anchors(marks: Iterable[LogMark]) -> Iterator[LogMark]:
    """Number repeated anchors (steps repeated after a restart)."""
    counts: dict[str, int] = {}
    for mark in marks:
        count = counts[mark.anchor] = counts.get(mark.anchor, 0) + 1
        yield mark if count == 1 else replace(mark, anchor=f"{mark.anchor}-again-{count}")


def window_start(offset: int) -> int | None:
    """The start of the log page that shows the byte at `offset`: the log's start, if possible."""
    return None if offset < FIRST_PAGE_BYTES else offset - BYTES_BEFORE_LINK
