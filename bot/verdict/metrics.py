"""The one table of metrics: title, unit, digits, how measured, whether judged; and the rows made from it.

Every figure that a comparison shows is a row here. An informational metric is never coloured.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from statistics import median
from typing import assert_never

from msgspec import Struct

from bot.verdict.judgement import (
    Direction,
    LoopPhase,
    MeasuredRun,
    MetricRow,
    TimingDecision,
    TimingMeasure,
    TimingVerdict,
)


class Better(StrEnum):
    """Which way is good news."""

    LOWER = "lower"
    HIGHER = "higher"
    EQUAL = "equal"
    NONE = "none"


class Judging(StrEnum):
    """How a metric is judged: not at all, by the timing decision on the steady step or on the whole loop, or
    exactly, because it is deterministic."""

    INFORMATIONAL = "informational"
    TIMING = "timing"
    LOOP = "loop"
    EXACT = "exact"


class Aggregation(StrEnum):
    """How the runs of one side become one figure."""

    MEDIAN = "median"
    FIRST = "first"


class Metric(Struct, frozen=True, kw_only=True):
    """One row: `digits` are the decimals shown, `how` says in a sentence how it is measured, `read` takes it
    from a run.

    An exact metric moved when it changed by at least `least` (in its unit) and `least_percent`.
    """

    key: str
    title: str
    how: str
    read: Callable[[MeasuredRun], float | str | None]
    unit: str = ""
    digits: int = 3
    better: Better = Better.NONE
    judging: Judging = Judging.INFORMATIONAL
    aggregation: Aggregation = Aggregation.FIRST
    least: float = 0.0
    least_percent: float = 0.0

    @property
    def judged(self) -> bool:
        """Whether the metric may be coloured at all."""
        return self.judging is not Judging.INFORMATIONAL


MIN_COMPILER_GB = 0.2
"""The compiler's figures are printed to 0.1 GB: one digit may be rounding, two are not."""

MIN_COMPILER_PERCENT = 2.0
"""Of a large model, 0.2 GB is not worth a person's time."""

MIN_MEMORY_PERCENT = 0.5
"""Memory in use is printed to 0.01 GB of 0.4 GB and more, and is the same on every run of a program."""


def _phase_seconds(phase: LoopPhase) -> Callable[[MeasuredRun], float | None]:
    """Return a reader of the seconds a step that a phase of the loop takes; None where it did not happen."""

    def read(run: MeasuredRun) -> float | None:
        loop = run.measurements.loop
        found = [part.seconds for part in loop.phases if part.phase is phase] if loop else []
        return sum(found) if found else None

    return read


def _settling_seconds(run: MeasuredRun) -> float | None:
    loop = run.measurements.loop
    return loop.settling_seconds if loop and loop.settling_steps else None


