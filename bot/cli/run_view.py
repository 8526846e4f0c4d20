"""One run as a person reads it on a terminal.

In:  a `MeasuredRun`. Out: state, facts, steady step time, where the time went, the steps worth looking at.
What the log does not state is left out, never shown as zero.
"""

from bot.cli.screen import BAD, DIM, GOOD, ODD, Bar, Screen
from bot.cli.steps_view import show_steps
from bot.logs.facts import Environment, Outcome, RunLog, State
from bot.report.figures import counted, seconds, significant
from bot.report.information import phases
from bot.report.judged import ended, next_step
from bot.report.run_document import warnings_of
from bot.verdict.judgement import Clock, MeasuredRun, Measurements
from bot.verdict.metrics import BY_KEY

SYMBOLS = {
    State.SUCCEEDED: ("✅", GOOD),
    State.FAILED: ("❌", BAD),
    State.KILLED: ("❌", BAD),
    State.STOPPED: ("🟡", ODD),
    State.INCOMPLETE: ("🟡", ODD),
    State.NOT_A_TRAINING_LOG: ("⚪", DIM),
}
CLOCKS = {
    Clock.COMPLETION: "by the lines' timestamps",
    Clock.LOGGER: "by the printed seconds, as lines carry no usable time",
}
INFORMATION = (
    "final_loss",
    "avg_step_seconds",
    "last_tflops_per_device",
    "last_tokens_per_device",
    "memory_percent",
)


def show_run(screen: Screen, run: MeasuredRun) -> None:
    """Print the whole view of `run`."""
    log = run.log
    symbol, style = SYMBOLS[log.outcome.state]
    screen.headline(symbol, f"{_state(log.outcome)} · {_name(log)}", style)
    if log.outcome.failure:
        if log.outcome.failure.error:
            screen.paragraph(log.outcome.failure.error, BAD)
        screen.paragraph(_next_step(log.outcome), DIM)
    if log.outcome.state is State.NOT_A_TRAINING_LOG:
        return
    screen.facts([fact for fact in _facts(run) if fact[1]])
    _show_ledger(screen, run)
    show_steps(screen, run)
    problem = run.measurements.steady.problem
    for warning in warnings_of(run):
        if problem and problem in warning:
            continue  # said beside the steady step already
        screen.paragraph(f"⚠ {warning}", ODD)


def steady_words(measured: Measurements) -> str:
    """`0.22943 s ± 0.10 % (3 of 6 clean steps, by the lines' timestamps)`, or why there is none."""
    steady = measured.steady
    if steady.seconds is None:
        return f"none: {steady.problem}" if steady.problem else "none"
    error = f" ± {steady.se * 100:.2f} %" if steady.se is not None else ""
    counts = f"{len(steady.kept_steps)} of {counted(len(steady.candidate_steps), 'step')} clean"
    clock = f", {CLOCKS[steady.clock]}" if steady.clock else ""
    return f"{steady.seconds:.5f} s{error} ({counts}{clock})"


def _state(outcome: Outcome) -> str:
    if outcome.state is State.SUCCEEDED:
        return "succeeded"
    if outcome.state is State.NOT_A_TRAINING_LOG:
        return "not a training log"
    how = ended(outcome)
    return how if how.startswith(outcome.state.value) else f"{outcome.state.value}: {how}"


def _name(log: RunLog) -> str:
    return f"{log.source}#{log.run}" if log.run > 1 else log.source


def _next_step(outcome: Outcome) -> str:
    failure = outcome.failure
    if failure is None:
        return ""
    where = f"at {failure.where} · " if failure.where else ""
    todo = next_step(failure.kind)
    return f"{where}{failure.kind}{f': {todo}' if todo else ''}"


def _facts(run: MeasuredRun) -> list[tuple[str, str]]:
    measured, log = run.measurements, run.log
    return [
        ("steady step", steady_words(measured)),
        ("throughput", _throughput(measured)),
        ("steps", _steps(log)),
        ("loss", _losses(log, measured)),
        ("model", f"{log.parameters_billion:g} B parameters" if log.parameters_billion else ""),
        ("device", _devices(log.environment)),
        ("software", _software(log.environment)),
        ("compile", _compile(measured)),
        ("checkpoints", _checkpoints(measured)),
        ("whole run", _whole(measured)),
        ("run", " · ".join(part for part in (log.environment.run_name, log.environment.workload) if part)),
        ("commit", log.environment.commit or ""),
        ("read as", _read_as(log)),
        ("page's figures", _page(run)),
    ]


