"""The layout of a step line: once one of its kind has been read with care, the next are read with one match.

In:  the text of a record that was read, and where its numbers stand.
Out: a `Layout`, which reads records that differ from it in nothing but the digits.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from bot.logs.number import number

_FRACTION = rb"(-?\d{1,24}\.\d{1,24})"
_WHOLE = rb"(-?\d{1,24})"
_STEP = rb"(\d{1,12})"
_MANY = 4_096
"""Numbers remembered: the figures of a steady run come again and again."""
_numbers: dict[bytes, float] = {}
"""One number for equal digits, as a cache: of the steps that are kept it saves a third of the memory."""
_NAN = rb"(nan)"
_PLAIN = re.compile(r"(?:-?\d{1,24}(\.\d{1,24})?|nan)\Z")
FIELDS = ("seconds", "tflops_per_device", "tokens_per_device", "loss", "perplexity", "total_weights")
"""The numbers of a step in their order there."""

Numbers = tuple[float | None, ...]
Extras = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """`pattern`: the step, then every number. `fields` picks the step's own out of the numbers with `None`
    behind them, `others` those with a name in `extras`. A number at one of `absent` that is zero was not
    given."""

    pattern: re.Pattern[bytes]
    fields: Callable[[Sequence[float | None]], Numbers]
    others: Callable[[Sequence[float | None]], tuple[Any, ...]]
    extras: tuple[str, ...]
    absent: tuple[int, ...]

    def numbers(self, digits: tuple[bytes, ...]) -> tuple[int, Numbers, Extras]:
        """The step, its fields and its extras, of what the pattern found."""
        values: list[float | None] = [*map(_numbers.get, digits[1:]), None]
        if values.count(None) > 1:
            values = [*map(_remembered, digits[1:]), None]
        if 0.0 in values:
            for n in self.absent:
                values[n] = values[n] or None
            extras = zip(self.extras, self.others(values), strict=False)
            return int(digits[0]), self.fields(values), tuple(pair for pair in extras if pair[1] is not None)
        return int(digits[0]), self.fields(values), tuple(zip(self.extras, self.others(values), strict=False))


def layout_of(
    text: str,
    step: tuple[int, int],
    numbers: Iterable[tuple[str, int, int]],
    fields: Mapping[str, str],
    absent: Collection[str],
) -> Layout | None:
    """The layout of the record that `text` begins with, or `None` where a number of it is not plain.

    `step` and `numbers` say from where to where the step and each named number stand. `fields` gives the
    names that numbers have in a step; those named in `absent` are not given where they are zero.
    """
    pieces, end = [_literal(text[: step[0]]), _STEP], step[1]
    names: list[str] = []
    for name, start, stop in numbers:
        if not _PLAIN.match(text[start:stop]):
            return None
        pieces += [_literal(text[end:start]), _form(text[start:stop])]
        end = stop
        names.append(name)
    places = {fields[name]: n for n, name in enumerate(names) if name in fields}
    others = [n for n, name in enumerate(names) if name not in fields]
    none = len(names)
    return Layout(
        # What is glued to the last number may change what it is: only a blank or a line's end may follow.
        pattern=re.compile(b"".join((*pieces, rb"(?=[ \r\n])"))),
        fields=itemgetter(*(places.get(field, none) for field in FIELDS)),
        others=itemgetter(*others, none, none),
        extras=tuple(names[n] for n in others),
        absent=tuple(n for n, name in enumerate(names) if name in absent),
    )


def _form(number: str) -> bytes:
    if number == "nan":
        return _NAN
    return _FRACTION if "." in number else _WHOLE


def _remembered(digits: bytes) -> float:
    if len(_numbers) >= _MANY:
        _numbers.clear()
    return _numbers.setdefault(digits, number(digits))


def _literal(text: str) -> bytes:
    return re.escape(text.encode("utf-8", "replace"))
