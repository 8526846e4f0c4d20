"""The levels of a history: where it moved, how noisy it is on each level, and who took note of it.

In:  the points of one case, oldest first. Out: `Level`s, `Move`s. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import isfinite, log
from statistics import median

from bot.storage.timelines import Acknowledged, Point
from bot.verdict.history import PastRun, Shift, shifts

SHORTEST_LEVEL = 4
"""Points from which a band is drawn: fewer say nothing of noise."""

NORMAL = 1.4826
"""Median absolute deviations in a standard deviation of normal noise."""

BAND_SDS = 2.0
MEMORY_SECONDS = 30 * 86_400.0
"""How long before main moved a pull request's acknowledgement may lie to be taken for its cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The points from place `first` to `last`, their median, and half the band that most of them lie in."""

    first: int
    last: int
    middle: float
    half: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A change of level at a place; `known` is who took note of it, `certain` whether of this very commit.

    Where the devices or versions changed with it, `conditions` says from what to what."""

    place: int
    shift: Shift
    known: Acknowledged | None = None
    certain: bool = False
    conditions: tuple[str, str] | None = None


def is_usable(point: Point) -> bool:
    """Whether a point counts for levels: it keeps its pace, and has a figure that has a logarithm."""
    return point.keeps_pace and point.value is not None and isfinite(point.value) and point.value > 0


def moves(points: Sequence[Point], acknowledged: Sequence[Acknowledged]) -> tuple[Move, ...]:
    """Every change of level under the same conditions, and every change of conditions, oldest first."""
    found: list[Move] = []
    usable = [(place, point) for place, point in enumerate(points) if is_usable(point)]
    before: list[tuple[int, Point]] = []
    for _, group in groupby(usable, key=lambda one: one[1].conditions):
        stretch = list(group)
        if before:
            found.append(_other_conditions(before, stretch))
        found += _within(stretch, acknowledged)
        before = stretch
    return tuple(found)


def levels(points: Sequence[Point], moved: Sequence[Move]) -> tuple[Level, ...]:
    """The stretches between the changes."""
    bounds = [0, *(move.place for move in moved), len(points)]
    return tuple(
        level for first, end in pairwise(bounds) if (level := _level(points, first, end)) is not None
    )


def _level(points: Sequence[Point], first: int, end: int) -> Level | None:
    values = [point.value for point in points[first:end] if is_usable(point) and point.value is not None]
    if not values:
        return None
    middle = median(values)
    deviation = median(abs(value - middle) for value in values)
    half = BAND_SDS * NORMAL * deviation if len(values) >= SHORTEST_LEVEL else None
    return Level(first=first, last=end - 1, middle=middle, half=half)


def _within(stretch: Sequence[tuple[int, Point]], acknowledged: Sequence[Acknowledged]) -> list[Move]:
    runs = [PastRun(seconds=point.value or 0.0, sha=point.sha, started=point.started) for _, point in stretch]
    found: list[Move] = []
    at = 0
    for shift in shifts(runs):
        at += shift.runs_before
        known, certain = _known(shift, acknowledged)
        found.append(Move(place=stretch[at][0], shift=shift, known=known, certain=certain))
    return found


def _other_conditions(before: Sequence[tuple[int, Point]], after: Sequence[tuple[int, Point]]) -> Move:
    old, new = (median(point.value or 0.0 for _, point in side) for side in (before, after))
    last, first = before[-1][1], after[0]
    return Move(
        place=first[0],
        shift=Shift(
            change=log(new / old),
            at=first[1].sha,
            before=last.sha,
            runs_before=len(before),
            runs_after=len(after),
            started=first[1].started,
        ),
        conditions=(last.conditions, first[1].conditions),
    )


def _known(shift: Shift, acknowledged: Sequence[Acknowledged]) -> tuple[Acknowledged | None, bool]:
    """Who took note: of this commit for certain, or of a like change on a pull request shortly before."""
    for one in reversed(acknowledged):
        if shift.at and one.head_sha.startswith(shift.at[:7]):
            return one, True
    wanted = "slower" if shift.change > 0 else "faster"
    started = shift.started
    if started is None:
        return None, False
    near = [
        one for one in acknowledged if one.verdict == wanted and 0 <= started - one.made <= MEMORY_SECONDS
    ]
    return (near[-1], False) if near else (None, False)
