"""The levels of a case's history, its chart, and its sparkline.

Pure. A level is a stretch of runs without a significant change; its band is the noise of most of its runs.
Thousands of points are thinned to the lowest and highest of each stretch, so no outlier is lost.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from math import isfinite, log
from statistics import median

from msgspec import Struct

from bot.report.wording import NO_VALUE, counted, moment_words, signed_percent, significant
from bot.storage.histories import AcknowledgedVerdict, HistoryPoint
from bot.verdict.noise import LevelShift, PastRun, level_shifts
from bot.web.charts.plots import DRAW_LIMIT, MAX_BINS, WIDTH, AxisLabels, HoverArea, Plot, Stroke, thin_points

MIN_LEVEL_RUNS = 4
"""Fewest runs of a level with a band: fewer show no noise."""

MAD_TO_SD = 1.4826
"""Converts a median absolute deviation to a standard deviation of normal noise."""

BAND_SDS = 2.0

ACKNOWLEDGEMENT_SECONDS = 30 * 86_400.0
"""Longest time between an acknowledgement on a pull request and the change on main that it may have
caused."""


class HistoryLevel(Struct, frozen=True, kw_only=True):
    """A level: the points from index `first` to `last`, their median, and half the width of its noise
    band."""

    first: int
    last: int
    median: float
    half_band: float | None


class LevelChange(Struct, frozen=True, kw_only=True):
    """A change of level at `index`.

    `acknowledgement` is `certain` if it is of this very commit. `conditions` holds old and new if
    devices or versions changed with it.
    """

    index: int
    shift: LevelShift
    acknowledgement: AcknowledgedVerdict | None = None
    certain: bool = False
    conditions: tuple[str, str] | None = None


def counts_for_levels(point: HistoryPoint) -> bool:
    """Whether a point counts for levels: not slowed by other runs, with a figure that has a logarithm."""
    return point.keeps_pace and point.value is not None and isfinite(point.value) and point.value > 0


def level_changes(
    points: Sequence[HistoryPoint], acknowledged: Sequence[AcknowledgedVerdict]
) -> tuple[LevelChange, ...]:
    """Every change of level under the same conditions, and every change of conditions, oldest first."""
    found: list[LevelChange] = []
    usable = [(place, point) for place, point in enumerate(points) if counts_for_levels(point)]
    before: list[tuple[int, HistoryPoint]] = []
    for _, group in groupby(usable, key=lambda one: one[1].conditions):
        stretch = list(group)
        if before:
            found.append(_conditions_change(before, stretch))
        found += _changes_within(stretch, acknowledged)
        before = stretch
    return tuple(found)


def history_levels(
    points: Sequence[HistoryPoint], changes: Sequence[LevelChange]
) -> tuple[HistoryLevel, ...]:
    """The levels between the changes."""
    bounds = [0, *(move.index for move in changes), len(points)]
    return tuple(
        level for first, end in pairwise(bounds) if (level := _make_level(points, first, end)) is not None
    )


def _make_level(points: Sequence[HistoryPoint], first: int, end: int) -> HistoryLevel | None:
    values = [
        point.value for point in points[first:end] if counts_for_levels(point) and point.value is not None
    ]
    if not values:
        return None
    middle = median(values)
    deviation = median(abs(value - middle) for value in values)
    half = BAND_SDS * MAD_TO_SD * deviation if len(values) >= MIN_LEVEL_RUNS else None
    return HistoryLevel(first=first, last=end - 1, median=middle, half_band=half)


def _changes_within(
    stretch: Sequence[tuple[int, HistoryPoint]], acknowledged: Sequence[AcknowledgedVerdict]
) -> list[LevelChange]:
    runs = [PastRun(seconds=point.value or 0.0, sha=point.sha, started=point.started) for _, point in stretch]
    found: list[LevelChange] = []
    at = 0
    for shift in level_shifts(runs):
        at += shift.runs_before
        acknowledgement, certain = _find_acknowledgement(shift, acknowledged)
        found.append(
            LevelChange(index=stretch[at][0], shift=shift, acknowledgement=acknowledgement, certain=certain)
        )
    return found


def _conditions_change(
    before: Sequence[tuple[int, HistoryPoint]], after: Sequence[tuple[int, HistoryPoint]]
) -> LevelChange:
    old, new = (median(point.value or 0.0 for _, point in side) for side in (before, after))
    last, first = before[-1][1], after[0]
    return LevelChange(
        index=first[0],
        shift=LevelShift(
            change=log(new / old),
            at=first[1].sha,
            before=last.sha,
            runs_before=len(before),
            runs_after=len(after),
            started=first[1].started,
        ),
        conditions=(last.conditions, first[1].conditions),
    )


def _find_acknowledgement(
    shift: LevelShift, acknowledged: Sequence[AcknowledgedVerdict]
) -> tuple[AcknowledgedVerdict | None, bool]:
    """The acknowledgement of this commit, or of a similar change on a pull request shortly before."""
    for one in reversed(acknowledged):
        if shift.at and one.head_sha.startswith(shift.at[:7]):
            return one, True
    wanted = "slower" if shift.change > 0 else "faster"
    started = shift.started
    if started is None:
        return None, False
    near = [
        one
        for one in acknowledged
        if one.verdict == wanted and 0 <= started - one.made <= ACKNOWLEDGEMENT_SECONDS
    ]
    return (near[-1], False) if near else (None, False)


PLOT_TOP, PLOT_BOTTOM, PLOT_FOOT = 10.0, 190.0, 212.0

PLOT_HEIGHT = 220.0

MAX_HOVER_AREAS = 120


class _Axes(Struct, frozen=True):
    """Indexes from left to right; values from `low` at the bottom to `high` at the top."""

    count: int
    low: float
    high: float

    def x(self, place: float) -> float:
        """The x coordinate of an index."""
        return round((place + 0.5) / self.count * WIDTH, 1)

    def y(self, value: float) -> float:
        """The y coordinate of a value; one outside is drawn at the edge."""
        within = min(max(value, self.low), self.high)
        return round(PLOT_BOTTOM - (within - self.low) / (self.high - self.low) * (PLOT_BOTTOM - PLOT_TOP), 1)


def history_plot(
    points: Sequence[HistoryPoint],
    levels: Sequence[HistoryLevel],
    changes: Sequence[LevelChange],
    *,
    title: str,
    unit: str,
) -> Plot | None:
    """The chart; None if no point has a figure."""
    values = [point.value for point in points if point.value is not None and isfinite(point.value)]
    if not values:
        return None
    axes = _axes(len(points), values)
    strokes = [
        *_level_strokes(levels, axes),
        *_change_strokes(changes, axes),
        Stroke(style="dots-head", path=_run_dots(points, axes), name="run"),
        Stroke(style="dots-bad", path=_failure_marks(points, axes), name="run without a figure"),
    ]
    words = _plot_words(points, levels, changes, title, unit)
    return Plot(
        title=title,
        words=words,
        height=PLOT_HEIGHT,
        grid_lines=(PLOT_TOP, PLOT_BOTTOM),
        strokes=tuple(stroke for stroke in strokes if stroke.path),
        notes=(),
        hover_areas=tuple(_hover_areas(points, axes, unit)),
        axis_labels=AxisLabels(
            high=f"{significant(axes.high, 4)}{unit}",
            low=f"{significant(axes.low, 4)}{unit}",
            first=_date_of(points[0]),
            last=_date_of(points[-1]),
        ),
    )


def _axes(count: int, values: Sequence[float]) -> _Axes:
    low, high = (min(max(value, -DRAW_LIMIT), DRAW_LIMIT) for value in (min(values), max(values)))
    room = (high - low) * 0.06 or abs(high) * 0.02 or 1.0
    return _Axes(count, low - room, high + room)


def _level_strokes(levels: Sequence[HistoryLevel], axes: _Axes) -> list[Stroke]:
    """The noise band of each level as an area, its median as a line."""
    areas, lines = [], []
    for level in levels:
        left, right = axes.x(level.first - 0.5), axes.x(level.last + 0.5)
        lines.append(f"M{left} {axes.y(level.median)}H{right}")
        if level.half_band is not None:
            top, bottom = axes.y(level.median + level.half_band), axes.y(level.median - level.half_band)
            areas.append(f"M{left} {top}H{right}V{bottom}H{left}Z")
    return [
        Stroke(style="band", path="".join(areas), name="noise of the level"),
        Stroke(style="level", path="".join(lines), name="median"),
    ]


def _change_strokes(changes: Sequence[LevelChange], axes: _Axes) -> list[Stroke]:
    """A vertical line at each change of level or of conditions."""
    own = [move for move in changes if move.conditions is None]
    other = [move for move in changes if move.conditions is not None]
    return [
        Stroke(
            style=style,
            path="".join(f"M{axes.x(one.index - 0.5)} {PLOT_TOP}V{PLOT_FOOT}" for one in some),
            name=name,
        )
        for style, some, name in (
            ("shift", own, "change of level"),
            ("conditions", other, "other devices or versions"),
        )
    ]


def _run_dots(points: Sequence[HistoryPoint], axes: _Axes) -> str:
    with_value = [(place, point.value) for place, point in enumerate(points) if point.value is not None]
    finite = [(place, value) for place, value in with_value if isfinite(value)]
    return "".join(
        f"M{axes.x(place)} {axes.y(value)}h0" for place, value in thin_points(finite, 0, len(points))
    )


def _failure_marks(points: Sequence[HistoryPoint], axes: _Axes) -> str:
    places = [place for place, point in enumerate(points) if point.value is None]
    spots = dict.fromkeys(axes.x(place) for place in places)
    if len(spots) > MAX_BINS:
        spots = dict.fromkeys(axes.x(place) for place in places[:: -(-len(places) // MAX_BINS)])
    return "".join(f"M{x} {PLOT_FOOT - 6}v6" for x in spots)


def _hover_areas(points: Sequence[HistoryPoint], axes: _Axes, unit: str) -> list[HoverArea]:
    size_of = -(-len(points) // MAX_HOVER_AREAS)
    found = []
    for at in range(0, len(points), size_of):
        group = points[at : at + size_of]
        left, right = axes.x(at - 0.5), axes.x(at + len(group) - 0.5)
        found.append(HoverArea(x=left, width=round(right - left, 1), words=_hover_text(group, unit)))
    return found


def _hover_text(group: Sequence[HistoryPoint], unit: str) -> str:
    if len(group) == 1:
        one = group[0]
        figure = (
            f"{significant(one.value, 5)}{unit}" if one.value is not None else f"no figure, {one.outcome}"
        )
        return f"{_date_of(one)}, {one.sha[:7] if one.sha else 'commit not recorded'}: {figure}"
    values = [point.value for point in group if point.value is not None]
    missing = len(group) - len(values)
    span = f"{significant(min(values), 5)} to {significant(max(values), 5)}{unit}" if values else "no figure"
    more = f", {missing} without a figure" if missing and values else ""
    return f"{counted(len(group), 'run')}, {_date_of(group[0])} to {_date_of(group[-1])}: {span}{more}"


def _date_of(point: HistoryPoint) -> str:
    return moment_words(point.started)[:10] if point.started is not None else "date not known"


def _plot_words(
    points: Sequence[HistoryPoint],
    levels: Sequence[HistoryLevel],
    changes: Sequence[LevelChange],
    title: str,
    unit: str,
) -> str:
    newest = levels[-1] if levels else None
    said = [f"{title}: {counted(len(points), 'run')}, {_date_of(points[0])} to {_date_of(points[-1])}."]
    if newest is not None:
        noise = (
            f", most within ±{significant(newest.half_band / newest.median * 100, 2)} %"
            if newest.half_band
            else ""
        )
        said.append(f"Newest level {significant(newest.median, 4)}{unit}{noise}.")
    own = [move for move in changes if move.conditions is None]
    said.append(f"{counted(len(own), 'change')} of level." if own else "No change of level.")
    return " ".join(said)


SPARK_WIDTH, SPARK_HEIGHT = 120.0, 24.0


class Sparkline(Struct, frozen=True, kw_only=True):
    """A sparkline: the line, a dot at the newest value, ticks for runs without a figure."""

    path: str
    newest: str
    gaps: str
    words: str


def newest_step_time(points: Sequence[HistoryPoint]) -> str:
    """The newest steady step time."""
    value = next((point.value for point in reversed(points) if point.value is not None), None)
    return NO_VALUE if value is None else f"{significant(value, 4)} s"


def trend(points: Sequence[HistoryPoint]) -> str:
    """`level`, or the newest change of level: `+2.1 % at 574ad3f`."""
    own = [move.shift for move in level_changes(points, ()) if move.conditions is None]
    if own:
        at = own[-1].at
        return f"{signed_percent(own[-1].change)} at {at[:7] if at else 'an unrecorded commit'}"
    with_value = [point for point in points if point.value is not None]
    if not with_value:
        return NO_VALUE
    return "level" if len(with_value) >= 2 * MIN_LEVEL_RUNS else "too few runs to tell"


def sparkline(points: Sequence[HistoryPoint]) -> Sparkline:
    """The sparkline of these points; a run without a figure is a tick at the bottom."""
    with_value = [
        (at, it.value) for at, it in enumerate(points) if it.value is not None and isfinite(it.value)
    ]
    steps = max(len(points) - 1, 1)
    if not with_value:
        strokes = "".join(f"M{_spark_x(at, steps)} {SPARK_HEIGHT - 3}v3" for at in range(len(points)))
        return Sparkline(path="", newest="", gaps=strokes, words="no run with a steady step time")
    low, high = min(value for _, value in with_value), max(value for _, value in with_value)
    scale = (SPARK_HEIGHT - 10) / ((high - low) or abs(high) or 1.0)
    spots = [
        f"{_spark_x(at, steps)} {SPARK_HEIGHT - 6 - (value - low) * scale:.1f}" for at, value in with_value
    ]
    gaps = sorted(set(range(len(points))) - {at for at, _ in with_value})
    levels = history_levels(points, level_changes(points, ()))
    missing = f", {len(gaps)} without a figure" if gaps else ""
    middle = f", newest level {significant(levels[-1].median, 4)} s" if levels else ""
    return Sparkline(
        path="M" + "L".join(spots) if len(spots) > 1 else "",
        newest=f"M{spots[-1]}h0",
        gaps="".join(f"M{_spark_x(at, steps)} {SPARK_HEIGHT - 3}v3" for at in gaps),
        words=f"{counted(len(points), 'newest run')}{missing}{middle}",
    )


def _spark_x(place: int, steps: int) -> str:
    return f"{place / steps * (SPARK_WIDTH - 6) + 3:.1f}"


def is_failed(point: HistoryPoint) -> bool:
    """Whether the run did not end well; an old record without an outcome failed if it has no figure."""
    return point.outcome != "succeeded" if point.outcome is not None else point.value is None
