"""Step lines: read fast by their layout, kept in bounded memory.

`StepLayout` reads the numbers of lines that differ only in their digits. `StepSeries` keeps the first and
the last steps of one host, with counts and sums over all of them.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from bot.logs.facts import Step, StepKind

_FRACTION = rb"(-?\d{1,24}\.\d{1,24})"

_WHOLE = rb"(-?\d{1,24})"

_STEP_NUMBER = rb"(\d{1,12})"

_CACHED_NUMBERS = 4_096
"""Numbers remembered: the figures of a steady run come again and again."""

_number_cache: dict[bytes, float] = {}
"""One number for equal digits, as a cache: of the steps that are kept it saves a third of the memory."""

_NAN = rb"(nan)"

_PLAIN_NUMBER = re.compile(r"(?:-?\d{1,24}(\.\d{1,24})?|nan)\Z")

STEP_FIELDS = ("seconds", "tflops_per_device", "tokens_per_device", "loss", "perplexity", "total_weights")
"""The numbers of a step in their order there."""

FieldValues = tuple[float | None, ...]

Extras = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLayout:
    """`pattern`: the step, then every number. `fields` picks the step's own out of the numbers with `None`
    behind them, `others` those with a name in `extras`. A number at one of `absent` that is zero was not
    given."""

    pattern: re.Pattern[bytes]
    fields: Callable[[Sequence[float | None]], FieldValues]
    others: Callable[[Sequence[float | None]], tuple[Any, ...]]
    extras: tuple[str, ...]
    absent: tuple[int, ...]

    def numbers(self, digits: tuple[bytes, ...]) -> tuple[int, FieldValues, Extras]:
        """The step, its fields and its extras, of what the pattern found."""
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
    """The layout of the record that `text` begins with, or `None` where a number of it is not plain.

    `step` and `numbers` say from where to where the step and each named number stand. `fields` gives the
    names that numbers have in a step; those named in `absent` are not given where they are zero.
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
        # What is glued to the last number may change what it is: only a blank or a line's end may follow.
        pattern=re.compile(b"".join((*pieces, rb"(?=[ \r\n])"))),
        fields=itemgetter(*(places.get(field, none) for field in STEP_FIELDS)),
        others=itemgetter(*others, none, none),
        extras=tuple(names[n] for n in others),
        absent=tuple(n for n, name in enumerate(names) if name in absent),
    )


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


KEPT_FIRST = 1_000
"""Steps kept from the start: the ramp and the first evaluations of any run."""

KEPT_LAST = 50_000
"""Steps kept from the end, on the measured host: a day of steps of two seconds."""

KEPT_REWINDS = 8
"""Rewinds that are remembered one by one."""

KEPT_LAST_SPARE = 1_000
"""Steps kept from the end of a host that will hardly be measured."""


class StepRow(NamedTuple):
    """A `Step` on its way: made at a fifth of the cost, for most steps of a long log are not kept."""

    step: int
    seconds: float | None
    tflops_per_device: float | None
    tokens_per_device: float | None
    loss: float | None
    perplexity: float | None
    total_weights: float | None
    time: float | None
    kind: StepKind
    offset: int
    extras: tuple[tuple[str, float], ...]


_step_values = attrgetter(*StepRow._fields)


def step_row(step: Step) -> StepRow:
    """The same, lighter."""
    return StepRow._make(_step_values(step))


def _as_step(row: StepRow | Step) -> Step:
    if isinstance(row, Step):
        return row
    number, seconds, tflops, tokens, loss, perplexity, weights, time, kind, offset, extras = row
    return Step(
        step=number,
        seconds=seconds,
        tflops_per_device=tflops,
        tokens_per_device=tokens,
        loss=loss,
        perplexity=perplexity,
        total_weights=weights,
        time=time,
        kind=kind,
        offset=offset,
        extras=extras,
    )


class StepSeries:
    """The steps of one host."""

    def __init__(self) -> None:
        self.seen = 0
        self.repeats = 0
        self.first: StepRow | None = None
        self.last: StepRow | None = None
        self.not_finite: StepRow | None = None
        self.stride = 1  # from the line before to the last one
        self.back = 0  # lines whose step is not beyond the one before
        self.rewinds: list[tuple[int, int]] = []
        self.seconds_sum = 0.0
        self.seconds_count = 0
        self._head: list[StepRow | Step] = []
        self._tail: deque[StepRow | Step] = deque(maxlen=KEPT_LAST)

    def add(self, step: Step, *, anonymous: bool) -> None:
        """Take the next step line; `anonymous`: nothing tells this host from another one, so a step seen
        twice with one loss is another host's."""
        self.take(step_row(step), anonymous=anonymous)

    def take(self, step: StepRow, *, anonymous: bool) -> None:
        """Take the next step line as a row."""
        last = self.last
        if last is not None:
            stride = step.step - last.step
            if stride == 0:
                again = _stated_values(last) == _stated_values(step)
                if again or (
                    anonymous and step.loss is not None and _comparable_loss(step) == _comparable_loss(last)
                ):
                    self.repeats += not again
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
        self.seen += 1
        (self._head if len(self._head) < KEPT_FIRST else self._tail).append(step)

    @property
    def backwards(self) -> bool:
        """Whether every line stands before the one it followed: an export that begins with the newest."""
        first, last = self.first, self.last
        if first is None or last is None or first.time is None or last.time is None:
            return False
        return 2 < self.seen == self.back + 1 and last.time < first.time

    def spare(self) -> None:
        """Keep less from now on."""
        if self._tail.maxlen != KEPT_LAST_SPARE:
            self._tail = deque(self._tail, maxlen=KEPT_LAST_SPARE)

    def steps(self) -> tuple[Step, ...]:
        """What was kept, in order."""
        self._head = list(map(_as_step, self._head))
        for _ in range(len(self._tail)):  # one by one: rows and steps are not held at the same time
            self._tail.append(_as_step(self._tail.popleft()))
        return tuple(step for step in (*self._head, *self._tail) if isinstance(step, Step))

    def extend(self, later: "StepSeries") -> None:
        """Take over another track's steps, which were printed after these."""
        dropped = later.seen - len(later.steps())
        for step in later.steps():
            self.add(step, anonymous=False)
        self.seen += dropped

    def same_shape(self, step: Step) -> bool:
        """Whether this step states as much as the one before it; without one, whether it has a loss."""
        if self.last is None:
            return step.loss is not None
        return _stated_fields(self.last) == _stated_fields(step_row(step))


def reversed_series(track: StepSeries) -> StepSeries:
    """The steps of a track that runs backwards, in the order in which they happened."""
    forwards = StepSeries()
    for step in reversed(track.steps()):
        forwards.add(step, anonymous=False)
    forwards.seen = track.seen
    return forwards


def _stated_values(step: StepRow) -> tuple[object, ...]:
    """What a line says, wherever it stands."""
    return step.step, step.seconds, _comparable_loss(step), step.tokens_per_device, step.time, step.kind


def _comparable_loss(step: StepRow) -> float | str | None:
    """A step's loss, to be compared: one that is no number says the same as another."""
    return "nan" if step.loss is not None and math.isnan(step.loss) else step.loss


def _stated_fields(step: StepRow) -> tuple[object, ...]:
    return (
        step.seconds is None,
        step.tokens_per_device is None,
        step.loss is None,
        step.perplexity is None,
        tuple(name for name, _ in step.extras),
    )


def parse_number(text: str | bytes) -> float:
    """The number of this text; what is no number is always the same object, so that two lines which say it
    say the same."""
    value = float(text)
    return math.nan if math.isnan(value) else value
