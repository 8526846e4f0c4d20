"""Digits that rounding took are restored, or left alone."""

from dataclasses import replace
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs.facts import Step
from bot.verdict.recover import Constants, constants, recovered_seconds
from tests.verdict.samples import DEVICES, Shape, run_log


@given(st.floats(0.002, 30.0), st.sampled_from([128, 2048, 8192, 131_072]))
def test_seconds_are_restored_from_the_throughput(seconds: float, tokens: int) -> None:
    """To 1e-5 at least, from a figure that is printed to a millisecond."""
    step = Step(step=4, seconds=round(seconds, 3), tokens_per_device=round(tokens / seconds, 3))
    found = recovered_seconds(step, Constants(tokens=float(tokens)))
    assert found is not None
    assert isclose(found, seconds, rel_tol=0.0006 * seconds / tokens + 1e-9)


def test_the_weights_of_synthetic_data_are_its_tokens() -> None:
    """total_weights / devices, where the lines agree with it."""
    assert constants(run_log().steps, DEVICES).tokens == 2048


def test_padding_has_no_weight() -> None:
    """On real data the rates tell the tokens, rounded."""
    steps = [replace(step, total_weights=60_000.0 + step.step) for step in run_log().steps]
    assert constants(steps, DEVICES).tokens == 2048


def test_too_few_digits_tell_nothing() -> None:
    """0.002 TFLOP/s may be a fifth more or less."""
    steps = [replace(step, tokens_per_device=None, tflops_per_device=0.002) for step in run_log().steps]
    assert constants(steps, None) == Constants()


def test_a_rate_that_is_the_same_whatever_a_step_took_tells_no_tokens() -> None:
    """The slowest lines would make 130,000 tokens of it, and the others' rates would be made of those."""
    steps = [replace(step, tokens_per_device=9_000.0) for step in run_log(Shape(stalls={8: 9.0})).steps]
    assert constants(steps, None).tokens is None
    assert constants(steps[:2], None).tokens is None


def test_a_rate_that_contradicts_the_seconds_is_not_used() -> None:
    """Then the printed seconds stand."""
    step = Step(step=4, seconds=0.5, tokens_per_device=100.0)
    assert recovered_seconds(step, Constants(tokens=2048.0)) == 0.5


@pytest.mark.parametrize("seconds", [None, 0.0, -1.0])
def test_no_time_stays_no_time(seconds: float | None) -> None:
    """Zero or less is not a duration."""
    assert (
        recovered_seconds(Step(step=4, seconds=seconds, tokens_per_device=5.0), Constants(tokens=1.0)) is None
    )
