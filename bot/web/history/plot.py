"""A history as a drawing: points, the band of their noise on each level, and where the level changed.

In:  points, levels and moves. Out: a `Plot`. Pure.

Thousands of points are thinned to the lowest and the highest of each stretch, so that no outlier is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from bot.report.figures import counted, day, significant
from bot.storage.timelines import Point
from bot.web.figures.drawing import Edges, Plot, Stroke
from bot.web.figures.hits import WIDTH, Hit
from bot.web.figures.plots import DRAWN
from bot.web.figures.thinned import MOST_BINS, thinned
from bot.web.history.levels import Level, Move

TOP, BOTTOM, FOOT = 10.0, 190.0, 212.0
HEIGHT = 220.0
MOST_HITS = 120


@dataclass(frozen=True, slots=True)
class _Frame:
    """Places from left to right; values from `low` at the bottom to `high` at the top."""

    count: int
    low: float
    high: float

    def x(self, place: float) -> float:
        """Where a place stands."""
        return round((place + 0.5) / self.count * WIDTH, 1)

    def y(self, value: float) -> float:
        """Where a value stands; one outside stands at the edge."""
        within = min(max(value, self.low), self.high)
        return round(BOTTOM - (within - self.low) / (self.high - self.low) * (BOTTOM - TOP), 1)


def history_plot(
    points: Sequence[Point], drawn: Sequence[Level], moved: Sequence[Move], *, title: str, unit: str
) -> Plot | None:
    """The drawing; None where no point has a figure."""
    values = [point.value for point in points if point.value is not None and isfinite(point.value)]
    if not values:
        return None
    frame = _frame(len(points), values)
    strokes = [
        *_bands(drawn, frame),
        *_moves(moved, frame),
        Stroke(style="dots-head", path=_dots(points, frame), name="run"),
        Stroke(style="dots-bad", path=_failures(points, frame), name="run without a figure"),
    ]
    words = _words(points, drawn, moved, title, unit)
    return Plot(
        title=title,
        words=words,
        height=HEIGHT,
        rules=(TOP, BOTTOM),
        strokes=tuple(stroke for stroke in strokes if stroke.path),
        notes=(),
        hits=tuple(_hits(points, frame, unit)),
        edges=Edges(
            high=f"{significant(frame.high, 4)}{unit}",
            low=f"{significant(frame.low, 4)}{unit}",
            first=_when(points[0]),
            last=_when(points[-1]),
        ),
    )


def _frame(count: int, values: Sequence[float]) -> _Frame:
    low, high = (min(max(value, -DRAWN), DRAWN) for value in (min(values), max(values)))
    room = (high - low) * 0.06 or abs(high) * 0.02 or 1.0
    return _Frame(count, low - room, high + room)


def _bands(drawn: Sequence[Level], frame: _Frame) -> list[Stroke]:
    """The noise of each level as an area, its median as a line."""
    areas, lines = [], []
    for level in drawn:
        left, right = frame.x(level.first - 0.5), frame.x(level.last + 0.5)
        lines.append(f"M{left} {frame.y(level.middle)}H{right}")
        if level.half is not None:
            top, bottom = frame.y(level.middle + level.half), frame.y(level.middle - level.half)
            areas.append(f"M{left} {top}H{right}V{bottom}H{left}Z")
    return [
        Stroke(style="band", path="".join(areas), name="noise of the level"),
        Stroke(style="level", path="".join(lines), name="median"),
    ]


def _moves(moved: Sequence[Move], frame: _Frame) -> list[Stroke]:
    """One rule at each change: of the level, and of the conditions."""
    own = [move for move in moved if move.conditions is None]
    other = [move for move in moved if move.conditions is not None]
    return [
        Stroke(
            style=style, path="".join(f"M{frame.x(one.place - 0.5)} {TOP}V{FOOT}" for one in some), name=name
        )
        for style, some, name in (
            ("shift", own, "change of level"),
            ("conditions", other, "other devices or versions"),
        )
    ]


def _dots(points: Sequence[Point], frame: _Frame) -> str:
    known = [(place, point.value) for place, point in enumerate(points) if point.value is not None]
    finite = [(place, value) for place, value in known if isfinite(value)]
    return "".join(
        f"M{frame.x(place)} {frame.y(value)}h0" for place, value in thinned(finite, 0, len(points))
    )


def _failures(points: Sequence[Point], frame: _Frame) -> str:
    places = [place for place, point in enumerate(points) if point.value is None]
    spots = dict.fromkeys(frame.x(place) for place in places)
    if len(spots) > MOST_BINS:
        spots = dict.fromkeys(frame.x(place) for place in places[:: -(-len(places) // MOST_BINS)])
    return "".join(f"M{x} {FOOT - 6}v6" for x in spots)


def _hits(points: Sequence[Point], frame: _Frame, unit: str) -> list[Hit]:
    size_of = -(-len(points) // MOST_HITS)
    found = []
    for at in range(0, len(points), size_of):
        group = points[at : at + size_of]
        left, right = frame.x(at - 0.5), frame.x(at + len(group) - 0.5)
        found.append(Hit(x=left, width=round(right - left, 1), words=_said(group, unit)))
    return found


def _said(group: Sequence[Point], unit: str) -> str:
    if len(group) == 1:
        one = group[0]
        figure = (
            f"{significant(one.value, 5)}{unit}" if one.value is not None else f"no figure, {one.outcome}"
        )
        return f"{_when(one)}, {one.sha[:7] if one.sha else 'commit not recorded'}: {figure}"
    values = [point.value for point in group if point.value is not None]
    missing = len(group) - len(values)
    span = f"{significant(min(values), 5)} to {significant(max(values), 5)}{unit}" if values else "no figure"
    more = f", {missing} without a figure" if missing and values else ""
    return f"{counted(len(group), 'run')}, {_when(group[0])} to {_when(group[-1])}: {span}{more}"


def _when(point: Point) -> str:
    return day(point.started)[:10] if point.started is not None else "date not known"


def _words(
    points: Sequence[Point], drawn: Sequence[Level], moved: Sequence[Move], title: str, unit: str
) -> str:
    newest = drawn[-1] if drawn else None
    said = [f"{title}: {counted(len(points), 'run')}, {_when(points[0])} to {_when(points[-1])}."]
    if newest is not None:
        noise = f", most within ±{significant(newest.half / newest.middle * 100, 2)} %" if newest.half else ""
        said.append(f"Newest level {significant(newest.middle, 4)}{unit}{noise}.")
    own = [move for move in moved if move.conditions is None]
    said.append(f"{counted(len(own), 'change')} of level." if own else "No change of level.")
    return " ".join(said)
