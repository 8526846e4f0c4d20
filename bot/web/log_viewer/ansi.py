"""ANSI colours of a log as CSS classes.

Pure. All colours of a terminal (16, 256 or 24-bit) become one of twelve hues, each with a shade for light and
one for dark pages that is readable on every background; the log's own colours would not be.
"""

import colorsys
import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bot.web.sanitize import sanitize

HUES = 12

GRAY = "gray"

# ESC [ 1 ; 31 m   ESC [ 38:5:208 m
_SGR = re.compile(r"\x1b\[([0-9;:]{0,60})m")

# Black and white become the page's own text colour; bright black is the gray of terminals.
_BASIC_HUES: tuple[str | None, ...] = (None, "0", "4", "2", "7", "10", "6", None)

_ATTRIBUTES = {1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "turned", 9: "struck"}

_ATTRIBUTE_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("under",), 27: ("turned",), 29: ("struck",)}


class StyledSpan(Struct, frozen=True, kw_only=True):
    """Characters `start` to `end` of a line and their CSS classes."""

    start: int
    end: int
    style: str


class _Style(Struct, frozen=True):
    foreground: str | None = None
    background: str | None = None
    attributes: frozenset[str] = frozenset()

    @property
    def classes(self) -> str:
        colours = [f"c-{self.foreground}"] if self.foreground else []
        colours += [f"b-{self.background}"] if self.background else []
        return " ".join([*colours, *(f"t-{name}" for name in sorted(self.attributes))])


class AnsiReader:
    """Reads one text after the other, as a terminal does: a style holds until it is changed."""

    def __init__(self, before: str = "") -> None:
        self._style = _Style()
        for found in _SGR.finditer(before):
            self._turn(found[1])

    def read(self, text: str) -> tuple[str, tuple[StyledSpan, ...]]:
        """The sanitized text and its styled spans."""
        if "\x1b" not in text and not self._style.classes:
            return sanitize(text), ()
        shown, length, spans, at = [], 0, [], 0
        for found in [*_SGR.finditer(text), None]:
            part = sanitize(text[at : found.start() if found else None])
            if part and (style := self._style.classes):
                spans.append(StyledSpan(start=length, end=length + len(part), style=style))
            shown.append(part)
            length += len(part)
            if found:
                at = found.end()
                self._turn(found[1])
        return "".join(shown), tuple(spans)

    def _turn(self, codes: str) -> None:
        rest = [int(code) if code else 0 for code in re.split("[;:]", codes[:60])]
        while rest:
            rest = self._take(rest)

    def _take(self, codes: list[int]) -> list[int]:
        """Apply the first code; returns the codes left."""
        code, style = codes[0], self._style
        match code:
            case 0:
                self._style = _Style()
            case _ if code in _ATTRIBUTES:
                self._style = replace(style, attributes=style.attributes | {_ATTRIBUTES[code]})
            case _ if code in _ATTRIBUTE_ENDS:
                self._style = replace(style, attributes=style.attributes - {*_ATTRIBUTE_ENDS[code]})
            case 38 | 48:
                colour, rest = _extended_hue(codes[1:])
                self._style = (
                    replace(style, foreground=colour) if code == 38 else replace(style, background=colour)
                )
                return rest
            case _ if 30 <= code <= 39 or 90 <= code <= 97:
                self._style = replace(style, foreground=_basic_hue(code % 10, bright=code >= 90))
            case _ if 40 <= code <= 49 or 100 <= code <= 107:
                self._style = replace(style, background=_basic_hue(code % 10, bright=code >= 100))
            case _:
                pass
        return codes[1:]


def shift_spans(spans: Sequence[StyledSpan], before: str, after: str) -> tuple[StyledSpan, ...]:
    """The spans after some of the text was replaced: spans behind the replacement move along."""
    if before == after or not spans:
        return tuple(spans)
    front = _common_prefix(before, after)
    most = min(len(before), len(after)) - front
    back = min(_common_prefix(before[::-1], after[::-1]), most)
    moved = len(after) - len(before)
    kept = [replace(span, end=min(span.end, front)) for span in spans if span.start < front]
    behind = len(before) - back
    kept += [
        replace(span, start=max(span.start, behind) + moved, end=span.end + moved)
        for span in spans
        if span.end > behind
    ]
    return tuple(kept)


def _common_prefix(one: str, other: str) -> int:
    """The length of the common prefix."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))


def _basic_hue(digit: int, *, bright: bool) -> str | None:
    return GRAY if bright and digit == 0 else _BASIC_HUES[digit] if digit < len(_BASIC_HUES) else None


def _extended_hue(codes: list[int]) -> tuple[str | None, list[int]]:
    """`5;n` (256 colours) or `2;r;g;b`; and the codes behind it."""
    match codes:
        case [5, number, *rest]:
            return _hue_of_256(number), rest
        case [2, red, green, blue, *rest]:
            return _nearest_hue(red, green, blue), rest
        case _:
            return None, []


def _hue_of_256(number: int) -> str | None:
    if number < 16:
        return _basic_hue(number % 8, bright=number >= 8)
    if number >= 232:
        return GRAY
    cube = number - 16
    return _nearest_hue(
        *(0 if level == 0 else 55 + 40 * level for level in (cube // 36, cube // 6 % 6, cube % 6))
    )


def _nearest_hue(red: int, green: int, blue: int) -> str | None:
    levels = [min(level, 255) / 255 for level in (red, green, blue)]
    hue, _, saturation = colorsys.rgb_to_hls(*levels)
    if saturation < 0.15 or max(levels) - min(levels) < 0.12:
        return GRAY
    return str(round(hue * HUES) % HUES)
