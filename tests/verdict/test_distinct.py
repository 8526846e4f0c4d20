"""A run that is given twice is one run."""

from dataclasses import replace
from math import nan

from bot.verdict.distinct import distinct
from bot.verdict.measure import measure
from tests.verdict.samples import Shape, failed, run, run_log


def test_copies_are_told_by_what_the_log_says() -> None:
    """Another name, another place in the file and a NaN loss do not make another run."""
    log = run_log(Shape(losses=[9.0] * 19 + [nan]))
    moved = tuple(replace(step, offset=step.offset + 7) for step in log.steps)
    copies = [measure(log), run(), measure(replace(log, source="elsewhere", run=2, steps=moved))]
    assert distinct(copies) == (tuple(copies[:2]), ((0, 2),))


def test_repeats_stay_repeats() -> None:
    """Runs of one case differ in their step times; failures before the first step in what they say."""
    runs = (run(Shape(seed=1)), run(Shape(seed=2)), failed(), failed(error="KeyError: 1"))
    assert distinct(runs) == (runs, ())