METRICS: tuple[Metric, ...] = (
    Metric(
        key="parameters_billion",
        title="Parameters",
        unit="billion",
        better=Better.EQUAL,
        how="The number of parameters that the log states; sides that differ are not compared.",
        read=lambda run: run.log.parameters_billion,
    ),
    Metric(
        key="final_loss",
        title="Final loss",
        digits=4,
        how="The loss on the last step line; the loss verdict looks at every step instead.",
        read=lambda run: run.measurements.final_loss,
    ),
    Metric(
        key="last_tflops_per_device",
        title="TFLOP/s (last step)",
        unit="TFLOP/s/device",
        how="As printed on the last step line.",
        read=lambda run: run.measurements.last_tflops_per_device,
    ),
    Metric(
        key="last_tokens_per_device",
        title="Tok/s (last step)",
        unit="tokens/s/device",
        digits=1,
        how="As printed on the last step line.",
        read=lambda run: run.measurements.last_tokens_per_device,
    ),
    Metric(
        key="avg_step_seconds",
        title="Avg s/step",
        unit="s",
        how="The mean of the printed seconds of all steps but the first; mostly checkpoints and stalls.",
        read=lambda run: run.measurements.avg_step_seconds,
    ),
    Metric(
        key="memory_percent",
        title="Memory",
        unit="%",
        digits=2,
        better=Better.LOWER,
        how="Memory in use on the first device listed, right after step 0 was dispatched, of its limit.",
        read=lambda run: run.measurements.memory_percent,
    ),
    Metric(
        key="jax",
        title="JAX",
        how="The version that the log states.",
        read=lambda run: run.log.environment.jax,
    ),
    Metric(
        key="steady_step_seconds",
        title="Steady s/step",
        unit="s",
        digits=5,
        better=Better.LOWER,
        judging=Judging.TIMING,
        aggregation=Aggregation.MEDIAN,
        how="The median time between the lines of consecutive steps after warm-up, without stalls.",
        read=lambda run: run.measurements.steady.seconds,
    ),
    Metric(
        key="steady_tokens_per_device",
        title="Steady tok/s",
        unit="tokens/s/device",
        digits=0,
        better=Better.HIGHER,
        aggregation=Aggregation.MEDIAN,
        how="Tokens of one step on one device, divided by the steady step time.",
        read=lambda run: run.measurements.steady_tokens_per_device,
    ),
    Metric(
        key="steady_tflops_per_device",
        title="Steady TFLOP/s",
        unit="TFLOP/s/device",
        digits=2,
        better=Better.HIGHER,
        aggregation=Aggregation.MEDIAN,
        how="TFLOP of one step on one device, divided by the steady step time.",
        read=lambda run: run.measurements.steady_tflops_per_device,
    ),
    Metric(
        key="mfu_percent",
        title="MFU",
        unit="%",
        digits=2,
        better=Better.HIGHER,
        aggregation=Aggregation.MEDIAN,
        how="Steady TFLOP/s as a share of the device's peak at the run's precision.",
        read=lambda run: run.measurements.mfu_percent,
    ),
    Metric(
        key="loop_step_seconds",
        title="Loop s/step",
        unit="s",
        digits=5,
        better=Better.LOWER,
        judging=Judging.LOOP,
        aggregation=Aggregation.MEDIAN,
        how="The mean time from line to line after warm-up, with all gaps but the stall after the save.",
        read=lambda run: run.measurements.loop.seconds if run.measurements.loop else None,
    ),
    Metric(
        key="loop_stall_seconds",
        title="Stalls, s/step",
        unit="s",
        digits=5,
        better=Better.LOWER,
        aggregation=Aggregation.MEDIAN,
        how="What intervals above 1.5 steady steps took beyond one, a step, where the log marks no reason.",
        read=_phase_seconds(LoopPhase.STALLS),
    ),
    Metric(
        key="loop_checkpoint_seconds",
        title="Checkpoints, s/step",
        unit="s",
        digits=5,
        better=Better.LOWER,
        aggregation=Aggregation.MEDIAN,
        how="The same for intervals in which the log marks a checkpoint.",
        read=_phase_seconds(LoopPhase.CHECKPOINT),
    ),
    Metric(
        key="loop_eval_seconds",
        title="Evals, s/step",
        unit="s",
        digits=5,
        better=Better.LOWER,
        aggregation=Aggregation.MEDIAN,
        how="The same for intervals in which the log marks an evaluation.",
        read=_phase_seconds(LoopPhase.EVAL),
    ),
    Metric(
        key="loop_input_seconds",
        title="Input, s/step",
        unit="s",
        digits=5,
        better=Better.LOWER,
        aggregation=Aggregation.MEDIAN,
        how="The seconds that the step lines say the input took, per step.",
        read=_phase_seconds(LoopPhase.INPUT),
    ),
    Metric(
        key="settling_stall_seconds",
        title="Stall after the first save",
        unit="s",
        digits=2,
        better=Better.LOWER,
        how="The longest stall after the first step's save, with its catch-up; it varies from run to run.",
        read=_settling_seconds,
    ),
    Metric(
        key="compile_seconds",
        title="Compile (AOT)",
        unit="s",
        digits=2,
        better=Better.LOWER,
        how="From the line before the compiler's memory figures to that line.",
        read=lambda run: run.measurements.compile_seconds,
    ),
    Metric(
        key="step0_seconds",
        title="Step 0",
        unit="s",
        better=Better.LOWER,
        how="The printed seconds of the first step, which traces and compiles again.",
        read=lambda run: run.measurements.step0_seconds,
    ),
    Metric(
        key="checkpoint_blocking_seconds",
        title="Checkpoint blocking",
        unit="s",
        better=Better.LOWER,
        how="From the end of the wait for the first checkpointed step to the start of its asynchronous save.",
        read=lambda run: run.measurements.checkpoint_blocking_seconds,
    ),
    Metric(
        key="final_checkpoint_wait_seconds",
        title="Final checkpoint wait",
        unit="s",
        digits=2,
        better=Better.LOWER,
        how="From the end of the wait for the last step to that step's line.",
        read=lambda run: run.measurements.final_checkpoint_wait_seconds,
    ),
    Metric(
        key="memory_fullest_percent",
        title="Memory, fullest device",
        unit="%",
        digits=2,
        better=Better.LOWER,
        judging=Judging.EXACT,
        least_percent=MIN_MEMORY_PERCENT,
        how="Memory in use on the device with least room, right after step 0 was dispatched, of its limit.",
        read=lambda run: max((device.percent for device in run.log.memory), default=None),
    ),
    Metric(
        key="compiled_total_gb",
        title="Compiled memory",
        unit="GB",
        digits=1,
        better=Better.LOWER,
        judging=Judging.EXACT,
        least=MIN_COMPILER_GB,
        least_percent=MIN_COMPILER_PERCENT,
        how="The compiler's own total for the train step; the same program always gives the same figure.",
        read=lambda run: run.log.compiled_memory.total_gb if run.log.compiled_memory else None,
    ),
    Metric(
        key="compiled_temp_gb",
        title="Compiled temporary memory",
        unit="GB",
        digits=1,
        better=Better.LOWER,
        judging=Judging.EXACT,
        least=MIN_COMPILER_GB,
        least_percent=MIN_COMPILER_PERCENT,
        how="The compiler's own figure for temporaries: activations, mostly.",
        read=lambda run: run.log.compiled_memory.temp_gb if run.log.compiled_memory else None,
    ),
    Metric(
        key="compiled_argument_gb",
        title="Compiled argument memory",
        unit="GB",
        digits=1,
        better=Better.LOWER,
        judging=Judging.EXACT,
        least=MIN_COMPILER_GB,
        least_percent=MIN_COMPILER_PERCENT,
        how="The compiler's own figure for the step's arguments: parameters and optimizer state, mostly.",
        read=lambda run: run.log.compiled_memory.argument_gb if run.log.compiled_memory else None,
    ),
    Metric(
        key="memory_headroom_gb",
        title="Memory headroom",
        unit="GB",
        digits=2,
        better=Better.HIGHER,
        how="The limit minus the memory in use, on the device that has least left.",
        read=lambda run: run.measurements.memory_headroom_gb,
    ),
    Metric(
        key="memory_growth_gb",
        title="Memory growth",
        unit="GB",
        digits=2,
        better=Better.LOWER,
        how="The most by which a device's memory in use rose above its first reading in the run.",
        read=lambda run: run.measurements.memory_growth_gb,
    ),
    Metric(
        key="max_allocated_mb",
        title="Peak allocated memory",
        unit="MB",
        digits=1,
        how="The largest allocation that the framework's memory report states.",
        read=lambda run: run.log.max_allocated_mb,
    ),
    Metric(
        key="chip_hours",
        title="Chip-hours",
        digits=2,
        how="Devices times the hours from XPK Start to XPK End.",
        read=lambda run: run.measurements.chip_hours,
    ),
)

