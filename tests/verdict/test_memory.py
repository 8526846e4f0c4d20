"""Memory: what is left of the limit, what grew, and which exact sizes may be coloured."""

from dataclasses import replace

import pytest

from bot.logs.facts import CompiledMemory, DeviceMemory, RunLog
from bot.verdict.compare import compare
from bot.verdict.judgement import Direction
from bot.verdict.measure import measure
from bot.verdict.memory import growth_gb, headroom_gb
from bot.verdict.metrics import BY_KEY
from tests.verdict.samples import run_log


def _device(number: int, used: float, limit: float = 31.25) -> DeviceMemory:
    return DeviceMemory(
        device=f"TPU_{number}", used_gb=used, limit_gb=limit, percent=round(100 * used / limit, 3)
    )


def _log(*first: DeviceMemory, most: tuple[DeviceMemory, ...] = ()) -> RunLog:
    return replace(run_log(), memory=first, memory_most=most)


def test_the_fullest_device_speaks_for_all() -> None:
    """It is the one that runs out, at whichever reading it was fullest."""
    assert headroom_gb(_log(_device(0, 20.0), _device(1, 30.0), _device(2, 9.0, 16.0))) == 1.25
    assert headroom_gb(_log(_device(0, 20.0), most=(_device(0, 31.0),))) == 0.25


def test_growth_is_the_most_that_one_device_rose_above_its_first_reading() -> None:
    """Not the mean, and never below zero."""
    first = (_device(0, 20.0), _device(1, 10.0))
    assert growth_gb(_log(*first, most=(_device(0, 21.0), _device(1, 14.0)))) == 4.0
    assert growth_gb(_log(*first, most=(_device(0, 19.0),))) == 0.0


def test_what_was_not_read_is_absent() -> None:
    """One reading tells no growth, none tells no headroom."""
    assert growth_gb(_log(_device(0, 20.0))) is None
    assert (headroom_gb(_log()), growth_gb(_log())) == (None, None)


def test_they_are_shown_and_never_coloured() -> None:
    """Headroom and growth are information; what they follow from is judged."""
    found = measure(_log(_device(0, 30.0), most=(_device(0, 31.0),)))
    rows = {row.key: row for row in compare([measure(_log(_device(0, 20.0)))], [found]).rows}
    assert (rows["memory_headroom_gb"].diff, rows["memory_headroom_gb"].judged) == (-11.0, False)
    assert (rows["memory_growth_gb"].head, rows["memory_growth_gb"].judged) == (1.0, False)


@pytest.mark.parametrize("part", ["total", "temp", "argument"])
@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (1.4, 1.6, Direction.WORSE),
        (1.6, 1.4, Direction.BETTER),
        (1.4, 1.5, Direction.SAME),
        (20.0, 20.3, Direction.SAME),
        (20.0, 20.4, Direction.WORSE),
    ],
)
def test_compiler_sizes_flag_at_two_digits_and_two_percent(
    part: str, base: float, head: float, expected: Direction
) -> None:
    """0.2 GB and 2 %, both; the last digit alone may be rounding."""
    sides = [
        measure(replace(run_log(), compiled_memory=CompiledMemory(**{f"{part}_gb": size})))
        for size in (base, head)
    ]
    rows = {row.key: row for row in compare(sides[:1], sides[1:]).rows}
    row = rows[f"compiled_{part}_gb"]
    assert (row.direction, row.judged) == (expected, True)


@pytest.mark.parametrize(
    ("head", "expected"), [(20.08, Direction.SAME), (20.1, Direction.WORSE), (19.8, Direction.BETTER)]
)
def test_memory_in_use_flags_at_half_a_percent_of_itself(head: float, expected: Direction) -> None:
    """Relative to the use, not to the limit."""
    sides = [measure(_log(_device(0, 10.0, limit))) for limit in (50.0, 1000 / head)]
    row = next(row for row in compare(sides[:1], sides[1:]).rows if row.key == "memory_fullest_percent")
    assert row.direction is expected


def test_chip_hours_are_devices_times_the_frame() -> None:
    """32 chips from XPK Start to XPK End; without a frame nothing is known."""
    found = measure(run_log())
    assert found.measurements.chip_hours == 32 * (found.measurements.wall_seconds or 0) / 3600
    assert measure(replace(run_log(), marks=())).measurements.chip_hours is None
    assert BY_KEY["chip_hours"].read(found) == found.measurements.chip_hours
