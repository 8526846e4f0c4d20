"""What a run costs in chip-hours: before it is started, from what such runs have cost; after it, as it was.

In:  chip-hours of earlier runs, a device type, a time limit.
Out: `Price`s, or None where nothing is known. Pure.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

NEWEST = 20
"""How many of main's newest runs a price is taken from: older ones ran other code."""

# v6e-32   v5litepod-16   v5p-8   v4-128
_TPU = re.compile(r"(?P<family>v[2-6](?:e|p|litepod)?)-(?P<number>[1-9][0-9]{0,5})")

# h100-mega-80gb-8   a100-40gb-8   l4-1
_GPU = re.compile(r"(?:a100|h100|h200|b200|gb200|gb300|l4|t4|v100)(?:-[a-z0-9]+)*-(?P<number>[1-9][0-9]?)")

_BY_CHIP = {"v5e", "v5litepod", "v6e"}
"""Families whose types count chips; the types of the others count cores, two on a chip."""

_BY_CORE = {"v2", "v3", "v4", "v5p"}


class Basis(StrEnum):
    """What a price rests on: runs that were measured, or nothing but the most that the run may take."""

    MEASURED = "measured"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Chip-hours of one run or of several: the usual, the least and the most seen, from `runs` runs.

    Where `basis` is LIMIT, all three are an upper bound: devices times the time limit.
    """

    usual: float
    least: float
    most: float
    basis: Basis
    runs: int = 0


def price_of(measured: Sequence[float], *, chips: int | None, timeout_seconds: float) -> Price | None:
    """The price of one run: `measured` are chip-hours of runs like it, newest first. None: not known."""
    newest = measured[:NEWEST]
    if newest:
        return Price(
            usual=median(newest),
            least=min(newest),
            most=max(newest),
            basis=Basis.MEASURED,
            runs=len(newest),
        )
    if chips is None:
        return None
    bound = chip_hours(chips, timeout_seconds)
    return Price(usual=bound, least=bound, most=bound, basis=Basis.LIMIT)


def total(prices: Iterable[Price]) -> Price | None:
    """What several runs cost together; a bound among them makes the sum a bound. None for no runs."""
    prices = tuple(prices)
    if not prices:
        return None
    measured = all(price.basis is Basis.MEASURED for price in prices)
    return Price(
        usual=sum(price.usual for price in prices),
        least=sum(price.least for price in prices),
        most=sum(price.most for price in prices),
        basis=Basis.MEASURED if measured else Basis.LIMIT,
        runs=min(price.runs for price in prices),
    )


def chip_hours(chips: int, seconds: float) -> float:
    """What so many chips cost in so many seconds."""
    return chips * seconds / 3600


def chips_of(device_type: str, slices: int = 1) -> int | None:
    """The chips of so many slices or nodes of this type: 32 for `v6e-32`, 4 for `v5p-8`; None: we cannot
    say."""
    one = _chips_of_one(device_type)
    return None if one is None else one * slices


def _chips_of_one(device_type: str) -> int | None:
    if match := _TPU.fullmatch(device_type):
        number, family = int(match["number"]), match["family"]
        if family in _BY_CHIP:
            return number
        return max(1, number // 2) if family in _BY_CORE else None
    match = _GPU.fullmatch(device_type)
    return int(match["number"]) if match else None


def is_quiet(device_type: str) -> bool:
    """Whether runs of this type may be compared across days: TPUs run alone and at one speed."""
    return _TPU.fullmatch(device_type) is not None
