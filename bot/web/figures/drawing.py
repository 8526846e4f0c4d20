"""The shapes that every drawing of the site is made of; one macro of the templates sets them.

In:  nothing; these are values, in units of a drawing 1000 wide. Out: `Plot` and its parts.
"""

from dataclasses import dataclass

from bot.web.figures.hits import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """One path and its style; `name` stands in the legend where it is not empty."""

    style: str
    path: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """What stands at the edges of a drawing: its highest and lowest value, and where it begins and ends."""

    high: str
    low: str
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A drawing `height` high; `rules` are the heights of its frame lines, `words` say it to those who do not
    see it, `notes` give the scales."""

    title: str
    words: str
    height: float
    rules: tuple[float, ...]
    strokes: tuple[Stroke, ...]
    notes: tuple[str, ...]
    hits: tuple[Hit, ...] = ()
    edges: Edges | None = None
