"""The figures of a case agree with its verdict and with each other."""

from dataclasses import replace

import pytest

from bot.verdict.judgement import Row, Timing, TimingVerdict
from bot.web.cases.figures import figure_line, figure_lines
from bot.web.cases.runs import run_lines
from bot.web.ground.access import Visit
from bot.web.ground.links import Links
from tests.report.parts import measured
from tests.report.samples import HEAD, record, slower, unsure


def _line(key: str, base: float | str | None, head: float | str | None) -> tuple[str, str, str]:
    diff = head - base if isinstance(base, float) and isinstance(head, float) else None
    line = figure_line(Row(key=key, base=base, head=head, diff=diff), Timing(verdict=TimingVerdict.WITHHELD))
    return line.base, line.head, line.diff


@pytest.mark.parametrize(("hours", "shown"), [(0.0018, "0.0018"), (0.35, "0.35"), (6.431, "6.43")])
def test_a_run_of_a_small_price_is_not_free(hours: float, shown: str) -> None:
    """In the table of a case's runs."""
    its = measured()
    run = replace(its, measurements=replace(its.measurements, chip_hours=hours))
    visit = Visit(repository="octo/maxtext", private=False, links=Links())
    (line,) = run_lines((record("04_int8", "linen", HEAD, 0),), visit, (run,))
    assert shown == line.chip_hours


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (("parameters_billion", 1.104, 1.104), ("1.104", "1.104", "0.000")),
        (("parameters_billion", 0.0000421, 0.0000421), ("0.000042", "0.000042", "0.000")),
        (("chip_hours", 0.0, 0.00094), ("0.00", "0.00094", "+0.00094")),
        (("chip_hours", 0.0, 0.0), ("0.00", "0.00", "0.00")),
        (("final_loss", None, 8.174), ("–", "8.1740", "–")),
        (("jax", "0.9.2", None), ("0.9.2", "–", "–")),
    ],
)
def test_a_figure_that_is_not_zero_does_not_read_as_zero(
    row: tuple[str, float | str | None, float | str | None], shown: tuple[str, str, str]
) -> None:
    """By its metric's digits, else by its own; what is not stated is a dash."""
    assert shown == _line(*row)


def test_the_step_times_are_those_that_were_held_against_each_other() -> None:
    """As in the overview and the comment, though the median of the runs may be another."""
    timing = Timing(
        verdict=TimingVerdict.SLOWER, change=0.7, band=0.2, base_seconds=0.0201, head_seconds=0.0408
    )
    line = figure_line(Row(key="steady_step_seconds", base=0.0214, head=0.0409, diff=0.0195), timing)
    assert ("0.02010", "0.04080", "+0.02070") == (line.base, line.head, line.diff)


def test_what_is_judged_stands_first_and_says_what_was_found() -> None:
    """A change, the same, or that it cannot be told; the rest is information."""
    found = slower().comparison
    assert found is not None
    judged = [line.judged for line in figure_lines(found)]
    assert sorted(judged, reverse=True) == judged
    assert {"same"} == {line.word for line in figure_lines(found) if line.judged and not line.moved}
    unclear = unsure().comparison
    assert unclear is not None
    row = Row(key="steady_step_seconds", base=0.229, head=0.233, diff=0.004)
    assert "inconclusive" == figure_line(row, unclear.timing).word
