"""The rows of a comparison: every metric on both sides.

In:  the usable runs of both sides and the timing verdict. Out: `Row`s in the order of `METRICS`.
Promises: only judged metrics ever get a direction, and none do where the sides cannot be compared.
"""

from collections.abc import Sequence
from statistics import median
from typing import assert_never

from bot.verdict.judgement import Direction, MeasuredRun, Row, TimingVerdict
from bot.verdict.metric import Better, Judging, Metric, Repeats
from bot.verdict.metrics import METRICS, PAGE_METRICS

Figure = float | str | None


def rows(
    base: Sequence[MeasuredRun], head: Sequence[MeasuredRun], timing: TimingVerdict | None
) -> tuple[Row, ...]:
    """Return the rows; `timing` is None where the sides cannot be compared: no difference is shown then.

    The table people know is always whole; of the other rows those that no side has are left out.
    """
    found = [_row(metric, base, head, timing) for metric in METRICS]
    return tuple(
        row
        for place, row in enumerate(found)
        if place < PAGE_METRICS or row.base is not None or row.head is not None
    )


def _row(
    metric: Metric, base: Sequence[MeasuredRun], head: Sequence[MeasuredRun], timing: TimingVerdict | None
) -> Row:
    one, other = figure(metric, base), figure(metric, head)
    if timing is None or not isinstance(one, float | int) or not isinstance(other, float | int):
        return Row(key=metric.key, base=one, head=other)
    direction = _direction(metric, one, other, timing)
    return Row(
        key=metric.key,
        base=one,
        head=other,
        diff=other - one,
        judged=direction is not None,
        direction=direction or Direction.SAME,
    )


def figure(metric: Metric, runs: Sequence[MeasuredRun]) -> Figure:
    """Return the figure that stands for a side: the median of its runs, or that of the first."""
    values = [value for run in runs if (value := metric.read(run)) is not None]
    match metric.repeats:
        case Repeats.FIRST:
            return metric.read(runs[0]) if runs else None
        case Repeats.MEDIAN:
            numbers = [value for value in values if not isinstance(value, str)]
            return median(numbers) if numbers else None
        case _:
            assert_never(metric.repeats)


def _direction(metric: Metric, base: float, head: float, timing: TimingVerdict) -> Direction | None:
    """Return which way a judged metric moved, None where it is not judged."""
    match metric.judging:
        case Judging.INFORMATIONAL:
            return None
        case Judging.TIMING:
            return _of_timing(timing)
        case Judging.EXACT:
            return _of_exact(metric, base, head)
        case _:
            assert_never(metric.judging)


def _of_timing(timing: TimingVerdict) -> Direction | None:
    match timing:
        case TimingVerdict.SLOWER:
            return Direction.WORSE
        case TimingVerdict.FASTER:
            return Direction.BETTER
        case TimingVerdict.SAME:
            return Direction.SAME
        case TimingVerdict.INCONCLUSIVE | TimingVerdict.WITHHELD:
            return None
        case _:
            assert_never(timing)


def _of_exact(metric: Metric, base: float, head: float) -> Direction:
    """Judge a figure that is the same on every run of a program; 1e-9 forgives binary rounding."""
    change = head - base
    share = 100 * abs(change) / min(abs(base), abs(head)) if base and head else float("inf")
    if change == 0 or abs(change) < metric.least - 1e-9 or share < metric.least_percent - 1e-9:
        return Direction.SAME
    match metric.better:
        case Better.LOWER:
            return Direction.WORSE if change > 0 else Direction.BETTER
        case Better.HIGHER:
            return Direction.BETTER if change > 0 else Direction.WORSE
        case Better.EQUAL | Better.NONE:
            return Direction.DIFFERENT
        case _:
            assert_never(metric.better)
