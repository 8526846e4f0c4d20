"""The loss verdict looks at the whole curve."""

from collections.abc import Sequence
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.logs.facts import RunLog
from bot.verdict.hardware import Precision
from bot.verdict.judgement import LossDecision, LossVerdict
from bot.verdict.loss.decision import compare_loss, rounding_tolerance
from tests.verdict.made_runs import CPU, TPU, Shape, losses, run_log

BF16 = replace(TPU, dtype="bfloat16")


def _curve(
    values: Sequence[float], *, perplexity: bool = True, first: int = 0, dtype: str = "bf16"
) -> RunLog:
    shape = Shape(steps=len(values), losses=list(values), perplexity=perplexity, first=first)
    return run_log(shape, environment=replace(TPU, dtype=dtype))


def _against(head: Sequence[float], *, perplexity: bool = True, dtype: str = "bf16") -> LossDecision:
    base = _curve(losses(len(head)), perplexity=perplexity, dtype=dtype)
    return compare_loss([base], [_curve(head, perplexity=perplexity, dtype=dtype)])


def _scaled_from(step: int, factor: float, count: int = 20) -> list[float]:
    return [value * (factor if place >= step else 1) for place, value in enumerate(losses(count))]


def test_the_same_digits_are_identical() -> None:
    """Loss and perplexity, at every step."""
    found = _against(losses(20))
    assert (found.verdict, found.digits, found.compared_steps, found.max_relative) == (
        LossVerdict.IDENTICAL,
        "perplexity",
        20,
        0.0,
    )


def test_identity_to_three_decimals_is_named_as_that() -> None:
    """Without a perplexity nobody knows more."""
    found = _against(losses(20), perplexity=False)
    assert (found.verdict, found.digits) == (LossVerdict.IDENTICAL, "loss to 3 decimals")


def test_perplexity_sees_what_three_decimals_hide() -> None:
    """A difference of 1e-6 is no identity."""
    hidden = _scaled_from(5, 1 + 1e-6)
    assert _against(hidden).verdict is LossVerdict.WITHIN_TOLERANCE
    assert _against(hidden).first_difference_step == 5


def test_one_digit_in_the_last_place_is_within_tolerance() -> None:
    """Print resolution is the floor, even for float32."""
    head = [value + 0.001 * (place == 4) for place, value in enumerate(losses(20))]
    found = _against(head, perplexity=False, dtype="f32")
    assert (found.verdict, found.first_difference_step) == (LossVerdict.WITHIN_TOLERANCE, 4)


@pytest.mark.parametrize(
    ("step", "factor", "verdict"),
    [
        (0, 1.001, LossVerdict.DIFFERENT_START),
        (3, 1.0005, LossVerdict.WITHIN_TOLERANCE),
        (3, 1.002, LossVerdict.DRIFTED),
        (15, 1.004, LossVerdict.WITHIN_TOLERANCE),
        (15, 1.01, LossVerdict.DRIFTED),
        (15, 1.06, LossVerdict.DIVERGED),
        (15, 0.94, LossVerdict.DIVERGED),
        (0, 1.06, LossVerdict.DIVERGED),
    ],
)
def test_the_tolerance_grows_with_the_step(step: int, factor: float, verdict: LossVerdict) -> None:
    """Rounding grows about a hundredfold in 20 steps; a real change does not wait."""
    found = _against(_scaled_from(step, factor))
    assert (found.verdict, found.first_difference_step) == (verdict, step)


def test_the_last_value_alone_decides_nothing() -> None:
    """A curve that left and came back has drifted."""
    head = [value * (1.01 if 5 <= place < 9 else 1) for place, value in enumerate(losses(20))]
    found = _against(head)
    assert (found.verdict, found.first_outside_step) == (LossVerdict.DRIFTED, 5)
    assert found.max_relative == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("bad", [nan, inf])
@pytest.mark.parametrize("step", [0, 12])
def test_a_loss_that_is_no_number_has_diverged(bad: float, step: int) -> None:
    """On either side, from the first step or a later one."""
    head = [bad if place >= step else value for place, value in enumerate(losses(20))]
    found = _against(head)
    assert (found.verdict, found.first_outside_step) == (LossVerdict.DIVERGED, step)
    assert f"NaN or infinite from step {step} on" in found.reason
    assert compare_loss([_curve(head)], [_curve(losses(20))]).verdict is LossVerdict.DIVERGED


