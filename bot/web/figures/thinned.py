"""Thousands of points as many as can be told apart, so that no spike is lost.

In:  points from left to right. Out: some of them. Pure.
"""

from math import isfinite
from operator import itemgetter

from bot.web.figures.hits import Points

MOST_BINS = 500
"""Stretches drawn apart: each by its lowest and highest value."""


def thinned(line: Points, first: int, span: int) -> Points:
    """At most two points of each of `MOST_BINS` stretches of the `span` places from `first` on: the lowest
    and the highest; one that is no number where none other is."""
    if len(line) <= 2 * MOST_BINS:
        return line
    bins: list[list[tuple[int, float]]] = [[] for _ in range(MOST_BINS)]
    for point in line:
        bins[(point[0] - first) * MOST_BINS // span].append(point)
    kept: set[tuple[int, float]] = set()
    for points in filter(None, bins):
        finite = [point for point in points if isfinite(point[1])]
        kept |= {min(finite, key=_value), max(finite, key=_value)} if finite else {points[0]}
    return sorted(kept, key=itemgetter(0))


_value = itemgetter(1)
