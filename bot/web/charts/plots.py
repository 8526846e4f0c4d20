"""Charts of runs: loss curves, step times and time ledgers as SVG paths, in a drawing 1000 units wide.

Pure. Everything drawn is also said in words. A value that is no number interrupts the line; one far outside
is
drawn at the edge and counted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from operator import itemgetter
from statistics import median

from msgspec import Struct

from bot.report.wording import counted, duration_words, significant
from bot.verdict.judgement import MeasuredRun
from bot.verdict.loss.curve import LossCurve, loss_pair, read_loss_curve
from bot.verdict.timing import MAX_INTERVAL_MEDIANS, MIN_INTERVAL_MEDIANS, last_attempt_steps, line_gaps

WIDTH = 1000.0

MAX_HOVER_AREAS = 60
"""As many areas as a finger on a phone can tell apart."""

Points = Sequence[tuple[int, float]]

HoverNote = Callable[[str, int], str]
"""Words about a line's value at a step, by the line's name; empty for none."""


class HoverArea(Struct, frozen=True, kw_only=True):
    """An area of the chart and the text shown on hover."""

    x: float
    width: float
    words: str


def hover_areas(
    lines: Mapping[str, Points],
    *,
    unit: str = "",
    digits: int = 4,
    remark: HoverNote | None = None,
) -> tuple[HoverArea, ...]:
    """One area for each step, or equal groups of steps if there are too many.

    `remark` adds words to a line's value at a step that has an area of its own.
    """
    steps = sorted({step for line in lines.values() for step, _ in line})
    if len(steps) < 2:
        return ()
    known = {name: dict(line) for name, line in lines.items()}
    groups = _step_groups(steps)
    first, span = steps[0], steps[-1] - steps[0]
    ends = [(one[-1] + two[0]) / 2 for one, two in pairwise(groups)]
    edges = [first, *ends, steps[-1]]
    return tuple(
        HoverArea(
            x=round((left - first) / span * WIDTH, 1),
            width=round((right - left) / span * WIDTH, 1),
            words=_hover_text(
                group, known, remark or _no_note, lambda value: f"{significant(value, digits)}{unit}"
            ),
        )
        for group, (left, right) in zip(groups, pairwise(edges), strict=True)
    )


def _no_note(_name: str, _step: int) -> str:
    return ""


def _step_groups(steps: Sequence[int]) -> list[Sequence[int]]:
    size = -(-len(steps) // MAX_HOVER_AREAS)
    return [steps[at : at + size] for at in range(0, len(steps), size)]


def _hover_text(
    group: Sequence[int],
    known: Mapping[str, Mapping[int, float]],
    remark: HoverNote,
    shown: Callable[[float], str],
) -> str:
    title = f"step {group[0]}" if len(group) == 1 else f"steps {group[0]} to {group[-1]}"
    parts = [
        f"{name} {_value_range([line[step] for step in group if step in line], shown)}"
        + (f", {note}" if len(group) == 1 and (note := remark(name, group[0])) else "")
        for name, line in known.items()
        if any(step in line for step in group)
    ]
    return f"{title}: {'; '.join(parts)}"


def _value_range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """The value, or the lowest and highest; a value that is no number is given as it is."""
    odd = next((value for value in values if not isfinite(value)), None)
    if odd is not None:
        return shown(odd)
    low, high = min(values), max(values)
    return shown(low) if low == high else f"{shown(low)} to {shown(high)}"


class Stroke(Struct, frozen=True, kw_only=True):
    """One SVG path and its style; `name` appears in the legend unless empty."""

    style: str
    path: str
    name: str = ""


class AxisLabels(Struct, frozen=True, kw_only=True):
    """The labels of the axes: highest and lowest value, first and last step."""

    high: str
    low: str
    first: str
    last: str


class Plot(Struct, frozen=True, kw_only=True):
    """A chart `height` high.

    `grid_lines` are the heights of its grid lines, `words` describe it for screen readers, `notes` give the
    scales.
    """

    title: str
    words: str
    height: float
    grid_lines: tuple[float, ...]
    strokes: tuple[Stroke, ...]
    notes: tuple[str, ...]
    hover_areas: tuple[HoverArea, ...] = ()
    axis_labels: AxisLabels | None = None


FILL_COUNT = 10
"""Fills in the stylesheet, ordered so that neighbours differ in lightness too."""


class BarSegment(Struct, frozen=True, kw_only=True):
    """One phase of a bar: position, fill and words."""

    x: float
    width: float
    fill: str
    words: str


class TimeBar(Struct, frozen=True, kw_only=True):
    """A run's time ledger as a bar; `words` describe it for screen readers."""

    name: str
    words: str
    segments: tuple[BarSegment, ...]


