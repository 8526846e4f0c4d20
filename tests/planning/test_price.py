"""What a run costs, before and after."""

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.price import Price, PriceBasis
from bot.planning.price import PRICED_RUNS, chip_hours, price_of, total_price

MEASURED = Price(usual=6.4, least=6.1, most=7.0, basis=PriceBasis.MEASURED, runs=3)

BOUND = Price(usual=24.0, least=24.0, most=24.0, basis=PriceBasis.LIMIT)


def test_a_price_is_what_such_runs_have_cost() -> None:
    """The median with the range, of the newest runs."""
    assert MEASURED == price_of([6.4, 7.0, 6.1], chips=32, timeout_seconds=2700)
    old = price_of([1.0] * PRICED_RUNS + [100.0], chips=32, timeout_seconds=2700)
    assert old == Price(usual=1.0, least=1.0, most=1.0, basis=PriceBasis.MEASURED, runs=PRICED_RUNS)


def test_without_such_runs_the_time_limit_bounds_it() -> None:
    """32 chips for 45 minutes; nothing where the chips are not known either."""
    assert BOUND == price_of([], chips=32, timeout_seconds=2700)
    assert price_of([], chips=None, timeout_seconds=2700) is None


def test_a_bound_in_a_sum_makes_it_a_bound() -> None:
    """A sum claims no more than its weakest part."""
    assert total_price([MEASURED, BOUND]) == Price(usual=30.4, least=30.1, most=31.0, basis=PriceBasis.LIMIT)
    assert total_price([]) is None


@given(measured=st.lists(st.floats(0, 1e6), max_size=40), chips=st.none() | st.integers(1, 10_000))
def test_the_usual_price_lies_within_its_range(measured: list[float], chips: int | None) -> None:
    """Whatever was measured."""
    price = price_of(measured, chips=chips, timeout_seconds=60.0)
    if price is not None:
        assert price.least <= price.usual <= price.most
    assert chip_hours(4, 1800.0) == 2.0
