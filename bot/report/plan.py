"""What is measured for a pull request, at what price, and what need not be.

In:  nothing. Out: `Plan`, a part of a report.
"""

from dataclasses import dataclass

from bot.runs.price import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRuns:
    """Runs of one case and variant that have not ended yet, and what they cost together; None: not known."""

    case: str
    variant: str
    base: int
    head: int
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Cases whose runs may not start yet, as `case/variant`, and why in one clause."""

    keys: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The runs to start or under way, those used without being started here, and what that saved.

    `unpriced` counts runs whose price is not known. Where `proposed`, nobody asked for the runs: it is what
    `/benchmark run` would start. `asked` is the newest command's wish to see it.
    """

    runs: tuple[PlannedRuns, ...] = ()
    price: Price | None = None
    unpriced: int = 0
    reused: int = 0
    saved_chip_hours: float | None = None
    waiting: tuple[Waiting, ...] = ()
    proposed: bool = False
    asked: bool = False
