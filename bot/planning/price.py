"""What a run costs in chip-hours: estimated from earlier runs before it starts, measured afterwards."""

from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct

from bot.domain.price import Price, PriceBasis

PRICED_RUNS = 20
"""How many of main's newest runs a price is based on: older ones ran other code."""


def price_of(measured: Sequence[float], *, chips: int | None, timeout_seconds: float) -> Price | None:
    """The price of one run: `measured` are chip-hours of runs like it, newest first. None: not known."""
    newest = measured[:PRICED_RUNS]
    if newest:
        return Price(
            usual=median(newest),
            least=min(newest),
            most=max(newest),
            basis=PriceBasis.MEASURED,
            runs=len(newest),
        )
    if chips is None:
        return None
    bound = chip_hours(chips, timeout_seconds)
    return Price(usual=bound, least=bound, most=bound, basis=PriceBasis.LIMIT)


def total_price(prices: Iterable[Price]) -> Price | None:
    """The price of several runs together; one upper bound makes the sum an upper bound. None for no runs."""
    prices = tuple(prices)
    if not prices:
        return None
    measured = all(price.basis is PriceBasis.MEASURED for price in prices)
    return Price(
        usual=sum(price.usual for price in prices),
        least=sum(price.least for price in prices),
        most=sum(price.most for price in prices),
        basis=PriceBasis.MEASURED if measured else PriceBasis.LIMIT,
        runs=min(price.runs for price in prices),
    )


def chip_hours(chips: int, seconds: float) -> float:
    """The chip-hours of so many chips in so many seconds."""
    return chips * seconds / 3600


class RunCost(Struct, frozen=True, kw_only=True):
    """What is known of a launched or found run: the pull request it was charged to, what it was thought to
    cost and what it did, in chip-hours, how it stands, and why it waits."""

    state: str
    number: int | None
    price: float | None
    took: float | None
    waiting: str | None
