"""Curves as shapes: loss by step with the relative difference below it, and step times with the kept steps.

In:  measured runs with their step lines. Out: `Plot`s, paths in units of a drawing 1000 wide. Pure.

Everything drawn is also said in words. What is no number interrupts a line; what lies far outside is drawn
at the edge and counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

from bot.report.figures import counted, seconds, significant
from bot.verdict.curve import Curve, curve, pair
from bot.verdict.judgement import MeasuredRun
from bot.verdict.steady import LONGEST, SHORTEST
from bot.verdict.timeline import gaps, last_segment
from bot.web.figures.drawing import Edges, Plot, Stroke
from bot.web.figures.hits import WIDTH, Points, Remark, hits
from bot.web.figures.thinned import thinned

KEPT, LEFT = "kept", "left out"
"""What became of a step on the way to the steady step time."""

DRAWN = 1e300
"""Values beyond are drawn at the edge: their differences would overflow."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """A panel: the steps from left to right, the values from `low` at the bottom to `high` at the top."""

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
    """Every plot that there is something to draw in."""
    return tuple(drawn for drawn in (loss_plot(sides), step_plot(sides)) if drawn is not None)


def loss_plot(sides: Mapping[str, MeasuredRun]) -> Plot | None:
    """The loss curves of one or two sides, by name; of two also the relative difference, head to base."""
    curves = {name: curve(run.log) for name, run in sides.items()}
    lines = {name: line for name, its in curves.items() if (line := _losses(its))}
    numbers = [value for line in lines.values() for _, value in line if isfinite(value)]
    steps = [step for line in lines.values() for step, _ in line]
    if len(set(steps)) < 2 or not numbers:
        return None
    apart: Points = ()
    if len(curves) == 2:
        apart = _apart(*curves.values())
    upper = _frame(steps, numbers, 8.0, 150.0)
    styles = _styles(sides)
    strokes = [
        Stroke(style=f"line-{styles[name]}", path=_path(upper, line), name=name)
        for name, line in lines.items()
    ]
    said = [_loss_words(name, line) for name, line in lines.items()]
    notes = [f"Loss between {significant(min(numbers))} and {significant(max(numbers))}, {_span(steps)}."]
    if apart:
        furthest = max(apart, key=lambda point: abs(point[1]))
        bound = abs(furthest[1]) or 1e-9
        lower = _Frame(min(steps), max(steps), -bound, bound, 182.0, 232.0)
        strokes.append(Stroke(style="line-apart", path=_path(lower, apart), name="relative difference"))
        said.append(_apart_words(furthest))
        notes.append(_apart_words(furthest))
    rules = (upper.top, upper.bottom, *((182.0, 207.0, 232.0) if apart else ()))
    return Plot(
        edges=_edges(upper, ""),
        hits=hits(lines, digits=5, remark=_apart_remark(apart, list(lines)[-1])),
        title="Loss by step",
        words="Loss by step. " + " ".join(said),
        height=240.0 if apart else 158.0,
        rules=rules,
        strokes=tuple(strokes),
        notes=tuple(notes),
    )


def step_plot(sides: Mapping[str, MeasuredRun]) -> Plot | None:
    """The step times of one or two sides, by name; the steps that the steady step time rests on are dots."""
    lines = {name: _times(run) for name, run in sides.items()}
    lines = {name: line for name, line in lines.items() if len(line) > 1}
    if not lines:
        return None
    middles = [sides[name].measurements.steady.seconds or _middle(line) for name, line in lines.items()]
    steps = [step for line in lines.values() for step, _ in line]
    frame = _Frame(min(steps), max(steps), SHORTEST * min(middles), LONGEST * max(middles), 8.0, 150.0)
    styles = _styles(sides)
    strokes, said = [], []
    used: dict[str, dict[int, str]] = {}
    for name, line in lines.items():
        steady = sides[name].measurements.steady
        use = used[name] = {
            **dict.fromkeys(steady.candidate_steps, LEFT),
            **dict.fromkeys(steady.kept_steps, KEPT),
        }
        dots, rings = ([point for point in line if use.get(point[0]) == wanted] for wanted in (KEPT, LEFT))
        strokes.append(Stroke(style=f"line-{styles[name]}", path=_path(frame, line), name=name))
        strokes.append(Stroke(style=f"dots-{styles[name]}", path=_dots(frame, dots)))
        circles = _dots(frame, rings)
        strokes += [
            Stroke(style=style, path=circles) for style in (f"rings-{styles[name]}", "holes") if rings
        ]
        said.append(_time_words(name, line, dots, frame))
    low, high = significant(frame.low), significant(frame.high)
    scale = f"From {low} to {high} s, {_span(steps)}. Dots: kept steps. Rings: left out."
    return Plot(
        edges=_edges(frame, " s"),
        hits=hits(lines, unit=" s", remark=lambda name, step: used[name].get(step, "")),
        title="Step time by step",
        words="Step time by step. " + " ".join(said),
        height=158.0,
        rules=(frame.top, frame.bottom),
        strokes=tuple(strokes),
        notes=(scale, *said),
    )


def _apart(base: Curve, head: Curve) -> Points:
    """The relative difference at every step that both sides state a finite loss for."""
    pairs = [pair(base, head, step) for step in sorted(base.points.keys() & head.points.keys())]
    ratios = [(it.step, it.head / it.base - 1) for it in pairs if it.finite and it.base]
    return [point for point in ratios if isfinite(point[1])]


def _edges(frame: _Frame, unit: str) -> Edges:
    high, low = (f"{significant(value, 4)}{unit}" for value in (frame.high, frame.low))
    return Edges(high=high, low=low, first=f"step {frame.first}", last=f"step {frame.last}")


def _apart_remark(apart: Points, name: str) -> Remark:
    by_step = dict(apart)

    def remark(line: str, step: int) -> str:
        value = by_step.get(step) if line == name else None
        return f"{significant(value * 100, 2)} % apart" if value else ""

    return remark


def _styles(sides: Iterable[str]) -> dict[str, str]:
    """The base is drawn dashed where there is one."""
    names = list(sides)
    return dict(zip(names, ("base", "head")[-len(names) :], strict=True))


def _losses(its: Curve) -> Points:
    return [(step, point.loss) for step, point in sorted(its.points.items()) if point.loss is not None]


def _times(run: MeasuredRun) -> Points:
    """Seconds between the lines of consecutive steps; as printed where the lines carry no time."""
    steps = last_segment(run.log.steps)
    measured = sorted(gaps(steps).items())
    return measured or [(step.step, step.seconds) for step in steps if step.seconds is not None]


def _middle(line: Points) -> float:
    return median(value for _, value in line)


def _frame(steps: Sequence[int], values: Sequence[float], top: float, bottom: float) -> _Frame:
    low, high = (min(max(value, -DRAWN), DRAWN) for value in (min(values), max(values)))
    room = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return _Frame(min(steps), max(steps), low - room, high + room, top, bottom)


def _path(frame: _Frame, line: Points) -> str:
    """A line through the points; where one is no number it begins anew."""
    parts, pen = [], "M"
    for step, value in _fewer(line):
        if isfinite(value):
            parts.append(f"{pen}{frame.place(step, value)}" + ("h0" if pen == "M" else ""))
            pen = "L"
        else:
            pen = "M"
    return "".join(parts)


def _dots(frame: _Frame, points: Points) -> str:
    return "".join(f"M{frame.place(step, value)}h0" for step, value in _fewer(points))


def _fewer(line: Points) -> Points:
    return thinned(line, line[0][0], line[-1][0] - line[0][0] + 1) if line else line


def _span(steps: Sequence[int]) -> str:
    return f"steps {min(steps)} to {max(steps)}"


def _loss_words(name: str, line: Points) -> str:
    (first, start), (last, end) = line[0], line[-1]
    bad = next((step for step, value in line if not isfinite(value)), None)
    words = f"{name}: {significant(start, 4)} at step {first}, {significant(end, 4)} at step {last}"
    return words + ("." if bad is None else f"; not a number at step {bad}.")


def _apart_words(furthest: tuple[int, float]) -> str:
    step, value = furthest
    if value == 0:
        return "Relative difference: none at any common step."
    return f"Largest relative difference {significant(abs(value) * 100)} % at step {step}."


def _time_words(name: str, line: Points, kept: Points, frame: _Frame) -> str:
    outside = [value for _, value in line if not frame.low <= value <= frame.high]
    words = f"{name}: none of {counted(len(line), 'step')} kept"
    if kept:
        middle = significant(_middle(kept))
        words = f"{name}: median {middle} s of {counted(len(kept), 'kept step')}, {len(line)} in all"
    if not outside:
        return words + "."
    return f"{words}; {counted(len(outside), 'step')} outside the drawing, {_reach(outside, frame)}."


def _reach(outside: Sequence[float], frame: _Frame) -> str:
    """How far what is not drawn lies off."""
    low, high = min(outside), max(outside)
    if low > frame.high:
        return f"up to {seconds(high)}"
    return f"down to {seconds(low)}" + (f" and up to {seconds(high)}" if high > frame.high else "")
