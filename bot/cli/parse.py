"""`maxview parse SOURCE… [--json]`.

One view per run for people, one JSON object per run and line for programs. What the log does not state is
left out, never shown as zero. A source that cannot be read gets one line on standard error, the others are
still printed, and the exit status is 2.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from itertools import pairwise

from bot.cli.sources import read_runs
from bot.cli.terminal import BAD, DIM, GOOD, WARN, BarRow, Screen, printable
from bot.errors import UserError
from bot.logs.facts import Environment, OutcomeState, RunLog, RunOutcome, Step, StepKind
from bot.report.assess import next_step, outcome_words
from bot.report.documents import run_json, warnings_of
from bot.report.wording import NO_VALUE, counted, duration_words, phase_seconds, significant
from bot.verdict.judgement import (
    IMPLAUSIBLE_SHORT_TITLES,
    ImplausibleValue,
    MeasuredRun,
    Measurements,
    StepClock,
)
from bot.verdict.metrics import METRICS_BY_KEY

EPILOG = """\
SOURCE is a path, - for standard input, gs://bucket/object or http(s)://…, gzip or plain.
A source may hold several runs: SOURCE#2 selects the second.

examples:
  maxview parse train.log
  maxview parse --json runs/*.log | jq .measurements.steady_step_seconds
  kubectl logs POD | maxview parse -
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sources and the output format."""
    parser.epilog = EPILOG
    parser.add_argument(
        "sources", nargs="+", metavar="SOURCE", help="a training log; SOURCE#2 is its second run"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per run, one per line")


def main(args: argparse.Namespace) -> int:
    """Print every run of every source; 2 if a source could not be read."""
    status = 0
    screen = Screen()
    for position, source in enumerate(args.sources):
        try:
            runs = read_runs(source)
        except UserError as error:
            print(f"maxview: {printable(error.text)}", file=sys.stderr)
            status = 2
            continue
        _warn_no_log(source, runs)
        if args.json:
            for run in runs:
                sys.stdout.writelines(run_json(run))
                print()
        else:
            _show_runs(screen, runs, first=position == 0)
    return status


def _show_runs(screen: Screen, runs: tuple[MeasuredRun, ...], *, first: bool) -> None:
    for position, run in enumerate(runs):
        if position or not first:
            screen.gap()
        show_run(screen, run)


def _warn_no_log(source: str, runs: tuple[MeasuredRun, ...]) -> None:
    if all(run.log.outcome.state is OutcomeState.NOT_A_TRAINING_LOG for run in runs):
        why = " ".join(warning for run in runs for warning in run.log.warnings)
        print(f"maxview: {printable(source)} is not a training log: {printable(why)}", file=sys.stderr)


STATE_SYMBOLS = {
    OutcomeState.SUCCEEDED: ("✅", GOOD),
    OutcomeState.FAILED: ("❌", BAD),
    OutcomeState.KILLED: ("❌", BAD),
    OutcomeState.STOPPED: ("🟡", WARN),
    OutcomeState.INCOMPLETE: ("🟡", WARN),
    OutcomeState.NOT_A_TRAINING_LOG: ("⚪", DIM),
}

CLOCK_NOTES = {
    StepClock.COMPLETION: "by the lines' timestamps",
    StepClock.LOGGER: "by the printed seconds, as lines carry no usable time",
}

RAW_METRICS = (
    "final_loss",
    "avg_step_seconds",
    "last_tflops_per_device",
    "last_tokens_per_device",
    "memory_percent",
)


def show_run(screen: Screen, run: MeasuredRun) -> None:
    """Print the whole view of `run`."""
    log = run.log
    symbol, style = STATE_SYMBOLS[log.outcome.state]
    screen.headline(symbol, f"{_state(log.outcome)} · {_name(log)}", style)
    if log.outcome.failure:
        if log.outcome.failure.error:
            screen.paragraph(log.outcome.failure.error, BAD)
        screen.paragraph(_next_step(log.outcome), DIM)
    if log.outcome.state is OutcomeState.NOT_A_TRAINING_LOG:
        return
    screen.facts([fact for fact in _facts(run) if fact[1]])
    _show_ledger(screen, run)
    show_steps(screen, run)
    problem = run.measurements.steady.problem
    for warning in warnings_of(run):
        if problem and problem in warning:
            continue  # the steady step's fact says it already
        screen.paragraph(f"⚠ {warning}", WARN)


def steady_step_text(measured: Measurements) -> str:
    """`0.22943 s ± 0.10 % (3 of 6 clean steps, by the lines' timestamps)`, or why there is none."""
    steady = measured.steady
    if steady.seconds is None:
        return f"none: {steady.problem}" if steady.problem else "none"
    error = f" ± {steady.se * 100:.2f} %" if steady.se is not None else ""
    counts = f"{len(steady.kept_steps)} of {counted(len(steady.candidate_steps), 'step')} clean"
    clock = f", {CLOCK_NOTES[steady.clock]}" if steady.clock else ""
    return f"{steady.seconds:.5f} s{error} ({counts}{clock})"


def _state(outcome: RunOutcome) -> str:
    words = outcome_words(outcome)
    match outcome.state:
        case OutcomeState.FAILED if outcome.exit_code:
            return f"failed: {words}"
        case OutcomeState.INCOMPLETE:
            return f"incomplete: {words}"
        case _:
            return words


def _name(log: RunLog) -> str:
    return f"{log.source}#{log.run}" if log.run > 1 else log.source


def _next_step(outcome: RunOutcome) -> str:
    failure = outcome.failure
    if failure is None:
        return ""
    where = f"at {failure.where} · " if failure.where else ""
    advice = next_step(failure.kind)
    return f"{where}{failure.kind}{f': {advice}' if advice else ''}"


def _facts(run: MeasuredRun) -> list[tuple[str, str]]:
    measured, log = run.measurements, run.log
    return [
        ("steady step", steady_step_text(measured)),
        ("throughput", _throughput(measured)),
        ("steps", _steps(log)),
        ("loss", _losses(log, measured)),
        ("model", f"{log.parameters_billion:g} B parameters" if log.parameters_billion else ""),
        ("device", _devices(log.environment)),
        ("software", _software(log.environment)),
        ("compile", _compile(measured)),
        ("checkpoints", _checkpoints(measured)),
        ("whole run", _whole_run(measured)),
        ("run", " · ".join(part for part in (log.environment.run_name, log.environment.workload) if part)),
        ("commit", log.environment.commit or ""),
        ("read as", _read_as(log)),
        ("page's figures", _raw_metrics(run)),
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
    return " · ".join(words.format(duration_words(value)) for value, words in parts if value is not None)


def _checkpoints(measured: Measurements) -> str:
    parts = (
        (measured.checkpoint_blocking_seconds, "{} blocking"),
        (measured.final_checkpoint_wait_seconds, "{} wait for the last one"),
    )
    return " · ".join(words.format(duration_words(value)) for value, words in parts if value is not None)


def _whole_run(measured: Measurements) -> str:
    hours = f" · {significant(measured.chip_hours)} chip-hours" if measured.chip_hours is not None else ""
    return f"{duration_words(measured.wall_seconds)}{hours}" if measured.wall_seconds is not None else ""


def _read_as(log: RunLog) -> str:
    hosts = f" · {counted(log.hosts, 'host')}" if log.hosts > 1 else ""
    attempts = f" · attempt {log.attempts}" if log.attempts > 1 else ""
    return f"{log.format or 'unknown format'}{hosts}{attempts}"


def _raw_metrics(run: MeasuredRun) -> str:
    """The raw log metrics, as the table of metrics shows them."""
    parts = []
    for key in RAW_METRICS:
        value = METRICS_BY_KEY[key].read(run)
        if isinstance(value, float | int):
            unit = " %" if METRICS_BY_KEY[key].unit == "%" else ""
            parts.append(f"{METRICS_BY_KEY[key].title} {value:.{METRICS_BY_KEY[key].digits}f}{unit}")
    if run.measurements.implausible:
        parts.append(f"✗ made of {counted(len(run.measurements.implausible), 'implausible value')} too")
    return " · ".join(parts)


def _show_ledger(screen: Screen, run: MeasuredRun) -> None:
    phases = [(name, value) for name, value in phase_seconds(run).items() if round(abs(value), 2)]
    if not phases:
        return
    screen.gap()
    screen.paragraph("where the time went", DIM)
    screen.bars(
        [BarRow(name=name, value=max(value, 0.0), words=duration_words(value)) for name, value in phases]
    )


SHOW_ALL_UP_TO = 14  # steps that are all shown
SHOWN_AT_EACH_END = 3  # steps shown at each end of longer runs
SHOWN_SLOWEST = 6  # slowest steps shown between the ends
SLOW_FACTOR = 1.5  # times the steady step: the step waits for something


def show_steps(screen: Screen, run: MeasuredRun) -> None:
    """Print the first steps, the last ones, and the odd ones between them."""
    steps = run.log.steps
    if not steps:
        return
    implausible = {value.step: value for value in run.measurements.implausible}
    marked = [place for place, step in enumerate(steps) if step.step in implausible]
    places = notable_steps([step.seconds for step in steps], marked)
    gaps = _step_gaps(steps)
    rows: list[tuple[str, ...]] = []
    last = -1
    for place in places:
        if place > last + 1:
            rows.append(("⋯", counted(place - last - 1, "step"), "", "", "", ""))
        rows.append(_step_row(steps[place], gaps[place], run, implausible.get(steps[place].step)))
        last = place
    screen.gap()
    screen.table(("step", "printed s", "line to line s", "loss", "tokens/s", ""), "rrrrrl", rows)
    if run.measurements.steady.kept_steps:
        screen.paragraph("• measured for the steady step", DIM)
    if implausible:
        screen.paragraph("✗ its printed seconds and rates are struck out: see below", DIM)


def notable_steps(seconds: list[float | None], marked: Sequence[int] = ()) -> list[int]:
    """The indices of the steps worth a line: all of few; of many the ends, the slowest between them, and the
    first of those that are `marked`."""
    count = len(seconds)
    if count <= SHOW_ALL_UP_TO:
        return list(range(count))
    between = range(SHOWN_AT_EACH_END, count - SHOWN_AT_EACH_END)
    slowest = sorted(between, key=lambda place: -(seconds[place] or 0.0))[:SHOWN_SLOWEST]
    return sorted(
        {
            *range(SHOWN_AT_EACH_END),
            *slowest,
            *marked[:SHOWN_SLOWEST],
            *range(count - SHOWN_AT_EACH_END, count),
        }
    )


def loss_decimals(steps: tuple[Step, ...]) -> int:
    """The decimals that the loss was printed with, so that decimal points are aligned."""
    losses = (f"{step.loss:g}" for step in steps if step.loss is not None and math.isfinite(step.loss))
    return max((len(loss.partition(".")[2]) for loss in losses if "e" not in loss), default=0)


def _step_row(
    step: Step, gap: float | None, run: MeasuredRun, implausible: ImplausibleValue | None
) -> tuple[str, ...]:
    remark = _step_remark(step, gap, run)
    return (
        str(step.step),
        significant(step.seconds, 4),
        significant(gap, 4),
        NO_VALUE if step.loss is None else f"{step.loss:.{loss_decimals(run.log.steps)}f}",
        NO_VALUE if step.tokens_per_device is None else f"{step.tokens_per_device:,.0f}",
        f"{remark} ✗ {IMPLAUSIBLE_SHORT_TITLES[implausible.why]}".strip() if implausible else remark,
    )


def _step_remark(step: Step, gap: float | None, run: MeasuredRun) -> str:
    steady = run.measurements.steady
    if step.step in steady.kept_steps:
        return "•"
    if step.kind is not StepKind.PLAIN:
        return step.kind.value.replace("_", " ")
    if step is run.log.steps[0]:
        return "compiles"
    if gap is not None and steady.seconds and gap > SLOW_FACTOR * steady.seconds:
        return "waits"
    return ""


def _step_gaps(steps: tuple[Step, ...]) -> list[float | None]:
    """Seconds from the line before to each line, where both carry a time and no step is between them."""
    gaps: list[float | None] = [None]
    for before, step in pairwise(steps):
        if before.time is None or step.time is None or step.step != before.step + 1:
            gaps.append(None)
        else:
            gaps.append(step.time - before.time)
    return gaps
