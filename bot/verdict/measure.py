"""Everything that is computed from one run's log.

In:  a `RunLog`. Out: `MeasuredRun`, every figure in the unit its name states.
Promises: what the log does not allow is None; where a person could do something about it a warning says what.
"""

from collections.abc import Collection, Sequence

from bot.logs.facts import MarkKind, RunLog, State, Step
from bot.logs.ledger import ledger
from bot.verdict.implausible import Implausible
from bot.verdict.judgement import MeasuredRun, Measurements, Steady
from bot.verdict.lost_lines import missing_warning
from bot.verdict.memory import growth_gb, headroom_gb
from bot.verdict.peaks import peak_tflops
from bot.verdict.plausibility import implausible, struck, summary
from bot.verdict.precision import precision
from bot.verdict.recover import Constants, constants
from bot.verdict.steady import steady
from bot.verdict.timeline import dialect, elapsed, first_mark, last_segment

CLEAR_RUN_STEPS = 20
"""With ten steps and a checkpoint 4 to 10 % of runs have no steady state; with twenty none (simulated)."""

MAXTEXT_OPTION = "enable_checkpointing=false"
"""Of MaxText's configuration; other trainers have other words for it."""

FIRST_STEPS = (0, 1)
"""Pre-training counts from 0, post-training from 1: a log that begins later does not show the first step."""


def measure(log: RunLog) -> MeasuredRun:
    """Measure one run."""
    odd = implausible(log)
    out = struck(odd)
    state = steady(log, out)
    steps = last_segment(log.steps)
    work = constants([step for step in steps if step.step not in out], log.environment.devices)
    last = log.steps[-1] if log.steps else None
    wall = _wall_seconds(log)
    tflops = _rate(work.tflop or log.tflop_per_step, state)
    return MeasuredRun(
        log=log,
        measurements=Measurements(
            steady=state,
            steady_tokens_per_device=_rate(work.tokens, state),
            steady_tflops_per_device=tflops,
            mfu_percent=_mfu(log, tflops),
            tflop_per_step=work.tflop or log.tflop_per_step,
            tokens_per_step=_tokens(log, work),
            final_loss=next((step.loss for step in reversed(log.steps) if step.loss is not None), None),
            memory_percent=log.memory[0].percent if log.memory else None,
            memory_headroom_gb=headroom_gb(log),
            memory_growth_gb=growth_gb(log),
            compile_seconds=next((m.seconds for m in log.marks if m.kind is MarkKind.COMPILED), None),
            step0_seconds=_first_seconds(steps, out),
            checkpoint_blocking_seconds=_checkpoint_blocking(log),
            final_checkpoint_wait_seconds=_final_wait(log),
            avg_step_seconds=log.mean_seconds_after_first,
            last_tflops_per_device=last.tflops_per_device if last else None,
            last_tokens_per_device=last.tokens_per_device if last else None,
            wall_seconds=wall,
            chip_hours=_chip_hours(log.environment.devices, wall),
            dialect=dialect(steps),
            ledger=ledger(log, state.seconds, state.kept_steps),
            implausible=odd,
            warnings=(*log.warnings, *_missing(log), *_warnings(log, state), *_struck_out(odd)),
        ),
    )


def _first_seconds(steps: Sequence[Step], out: Collection[int]) -> float | None:
    """Return the printed seconds of the run's first step, if it is shown and to be believed."""
    first = steps[0] if steps else None
    return None if first is None or first.step not in FIRST_STEPS or first.step in out else first.seconds


def _rate(amount: float | None, state: Steady) -> float | None:
    return None if amount is None or state.seconds is None else amount / state.seconds


def _mfu(log: RunLog, tflops: float | None) -> float | None:
    peak = peak_tflops(log.environment.device_kind, precision(log.environment.dtype))
    return None if peak is None or tflops is None else 100 * tflops / peak


def _tokens(log: RunLog, work: Constants) -> float | None:
    """Return the tokens of one step on one device, from the rates or from weights that never change."""
    if work.tokens is not None:
        return work.tokens
    weights = {step.total_weights for step in log.steps}
    weight = weights.pop() if len(weights) == 1 else None
    devices = log.environment.devices
    return weight / devices if weight and devices else None


def _wall_seconds(log: RunLog) -> float | None:
    start, end = first_mark(log, MarkKind.START), first_mark(log, MarkKind.END)
    return elapsed(start.time, end.time) if start and end else None


def _chip_hours(devices: int | None, wall: float | None) -> float | None:
    return None if devices is None or wall is None else devices * wall / 3600


def _checkpoint_blocking(log: RunLog) -> float | None:
    """Return how long the first checkpoint held up training, its wait for the step not counted."""
    for mark in log.marks:
        if mark.kind is MarkKind.CHECKPOINT_WAITED:
            started = first_mark(log, MarkKind.CHECKPOINT_STARTED, step=mark.step)
            if started is not None:
                return elapsed(mark.time, started.time)
    return None


def _final_wait(log: RunLog) -> float | None:
    """Return how long the line of the last step waited for the last checkpoint."""
    if not log.steps:
        return None
    waited = first_mark(log, MarkKind.CHECKPOINT_WAITED, step=log.steps[-1].step)
    return elapsed(waited.time, log.steps[-1].time) if waited else None


def _missing(log: RunLog) -> tuple[str, ...]:
    return (text,) if (text := missing_warning(log)) else ()


def _struck_out(odd: Sequence[Implausible]) -> tuple[str, ...]:
    """Say which values no figure uses; the page's own figures are computed as that page does."""
    return (f"struck out of all figures but the page's own: {summary(odd)}",) if odd else ()


def _warnings(log: RunLog, state: Steady) -> tuple[str, ...]:
    """Say why there is no steady state, and what would give one."""
    if state.problem is None or log.outcome.state is State.NOT_A_TRAINING_LOG:
        return ()
    reason = f"no steady step time: {state.problem}"
    if log.steps and log.outcome.state is State.SUCCEEDED and log.steps_seen < CLEAR_RUN_STEPS:
        option = f" or {MAXTEXT_OPTION}" if log.format == "maxtext" else ""
        reason += f"; N>={CLEAR_RUN_STEPS} steps{option} would help"
    return (reason,)
