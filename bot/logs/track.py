"""Keeps the step lines of one host in bounded memory.

In:  steps in the order printed.
Out: the first `HEAD` and the last `tail` of them, counts and sums over all.
"""

import math
from collections import deque
from operator import attrgetter
from typing import NamedTuple

from bot.logs.facts import Step, StepKind

HEAD = 1_000
"""Steps kept from the start: the ramp and the first evaluations of any run."""
TAIL = 50_000
"""Steps kept from the end, on the measured host: a day of steps of two seconds."""
REWINDS = 8
"""Rewinds that are remembered one by one."""
SPARE_TAIL = 1_000
"""Steps kept from the end of a host that will hardly be measured."""


class Row(NamedTuple):
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


_VALUES = attrgetter(*Row._fields)


def row_of(step: Step) -> Row:
    """The same, lighter."""
    return Row._make(_VALUES(step))


def _step_of(row: Row | Step) -> Step:
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


class Track:
    """The steps of one host."""

    def __init__(self) -> None:
        self.seen = 0
        self.repeats = 0
        self.first: Row | None = None
        self.last: Row | None = None
        self.not_finite: Row | None = None
        self.stride = 1  # from the line before to the last one
        self.back = 0  # lines whose step is not beyond the one before
        self.rewinds: list[tuple[int, int]] = []
        self.seconds_sum = 0.0
        self.seconds_count = 0
        self._head: list[Row | Step] = []
        self._tail: deque[Row | Step] = deque(maxlen=TAIL)

    def add(self, step: Step, *, anonymous: bool) -> None:
        """Take the next step line; `anonymous`: nothing tells this host from another one, so a step seen
        twice with one loss is another host's."""
        self.take(row_of(step), anonymous=anonymous)

    def take(self, step: Row, *, anonymous: bool) -> None:
        """Take the next step line as a row."""
        last = self.last
        if last is not None:
            stride = step.step - last.step
            if stride == 0:
                again = _said(last) == _said(step)
                if again or (anonymous and step.loss is not None and _loss(step) == _loss(last)):
                    self.repeats += not again
                    return
            self.stride = stride if stride > 1 else 1
            if stride <= 0:
                self.back += 1
                if len(self.rewinds) < REWINDS:
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
        (self._head if len(self._head) < HEAD else self._tail).append(step)

    @property
    def backwards(self) -> bool:
        """Whether every line stands before the one it followed: an export that begins with the newest."""
        first, last = self.first, self.last
        if first is None or last is None or first.time is None or last.time is None:
            return False
        return 2 < self.seen == self.back + 1 and last.time < first.time

    def spare(self) -> None:
        """Keep less from now on."""
        if self._tail.maxlen != SPARE_TAIL:
            self._tail = deque(self._tail, maxlen=SPARE_TAIL)

    def steps(self) -> tuple[Step, ...]:
        """What was kept, in order."""
        self._head = list(map(_step_of, self._head))
        for _ in range(len(self._tail)):  # one by one: rows and steps are not held at the same time
            self._tail.append(_step_of(self._tail.popleft()))
        return tuple(step for step in (*self._head, *self._tail) if isinstance(step, Step))

    def extend(self, later: "Track") -> None:
        """Take over another track's steps, which were printed after these."""
        dropped = later.seen - len(later.steps())
        for step in later.steps():
            self.add(step, anonymous=False)
        self.seen += dropped

    def same_shape(self, step: Step) -> bool:
        """Whether this step states as much as the one before it; without one, whether it has a loss."""
        if self.last is None:
            return step.loss is not None
        return _shape(self.last) == _shape(row_of(step))


def turned(track: Track) -> Track:
    """The steps of a track that runs backwards, in the order in which they happened."""
    forwards = Track()
    for step in reversed(track.steps()):
        forwards.add(step, anonymous=False)
    forwards.seen = track.seen
    return forwards


def _said(step: Row) -> tuple[object, ...]:
    """What a line says, wherever it stands."""
    return step.step, step.seconds, _loss(step), step.tokens_per_device, step.time, step.kind


def _loss(step: Row) -> float | str | None:
    """A step's loss, to be compared: one that is no number says the same as another."""
    return "nan" if step.loss is not None and math.isnan(step.loss) else step.loss


def _shape(step: Row) -> tuple[object, ...]:
    return (
        step.seconds is None,
        step.tokens_per_device is None,
        step.loss is None,
        step.perplexity is None,
        tuple(name for name, _ in step.extras),
    )
