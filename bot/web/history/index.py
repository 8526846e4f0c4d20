"""Every case of a branch in a small drawing: its newest runs, and how it stands.

In:  the newest points of every case and variant. Out: `IndexLine`s, for the list of histories and for a
repository. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from bot.report.figures import NONE, change, counted, significant
from bot.storage.timelines import Point, Strip
from bot.web.ground.access import Visit
from bot.web.history.levels import SHORTEST_LEVEL, levels, moves

SPARK_WIDTH, SPARK_HEIGHT = 120.0, 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """A small drawing: the line, a dot at its newest value, strokes where a run has no figure."""

    path: str
    newest: str
    gaps: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLine:
    """One case: its newest figure, what moved it last, and the drawing."""

    name: str
    link: str
    newest: str
    moved: str
    spark: Spark
    runs: int


def history_index(known: Sequence[Strip], visit: Visit) -> tuple[IndexLine, ...]:
    """One line for each case and variant, by name."""
    return tuple(_line(strip, visit) for strip in known)


def _line(strip: Strip, visit: Visit) -> IndexLine:
    name = f"{strip.case} · {strip.variant}" if strip.variant else strip.case
    return IndexLine(
        name=visit.text(name),
        link=visit.links.history(visit.repository, strip.case, strip.variant),
        newest=newest_words(strip.points),
        moved=trend(strip.points),
        spark=spark(strip.points),
        runs=len(strip.points),
    )


def newest_words(points: Sequence[Point]) -> str:
    """The newest steady step time."""
    value = next((point.value for point in reversed(points) if point.value is not None), None)
    return NONE if value is None else f"{significant(value, 4)} s"


def trend(points: Sequence[Point]) -> str:
    """`level`, or the newest change of level: `+2.1 % on 2026-04-21`."""
    own = [move.shift for move in moves(points, ()) if move.conditions is None]
    if own:
        at = own[-1].at
        return f"{change(own[-1].change)} at {at[:7] if at else 'an unrecorded commit'}"
    known = [point for point in points if point.value is not None]
    if not known:
        return NONE
    return "level" if len(known) >= 2 * SHORTEST_LEVEL else "too few runs to tell"


def spark(points: Sequence[Point]) -> Spark:
    """The drawing of these points; what is no figure is a stroke at the foot."""
    known = [(at, it.value) for at, it in enumerate(points) if it.value is not None and isfinite(it.value)]
    steps = max(len(points) - 1, 1)
    if not known:
        strokes = "".join(f"M{_x(at, steps)} {SPARK_HEIGHT - 3}v3" for at in range(len(points)))
        return Spark(path="", newest="", gaps=strokes, words="no run with a steady step time")
    low, high = min(value for _, value in known), max(value for _, value in known)
    scale = (SPARK_HEIGHT - 10) / ((high - low) or abs(high) or 1.0)
    spots = [f"{_x(at, steps)} {SPARK_HEIGHT - 6 - (value - low) * scale:.1f}" for at, value in known]
    gaps = sorted(set(range(len(points))) - {at for at, _ in known})
    drawn = levels(points, moves(points, ()))
    missing = f", {len(gaps)} without a figure" if gaps else ""
    middle = f", newest level {significant(drawn[-1].middle, 4)} s" if drawn else ""
    return Spark(
        path="M" + "L".join(spots) if len(spots) > 1 else "",
        newest=f"M{spots[-1]}h0",
        gaps="".join(f"M{_x(at, steps)} {SPARK_HEIGHT - 3}v3" for at in gaps),
        words=f"{counted(len(points), 'newest run')}{missing}{middle}",
    )


def _x(place: int, steps: int) -> str:
    return f"{place / steps * (SPARK_WIDTH - 6) + 3:.1f}"
