"""The figures of one case on both sides, and what differs besides the code.

In:  a `Comparison`. Out: `FigureLine`s, `Difference`s. Pure.
"""

from dataclasses import dataclass, replace

from bot.report.comparison_view import caveat_view
from bot.report.figures import NONE, change, significant, size
from bot.verdict.judgement import Comparison, Direction, Row, Timing, TimingVerdict, Weight
from bot.verdict.metrics import BY_KEY

STEADY = "steady_step_seconds"
MOVED = {Direction.WORSE: "worse", Direction.BETTER: "better", Direction.DIFFERENT: "differs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """One metric on both sides; `word` is its verdict, and `moved` whether it is judged to have moved."""

    title: str
    how: str
    base: str
    head: str
    diff: str
    word: str
    moved: bool
    judged: bool
    band: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs besides the code: what, how on both sides, what follows, and whether it decided."""

    what: str
    base: str
    head: str
    text: str
    decides: bool


def differences(comparison: Comparison) -> tuple[Difference, ...]:
    """Every difference, those that decided first."""
    order = [Weight.NOT_COMPARABLE, Weight.NOT_LIKE_FOR_LIKE, Weight.NOTED]
    ranked = sorted(comparison.caveats, key=lambda caveat: order.index(caveat.weight))
    return tuple(
        Difference(
            what=view.what,
            base=view.base,
            head=view.head,
            text=view.text,
            decides=caveat.weight is not Weight.NOTED,
        )
        for caveat in ranked
        for view in (caveat_view(caveat, comparison.reason),)
    )


def figure_line(row: Row, timing: Timing) -> FigureLine:
    """One metric in words; `timing` is the decision on the one that is judged against noise."""
    metric = BY_KEY.get(row.key)
    digits, unit = (metric.digits, metric.unit) if metric else (3, "")
    row = _as_judged(row, timing) if row.key == STEADY else row
    shown = _small if _vanishes(row, digits) else _shown
    title = metric.title if metric else row.key.replace("_", " ")
    return FigureLine(
        title=f"{title}, {unit}" if unit else title,
        how=metric.how if metric else "",
        base=shown(row.base, digits),
        head=shown(row.head, digits),
        diff=shown(row.diff, digits, sign="+"),
        word=_word(row, timing),
        moved=row.judged and row.direction in MOVED,
        judged=row.judged,
        band=_band(timing) if row.key == STEADY else "",
    )


def _as_judged(row: Row, timing: Timing) -> Row:
    """The steady step times that were held against each other, which the overview shows too: the mean over a
    side's runs, for base with main's where they stand beside it."""
    base, head = timing.base_seconds, timing.head_seconds
    if base is None or head is None or row.diff is None:
        return row
    return replace(row, base=base, head=head, diff=head - base)


def _vanishes(row: Row, digits: int) -> bool:
    """Whether a figure that is not 0 would read as 0."""
    numbers = [value for value in (row.base, row.head) if isinstance(value, float | int)]
    return any(value and not round(value, digits) for value in numbers)


def _small(value: float | str | None, digits: int, *, sign: str = "") -> str:
    """A figure that is too small for its metric's digits: by its own first two."""
    if not isinstance(value, float | int) or not value:
        return _shown(value, digits)
    return ("+" if sign and value > 0 else "") + significant(value, 2)


def _word(row: Row, timing: Timing) -> str:
    if row.judged:
        return MOVED.get(row.direction, "same")
    if row.key != STEADY or timing.change is None:
        return "information"
    return "inconclusive" if timing.verdict is TimingVerdict.INCONCLUSIVE else "not judged"


def figure_lines(comparison: Comparison) -> tuple[FigureLine, ...]:
    """Every metric, what the verdict rests on first: the steady step time, then what else is judged."""
    ordered = sorted(comparison.rows, key=lambda row: (row.key != STEADY, not row.judged))
    return tuple(figure_line(row, comparison.timing) for row in ordered)


def _band(timing: Timing) -> str:
    """`+6.1 %, counts from ±1.6 %`, of the one figure that is judged against noise."""
    if timing.change is None:
        return ""
    from_on = f", counts from ±{size(timing.band)}" if timing.band is not None else ""
    return change(timing.change) + from_on


def _shown(value: float | str | None, digits: int, *, sign: str = "") -> str:
    if value is None or isinstance(value, str):
        return value or NONE
    return f"{value:{sign}.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"
