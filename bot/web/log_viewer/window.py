"""Which stored lines of a log a page shows, how they read, and the marks in them (error, steps, checkpoints).

A window begins and ends between stored lines. A long one is shown in pieces: it is broken at its marks, at
spaces, and never inside a character.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from bot.artifacts.log_archive import LogArchive, StoredLine
from bot.logs.facts import MarkKind
from bot.verdict.judgement import MeasuredRun
from bot.web.log_viewer.ansi import AnsiReader, StyledSpan

WINDOW_BYTES = 256 << 10
"""Bytes of one page: some thousand lines, which a browser shows at once."""

MAX_LINES = 5_000
"""Lines of one page: a browser lays these out in a moment, however short they are."""

LOOK_BACK = 16 << 10
"""Bytes before a window in which a colour may have begun."""

MAX_PIECE_BYTES = 2_000
"""Bytes of a line shown in one piece: some screens of text, so a line of megabytes stays readable."""

FOLD_BACK = 300
"""A piece ends at a space if there is one this close before its longest end."""

STAMP_REACH = 160
"""Bytes from a line's beginning in which a mark needs no piece of its own."""


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
    """The stored lines of a window, from byte `at` of the log's text to byte `end`; `ends` if the log ends
    with them. `before` is some of the text before them."""

    at: int
    end: int
    lines: tuple[StoredLine, ...]
    ends: bool
    before: str = ""


def read_span(archive: LogArchive, wanted: int, most: int = WINDOW_BYTES) -> LogSpan:
    """The stored lines from the one that contains byte `wanted`."""
    wanted = min(max(wanted, 0), max(archive.size - 1, 0))
    found: list[StoredLine] = []
    for line in archive.lines_from(wanted):
        full = found and line.offset + line.length - found[0].offset > most
        if full or len(found) >= MAX_LINES:
            break
        found.append(line)
    at = found[0].offset if found else 0
    end = found[-1].offset + found[-1].length if found else 0
    before = _text_before(archive, at)
    return LogSpan(at=at, end=end, lines=tuple(found), ends=end >= archive.size, before=before)


def _text_before(archive: LogArchive, at: int) -> str:
    """The text of the lines that end before a byte, as far as `LOOK_BACK`."""
    if not at:
        return ""
    block = archive.block_at(at - 1)
    near = [line.text for line in archive.block(block).lines() if line.offset < at]
    return b"\n".join(near)[-LOOK_BACK:].decode("utf-8", "replace")


def log_lines(lines: Iterable[StoredLine], marks: Sequence[LogMark], before: str = "") -> Iterator[LogLine]:
    """Stored lines as they are shown; `marks` in the order of their offsets, `before` the text before."""
    colours = AnsiReader(before)
    for line in lines:
        for piece in _line_pieces(line, marks):
            text, runs = colours.read(piece.text)
            yield replace(piece, text=text, spans=runs)


def _line_pieces(line: StoredLine, marks: Sequence[LogMark]) -> Iterator[LogLine]:
    begin, text = line.offset, line.text.removesuffix(b"\r")
    last = begin + max(line.length - 1, 0)
    here = marks[bisect_left(marks, begin, key=_mark_offset) : bisect_right(marks, last, key=_mark_offset)]
    # In a redacted line the places of marks are not known: they are shown where they would be without.
    end = max(len(text) - 1, 0)
    places = [min(mark.offset - begin, end) for mark in here]
    breaks = _piece_starts(text, places)
    for index, (start, stop) in enumerate(zip(breaks, [*breaks[1:], len(text)], strict=True)):
        inside = [
            mark for mark, place in zip(here, places, strict=True) if start <= place < max(stop, start + 1)
        ]
        yield LogLine(
            number=line.number,
            offset=begin + min(start, max(line.length - 1, 0)),
            text=text[start:stop].decode("utf-8", "replace"),
            continues=line.continues or index > 0,
            mark=inside[0] if inside else None,
            also=tuple(mark.anchor for mark in inside[1:]),
        )


def _mark_offset(mark: LogMark) -> int:
    return mark.offset


def _piece_starts(line: bytes, marked: Sequence[int]) -> list[int]:
    """Where the pieces of a line begin: at marks, and where a piece would be too long."""
    breaks = [0]
    if len(line) <= MAX_PIECE_BYTES:
        return breaks
    for end in [*(place for place in marked if place > STAMP_REACH), len(line)]:
        while end - breaks[-1] > MAX_PIECE_BYTES:
            breaks.append(_soft_break(line, breaks[-1]))
        if breaks[-1] < end < len(line):
            breaks.append(end)
    return breaks


def _soft_break(line: bytes, start: int) -> int:
    """A space near the longest end."""
    end = start + MAX_PIECE_BYTES
    space = max(line.rfind(b" ", end - FOLD_BACK, end), line.rfind(b"\r", end - FOLD_BACK, end))
    return character_start(line, end) if space < 0 else space + 1


def character_start(text: bytes, place: int) -> int:
    """`place`, or the start of the UTF-8 character that contains it."""
    for back in range(4):
        if place - back >= 0 and (place >= len(text) or text[place - back] & 0xC0 != 0x80):
            return place - back
    return place


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