def phase_fills(names: Sequence[str]) -> dict[str, str]:
    """A fill for every phase, the same on both sides; the residual is hatched."""
    plain = [name for name in names if not is_residual(name)]
    chosen = {name: f"fill-{index % FILL_COUNT}" for index, name in enumerate(plain)}
    return {**chosen, **{name: "fill-rest" for name in names if is_residual(name)}}


def is_residual(name: str) -> bool:
    """Whether a phase is the rest that no other phase explains."""
    return name.lower() in {"residual", "rest", "unexplained", "other", "unaccounted"}


def time_bar(name: str, ledger: Mapping[str, float], *, longest: float, fills: dict[str, str]) -> TimeBar:
    """The ledger of one side (seconds by phase) as a bar; `longest` seconds are the full width."""
    segments, x = [], 0.0
    for phase, seconds in ledger.items():
        width = max(seconds, 0.0) / longest * WIDTH if longest > 0 else 0.0
        if width > 0:
            words = f"{phase}: {seconds:.1f} s"
            segments.append(BarSegment(x=round(x, 2), width=round(width, 2), fill=fills[phase], words=words))
        x += width
    phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in ledger.items())
    return TimeBar(
        name=name, words=f"{name}, {sum(ledger.values()):.1f} s: {phases}", segments=tuple(segments)
    )


MAX_BINS = 500
"""Stretches of a thinned line, each drawn by its lowest and highest value."""


