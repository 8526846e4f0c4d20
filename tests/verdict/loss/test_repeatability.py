"""Losses are judged by what equal runs of the program do."""

import dataclasses
from collections.abc import Sequence
from math import exp, isclose
from random import Random

import pytest
from msgspec.structs import replace

from bot.logs.facts import RunLog
from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import LossDecision, LossRepeat, LossTrace, LossVerdict
from bot.verdict.loss.curve import loss_trace, thin_steps
from bot.verdict.loss.decision import compare_loss
from bot.verdict.loss.repeatability import loss_repeat
from tests.verdict.loss.small_trainer import Recipe, train
from tests.verdict.made_runs import TPU, Shape, losses, run_log

GPU = replace(TPU, device_kind="NVIDIA H100 80GB HBM3", libtpu=None)

TORCHTITAN_PAIRS = (
    ((12.43969, 6.06744), (12.39262, 6.74983)),
    ((12.48805, 7.31813), (12.32446, 8.26058)),
    ((12.45754, 8.00693), (12.23535, 15.69855)),
)
"""Loss at steps 1 and 10 of runs of Qwen3-14B that were started twice with one command on 8 B200: public
torchtitan logs (pytorch/torchtitan, runs 131 and 132, 143 and 144, 70 and 71)."""

PAIRS = 200


def _curve(values: Sequence[float], *, gpu: bool = False, perplexity: bool = True) -> RunLog:
    shape = Shape(steps=len(values), losses=list(values), perplexity=perplexity)
    return run_log(shape, environment=GPU if gpu else TPU)


def _trace(values: Sequence[float], sha: str | None = None) -> LossTrace:
    found = loss_trace(_curve(values), sha)
    assert found is not None
    return found


def _past(random: Random, count: int, spread: float) -> list[LossTrace]:
    """Runs of main, each on a commit of its own."""
    curves = [tuple(_unseeded(random, spread=spread)) for _ in range(count)]
    return [
        LossTrace(digest=str(place), steps=tuple(range(len(curve))), losses=curve, sha=str(place))
        for place, curve in enumerate(curves)
    ]


def _unseeded(random: Random, *, steps: int = 40, spread: float = 0.01, scale: float = 1.0) -> list[float]:
    """A run whose loss moves away from its twins' while it trains, and jitters at each step."""
    offset, drift = random.gauss(0, spread), 0.0
    found = []
    for step, loss in enumerate(losses(steps)):
        drift = 0.8 * drift + random.gauss(0, spread / 3)
        found.append(loss * exp(offset * min(1.0, step / 10) + drift) * (scale if step > 5 else 1.0))
    return found


@pytest.mark.parametrize("shown", TORCHTITAN_PAIRS)
def test_equal_runs_on_a_gpu_are_not_red_where_nobody_saw_main_twice(
    shown: tuple[tuple[float, ...], tuple[float, ...]],
) -> None:
    """Nor green: it is said what would tell."""
    base, head = (_curve(one, gpu=True, perplexity=False) for one in shown)
    found = compare_loss([base], [head])
    assert (found.verdict, found.repeat) == (LossVerdict.NOT_COMPARABLE, LossRepeat.UNKNOWN)
    assert "equal runs may differ as much" in found.reason
    assert "5 runs of main" in found.reason


@pytest.mark.parametrize(
    ("base_runs", "head_runs", "main_runs"), [(1, 1, 0), (3, 3, 0), (1, 1, 20), (3, 3, 20)]
)
def test_at_most_one_in_a_hundred_of_equal_unseeded_runs_is_red(
    base_runs: int, head_runs: int, main_runs: int
) -> None:
    """Whatever the number of runs, and however far they lie apart."""
    random = Random(base_runs * 100 + main_runs)  # noqa: S311
    red = 0
    for _ in range(PAIRS):
        spread = random.choice((0.0005, 0.01, 0.1))
        base, head = (
            [_curve(_unseeded(random, spread=spread), gpu=True) for _ in range(count)]
            for count in (base_runs, head_runs)
        )
        found = compare_loss(base, head, _past(random, main_runs, spread))
        red += found.verdict not in {
            LossVerdict.IDENTICAL,
            LossVerdict.WITHIN_TOLERANCE,
            LossVerdict.NOT_COMPARABLE,
        }
    assert red <= 0.01 * PAIRS


@pytest.mark.parametrize(("spread", "scale"), [(0.002, 1.02), (0.01, 1.08), (0.01, 0.92)])
def test_a_loss_outside_of_what_equal_runs_do_is_red(spread: float, scale: float) -> None:
    """Eight standard deviations are seen in nine of ten comparisons, with one run of head."""
    random = Random(5)  # noqa: S311
    red = 0
    for _ in range(50):
        main = _past(random, 20, spread)
        base = _curve(_unseeded(random, spread=spread), gpu=True)
        head = _curve(_unseeded(random, spread=spread, scale=scale), gpu=True)
        found = compare_loss([base], [head], main)
        assert found.repeat is LossRepeat.VARIES
        red += found.verdict in {LossVerdict.DRIFTED, LossVerdict.DIVERGED}
    assert red >= 45


def test_a_first_step_that_varies_is_no_different_start() -> None:
    """An unseeded program starts elsewhere every time."""
    random = Random(8)  # noqa: S311
    runs = [[loss * exp(random.gauss(0, 0.004)) for loss in losses(20)] for _ in range(8)]
    found = compare_loss(
        [_curve(runs[0], gpu=True)],
        [_curve(runs[1], gpu=True)],
        [_trace(run, str(place)) for place, run in enumerate(runs[2:])],
    )
    assert found.verdict is LossVerdict.WITHIN_TOLERANCE
    assert "equal runs of this case print different losses: 7 runs of base and main" in found.reason