def _throughput(measured: Measurements) -> str:
    parts = (
        (measured.steady_tokens_per_device, "{:,.0f} tokens/s/device"),
        (measured.steady_tflops_per_device, "{:.2f} TFLOP/s/device"),
        (measured.mfu_percent, "{:.1f} % MFU"),
    )
    return " · ".join(words.format(value) for value, words in parts if value is not None)


def _steps(log: RunLog) -> str:
    if not log.steps:
        return "none"
    seen = max(log.steps_seen, len(log.steps))
    first, last = log.steps[0].step, log.steps[-1].step
    expected = f" of {log.outcome.expected_steps}" if log.outcome.expected_steps else ""
    return f"{seen}{expected} (step {first} to {last})"


def _losses(log: RunLog, measured: Measurements) -> str:
    losses = [step.loss for step in log.steps if step.loss is not None]
    if not losses:
        return ""
    final = measured.final_loss if measured.final_loss is not None else losses[-1]
    return f"{losses[0]:g} → {final:g}" if len(losses) > 1 else f"{final:g}"


def _devices(environment: Environment) -> str:
    count = f"{environment.devices} × " if environment.devices else ""
    kind = environment.device_kind or ("devices" if environment.devices else "")
    mesh = (
        f" · mesh {'×'.join(str(size) for size in environment.mesh if size != 1) or '1'}"
        if environment.mesh
        else ""
    )
    process = f" · process {environment.process}" if environment.process is not None else ""
    return f"{count}{kind}{mesh}{process}" if kind else ""


def _software(environment: Environment) -> str:
    parts = (("JAX", environment.jax), ("jaxlib", environment.jaxlib), ("libtpu", environment.libtpu),
             ("orbax", environment.orbax), ("", environment.dtype))  # fmt: skip
    return " · ".join(f"{name} {value}".strip() for name, value in parts if value)


def _compile(measured: Measurements) -> str:
    parts = ((measured.compile_seconds, "{} ahead of time"), (measured.step0_seconds, "step 0 {}"))
    return " · ".join(words.format(seconds(value)) for value, words in parts if value is not None)


def _checkpoints(measured: Measurements) -> str:
    parts = (
        (measured.checkpoint_blocking_seconds, "{} blocking"),
        (measured.final_checkpoint_wait_seconds, "{} wait for the last one"),
    )
    return " · ".join(words.format(seconds(value)) for value, words in parts if value is not None)


def _whole(measured: Measurements) -> str:
    hours = f" · {significant(measured.chip_hours)} chip-hours" if measured.chip_hours is not None else ""
    return f"{seconds(measured.wall_seconds)}{hours}" if measured.wall_seconds is not None else ""


def _read_as(log: RunLog) -> str:
    hosts = f" · {counted(log.hosts, 'host')}" if log.hosts > 1 else ""
    attempts = f" · attempt {log.attempts}" if log.attempts > 1 else ""
    return f"{log.format or 'unknown format'}{hosts}{attempts}"


def _page(run: MeasuredRun) -> str:
    """The figures of the old benchmark page, as their rows of the table of metrics show them."""
    parts = []
    for key in INFORMATION:
        value = BY_KEY[key].read(run)
        if isinstance(value, float | int):
            unit = " %" if BY_KEY[key].unit == "%" else ""
            parts.append(f"{BY_KEY[key].title} {value:.{BY_KEY[key].digits}f}{unit}")
    if run.measurements.implausible:
        parts.append(f"✗ made of {counted(len(run.measurements.implausible), 'implausible value')} too")
    return " · ".join(parts)


def _show_ledger(screen: Screen, run: MeasuredRun) -> None:
    stretches = [(name, value) for name, value in phases(run).items() if round(abs(value), 2)]
    if not stretches:
        return
    screen.gap()
    screen.paragraph("where the time went", DIM)
    screen.bars([Bar(name=name, value=max(value, 0.0), words=seconds(value)) for name, value in stretches])
