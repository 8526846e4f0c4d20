"""Step lines that a log has lost are named; what a trainer never prints is no loss."""

from dataclasses import replace

import pytest

from bot.logs.facts import RunLog
from bot.logs.statement import BROKEN
from bot.verdict.comparable import caveats
from bot.verdict.judgement import CaveatKind, Weight
from bot.verdict.lost_lines import lost_steps, lost_words
from bot.verdict.measure import measure
from tests.verdict.samples import Shape, run_log

WHOLE = run_log(Shape(steps=400))


def _printed(steps: list[int]) -> RunLog:
    """The log of a run that printed these steps alone."""
    kept = tuple(step for step in WHOLE.steps if step.step in set(steps))
    return replace(WHOLE, steps=kept, steps_seen=len(kept))


CUT_OUT = _printed([*range(6), *range(10, 20)])


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([*range(6), *range(10, 20)], "6 to 9 missing"),
        ([*range(0, 60, 10), *range(100, 200, 10)], "60 to 90 missing"),
        ([*range(6), *range(10, 20), *range(30, 40)], "6 to 9 and 20 to 29 missing"),
        (
            [
                n
                for n in range(100)
                if n not in {*range(6, 9), *range(20, 24), *range(40, 45), *range(60, 66)}
            ],
            "6 to 8, 20 to 23, 40 to 44 and others missing",
        ),
    ],
)
def test_a_hole_between_regular_lines_is_named(steps: list[int], words: str) -> None:
    """With the first and the last step whose line is missing."""
    assert words == lost_words(_printed(steps))


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [5],
        [*range(20)],
        [*range(0, 400, 10)],
        [*range(0, 400, 10), 399],
        [*range(10), *range(10, 400, 10)],
        [*range(0, 100, 10), *range(100, 400, 100)],
        [1, 2, 4, 8, 16, 32, 64, 128, 256],
        [n for n in range(200) if n % 50 < 10],
        [n for n in range(200) if n % 7],
        [*range(6), *range(7, 20)],
        [0, 1, 2, 3, 10, 20, 30, 40],
    ],
)
def test_what_is_never_printed_is_no_loss(steps: list[int]) -> None:
    """Every k-th step, ever rarer ones, the same pause again and again, and a single step left out."""
    assert () == lost_steps(_printed(steps))


def test_what_the_reader_did_not_keep_is_no_loss_of_the_log() -> None:
    """Of a log of more lines than are kept the middle is not known."""
    assert () == lost_steps(replace(CUT_OUT, steps_seen=CUT_OUT.steps_seen + 4))


def test_the_run_carries_a_warning() -> None:
    """Beside the reader's own."""
    warning = (
        "The lines of steps 6 to 9 are missing in the middle of the log. Give the log as it was written."
    )
    assert warning in measure(CUT_OUT).measurements.warnings
    assert warning not in measure(WHOLE).measurements.warnings


@pytest.mark.parametrize(
    ("log", "words", "said"),
    [
        (CUT_OUT, "6 to 9 missing", "The lines of steps 6 to 9 are missing"),
        (replace(WHOLE, warnings=(BROKEN,)), "broken", BROKEN),
    ],
)
def test_a_comparison_says_which_side_lost_lines(log: RunLog, words: str, said: str) -> None:
    """As a note: the figures rest on the lines that are there."""
    whole, torn = measure(WHOLE), measure(log)
    for base, head, shown in ((whole, torn, ("whole", words)), (torn, whole, (words, "whole"))):
        (caveat,) = (one for one in caveats([base], [head]) if one.field == "step_lines")
        assert (CaveatKind.STEPS, Weight.NOTED, *shown) == (
            caveat.kind,
            caveat.weight,
            caveat.base,
            caveat.head,
        )
        assert said in caveat.text
    assert "step_lines" not in [one.field for one in caveats([whole], [whole])]
