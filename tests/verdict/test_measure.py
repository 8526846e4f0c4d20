"""Everything else that is measured of one run, and what is said where it cannot be."""

from dataclasses import replace

import pytest

from bot.logs.facts import Environment, Mark, MarkKind, Outcome, RunLog, State
from bot.verdict.measure import measure
from bot.verdict.metric import Better, Judging
from bot.verdict.metrics import BY_KEY, METRICS
from bot.verdict.peaks import Family, family, fastest_tflops, peak_tflops
from bot.verdict.precision import Precision, precision
from tests.verdict.samples import DEVICES, TFLOP, TOKENS, TPU, Shape, run, run_log


def test_the_steady_figures_follow_from_the_steady_time() -> None:
    """One measurement, said in four ways."""
    found = run().measurements
    seconds = found.steady.seconds or 0
    assert found.steady_tokens_per_device == pytest.approx(TOKENS / seconds)
    assert found.steady_tflops_per_device == pytest.approx(TFLOP / seconds, rel=1e-4)
    assert found.mfu_percent == pytest.approx(100 * TFLOP / seconds / 918, rel=1e-4)


def test_the_work_of_a_step_is_per_device() -> None:
    """Tokens and TFLOP as the lines imply them, not as the log rounds them."""
    found = run().measurements
    assert found.tokens_per_step == TOKENS
    assert found.tflop_per_step == pytest.approx(TFLOP, rel=1e-4)


@pytest.mark.parametrize(
    "environment",
    [replace(TPU, dtype=None), replace(TPU, device_kind=None), replace(TPU, device_kind="TPU v99")],
)
def test_no_mfu_without_a_known_peak(environment: Environment) -> None:
    """A share of an assumed peak would be a made-up figure."""
    assert run(environment=environment).measurements.mfu_percent is None


def test_int8_has_twice_the_peak() -> None:
    """So its MFU is half."""
    bf16, int8 = (
        run(environment=replace(TPU, dtype=name)).measurements.mfu_percent for name in ("bf16", "int8")
    )
    assert (bf16 or 0) == pytest.approx(2 * (int8 or 1))


def test_the_price_is_devices_times_hours() -> None:
    """From the start of the job to its end; unknown where the log is cut."""
    log = run_log()
    found = measure(log).measurements
    assert found.chip_hours == pytest.approx(DEVICES * (found.wall_seconds or 0) / 3600)
    cut = replace(log, marks=log.marks[:1])
    assert (measure(cut).measurements.chip_hours, measure(cut).measurements.wall_seconds) == (None, None)


def test_the_ledger_adds_up_to_the_wall_time() -> None:
    """To the residual, which is shown."""
    found = run(Shape(stalls={6: 20.0})).measurements
    assert sum(phase.seconds for phase in found.ledger) == pytest.approx(found.wall_seconds)


def test_step_zero_is_the_first_step() -> None:
    """A log that begins later does not show it."""
    assert run(Shape(first=1)).measurements.step0_seconds == 14.272
    assert run(Shape(first=500)).measurements.step0_seconds is None


def test_checkpoint_figures_need_both_marks() -> None:
    """A wait without a start is no duration."""
    waited = Mark(kind=MarkKind.CHECKPOINT_WAITED, step=4, time=1000.0)
    started = Mark(kind=MarkKind.CHECKPOINT_STARTED, step=4, time=1002.5)
    log = run_log()
    marks = [(*log.marks, waited), (*log.marks, waited, started)]
    assert [measure(replace(log, marks=m)).measurements.checkpoint_blocking_seconds for m in marks] == [
        None,
        2.5,
    ]
    assert measure(log).measurements.final_checkpoint_wait_seconds is None


def test_a_short_run_says_what_would_help() -> None:
    """The most useful advice there is."""
    (warning,) = run(Shape(steps=6)).measurements.warnings
    assert warning == (
        "no steady step time: too few clean steps: 2 of 2 intervals after warm-up are undisturbed, "
        "3 are needed; N>=20 steps or enable_checkpointing=false would help"
    )


def test_only_maxtext_is_told_of_its_own_option() -> None:
    """Other trainers have no enable_checkpointing."""
    log = replace(run_log(Shape(steps=6)), format="nanogpt")
    (warning,) = measure(log).measurements.warnings
    assert warning.endswith("3 are needed; N>=20 steps would help")


def test_a_log_without_a_run_is_all_unknown() -> None:
    """Nothing is zero that is not known."""
    log = RunLog(source="x", run=1, format=None, outcome=Outcome(state=State.NOT_A_TRAINING_LOG))
    found = measure(log).measurements
    assert [metric.read(measure(log)) for metric in METRICS] == [None] * len(METRICS)
    assert (found.warnings, found.ledger) == ((), ())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("TPU v6 lite", (Family.TPU, 918, 1836)),
        ("TPU v5 lite", (Family.TPU, 197, 394)),
        ("TPU v5p", (Family.TPU, 459, 918)),
        ("TPU v4", (Family.TPU, 275, 275)),
        ("TPU7x", (Family.TPU, 1153.5, 2307)),
        ("NVIDIA H100 80GB HBM3", (Family.GPU, 989.5, 1979)),
        ("NVIDIA A100-SXM4-40GB", (Family.GPU, 312, 624)),
        ("NVIDIA GeForce RTX 9090", (Family.GPU, None, None)),
        ("AMD Instinct MI300X", (Family.GPU, 1307.4, 2614.9)),
        ("cpu", (Family.CPU, None, None)),
        ("abacus", (None, None, None)),
        (None, (None, None, None)),
    ],
)
def test_what_a_device_is(
    kind: str | None, expected: tuple[Family | None, float | None, float | None]
) -> None:
    """Its family and its peaks; nothing is assumed of a device that is not known."""
    assert expected == (family(kind), peak_tflops(kind, Precision.BF16), fastest_tflops(kind))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bfloat16", Precision.BF16),
        ("bf16", Precision.BF16),
        ("torch.float16", Precision.BF16),
        ("float32", Precision.F32),
        ("int8", Precision.INT8),
        ("nanoo_fp8", Precision.FP8),
        ("float8_e4m3fn", Precision.FP8),
        ("bfloat16 + int8", Precision.INT8),
        ("odd", None),
        (None, None),
    ],
)
def test_what_a_dtype_means(dtype: str | None, expected: Precision | None) -> None:
    """By any of its names; quantisation outranks the type it starts from."""
    assert precision(dtype) is expected


def test_every_metric_is_described_once() -> None:
    """Readers see the title, the unit and how it is measured; a judged one says which way is good."""
    assert len(BY_KEY) == len(METRICS)
    for metric in METRICS:
        assert metric.title
        assert metric.how.endswith(".")
        assert metric.judging is Judging.INFORMATIONAL or metric.better is not Better.NONE
        assert metric.judged == (metric.judging is not Judging.INFORMATIONAL)
