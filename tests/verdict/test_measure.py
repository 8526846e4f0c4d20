"""Everything else that is measured of one run, memory included."""

import pytest
from msgspec.structs import replace

from bot.logs.facts import (
    CompiledMemory,
    DeviceMemory,
    Environment,
    Mark,
    MarkKind,
    OutcomeState,
    RunLog,
    RunOutcome,
)
from bot.verdict.compare import compare
from bot.verdict.hardware import (
    DeviceFamily,
    Precision,
    device_family,
    max_tflops,
    parse_precision,
    peak_tflops,
)
from bot.verdict.judgement import Direction
from bot.verdict.measure import measure, memory_growth, memory_headroom
from bot.verdict.metrics import METRICS, METRICS_BY_KEY, Better, Judging
from tests.verdict.made_runs import DEVICES, TFLOP, TOKENS, TPU, Shape, run, run_log


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


def test_the_option_of_maxtext_is_named_for_maxtext_only() -> None:
    """Other trainers have no enable_checkpointing."""
    log = replace(run_log(Shape(steps=6)), format="nanogpt")
    (warning,) = measure(log).measurements.warnings
    assert warning.endswith("3 are needed; N>=20 steps would help")


def test_a_log_without_a_run_is_all_unknown() -> None:
    """Nothing is zero that is not known."""
    log = RunLog(source="x", run=1, format=None, outcome=RunOutcome(state=OutcomeState.NOT_A_TRAINING_LOG))
    found = measure(log).measurements
    assert [metric.read(measure(log)) for metric in METRICS] == [None] * len(METRICS)
    assert (found.warnings, found.ledger) == ((), ())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("TPU v6 lite", (DeviceFamily.TPU, 918, 1836)),
        ("TPU v5 lite", (DeviceFamily.TPU, 197, 394)),
        ("TPU v5p", (DeviceFamily.TPU, 459, 918)),
        ("TPU v4", (DeviceFamily.TPU, 275, 275)),
        ("TPU7x", (DeviceFamily.TPU, 1153.5, 2307)),
        ("NVIDIA H100 80GB HBM3", (DeviceFamily.GPU, 989.5, 1979)),
        ("NVIDIA A100-SXM4-40GB", (DeviceFamily.GPU, 312, 624)),
        ("NVIDIA GeForce RTX 9090", (DeviceFamily.GPU, None, None)),
        ("AMD Instinct MI300X", (DeviceFamily.GPU, 1307.4, 2614.9)),
        ("cpu", (DeviceFamily.CPU, None, None)),
        ("abacus", (None, None, None)),
        (None, (None, None, None)),
    ],
)
def test_family_and_peak_of_a_device(
    kind: str | None, expected: tuple[DeviceFamily | None, float | None, float | None]
) -> None:
    """Its family and its peaks; nothing is assumed of a device that is not known."""
    assert expected == (device_family(kind), peak_tflops(kind, Precision.BF16), max_tflops(kind))


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
def test_precision_of_a_dtype(dtype: str | None, expected: Precision | None) -> None:
    """By any of its names; quantisation outranks the type it starts from."""
    assert parse_precision(dtype) is expected


def test_every_metric_is_described_once() -> None:
    """Readers see the title, the unit and how it is measured; a judged one says which way is good."""
    assert len(METRICS_BY_KEY) == len(METRICS)
    for metric in METRICS:
        assert metric.title
        assert metric.how.endswith(".")
        assert metric.judging is Judging.INFORMATIONAL or metric.better is not Better.NONE
        assert metric.judged == (metric.judging is not Judging.INFORMATIONAL)


def _device(number: int, used: float, limit: float = 31.25) -> DeviceMemory:
    return DeviceMemory(
        device=f"TPU_{number}", used_gb=used, limit_gb=limit, percent=round(100 * used / limit, 3)
    )


def _log_with_memory(*first: DeviceMemory, most: tuple[DeviceMemory, ...] = (), seed: int = 1) -> RunLog:
    return replace(run_log(Shape(seed=seed)), memory=first, memory_most=most)


def test_the_fullest_device_speaks_for_all() -> None:
    """It is the one that runs out, at whichever reading it was fullest."""
    assert (
        memory_headroom(_log_with_memory(_device(0, 20.0), _device(1, 30.0), _device(2, 9.0, 16.0))) == 1.25
    )
    assert memory_headroom(_log_with_memory(_device(0, 20.0), most=(_device(0, 31.0),))) == 0.25


def test_growth_is_the_most_that_one_device_rose_above_its_first_reading() -> None:
    """Not the mean, and never below zero."""
    first = (_device(0, 20.0), _device(1, 10.0))
    assert memory_growth(_log_with_memory(*first, most=(_device(0, 21.0), _device(1, 14.0)))) == 4.0
    assert memory_growth(_log_with_memory(*first, most=(_device(0, 19.0),))) == 0.0


def test_what_was_not_read_is_absent() -> None:
    """One reading tells no growth, none tells no headroom."""
    assert memory_growth(_log_with_memory(_device(0, 20.0))) is None
    assert (memory_headroom(_log_with_memory()), memory_growth(_log_with_memory())) == (None, None)


def test_memory_headroom_and_growth_are_never_coloured() -> None:
    """Headroom and growth are information; what they follow from is judged."""
    found = measure(_log_with_memory(_device(0, 30.0), most=(_device(0, 31.0),), seed=2))
    rows = {row.key: row for row in compare([measure(_log_with_memory(_device(0, 20.0)))], [found]).rows}
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
        measure(replace(run_log(Shape(seed=seed)), compiled_memory=CompiledMemory(**{f"{part}_gb": size})))
        for seed, size in enumerate((base, head))
    ]
    rows = {row.key: row for row in compare(sides[:1], sides[1:]).rows}
    row = rows[f"compiled_{part}_gb"]
    assert (row.direction, row.judged) == (expected, True)


@pytest.mark.parametrize(
    ("head", "expected"), [(20.08, Direction.SAME), (20.1, Direction.WORSE), (19.8, Direction.BETTER)]
)
def test_memory_in_use_flags_at_half_a_percent_of_itself(head: float, expected: Direction) -> None:
    """Relative to the use, not to the limit."""
    sides = [
        measure(_log_with_memory(_device(0, 10.0, limit), seed=seed))
        for seed, limit in enumerate((50.0, 1000 / head))
    ]
    row = next(row for row in compare(sides[:1], sides[1:]).rows if row.key == "memory_fullest_percent")
    assert row.direction is expected


def test_chip_hours_are_devices_times_the_frame() -> None:
    """32 chips from XPK Start to XPK End; without a frame nothing is known."""
    found = measure(run_log())
    assert found.measurements.chip_hours == 32 * (found.measurements.wall_seconds or 0) / 3600
    assert measure(replace(run_log(), marks=())).measurements.chip_hours is None
    assert METRICS_BY_KEY["chip_hours"].read(found) == found.measurements.chip_hours
