"""What a run costs in chip-hours, and how well that is known."""

from enum import StrEnum

from msgspec import Struct


class PriceBasis(StrEnum):
    """What a price rests on: runs that were measured, or nothing but the most that the run may take."""

    MEASURED = "measured"
    LIMIT = "limit"


class Price(Struct, frozen=True, kw_only=True):
    """Chip-hours of one run or of several: the usual, the least and the most seen, from `runs` runs.

    Where `basis` is LIMIT, all three are an upper bound: devices times the time limit.
    """

    usual: float
    least: float
    most: float
    basis: PriceBasis
    runs: int = 0


def is_budget_hold(why: str) -> bool:
    """Whether the reason of a `Hold` is a budget that is used up, and not a place that will get free."""
    return why.startswith("chip_hours_per_")
