"""The order of a run's moments: the part after its last restart, the seconds between two lines, the dialect.

In:  the steps and marks of a `RunLog`. Out: durations in seconds, and what the printed `seconds` mean.
Promises: a missing or impossible timestamp gives no duration; a year end costs nothing.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from bot.logs.facts import Mark, MarkKind, RunLog, Step
from bot.verdict.judgement import Dialect

DAY = 86_400.0
YEARS = (365 * DAY, 366 * DAY)
"""absl lines carry no year: over New Year the clock seems to jump back by one."""

ALIKE = 0.10
"""Printed seconds and a gap are one interval within this share: host jitter is far less, stalls far more."""

JITTER = 0.010
"""A dispatch and the line it frees are 4 to 10 ms apart in every log measured."""

EVALS = (MarkKind.EVAL_STARTED, MarkKind.EVAL_ENDED)


MICROSECONDS = 6
"""Digits of a difference of two moments: Unix seconds of this century are known to 2.4e-7 s as floats, and
lines are stamped in millionths, so that rounding gives back what was printed."""


def elapsed(start: float | None, end: float | None) -> float | None:
    """Return the seconds from `start` to `end`, None where one is missing or they run backwards."""
    if start is None or end is None:
        return None
    seconds = round(end - start, MICROSECONDS)
    if seconds >= 0:
        return seconds
    return next((seconds + year for year in YEARS if 0 <= seconds + year < DAY), None)


def last_segment(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps after the last restart, which a step number that does not increase gives away."""
    start = 0
    for place, (before, after) in enumerate(pairwise(steps), start=1):
        if after.step <= before.step:
            start = place
    return steps[start:]


def stride(steps: Sequence[Step]) -> int:
    """Return how many steps lie between two lines as a rule: 1, or the logging interval."""
    strides = Counter(after.step - before.step for before, after in pairwise(steps))
    return min(strides, key=lambda apart: (-strides[apart], apart)) if strides else 1


def gaps(steps: Sequence[Step]) -> dict[int, float]:
    """Return the seconds per step that passed before each line, by step number.

    Only lines that follow their neighbour without a hole have one.
    """
    every = stride(steps)
    found: dict[int, float] = {}
    for before, after in pairwise(steps):
        seconds = elapsed(before.time, after.time)
        if seconds is not None and seconds > 0 and after.step - before.step == every:
            found[after.step] = seconds / every
    return found


def steps_that_span_an_eval(log: RunLog, steps: Sequence[Step]) -> set[int]:
    """Return the steps whose line follows an evaluation that began or ended after the line before.

    By the marks' times where they and the lines have them in order, else by their places in the log.
    """
    evals = [mark for mark in log.marks if mark.kind in EVALS]
    if not evals:
        return set()
    times = sorted(mark.time for mark in evals if mark.time is not None)
    places = sorted(mark.offset for mark in evals)
    places_only = sorted(mark.offset for mark in evals if mark.time is None)
    found: set[int] = set()
    for before, after in pairwise(steps):
        if before.time is not None and after.time is not None and before.time <= after.time:
            spans = _any_within(times, before.time, after.time)
            spans = spans or _any_within(places_only, before.offset, after.offset)
        else:
            spans = _any_within(places, before.offset, after.offset)
        if spans:
            found.add(after.step)
    return found


def dialect(steps: Sequence[Step]) -> Dialect | None:
    """Tell which clock the printed `seconds` follow, None where no interval sets them apart.

    A flush clock prints the gap before its own line; a dispatch clock prints a gap one or two lines back.
    """
    between = gaps(steps)
    flush = dispatch = 0
    for step in steps:
        own, one_back = between.get(step.step), between.get(step.step - 1)
        two_back = between.get(step.step - 2)
        if step.seconds is None or own is None or one_back is None or two_back is None:
            continue
        if _alike(own, one_back) and _alike(own, two_back):
            continue
        flush += _alike(step.seconds, own)
        dispatch += _alike(step.seconds, one_back) or _alike(step.seconds, two_back)
    if flush == dispatch:
        return None
    return Dialect.FLUSH if flush > dispatch else Dialect.DISPATCH


def first_mark(log: RunLog, kind: MarkKind, *, step: int | None = None) -> Mark | None:
    """Return the first mark of a kind that has a time, of one step where `step` is given."""
    marks = (mark for mark in log.marks if mark.kind is kind and mark.time is not None)
    return next((mark for mark in marks if step is None or mark.step == step), None)


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= JITTER + ALIKE * max(one, other)


def _any_within(values: Sequence[float], low: float, high: float) -> bool:
    """Tell whether any of the sorted values lies between two others, by halving: logs hold thousands."""
    place = bisect_left(values, low)
    return place < len(values) and values[place] <= high
