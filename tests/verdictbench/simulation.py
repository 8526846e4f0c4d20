"""Kinds of noise with their sources, seeded draws, and MaxText's training loop played as events."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import exp, sqrt
from random import Random

from bot.logs.facts import CallSite, Environment, Mark, MarkKind, OutcomeState, RunLog, RunOutcome, Step

TPU = "TPU v6 lite"

GPU = "NVIDIA H100 80GB HBM3"

CPU = "cpu"


class Written(StrEnum):
    """Which clock the printed seconds of a kind's runs follow."""

    DISPATCH = "dispatch"
    FLUSH = "flush"
    EITHER = "either"


class Shape(StrEnum):
    """How the steps of a program differ from each other, on both sides alike."""

    PLAIN = "plain"
    ALTERNATING = "alternating"
    RAMP = "ramp"
    PAUSES = "pauses"
    EVALS = "evals"
    CHECKPOINTS = "checkpoints"
    SLEW = "slew"
    DRIFT = "drift"


class Burst(StrEnum):
    """How a head loses time that its median step does not show."""

    NONE = "none"
    EVERY_5TH = "every 5th step takes 60 % longer"
    EVERY_10TH = "every 10th step takes three times as long"
    SAVES = "a checkpoint blocks every 5 steps"
    EVERY_4TH = "every 4th step takes 30 % longer"
    EVERY_2ND = "every 2nd step takes 12 % longer"
    LATE = "the last third takes 20 % longer"
    RANDOM = "1 step in 10 takes twice as long"
    FROM_9 = "every 3rd step from the 9th on takes 30 % longer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How the step time of unchanged code moves. Shares and spreads are relative, times are seconds.

    Between runs: `between` is the standard deviation of ln S, Student's with `tail` degrees of freedom where
    given; `slow_share` of the runs land on slices `slow_by` slower; `glitch_share` are up to `glitch_by`
    slower. Within a run: `within` a step on the device, `rho` its correlation with the step before, `read`
    the mean delay at which the host sees a loss, `late_share` of the reads up to `late` seconds late.
    `shape` is how its steps differ; `marked`: the log names its saves and evals. Of runs that share a
    submission, `between_submissions` is what they share. Main: `drift` over 20 runs, and a `shift` that ended
    `shift_age` runs before the newest.
    """

    name: str
    title: str
    why: str
    device: str = TPU
    step_seconds: float = 0.147
    steps: int = 20
    between: float = 0.0015
    tail: float | None = None
    slow_share: float = 0.0
    slow_by: float = 0.0
    glitch_share: float = 0.0
    glitch_by: float = 0.0
    within: float = 0.0006
    rho: float = 0.3
    read: float = 0.0001
    late_share: float = 0.002
    late: float = 0.030
    stalls: bool = True
    written: Written = Written.DISPATCH
    dispatch_blocks: bool = False
    drift: float = 0.0
    shift: float = 0.0
    shift_age: int = 0
    target: bool = False
    shape: Shape = Shape.PLAIN
    marked: bool = False
    between_submissions: float = 0.0


_TPU = Kind(
    name="tpu",
    title="TPU-like",
    why="public: 0.15 % between runs; seeds: S = 0.147 s, a stall of 9 to 28 s and a catch-up read after it",
    target=True,
)

_TPU_VARIANT = replace(_TPU, target=False)

_GPU = Kind(
    name="gpu",
    title="GPU-like",
    why="0.78 % between runs: 20-step windows of public 8 x H100 runs that have 0.15 % over 1,390 steps",
    device=GPU,
    step_seconds=0.35,
    between=0.0078,
    within=0.006,
    stalls=False,
    target=True,
)

KINDS = (
    _TPU,
    replace(
        _TPU_VARIANT,
        name="tpu-noisy",
        title="TPU-like, the noisiest case",
        why="public: the worst case has 0.4 % between runs",
        between=0.004,
    ),
    replace(
        _TPU_VARIANT,
        name="tpu-short",
        title="TPU-like, 10 steps of 0.071 s",
        why="seed 002: 10 steps, a checkpoint at step 0, reads that jitter by 1 % of a step",
        step_seconds=0.071,
        steps=10,
        read=0.0006,
    ),
    replace(
        _TPU_VARIANT,
        name="tpu-clocks",
        title="TPU-like, both clock dialects",
        why="MaxText PR 4270 redefines `seconds`: each run is of either dialect",
        written=Written.EITHER,
    ),
    _GPU,
    Kind(
        name="cpu",
        title="CPU-like",
        why="7.2 % between runs, measured on a busy machine; dispatch blocks, so `seconds` are one line late",
        device=CPU,
        step_seconds=0.9,
        between=0.072,
        within=0.05,
        stalls=False,
        dispatch_blocks=True,
    ),
    replace(
        _TPU_VARIANT,
        name="heavy-tail",
        title="Heavy tails between runs",
        why="Student's t with 3 degrees of freedom instead of a normal law, the same 0.15 %",
        tail=3.0,
    ),
    replace(
        _GPU,
        name="autocorrelated",
        title="Steps that remember",
        why="GPU-like, 2 % a step with a correlation of 0.9: twenty steps hold the evidence of about two",
        within=0.02,
        rho=0.9,
        target=False,
    ),
    replace(
        _TPU_VARIANT,
        name="bimodal",
        title="Two kinds of slices",
        why="a quarter of the runs lands on slices that are 1.5 % slower",
        slow_share=0.25,
        slow_by=0.015,
    ),
    replace(
        _TPU_VARIANT,
        name="glitches",
        title="Glitches",
        why="1 run in 50 is 3 to 15 % slower, and nothing in its log says so",
        glitch_share=0.02,
        glitch_by=0.15,
    ),
    replace(
        _TPU_VARIANT,
        name="drift",
        title="Main drifts",
        why="main gets 1 % slower over 20 runs; base and head are as slow as its newest",
        drift=0.01,
    ),
    replace(
        _TPU_VARIANT,
        name="shift",
        title="Main shifted",
        why="main got 2 % faster 8 runs ago; base and head are as fast as its newest",
        shift=0.02,
        shift_age=8,
    ),
)

BY_NAME = {kind.name: kind for kind in KINDS}


def seeded(*purpose: object) -> random.Random:
    """Return a generator seeded by its purpose, such as ("tpu", "history", 3)."""
    return random.Random("/".join(map(str, purpose)))  # noqa: S311 - repeatable noise, no secret


def student_draw(draws: random.Random, freedom: float) -> float:
    """Draw from Student's t scaled to a standard deviation of 1; `freedom` > 2."""
    chi = draws.gammavariate(freedom / 2, 2)
    return draws.gauss(0, 1) / sqrt(chi / freedom) * sqrt((freedom - 2) / freedom)


