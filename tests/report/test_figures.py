"""Figures in words keep as many digits as were asked for, however they round."""

import pytest

from bot.report.figures import seconds, significant


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (9.996, 3, "10.0"),
        (0.0009996, 2, "0.0010"),
        (0.001, 2, "0.0010"),
        (-99.96, 3, "-100"),
        (0.22943, 3, "0.229"),
        (0, 3, "0"),
        (9.996e-7, 3, "0.00000100"),
        (1.5e-9, 3, "1.50e-09"),
        (None, 3, "–"),
        (float("nan"), 3, "nan"),
    ],
)
def test_a_figure_that_rounds_up_to_a_power_of_ten_gains_no_digit(
    value: float | None, digits: int, shown: str
) -> None:
    """The digits are counted in what is shown."""
    assert shown == significant(value, digits)


def test_two_durations_of_one_size_are_shown_alike() -> None:
    """So that a difference is one, and not one of notation."""
    assert seconds(0.0009996) == seconds(0.001) == "0.0010 s"