ALWAYS_SHOWN = 7
"""The first rows are the table that people know from before; they are always shown."""

METRICS_BY_KEY: dict[str, Metric] = {metric.key: metric for metric in METRICS}

MetricValue = float | str | None


def metric_rows(
    base: Sequence[MeasuredRun], head: Sequence[MeasuredRun], timing: TimingDecision | None
) -> tuple[MetricRow, ...]:
    """Return the rows; `timing` is None where the sides cannot be compared: no difference is shown then.

    The first `ALWAYS_SHOWN` rows are always there; of the others, those that no side has are left out.
    """
    found = [_metric_row(metric, base, head, timing) for metric in METRICS]
    return tuple(
        row
        for place, row in enumerate(found)
        if place < ALWAYS_SHOWN or row.base is not None or row.head is not None
    )


def _metric_row(
    metric: Metric, base: Sequence[MeasuredRun], head: Sequence[MeasuredRun], timing: TimingDecision | None
) -> MetricRow:
    one, other = side_value(metric, base), side_value(metric, head)
    if timing is None or not isinstance(one, float | int) or not isinstance(other, float | int):
        return MetricRow(key=metric.key, base=one, head=other)
    direction = _metric_direction(metric, one, other, timing)
    return MetricRow(
        key=metric.key,
        base=one,
        head=other,
        diff=other - one,
        judged=direction is not None,
        direction=direction or Direction.SAME,
    )