START = 1_776_765_600.0

COMPILE = 11.25  # seconds of step 0, seed 001

BLOCKING = (0.6, 2.5)  # seconds that the first checkpoint holds up the loop, the four seeds

STALL = (9.0, 28.0)  # seconds that the background save costs, the four seeds; each case has its own

STALL_SPREAD = 0.035  # run to run: gives the printed mean of ten-step runs the public 3.2 %

STALL_STEPS = (3, 5)  # whose line it delays; the last line of ten steps shows none of it (public)

FINAL_WAIT = (64.0, 91.0)  # the four seeds

HOLD_SPREAD = 0.02  # of a save or an evaluation, between equal ones

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
class PrintedRun:
    """What the loop has printed so far: line times and printed seconds, both in seconds, and its marks."""

    lines: list[float] = field(default_factory=list)
    printed: list[float] = field(default_factory=list)
    marks: list[tuple[MarkKind, int, float]] = field(default_factory=list)


def program_seconds(kind: Kind, draws: Random) -> float:
    """Draw the step time of one run of unchanged code: what the slice and the day make of it."""
    z = draws.gauss(0, 1) if kind.tail is None else student_draw(draws, kind.tail)
    seconds = kind.step_seconds * exp(kind.between * z)
    if draws.random() < kind.slow_share:
        seconds *= 1 + kind.slow_by
    if draws.random() < kind.glitch_share:
        seconds *= 1 + draws.uniform(kind.glitch_by / 5, kind.glitch_by)
    return seconds


