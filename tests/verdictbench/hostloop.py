"""One run of MaxText's training loop, played as events on a host and a device, and the log it would leave.

In:  a `Kind`, the true step time of the program, and draws. Out: `RunLog`, as a reader would return it.
Promises: nothing of `bot.verdict` is asked; a line's time and its printed seconds follow from the order in
which the loop does things.

The loop (before PR 4270), for step n: load a batch, dispatch step n (the device works on its own), take the
printed seconds as the time since the last dispatch, save a checkpoint if one is due, wait for the loss of
step n - 1 and print its line. After the last step the final checkpoint is waited for, then the last line is
printed. PR 4270 takes the seconds when the loss is seen instead, and saves afterwards.
The background save of step 0 starves process 0 (it reads a loss late, then the next at once) or, seen from
another process, holds up a collective (a device step is long).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, sqrt
from random import Random

from bot.logs.facts import CallSite, Environment, Mark, MarkKind, Outcome, RunLog, State, Step
from tests.verdictbench.dice import student
from tests.verdictbench.kinds import CPU, GPU, Kind, Written

START = 1_776_765_600.0
COMPILE = 11.25  # seconds of step 0, seed 001
BLOCKING = (0.6, 2.5)  # seconds that the first checkpoint holds up the loop, the four seeds
STALL = (9.0, 28.0)  # seconds that the background save costs, the four seeds; each case has its own
STALL_SPREAD = 0.035  # run to run: gives the printed mean of ten-step runs the public 3.2 %
STALL_STEPS = (3, 5)  # whose line it delays; the last line of ten steps shows none of it (public)
FINAL_WAIT = (64.0, 91.0)  # the four seeds
LOAD = 0.001  # a synthetic batch
DISPATCH = (0.003, 0.006)  # a dispatch follows the line that frees it by 4 to 10 ms, the four seeds
TOKENS = 2048
TFLOP = 13.587
LOSS_FALLS = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A benchmark case: the seconds that its background save costs are its own."""

    kind: Kind
    stall: float


@dataclass(slots=True, kw_only=True)
class Told:
    """What the loop has printed so far: line times and printed seconds, both in seconds."""

    lines: list[float] = field(default_factory=list)
    printed: list[float] = field(default_factory=list)


def program_seconds(kind: Kind, draws: Random) -> float:
    """Draw the step time of one run of unchanged code: what the slice and the day make of it."""
    z = draws.gauss(0, 1) if kind.tail is None else student(draws, kind.tail)
    seconds = kind.step_seconds * exp(kind.between * z)
    if draws.random() < kind.slow_share:
        seconds *= 1 + kind.slow_by
    if draws.random() < kind.glitch_share:
        seconds *= 1 + draws.uniform(kind.glitch_by / 5, kind.glitch_by)
    return seconds


def run_log(case: Case, *, factor: float, draws: Random) -> RunLog:
    """Play one run of a program whose step takes `factor` times the kind's, and return its log."""
    kind = case.kind
    seconds = factor * program_seconds(kind, draws)
    work = _device_seconds(kind, seconds, draws)
    on_first = draws.random() < 0.5
    stall = case.stall * exp(STALL_SPREAD * draws.gauss(0, 1)) if kind.stalls else 0.0
    stalled = draws.randint(*STALL_STEPS)
    if stall and not on_first:
        work[stalled] += stall
    late = _late_reads(kind, draws)
    if stall and on_first:
        late[stalled] += stall
    flush = kind.written is Written.FLUSH or (kind.written is Written.EITHER and draws.random() < 0.5)
    told = _play(kind, work, late, flush=flush, draws=draws)
    return _as_log(kind, told, process=0 if on_first else 3)


def _device_seconds(kind: Kind, seconds: float, draws: Random) -> list[float]:
    """Return what each step takes on the device: a stationary first-order autoregression around `seconds`."""
    fresh = sqrt(1 - kind.rho**2)
    state, found = draws.gauss(0, 1), []
    for _ in range(kind.steps):
        found.append(seconds * max(1 + kind.within * state, 0.2))
        state = kind.rho * state + fresh * draws.gauss(0, 1)
    return found