def test_a_nan_is_red_however_much_equal_runs_differ() -> None:
    """No run of main becomes NaN by chance."""
    random = Random(9)  # noqa: S311
    head = [*_unseeded(random)[:30], *([float("nan")] * 10)]
    main = _past(random, 8, 0.01)
    found = compare_loss([_curve(_unseeded(random), gpu=True)], [_curve(head, gpu=True)], main)
    assert found.verdict is LossVerdict.DIVERGED


def test_too_few_unlike_runs_give_no_verdict() -> None:
    """Two runs of base that differ say that a band is needed, not how wide it is."""
    random = Random(10)  # noqa: S311
    runs = [_curve(_unseeded(random), gpu=True) for _ in range(3)]
    found = compare_loss(runs[:2], runs[2:])
    assert (found.verdict, found.repeat) == (LossVerdict.NOT_COMPARABLE, LossRepeat.VARIES)
    assert "equal runs differ too" in found.reason


@pytest.mark.parametrize("bf16", [True, False])
@pytest.mark.parametrize("steps", [10, 20, 50, 120])
def test_one_percent_of_the_learning_rate_is_said(steps: int, *, bf16: bool) -> None:
    """Where main repeats itself bit for bit: the mean of the last steps tells it from rounding."""
    base = Recipe(steps=steps, bf16=bf16)
    head = dataclasses.replace(base, learning_rate=base.learning_rate * 1.01)
    found = _judged(base, head)
    assert found.verdict is LossVerdict.DRIFTED
    assert found.first_outside_step is not None


@pytest.mark.parametrize("bf16", [True, False])
@pytest.mark.parametrize("steps", [10, 50, 120])
def test_another_order_of_addition_is_no_drift(steps: int, *, bf16: bool) -> None:
    """Rounding is said, and tolerated."""
    base = Recipe(steps=steps, bf16=bf16)
    found = _judged(base, dataclasses.replace(base, shuffled=True))
    assert found.verdict in {LossVerdict.IDENTICAL, LossVerdict.WITHIN_TOLERANCE}


def test_a_missing_weight_decay_is_said() -> None:
    """After 50 steps, a fortieth of what training gained."""
    assert _judged(Recipe(), Recipe(weight_decay=0.0)).verdict is LossVerdict.DRIFTED


def test_a_tenfold_epsilon_is_said_as_other_numbers() -> None:
    """Its effect is as small as rounding: the numbers are called different, not wrong."""
    found = _judged(Recipe(), Recipe(epsilon=1e-7))
    assert (found.verdict, found.first_difference_step is not None) == (LossVerdict.WITHIN_TOLERANCE, True)


def _judged(base: Recipe, head: Recipe) -> LossDecision:
    return compare_loss([_curve(train(base))], [_curve(train(head))])


def test_runs_of_one_commit_decide_whether_a_program_repeats_itself() -> None:
    """Main's commits may change the numbers; a commit's own runs may not."""
    one, other = losses(20), losses(20, scale=1.01)
    changed = [_trace(losses(20, scale=1 + place / 100), str(place)) for place in range(6)]
    assert loss_repeat([], changed, None) is LossRepeat.VARIES
    assert loss_repeat([True], changed, None) is LossRepeat.REPEATS
    assert loss_repeat([], [*changed, _trace(losses(20, scale=1.05), "5")], None) is LossRepeat.REPEATS
    assert loss_repeat([], [_trace(one, "a"), _trace(other, "a")], None) is LossRepeat.VARIES


def test_main_repeats_itself_though_a_commit_changed_the_numbers() -> None:
    """Equal neighbours on other commits are no coincidence."""
    runs = [_trace(losses(20, scale=1.0 if place < 3 else 1.01), str(place)) for place in range(6)]
    assert loss_repeat([], runs, None) is LossRepeat.REPEATS


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (DeviceFamily.TPU, LossRepeat.ASSUMED),
        (DeviceFamily.CPU, LossRepeat.ASSUMED),
        (DeviceFamily.GPU, LossRepeat.UNKNOWN),
        (None, LossRepeat.UNKNOWN),
    ],
)
def test_the_device_decides_where_nobody_saw_two_runs(
    family: DeviceFamily | None, expected: LossRepeat
) -> None:
    """GPU kernels add in any order; a TPU program has one order."""
    assert loss_repeat([], [], family) is expected


def test_a_run_cut_short_is_still_equal() -> None:
    """Its steps are the first ones of its twin."""
    runs = [_trace(losses(20), "a"), _trace(losses(12), "a")]
    assert loss_repeat([], runs, None) is LossRepeat.REPEATS


def test_a_long_curve_is_stored_thinned_with_its_last_steps() -> None:
    """128 of 5,000, the last 64 among them; equal runs keep the same ones."""
    kept = thin_steps(range(5000))
    assert (len(kept), kept[0], list(kept[-64:])) == (128, 0, list(range(4936, 5000)))
    trace = _trace(losses(5000))
    assert (len(trace.steps), trace.digest) == (128, _trace(losses(5000)).digest)
    assert isclose(trace.losses[-1], losses(5000)[-1], rel_tol=1e-6)


def test_the_digest_is_of_all_steps() -> None:
    """A difference at a step that is not stored is a difference."""
    changed = losses(5000)
    changed[100] *= 1.0001
    assert 100 not in _trace(changed).steps
    assert _trace(changed).digest != _trace(losses(5000)).digest
