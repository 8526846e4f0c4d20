"""What a plot says where it is pointed at: stretches of steps from left to right, each with its words.

In:  the lines of a plot. Out: `Hit`s in units of a drawing 1000 wide. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from bot.report.figures import significant

WIDTH = 1000.0
MOST_HITS = 60
"""Stretches that can still be told apart with a finger on a phone, and a page's worth of words."""

Points = Sequence[tuple[int, float]]
Remark = Callable[[str, int], str]
"""What to say of a line's figure at a step, by the line's name; nothing is an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A stretch of the drawing, and what it says."""

    x: float
    width: float
    words: str


def hits(
    lines: Mapping[str, Points],
    *,
    unit: str = "",
    digits: int = 4,
    remark: Remark | None = None,
) -> tuple[Hit, ...]:
    """One for each step, or for as many equal stretches as can be told apart; `remark` tells what stands
    behind a line's figure at a step that has a stretch of its own, from the line's name and the step."""
    steps = sorted({step for line in lines.values() for step, _ in line})
    if len(steps) < 2:
        return ()
    known = {name: dict(line) for name, line in lines.items()}
    groups = _groups(steps)
    first, span = steps[0], steps[-1] - steps[0]
    ends = [_between(one[-1], two[0]) for one, two in pairwise(groups)]
    edges = [first, *ends, steps[-1]]
    return tuple(
        Hit(
            x=round((left - first) / span * WIDTH, 1),
            width=round((right - left) / span * WIDTH, 1),
            words=_words(group, known, remark or _none, lambda value: f"{significant(value, digits)}{unit}"),
        )
        for group, (left, right) in zip(groups, pairwise(edges), strict=True)
    )


def _none(_name: str, _step: int) -> str:
    return ""


def _groups(steps: Sequence[int]) -> list[Sequence[int]]:
    size = -(-len(steps) // MOST_HITS)
    return [steps[at : at + size] for at in range(0, len(steps), size)]


def _between(one: int, two: int) -> float:
    return (one + two) / 2


def _words(
    group: Sequence[int],
    known: Mapping[str, Mapping[int, float]],
    remark: Remark,
    shown: Callable[[float], str],
) -> str:
    title = f"step {group[0]}" if len(group) == 1 else f"steps {group[0]} to {group[-1]}"
    parts = [
        f"{name} {_range([line[step] for step in group if step in line], shown)}"
        + (f", {said}" if len(group) == 1 and (said := remark(name, group[0])) else "")
        for name, line in known.items()
        if any(step in line for step in group)
    ]
    return f"{title}: {'; '.join(parts)}"


def _range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """The figure, or the lowest and the highest; what is no number is said as it is."""
    odd = next((value for value in values if not isfinite(value)), None)
    if odd is not None:
        return shown(odd)
    low, high = min(values), max(values)
    return shown(low) if low == high else f"{shown(low)} to {shown(high)}"