def run_log(
    case: Case, *, factor: float, draws: Random, burst: Burst = Burst.NONE, shared: float = 0.0, day: int = 0
) -> RunLog:
    """Play one run of a program whose step takes `factor` times the kind's, and return its log.

    `burst` is how it loses time besides, `shared` the ln of what its submission makes of it, `day` when it
    ran.
    """
    kind = case.kind
    seconds = factor * program_seconds(kind, draws) * exp(shared)
    work = _device_seconds(kind, seconds, draws)
    work = [one * by for one, by in zip(work, _shaped(kind, draws), strict=True)]
    work = [one * by for one, by in zip(work, _bursts(burst, kind.steps, draws), strict=True)]
    on_first = draws.random() < 0.5
    stall = case.stall * exp(STALL_SPREAD * draws.gauss(0, 1)) if kind.stalls else 0.0
    stalled = draws.randint(*STALL_STEPS)
    if stall and not on_first:
        work[stalled] += stall
    late = _late_reads(kind, draws)
    if stall and on_first:
        late[stalled] += stall
    flush = kind.written is Written.FLUSH or (kind.written is Written.EITHER and draws.random() < 0.5)
    told = _play(kind, work, late, flush=flush, draws=draws, held=_held_up(kind, burst, seconds))
    return _as_log(kind, told, process=0 if on_first else 3, day=day)


def _shaped(kind: Kind, draws: Random) -> list[float]:
    """Return how long each step takes against a plain one."""
    numbers = range(kind.steps)
    match kind.shape:
        case Shape.ALTERNATING:
            return [1.3 if number % 4 == 3 else 1.0 for number in numbers]
        case Shape.RAMP:
            return [1.5 - 0.5 * min(number, 30) / 30 for number in numbers]
        case Shape.PAUSES:
            return [1 + (draws.uniform(0.3, 2.0) if draws.random() < PAUSE_SHARE else 0.0) for _ in numbers]
        case Shape.DRIFT:
            return [1 + 0.1 * number / kind.steps for number in numbers]
        case _:
            return [1.0] * kind.steps


PAUSE_SHARE = 0.08  # of the steps, in which the program collects its garbage


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengthened:
    """Which steps take `by` times as long: every `every`th with a remainder of `place`, from `start` on."""

    by: float
    every: int = 1
    place: int = 0
    start: int = 0


LENGTHENED = {
    Burst.EVERY_5TH: Lengthened(by=1.6, every=5, place=4),
    Burst.EVERY_10TH: Lengthened(by=3.0, every=10, place=9),
    Burst.EVERY_4TH: Lengthened(by=1.3, every=4, place=2),
    Burst.EVERY_2ND: Lengthened(by=1.12, every=2, place=1),
    Burst.LATE: Lengthened(by=1.2, start=13),
    Burst.FROM_9: Lengthened(by=1.3, every=3, start=9),
}


def _bursts(burst: Burst, steps: int, draws: Random) -> list[float]:
    """Return how much longer each step of a head takes."""
    if burst is Burst.RANDOM:
        return [2.0 if draws.random() < 0.1 else 1.0 for _ in range(steps)]
    how = LENGTHENED.get(burst, Lengthened(by=1.0))
    return [
        how.by if number >= how.start and number % how.every == how.place else 1.0 for number in range(steps)
    ]


EVAL_STEPS = 6.0  # steady steps that an evaluation takes

SAVE_STEPS = 16.0  # steady steps that a save blocks

EVERY = 5  # steps between evals, or saves