def _late_reads(kind: Kind, draws: Random) -> list[float]:
    """Return how late the host sees each loss: a short delay, and now and then a scheduler's turn."""
    found = []
    for _ in range(kind.steps):
        delay = draws.expovariate(1 / kind.read)
        if draws.random() < kind.late_share:
            delay += draws.uniform(0, kind.late)
        found.append(delay)
    return found


def _play(kind: Kind, work: Sequence[float], late: Sequence[float], *, flush: bool, draws: Random) -> Told:
    """Let host and device run against each other."""
    told = Told()
    now = COMPILE * exp(0.03 * draws.gauss(0, 1))
    device_free, dispatched, done = 0.0, 0.0, []
    for step, seconds in enumerate(work):
        now += LOAD + draws.uniform(*DISPATCH) if step else 0.0
        device_free = max(now, device_free) + seconds
        done.append(device_free)
        if kind.dispatch_blocks:
            now = device_free
        if not flush:
            told.printed.append(now - dispatched)
            dispatched = now
        if flush and step:
            now = _print_line(told, done[step - 1], now, late[step - 1], flush=flush)
        if step == 0 and kind.stalls:
            now = max(now, device_free) + draws.uniform(*BLOCKING)
        if not flush and step:
            now = _print_line(told, done[step - 1], now, late[step - 1], flush=flush)
    now = max(now, device_free) + (draws.uniform(*FINAL_WAIT) if kind.stalls else 0.0)
    _print_line(told, done[-1], now, late[-1], flush=flush)
    return told


def _print_line(told: Told, done: float, now: float, late: float, *, flush: bool) -> float:
    """Wait for a loss and print its line; return the time then."""
    seen = max(now, done) + late
    if flush:
        told.printed.append(seen - told.lines[-1] if told.lines else seen)
    told.lines.append(seen)
    return seen


def _as_log(kind: Kind, told: Told, *, process: int) -> RunLog:
    """Return what a reader would make of the lines, rounded as they are printed."""
    steps = tuple(
        _step(number, seconds, START + line)
        for number, (seconds, line) in enumerate(zip(told.printed, told.lines, strict=True))
    )
    shown = [step.seconds or 0.0 for step in steps]
    end = START + told.lines[-1]
    return RunLog(
        source="made",
        run=1,
        format="maxtext",
        dated=True,
        outcome=Outcome(
            state=State.SUCCEEDED, exit_code=0, last_step=kind.steps - 1, expected_steps=kind.steps
        ),
        steps=steps,
        steps_seen=len(steps),
        mean_seconds_after_first=sum(shown[1:]) / (len(shown) - 1),
        marks=(Mark(kind=MarkKind.START, time=START - 60), Mark(kind=MarkKind.END, time=end + 10)),
        environment=_environment(kind, process),
        parameters_billion=1.104,
        tflop_per_step=13.59,
    )


def _step(number: int, seconds: float, time: float) -> Step:
    loss = 10.872 - 3 * (1 - exp(-number / LOSS_FALLS))
    return Step(
        step=number,
        seconds=round(seconds, 3),
        tflops_per_device=round(TFLOP / seconds, 3),
        tokens_per_device=round(TOKENS / seconds, 3),
        total_weights=float(TOKENS * 32),
        loss=round(loss, 3),
        perplexity=round(exp(loss), 3),
        time=round(time, 6),
        offset=1000 * number,
    )


def _environment(kind: Kind, process: int) -> Environment:
    return Environment(
        jax="0.9.2",
        jaxlib="0.9.2",
        libtpu=None if kind.device in {CPU, GPU} else "cl/878335365",
        device_kind=kind.device,
        devices=32,
        mesh=(1, 1, 1, 32),
        process=process,
        dtype="bf16",
        call_sites=(CallSite(message="step", file="metric_logger.py", line=196),),
    )
