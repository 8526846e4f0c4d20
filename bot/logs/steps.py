"""Step lines: read fast by their layout, kept in bounded memory.

`StepLayout` reads the numbers of lines that differ only in their digits. `StepSeries` keeps the first and
the last steps of one host, with counts and sums over all of them.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bot.logs.facts import Step

STEP_FIELDS = (
    "seconds", "tflops_per_device", "tokens_per_device", "loss", "perplexity", "total_weights",
)  # fmt: skip
"""The numbers of a `Step`, in its order."""

_FRACTION = rb"(-?\d{1,24}\.\d{1,24})"
_WHOLE = rb"(-?\d{1,24})"
_STEP_NUMBER = rb"(\d{1,12})"
_NAN = rb"(nan)"
_PLAIN_NUMBER = re.compile(r"(?:-?\d{1,24}(\.\d{1,24})?|nan)\Z")

_CACHED_NUMBERS = 4_096
"""Numbers kept in the cache: the figures of a steady run repeat."""
_number_cache: dict[bytes, float] = {}
"""One object for equal digits. It saves a third of the memory of the steps that are kept."""

FieldValues = tuple[float | None, float | None, float | None, float | None, float | None, float | None]
"""The values of `STEP_FIELDS`."""
Extras = tuple[tuple[str, float], ...]


class StepLayout(Struct, frozen=True, kw_only=True):
    """How the step lines of one program look.

    `pattern` matches the step number, then every number. `fields` picks the step's own fields out of the
    numbers followed by `None`, `others` picks those that have a name in `extras`. A zero at one of the places
    in `absent` means that the number is not given.
    """

    pattern: re.Pattern[bytes]
    fields: Callable[[Sequence[float | None]], FieldValues]
    others: Callable[[Sequence[float | None]], tuple[Any, ...]]
    extras: tuple[str, ...]
    absent: tuple[int, ...]

    def numbers(self, digits: tuple[bytes, ...]) -> tuple[int, FieldValues, Extras]:
        """The step number, its fields and its extras, from the groups that the pattern matched."""
        values: list[float | None] = [*map(_number_cache.get, digits[1:]), None]
        if values.count(None) > 1:
            values = [*map(_cached_number, digits[1:]), None]
        if 0.0 in values:
            for n in self.absent:
                values[n] = values[n] or None
            extras = zip(self.extras, self.others(values), strict=False)
            return int(digits[0]), self.fields(values), tuple(pair for pair in extras if pair[1] is not None)
        return int(digits[0]), self.fields(values), tuple(zip(self.extras, self.others(values), strict=False))


def step_layout(
    text: str,
    step: tuple[int, int],
    numbers: Iterable[tuple[str, int, int]],
    fields: Mapping[str, str],
    absent: Collection[str],
) -> StepLayout | None:
    """The layout of the record at the start of `text`, or `None` where one of its numbers is not plain.

    `step` is the span of the step number, `numbers` are the names and spans of the other numbers. `fields`
    maps names to fields of a step. A number named in `absent` is not given where it is zero.
    """
    pieces, end = [_escaped(text[: step[0]]), _STEP_NUMBER], step[1]
    names: list[str] = []
    for name, start, stop in numbers:
        if not _PLAIN_NUMBER.match(text[start:stop]):
            return None
        pieces += [_escaped(text[end:start]), _number_pattern(text[start:stop])]
        end = stop
        names.append(name)
    places = {fields[name]: n for n, name in enumerate(names) if name in fields}
    others = [n for n, name in enumerate(names) if name not in fields]
    none = len(names)
    return StepLayout(
        # Text glued to the last number may change its value: only a blank or a line end may follow.
        pattern=re.compile(b"".join((*pieces, rb"(?=[ \r\n])"))),
        fields=itemgetter(*(places.get(field, none) for field in STEP_FIELDS)),
        others=itemgetter(*others, none, none),
        extras=tuple(names[n] for n in others),
        absent=tuple(n for n, name in enumerate(names) if name in absent),
    )


def parse_number(text: str | bytes) -> float:
    """The number in this text. NaN is always the same object, so that two lines with NaN compare equal."""
    value = float(text)
    return math.nan if math.isnan(value) else value


def _number_pattern(number: str) -> bytes:
    if number == "nan":
        return _NAN
    return _FRACTION if "." in number else _WHOLE


def _cached_number(digits: bytes) -> float:
    if len(_number_cache) >= _CACHED_NUMBERS:
        _number_cache.clear()
    return _number_cache.setdefault(digits, parse_number(digits))


def _escaped(text: str) -> bytes:
    return re.escape(text.encode("utf-8", "replace"))


_GRADIENT_NORM = re.compile(r"grad(?:ient)?s?[ _/.-]?norm", re.IGNORECASE)


def with_true_loss(step: Step) -> Step:
    """The step, whose loss is NaN where it is printed as 0 beside a gradient that is not finite.

    Trainers that leave what is not finite out of the mean of the loss print 0.
    """
    if step.loss != 0:
        return step
    lost = any(not math.isfinite(value) and _GRADIENT_NORM.search(name) for name, value in step.extras)
    return replace(step, loss=math.nan) if lost else step


KEPT_FIRST = 1_000
"""Steps kept from the start: the ramp and the first evaluations of any run."""
KEPT_LAST = 50_000
"""Steps kept from the end, on the measured host: a day of steps of two seconds."""
KEPT_LAST_SPARE = 1_000
"""Steps kept from the end of a host that is unlikely to be measured."""
KEPT_REWINDS = 8
"""Rewinds that are kept one by one."""


class StepSeries:
    """The steps of one host, in the order printed."""

    def __init__(self) -> None:
        self.steps_seen = 0
        self.repeats = 0
        self.first: Step | None = None
        self.last: Step | None = None
        self.not_finite: Step | None = None
        self.stride = 1  # from the line before to the last one
        self.back = 0  # lines whose step number is not above the one before
        self.rewinds: list[tuple[int, int]] = []
        self.seconds_sum = 0.0
        self.seconds_count = 0
        self._head: list[Step] = []
        self._tail: deque[Step] = deque(maxlen=KEPT_LAST)

    def add(self, step: Step, *, anonymous: bool) -> None:
        """Add the next step line. `anonymous`: the line does not say which host printed it, so a second line
        of a step with the same loss is another host's."""
        last = self.last
        if last is not None:
            stride = step.step - last.step
            if stride == 0:
                equal = _stated_values(last) == _stated_values(step)
                if equal or (
                    anonymous and step.loss is not None and _comparable_loss(step) == _comparable_loss(last)
                ):
                    self.repeats += not equal
                    return
            self.stride = stride if stride > 1 else 1
            if stride <= 0:
                self.back += 1
                if len(self.rewinds) < KEPT_REWINDS:
                    self.rewinds.append((last.step, step.step))
        if self.first is None:
            self.first = step
        elif step.seconds is not None:
            self.seconds_sum += step.seconds
            self.seconds_count += 1
        if self.not_finite is None and step.loss is not None and not math.isfinite(step.loss):
            self.not_finite = step
        self.last = step
        self.steps_seen += 1
        (self._head if len(self._head) < KEPT_FIRST else self._tail).append(step)

    @property
    def newest_first(self) -> bool:
        """Whether the lines run backwards: an export that begins with the newest line."""
        first, last = self.first, self.last
        if first is None or last is None or first.time is None or last.time is None:
            return False
        return 2 < self.steps_seen == self.back + 1 and last.time < first.time

    def keep_less(self) -> None:
        """Keep fewer steps from now on."""
        if self._tail.maxlen != KEPT_LAST_SPARE:
            self._tail = deque(self._tail, maxlen=KEPT_LAST_SPARE)

    @property
    def steps_kept(self) -> int:
        """How many steps were kept."""
        return len(self._head) + len(self._tail)

    def steps(self) -> tuple[Step, ...]:
        """The steps that were kept, in order."""
        return (*self._head, *self._tail)

    def extend(self, later: "StepSeries") -> None:
        """Append another series, which was printed after this one."""
        steps = later.steps()
        dropped = later.steps_seen - len(steps)
        for step in steps:
            self.add(step, anonymous=False)
        self.steps_seen += dropped

    def same_fields(self, step: Step) -> bool:
        """Whether this step states as much as the one before it; without one, whether it has a loss."""
        if self.last is None:
            return step.loss is not None
        return _stated_fields(self.last) == _stated_fields(step)


def reversed_series(series: StepSeries) -> StepSeries:
    """The steps of a series that begins with its newest line, in the order in which they happened."""
    forwards = StepSeries()
    for step in reversed(series.steps()):
        forwards.add(step, anonymous=False)
    forwards.steps_seen = series.steps_seen
    return forwards


def _stated_values(step: Step) -> tuple[object, ...]:
    """The values by which two lines of one step are compared."""
    return step.step, step.seconds, _comparable_loss(step), step.tokens_per_device, step.time, step.kind


def _comparable_loss(step: Step) -> float | str | None:
    """A step's loss, where NaN equals NaN."""
    return "nan" if step.loss is not None and math.isnan(step.loss) else step.loss


def _stated_fields(step: Step) -> tuple[object, ...]:
    return (
        step.seconds is None,
        step.tokens_per_device is None,
        step.loss is None,
        step.perplexity is None,
        tuple(name for name, _ in step.extras),
    )