def _held_up(kind: Kind, burst: Burst, seconds: float) -> dict[int, tuple[float, MarkKind]]:
    """Return for how long the host is held up after it dispatched a step, and by what."""
    often = range(EVERY, kind.steps, EVERY)
    if burst is Burst.SAVES or kind.shape is Shape.CHECKPOINTS:
        return dict.fromkeys(often, (SAVE_STEPS * seconds, MarkKind.CHECKPOINT_STARTED))
    if kind.shape is Shape.EVALS:
        return dict.fromkeys(often, (EVAL_STEPS * seconds, MarkKind.EVAL_ENDED))
    return {}


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


def _play(
    kind: Kind,
    work: Sequence[float],
    late: Sequence[float],
    *,
    flush: bool,
    draws: Random,
    held: Mapping[int, tuple[float, MarkKind]],
) -> PrintedRun:
    """Let host and device run against each other."""
    told = PrintedRun()
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
            now = max(now, device_free)
            told.marks.append((MarkKind.CHECKPOINT_WAITED, step, now))
            now += draws.uniform(*BLOCKING)
            told.marks.append((MarkKind.CHECKPOINT_STARTED, step, now))
        if step in held:
            now = max(now, device_free)
            pause, what = held[step]
            before = {
                MarkKind.CHECKPOINT_STARTED: MarkKind.CHECKPOINT_WAITED,
                MarkKind.EVAL_ENDED: MarkKind.EVAL_STARTED,
            }
            told.marks.append((before[what], step, now))
            now += pause * exp(HOLD_SPREAD * draws.gauss(0, 1))
            told.marks.append((what, step, now))
        if not flush and step:
            now = _print_line(told, done[step - 1], now, late[step - 1], flush=flush)
    now = max(now, device_free) + (draws.uniform(*FINAL_WAIT) if kind.stalls else 0.0)
    _print_line(told, done[-1], now, late[-1], flush=flush)
    return told


def _print_line(told: PrintedRun, done: float, now: float, late: float, *, flush: bool) -> float:
    """Wait for a loss and print its line; return the time then."""
    seen = max(now, done) + late
    if flush:
        told.printed.append(seen - told.lines[-1] if told.lines else seen)
    told.lines.append(seen)
    return seen


def _as_log(kind: Kind, told: PrintedRun, *, process: int, day: int) -> RunLog:
    """Return what a reader would make of the lines, rounded as they are printed."""
    start = START + 86_400.0 * day
    steps = tuple(
        _step(number, seconds, start + _shown_time(kind, line))
        for number, (seconds, line) in enumerate(zip(told.printed, told.lines, strict=True))
    )
    shown = [step.seconds or 0.0 for step in steps]
    end = start + told.lines[-1]
    named = told.marks if kind.marked or kind.shape in {Shape.EVALS, Shape.CHECKPOINTS} else []
    return RunLog(
        source="made",
        run=1,
        format="maxtext",
        dated=True,
        outcome=RunOutcome(
            state=OutcomeState.SUCCEEDED, exit_code=0, last_step=kind.steps - 1, expected_steps=kind.steps
        ),
        steps=steps,
        steps_seen=len(steps),
        mean_seconds_after_first=sum(shown[1:]) / (len(shown) - 1),
        marks=(
            Mark(kind=MarkKind.START, time=start - 60),
            *(
                Mark(kind=what, step=step, time=round(start + _shown_time(kind, time), 6))
                for what, step, time in named
            ),
            Mark(kind=MarkKind.END, time=end + 10),
        ),
        environment=_environment(kind, process),
        parameters_billion=1.104,
        tflop_per_step=13.59,
    )


def _shown_time(kind: Kind, time: float) -> float:
    """Return what the clock shows: one that is slewed runs 5 % fast for a while."""
    if kind.shape is not Shape.SLEW:
        return time
    return time + SLEW * min(max(time - SLEW_FROM, 0.0), SLEW_FOR)


SLEW = 0.05

SLEW_FROM, SLEW_FOR = 13.0, 1.0  # seconds after the start of the loop


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
