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


def exhausted_budget(why: str) -> str:
    """The limit that is used up, by the stored reason of a run that waits; empty where it waits for a place.

    `chip_hours_per_day: 200 does not cover 198.4 + at most 6.4`
    """
    limit, colon, _ = why.partition(":")
    return limit if colon and limit.startswith("chip_hours_per_") else ""
