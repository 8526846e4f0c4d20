"""What a run costs, before and after."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.runs.price import NEWEST, Basis, Price, chip_hours, chips_of, is_quiet, price_of, total

MEASURED = Price(usual=6.4, least=6.1, most=7.0, basis=Basis.MEASURED, runs=3)
BOUND = Price(usual=24.0, least=24.0, most=24.0, basis=Basis.LIMIT)


def test_a_price_is_what_such_runs_have_cost() -> None:
    """The median with the range, of the newest runs."""
    assert MEASURED == price_of([6.4, 7.0, 6.1], chips=32, timeout_seconds=2700)
    old = price_of([1.0] * NEWEST + [100.0], chips=32, timeout_seconds=2700)
    assert old == Price(usual=1.0, least=1.0, most=1.0, basis=Basis.MEASURED, runs=NEWEST)


def test_without_such_runs_the_time_limit_bounds_it() -> None:
    """32 chips for 45 minutes; nothing where the chips are not known either."""
    assert BOUND == price_of([], chips=32, timeout_seconds=2700)
    assert price_of([], chips=None, timeout_seconds=2700) is None


def test_a_bound_in_a_sum_makes_it_a_bound() -> None:
    """A sum claims no more than its weakest part."""
    assert total([MEASURED, BOUND]) == Price(usual=30.4, least=30.1, most=31.0, basis=Basis.LIMIT)
    assert total([]) is None


@pytest.mark.parametrize(
    ("device_type", "chips"),
    [
        ("v6e-32", 32),
        ("v5litepod-16", 16),
        ("v5e-8", 8),
        ("v5p-128", 64),
        ("v4-8", 4),
        ("v3-8", 4),
        ("h100-80gb-8", 8),
        ("h100-mega-80gb-8", 8),
        ("l4-1", 1),
        ("n2-standard-32-256", None),
        ("n2-standard-32-2", None),
        ("tpu7x-16", None),
        ("v6-8", None),
        ("", None),
    ],
)
def test_chips_are_read_from_the_device_type(device_type: str, chips: int | None) -> None:
    """Some families count chips, the others cores; what we do not know we do not guess."""
    assert chips == chips_of(device_type)


def test_slices_are_counted_together() -> None:
    """What is not known of one is not known of two."""
    assert [chips_of(one, 2) for one in ("v6e-32", "v5p-8", "tpu7x-16")] == [64, 8, None]


def test_tpus_are_quiet_and_others_are_not_known_to_be() -> None:
    """Runs of a quiet device are compared across days."""
    assert [True, True, False, False] == [is_quiet(one) for one in ("v6e-32", "v4-8", "h100-80gb-8", "cpu")]


@given(st.text(max_size=30))
def test_any_device_type_has_chips_or_none(device_type: str) -> None:
    """Nothing that people write fails, and no device has no chips."""
    chips = chips_of(device_type)
    assert chips is None or chips >= 1


@given(measured=st.lists(st.floats(0, 1e6), max_size=40), chips=st.none() | st.integers(1, 10_000))
def test_the_usual_price_lies_within_its_range(measured: list[float], chips: int | None) -> None:
    """Whatever was measured."""
    price = price_of(measured, chips=chips, timeout_seconds=60.0)
    if price is not None:
        assert price.least <= price.usual <= price.most
    assert chip_hours(4, 1800.0) == 2.0