def side_value(metric: Metric, runs: Sequence[MeasuredRun]) -> MetricValue:
    """Return the figure of a side: the median of its runs, or the value of the first."""
    values = [value for run in runs if (value := metric.read(run)) is not None]
    match metric.aggregation:
        case Aggregation.FIRST:
            return metric.read(runs[0]) if runs else None
        case Aggregation.MEDIAN:
            numbers = [value for value in values if not isinstance(value, str)]
            return median(numbers) if numbers else None
        case _:
            assert_never(metric.aggregation)


def _metric_direction(metric: Metric, base: float, head: float, timing: TimingDecision) -> Direction | None:
    """Return which way a judged metric moved, None where it is not judged."""
    match metric.judging:
        case Judging.INFORMATIONAL:
            return None
        case Judging.TIMING:
            by_loop = timing.measure is TimingMeasure.LOOP and timing.verdict is TimingVerdict.SLOWER
            return None if by_loop else _timing_direction(timing.verdict)
        case Judging.LOOP:
            withheld = timing.loop is None or timing.verdict is TimingVerdict.WITHHELD
            return None if withheld or timing.loop is None else _timing_direction(timing.loop.verdict)
        case Judging.EXACT:
            return _exact_direction(metric, base, head)
        case _:
            assert_never(metric.judging)


def _timing_direction(timing: TimingVerdict) -> Direction | None:
    match timing:
        case TimingVerdict.SLOWER:
            return Direction.WORSE
        case TimingVerdict.FASTER:
            return Direction.BETTER
        case TimingVerdict.SAME:
            return Direction.SAME
        case TimingVerdict.CONFIRMING | TimingVerdict.INCONCLUSIVE | TimingVerdict.WITHHELD:
            return None
        case _:
            assert_never(timing)


def _exact_direction(metric: Metric, base: float, head: float) -> Direction:
    """Judge a figure that is the same on every run of a program; 1e-9 allows for binary rounding."""
    change, percent = head - base, percent_apart(base, head)
    if change == 0 or abs(change) < metric.least - 1e-9:
        return Direction.SAME
    if percent is not None and percent < metric.least_percent - 1e-9:
        return Direction.SAME
    match metric.better:
        case Better.LOWER:
            return Direction.WORSE if change > 0 else Direction.BETTER
        case Better.HIGHER:
            return Direction.BETTER if change > 0 else Direction.WORSE
        case Better.EQUAL | Better.NONE:
            return Direction.DIFFERENT
        case _:
            assert_never(metric.better)


def percent_apart(base: float, head: float) -> float | None:
    """Return the difference in percent of the smaller figure, None where that is 0."""
    smaller = min(abs(base), abs(head))
    return 100 * abs(head - base) / smaller if smaller else None