def test_the_same_nan_on_both_sides_is_no_difference() -> None:
    """Nobody's change made it."""
    curve = [*losses(8), nan]
    assert compare_loss([_curve(curve)], [_curve(curve)]).verdict is LossVerdict.IDENTICAL


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (Precision.F32, (1e-5, 1e-5, 1e-4, 1e-3)),
        (Precision.BF16, (1e-4, 1e-3, 5e-3, 2e-2)),
        (Precision.INT8, (2e-4, 2e-3, 1e-2, 3e-2)),
        (Precision.FP8, (2e-4, 2e-3, 1e-2, 3e-2)),
    ],
)
def test_the_tolerances(numbers: Precision, expected: tuple[float, ...]) -> None:
    """At step 0, up to 10, up to 30, and later."""
    assert tuple(rounding_tolerance(numbers, step) for step in (0, 10, 30, 31)) == expected
    assert tuple(rounding_tolerance(numbers, step) for step in (0, 1, 11, 1000)) == expected


def test_an_unknown_number_format_is_remarked() -> None:
    """bf16 is assumed, as most training is."""
    logs = [run_log(environment=replace(TPU, dtype=None)) for _ in range(2)]
    assert compare_loss(logs[:1], logs[1:]).reason == (
        "the log does not state its number format: tolerances for bf16"
    )


def test_other_data_is_not_comparable() -> None:
    """The weights count the tokens of a step."""
    base = run_log()
    steps = [replace(step, total_weights=4096.0) if step.step == 7 else step for step in base.steps]
    found = compare_loss([base], [replace(base, steps=tuple(steps))])
    assert (found.verdict, found.reason) == (
        LossVerdict.NOT_COMPARABLE,
        "total_weights differ at step 7: the sides did not train on the same data",
    )


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (
            _curve(losses(5), first=50),
            "no common step: base has 20 steps from 0 to 19, head has 5 steps from 50 to 54",
        ),
        (replace(run_log(), steps=()), "no loss is printed on head"),
    ],
)
def test_no_common_step_is_not_comparable(head: RunLog, reason: str) -> None:
    """And the reason says what there was."""
    found = compare_loss([_curve(losses(20))], [head])
    assert (found.verdict, found.reason) == (LossVerdict.NOT_COMPARABLE, reason)


def test_the_common_part_is_compared() -> None:
    """And said to be a part."""
    found = compare_loss([_curve(losses(20))], [_curve(losses(12))])
    assert (found.verdict, found.compared_steps, found.reason) == (
        LossVerdict.IDENTICAL,
        12,
        "base has 20 steps from 0 to 19, head has 12 steps from 0 to 11: the 12 in common are compared",
    )


def test_a_later_start_is_a_drift_not_a_different_start() -> None:
    """What the first common step is says nothing about how a run began."""
    head = _curve([value * 1.01 for value in losses(20)[5:]], first=5)
    assert compare_loss([_curve(losses(20))], [head]).verdict is LossVerdict.DRIFTED


def test_an_auxiliary_loss_leaves_the_perplexity_to_the_other_loss() -> None:
    """With experts, loss = lm_loss + balance: ln(perplexity) is not the loss."""
    base = run_log()
    steps = [replace(step, loss=(step.loss or 0) + 0.05) for step in base.steps]
    moved = [replace(step, loss=(step.loss or 0) + 0.5) for step in steps]
    one, other = replace(base, steps=tuple(steps)), replace(base, steps=tuple(moved))
    assert compare_loss([one], [other]).verdict is not LossVerdict.WITHIN_TOLERANCE


curves = st.lists(st.floats(0.5, 12), min_size=1, max_size=40)


@given(base=curves, head=curves, shown=st.booleans())
def test_swapping_the_sides_keeps_the_verdict(base: list[float], head: list[float], *, shown: bool) -> None:
    """Different is different both ways."""
    one, other = _curve([*base, 1.0], perplexity=shown), _curve([*head, 1.0], perplexity=shown)
    assert compare_loss([one], [other]).verdict is compare_loss([other], [one]).verdict


@given(curves)
def test_a_curve_is_identical_to_itself(values: list[float]) -> None:
    """Whatever it looks like."""
    log = _curve([*values, 1.0])
    assert compare_loss([log], [log]).verdict is LossVerdict.IDENTICAL
    assert compare_loss([log], [replace(log, environment=CPU)]).verdict is LossVerdict.IDENTICAL