def thin_points(line: Points, first: int, span: int) -> Points:
    """At most two points of each of `MAX_BINS` stretches of `span` steps: the lowest and the highest.

    A value that is no number is kept where its stretch has no other.
    """
    if len(line) <= 2 * MAX_BINS:
        return line
    bins: list[list[tuple[int, float]]] = [[] for _ in range(MAX_BINS)]
    for point in line:
        bins[(point[0] - first) * MAX_BINS // span].append(point)
    kept: set[tuple[int, float]] = set()
    for points in filter(None, bins):
        finite = [point for point in points if isfinite(point[1])]
        kept |= {min(finite, key=_value_of), max(finite, key=_value_of)} if finite else {points[0]}
    return sorted(kept, key=itemgetter(0))


_value_of = itemgetter(1)

KEPT_STEP, LEFT_OUT = "kept", "left out"
"""What happened to a step in the steady step time."""

DRAW_LIMIT = 1e300
"""Larger values are drawn at the edge: their differences would overflow."""


class _Panel(Struct, frozen=True):
    """A panel of a chart: steps from left to right, values from `low` to `high` upwards."""

    first: int
    last: int
    low: float
    high: float
    top: float
    bottom: float

    def place(self, step: int, value: float) -> str:
        """`12.5 40`, with values outside at the edge."""
        x = (step - self.first) / max(self.last - self.first, 1) * WIDTH
        within = min(max(value, self.low), self.high)
        y = self.bottom - (within - self.low) / (self.high - self.low) * (self.bottom - self.top)
        return f"{x:.1f} {y:.1f}"


def plots(sides: Mapping[str, MeasuredRun]) -> tuple[Plot, ...]:
    """Every chart that has something to show."""
    return tuple(drawn for drawn in (loss_plot(sides), step_plot(sides)) if drawn is not None)


def loss_plot(sides: Mapping[str, MeasuredRun]) -> Plot | None:
    """The loss curves of one or two sides, by name; for two also the relative difference, head to base."""
    curves = {name: read_loss_curve(run.log) for name, run in sides.items()}
    lines = {name: line for name, loss_curve in curves.items() if (line := _loss_points(loss_curve))}
    numbers = [value for line in lines.values() for _, value in line if isfinite(value)]
    steps = [step for line in lines.values() for step, _ in line]
    if len(set(steps)) < 2 or not numbers:
        return None
    differences: Points = ()
    if len(curves) == 2:
        differences = _loss_difference(*curves.values())
    upper = _panel(steps, numbers, 8.0, 150.0)
    styles = _side_styles(sides)
    strokes = [
        Stroke(style=f"line-{styles[name]}", path=_path(upper, line), name=name)
        for name, line in lines.items()
    ]
    descriptions = [_loss_words(name, line) for name, line in lines.items()]
    notes = [
        f"Loss between {significant(min(numbers))} and {significant(max(numbers))}, {_step_span(steps)}."
    ]
    if differences:
        largest = max(differences, key=lambda point: abs(point[1]))
        bound = min(abs(largest[1]), DRAW_LIMIT) or 1e-9
        lower = _Panel(min(steps), max(steps), -bound, bound, 182.0, 232.0)
        strokes.append(Stroke(style="line-apart", path=_path(lower, differences), name="relative difference"))
        descriptions.append(_difference_words(largest))
        notes.append(_difference_words(largest))
    rules = (upper.top, upper.bottom, *((182.0, 207.0, 232.0) if differences else ()))
    return Plot(
        axis_labels=_axis_labels(upper, ""),
        hover_areas=hover_areas(lines, digits=5, remark=_difference_note(differences, list(lines)[-1])),
        title="Loss by step",
        words="Loss by step. " + " ".join(descriptions),
        height=240.0 if differences else 158.0,
        grid_lines=rules,
        strokes=tuple(strokes),
        notes=tuple(notes),
    )


def step_plot(sides: Mapping[str, MeasuredRun]) -> Plot | None:
    """The step times of one or two sides, by name; the steps behind the steady step time are dots."""
    lines = {name: _step_times(run) for name, run in sides.items()}
    lines = {name: line for name, line in lines.items() if len(line) > 1}
    if not lines:
        return None
    medians = [sides[name].measurements.steady.seconds or _median_value(line) for name, line in lines.items()]
    steps = [step for line in lines.values() for step, _ in line]
    frame = _Panel(
        min(steps),
        max(steps),
        MIN_INTERVAL_MEDIANS * min(medians),
        MAX_INTERVAL_MEDIANS * max(medians),
        8.0,
        150.0,
    )
    styles = _side_styles(sides)
    strokes, descriptions = [], []
    uses: dict[str, dict[int, str]] = {}
    for name, line in lines.items():
        steady = sides[name].measurements.steady
        use = uses[name] = {
            **dict.fromkeys(steady.candidate_steps, LEFT_OUT),
            **dict.fromkeys(steady.kept_steps, KEPT_STEP),
        }
        dots, rings = (
            [point for point in line if use.get(point[0]) == wanted] for wanted in (KEPT_STEP, LEFT_OUT)
        )
        strokes.append(Stroke(style=f"line-{styles[name]}", path=_path(frame, line), name=name))
        strokes.append(Stroke(style=f"dots-{styles[name]}", path=_dots(frame, dots)))
        circles = _dots(frame, rings)
        strokes += [
            Stroke(style=style, path=circles) for style in (f"rings-{styles[name]}", "holes") if rings
        ]
        descriptions.append(_time_words(name, line, dots, frame))
    low, high = significant(frame.low), significant(frame.high)
    scale = f"From {low} to {high} s, {_step_span(steps)}. Dots: kept steps. Rings: left out."
    return Plot(
        axis_labels=_axis_labels(frame, " s"),
        hover_areas=hover_areas(lines, unit=" s", remark=lambda name, step: uses[name].get(step, "")),
        title="Step time by step",
        words="Step time by step. " + " ".join(descriptions),
        height=158.0,
        grid_lines=(frame.top, frame.bottom),
        strokes=tuple(strokes),
        notes=(scale, *descriptions),
    )


def _loss_difference(base: LossCurve, head: LossCurve) -> Points:
    """The relative difference at every step where both sides state a finite loss."""
    pairs = [loss_pair(base, head, step) for step in sorted(base.points.keys() & head.points.keys())]
    ratios = [(one.step, one.head / one.base - 1) for one in pairs if one.finite and one.base]
    return [point for point in ratios if isfinite(point[1])]


def _axis_labels(frame: _Panel, unit: str) -> AxisLabels:
    high, low = (f"{significant(value, 4)}{unit}" for value in (frame.high, frame.low))
    return AxisLabels(high=high, low=low, first=f"step {frame.first}", last=f"step {frame.last}")


def _difference_note(differences: Points, name: str) -> HoverNote:
    by_step = dict(differences)

    def remark(line: str, step: int) -> str:
        value = by_step.get(step) if line == name else None
        return f"{significant(value * 100, 2)} % apart" if value else ""

    return remark


def _side_styles(sides: Iterable[str]) -> dict[str, str]:
    """The base is dashed if there is one."""
    names = list(sides)
    return dict(zip(names, ("base", "head")[-len(names) :], strict=True))


def _loss_points(loss_curve: LossCurve) -> Points:
    return [(step, point.loss) for step, point in sorted(loss_curve.points.items()) if point.loss is not None]


def _step_times(run: MeasuredRun) -> Points:
    """Seconds between the lines of consecutive steps; the printed ones if the lines have no timestamps."""
    steps = last_attempt_steps(run.log.steps)
    measured = sorted(line_gaps(steps).items())
    return measured or [(step.step, step.seconds) for step in steps if step.seconds is not None]


def _median_value(line: Points) -> float:
    return median(value for _, value in line)


def _panel(steps: Sequence[int], values: Sequence[float], top: float, bottom: float) -> _Panel:
    low, high = (min(max(value, -DRAW_LIMIT), DRAW_LIMIT) for value in (min(values), max(values)))
    room = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return _Panel(min(steps), max(steps), low - room, high + room, top, bottom)


def _path(frame: _Panel, line: Points) -> str:
    """A line through the points, interrupted where a value is no number."""
    parts, pen = [], "M"
    for step, value in _thin(line):
        if isfinite(value):
            parts.append(f"{pen}{frame.place(step, value)}" + ("h0" if pen == "M" else ""))
            pen = "L"
        else:
            pen = "M"
    return "".join(parts)


def _dots(frame: _Panel, points: Points) -> str:
    return "".join(f"M{frame.place(step, value)}h0" for step, value in _thin(points))


def _thin(line: Points) -> Points:
    return thin_points(line, line[0][0], line[-1][0] - line[0][0] + 1) if line else line


def _step_span(steps: Sequence[int]) -> str:
    return f"steps {min(steps)} to {max(steps)}"


def _loss_words(name: str, line: Points) -> str:
    (first, start), (last, end) = line[0], line[-1]
    bad = next((step for step, value in line if not isfinite(value)), None)
    words = f"{name}: {significant(start, 4)} at step {first}, {significant(end, 4)} at step {last}"
    return words + ("." if bad is None else f"; not a number at step {bad}.")


def _difference_words(largest: tuple[int, float]) -> str:
    step, value = largest
    if value == 0:
        return "Relative difference: none at any common step."
    return f"Largest relative difference {significant(abs(value) * 100)} % at step {step}."


def _time_words(name: str, line: Points, kept: Points, frame: _Panel) -> str:
    outside = [value for _, value in line if not frame.low <= value <= frame.high]
    words = f"{name}: none of {counted(len(line), 'step')} kept"
    if kept:
        middle = significant(_median_value(kept))
        words = f"{name}: median {middle} s of {counted(len(kept), 'kept step')}, {len(line)} in all"
    if not outside:
        return words + "."
    return f"{words}; {counted(len(outside), 'step')} outside the drawing, {_outside_range(outside, frame)}."


def _outside_range(outside: Sequence[float], frame: _Panel) -> str:
    """How far the values outside the chart are off."""
    low, high = min(outside), max(outside)
    if low > frame.high:
        return f"up to {duration_words(high)}"
    return f"down to {duration_words(low)}" + (
        f" and up to {duration_words(high)}" if high > frame.high else ""
    )
