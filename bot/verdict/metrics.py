"""The one table of metrics: what is shown, in which unit, whether it may be coloured, and how it is measured.

In:  a `MeasuredRun`. Out: `METRICS`, in the order in which rows are shown; report, pages and tests read it.
Promises: every figure that a comparison shows is a row here; an informational one is never coloured.
"""

from bot.verdict.metric import Better, Judging, Metric, Repeats

COMPILER_GB = 0.2
"""The compiler's figures are printed to 0.1 GB: one digit may be rounding, two are not."""

COMPILER_PERCENT = 2.0
"""Of a large model, 0.2 GB is not worth a person's time."""

MEMORY_PERCENT = 0.5
"""Memory in use is printed to 0.01 GB of 0.4 GB and more, and is the same on every run of a program."""


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
        repeats=Repeats.MEDIAN,
        how="The median time between the lines of consecutive steps after warm-up, without stalls.",
        read=lambda run: run.measurements.steady.seconds,
    ),
    Metric(
        key="steady_tokens_per_device",
        title="Steady tok/s",
        unit="tokens/s/device",
        digits=0,
        better=Better.HIGHER,
        repeats=Repeats.MEDIAN,
        how="Tokens of one step on one device, divided by the steady step time.",
        read=lambda run: run.measurements.steady_tokens_per_device,
    ),
    Metric(
        key="steady_tflops_per_device",
        title="Steady TFLOP/s",
        unit="TFLOP/s/device",
        digits=2,
        better=Better.HIGHER,
        repeats=Repeats.MEDIAN,
        how="TFLOP of one step on one device, divided by the steady step time.",
        read=lambda run: run.measurements.steady_tflops_per_device,
    ),
    Metric(
        key="mfu_percent",
        title="MFU",
        unit="%",
        digits=2,
        better=Better.HIGHER,
        repeats=Repeats.MEDIAN,
        how="Steady TFLOP/s as a share of the device's peak at the run's precision.",
        read=lambda run: run.measurements.mfu_percent,
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
        least_percent=MEMORY_PERCENT,
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
        least=COMPILER_GB,
        least_percent=COMPILER_PERCENT,
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
        least=COMPILER_GB,
        least_percent=COMPILER_PERCENT,
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
        least=COMPILER_GB,
        least_percent=COMPILER_PERCENT,
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

PAGE_METRICS = 7
"""The first rows are the table that people already know; they are always present."""

BY_KEY: dict[str, Metric] = {metric.key: metric for metric in METRICS}
