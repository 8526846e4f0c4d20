"""One page of a log: reads the window, numbers its lines, marks them, and knows its neighbours.

In:  where the log is, which byte or line is asked for, what was measured from it.
Out: `LogView`. Memory is that of a window or two; the calls block.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock

from bot.web.log_redaction import Redaction
from bot.web.log_source import COUNTED_LIMIT, INFLATED_LIMIT, LogSource
from bot.web.log_window import LOOK_BACK, MOST_LINES, WINDOW, LogLine, LogMark, Span, cut, lines

KEPT_LOGS = 64
KEPT_PLACES = 512
"""Places per log whose line number is remembered: paging through 128 MB needs no counting."""


class LineNumbers:
    """Which line begins at which byte, for the places that were seen; safe to use from several threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[int, int]] = OrderedDict()
        self._lock = Lock()

    def nearest(self, log: str, offset: int) -> tuple[int, int]:
        """The last known place at or before `offset`, and its line number; the first line at the least."""
        with self._lock:
            places = self._known.get(log, {})
            at = max((place for place in places if place <= offset), default=0)
            return at, places.get(at, 1)

    def nearest_line(self, log: str, line: int) -> tuple[int, int]:
        """The last known place at or before this line, and its line number."""
        with self._lock:
            places = self._known.get(log, {})
            known = [(number, place) for place, number in places.items() if number <= line]
            number, at = max(known, default=(1, 0))
            return at, number

    def learn(self, log: str, offset: int, number: int) -> None:
        """Line `number` begins at byte `offset`."""
        with self._lock:
            places = self._known.setdefault(log, {})
            self._known.move_to_end(log)
            if len(places) < KEPT_PLACES:
                places[offset] = number
            if len(self._known) > KEPT_LOGS:
                self._known.popitem(last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """A window of a log. `numbered` is false where it lies too far in to count the lines before it."""

    lines: tuple[LogLine, ...]
    start: int
    end: int
    size: int | None
    ends: bool
    numbered: bool
    zipped: bool

    @property
    def previous(self) -> int | None:
        """Where the window before this one begins, about: its lines are taken to be as long as these."""
        if not self.start:
            return None
        line = (self.end - self.start) / max(len(self.lines), 1)
        return max(self.start - min(WINDOW, round(line * MOST_LINES)), 0)

    @property
    def following(self) -> int | None:
        """Where the next window begins."""
        return None if self.ends else self.end


def read_span(source: LogSource, wanted: int, most: int = WINDOW) -> tuple[Span, str]:
    """The bytes shown for place `wanted`, and the text before them (in which a private key may begin)."""
    if source.size is not None:
        wanted = min(wanted, max(source.size - 1, 0))
    base = max(wanted - LOOK_BACK, 0)
    asked = wanted - base + most + 1
    around = source.read(base, asked)
    if wanted - base > len(around):
        wanted = base + len(around)
    span = cut(around, base=base, wanted=wanted, most=most, ends=len(around) < asked)
    return span, around[: span.at - base].decode("utf-8", "replace")


def log_view(
    source: LogSource,
    *,
    wanted: int,
    marks: Sequence[LogMark],
    numbers: LineNumbers,
    identity: str,
    redacts: bool,
) -> LogView:
    """The window that holds byte `wanted`; `identity` names this log and its content."""
    span, before = read_span(source, wanted)
    first = _first_number(source, span.at, numbers, identity)
    shown = tuple(lines(span, marks, first))
    if first is not None:
        numbers.learn(identity, span.end, first + span.text.count(b"\n"))
    if redacts:
        texts = Redaction(before).lines([line.text for line in shown])
        shown = tuple(replace(line, text=text) for line, text in zip(shown, texts, strict=True))
    return LogView(
        lines=shown,
        start=span.at,
        end=span.end,
        size=source.size,
        ends=span.ends,
        numbered=first is not None,
        zipped=source.zipped,
    )


def place_of_line(source: LogSource, line: int, numbers: LineNumbers, identity: str) -> int | None:
    """The byte at which a line begins; None where the log has no such line, or only too far in."""
    at, number = numbers.nearest_line(identity, line)
    last = at + (INFLATED_LIMIT if source.zipped else COUNTED_LIMIT)
    for piece in source.pieces_from(at, last):
        count = piece.count(b"\n")
        if number + count >= line:
            return at + _after_lines(piece, line - number)
        at, number = at + len(piece), number + count
    return None


def _after_lines(text: bytes, count: int) -> int:
    """The place behind so many line ends."""
    place = 0
    for _ in range(count):
        place = text.index(b"\n", place) + 1
    return place


def _first_number(source: LogSource, offset: int, numbers: LineNumbers, identity: str) -> int | None:
    at, number = numbers.nearest(identity, offset)
    if at == offset:
        return number
    between = source.lines_between(at, offset)
    return None if between is None else number + between
