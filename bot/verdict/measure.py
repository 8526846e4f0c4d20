"""Everything that is computed from one run's log.

What the log does not allow is None. Where a person could do something about it, a warning says what.
"""

from collections.abc import Collection, Sequence

from bot.logs.facts import MarkKind, OutcomeState, RunLog, Step
from bot.logs.ledger import time_ledger
from bot.verdict.hardware import parse_precision, peak_tflops
from bot.verdict.judgement import ImplausibleValue, MeasuredRun, Measurements, SteadyStepTime
from bot.verdict.loop_time import loop_time
from bot.verdict.plausibility import (
    find_implausible,
    implausible_steps,
    missing_lines_warning,
    summarize_implausible,
)
from bot.verdict.timing import (
    StepWork,
    detect_dialect,
    elapsed_seconds,
    first_mark,
    last_attempt_steps,
    steady_step_time,
    step_work,
    tokens_from_weights,
)


def memory_headroom(log: RunLog) -> float | None:
    """Return limit minus use of the device that has least left, over all its readings."""
    left = [one.limit_gb - one.used_gb for one in (*log.memory, *log.memory_most)]
    return min(left, default=None)


def memory_growth(log: RunLog) -> float | None:
    """Return how much the use of a device rose above its first reading, at most; 0 where it never did.

    None where no device was read twice.
    """
    first = {one.device: one.used_gb for one in log.memory}
    rises = [one.used_gb - first[one.device] for one in log.memory_most if one.device in first]
    return max(0.0, *rises) if rises else None


ENOUGH_STEPS = 20
"""With ten steps and a checkpoint 4 to 10 % of runs have no steady state; with twenty none (simulated)."""

MAXTEXT_CHECKPOINT_OPTION = "enable_checkpointing=false"
"""An option of MaxText; other trainers have others."""

FIRST_STEP_NUMBERS = (0, 1)
"""Pre-training counts from 0, post-training from 1: a log that begins later does not show the first step."""


def measure(log: RunLog) -> MeasuredRun:
    """Measure one run."""
    implausible = find_implausible(log)
    unused = implausible_steps(implausible)
    steady = steady_step_time(log, unused)
    steps = last_attempt_steps(log.steps)
    work = step_work([step for step in steps if step.step not in unused], log.environment.devices)
    last = log.steps[-1] if log.steps else None
    wall = _wall_seconds(log)
    tflops = _per_second(work.tflop or log.tflop_per_step, steady)
    return MeasuredRun(
        log=log,
        measurements=Measurements(
            steady=steady,
            loop=loop_time(log, steady, unused),
            steady_tokens_per_device=_per_second(work.tokens, steady),
            steady_tflops_per_device=tflops,
            mfu_percent=_mfu_percent(log, tflops),
            tflop_per_step=work.tflop or log.tflop_per_step,
            tokens_per_step=_tokens_of_step(log, work),
            final_loss=next((step.loss for step in reversed(log.steps) if step.loss is not None), None),
            memory_percent=log.memory[0].percent if log.memory else None,
            memory_headroom_gb=memory_headroom(log),
            memory_growth_gb=memory_growth(log),
            compile_seconds=next((m.seconds for m in log.marks if m.kind is MarkKind.COMPILED), None),
            step0_seconds=_first_step_seconds(steps, unused),
            checkpoint_blocking_seconds=_checkpoint_blocking_seconds(log),
            final_checkpoint_wait_seconds=_final_checkpoint_wait(log),
            avg_step_seconds=log.mean_seconds_after_first,
            last_tflops_per_device=last.tflops_per_device if last else None,
            last_tokens_per_device=last.tokens_per_device if last else None,
            wall_seconds=wall,
            chip_hours=_chip_hours(log.environment.devices, wall),
            dialect=detect_dialect(steps),
            ledger=time_ledger(log, steady.seconds, steady.kept_steps),
            implausible=implausible,
            warnings=(
                *log.warnings,
                *filter(None, (missing_lines_warning(log),)),
                *_no_steady_warnings(log, steady),
                *_implausible_warnings(implausible),
            ),
        ),
    )


def _first_step_seconds(steps: Sequence[Step], unused: Collection[int]) -> float | None:
    """Return the printed seconds of the run's first step, if the log shows it and they are plausible."""
    first = steps[0] if steps else None
    if first is None or first.step not in FIRST_STEP_NUMBERS or first.step in unused:
        return None
    return first.seconds


def _per_second(amount: float | None, steady: SteadyStepTime) -> float | None:
    return None if amount is None or steady.seconds is None else amount / steady.seconds


def _mfu_percent(log: RunLog, tflops: float | None) -> float | None:
    peak = peak_tflops(log.environment.device_kind, parse_precision(log.environment.dtype))
    return None if peak is None or tflops is None else 100 * tflops / peak


def _tokens_of_step(log: RunLog, work: StepWork) -> float | None:
    """Return the tokens of one step on one device, from the rates or from weights that never change."""
    if work.tokens is not None:
        return work.tokens
    return tokens_from_weights(log.steps, log.environment.devices)


def _wall_seconds(log: RunLog) -> float | None:
    start, end = first_mark(log, MarkKind.START), first_mark(log, MarkKind.END)
    return elapsed_seconds(start.time, end.time) if start and end else None


def _chip_hours(devices: int | None, wall: float | None) -> float | None:
    return None if devices is None or wall is None else devices * wall / 3600


def _checkpoint_blocking_seconds(log: RunLog) -> float | None:
    """Return how long the first checkpoint held up training, without its wait for the step."""
    for mark in log.marks:
        if mark.kind is MarkKind.CHECKPOINT_WAITED:
            started = first_mark(log, MarkKind.CHECKPOINT_STARTED, step=mark.step)
            if started is not None:
                return elapsed_seconds(mark.time, started.time)
    return None


def _final_checkpoint_wait(log: RunLog) -> float | None:
    """Return how long the line of the last step waited for the last checkpoint."""
    if not log.steps:
        return None
    waited = first_mark(log, MarkKind.CHECKPOINT_WAITED, step=log.steps[-1].step)
    return elapsed_seconds(waited.time, log.steps[-1].time) if waited else None


def _implausible_warnings(found: Sequence[ImplausibleValue]) -> tuple[str, ...]:
    """Say which values no figure uses but the raw metrics, which are computed as the old page did."""
    return (f"struck out of all figures but the page's own: {summarize_implausible(found)}",) if found else ()


def _no_steady_warnings(log: RunLog, steady: SteadyStepTime) -> tuple[str, ...]:
    """Say why there is no steady state, and what would give one."""
    if steady.problem is None or log.outcome.state is OutcomeState.NOT_A_TRAINING_LOG:
        return ()
    reason = f"no steady step time: {steady.problem}"
    if log.steps and log.outcome.state is OutcomeState.SUCCEEDED and log.steps_seen < ENOUGH_STEPS:
        option = f" or {MAXTEXT_CHECKPOINT_OPTION}" if log.format == "maxtext" else ""
        reason += f"; N>={ENOUGH_STEPS} steps{option} would help"
    return (reason,)
