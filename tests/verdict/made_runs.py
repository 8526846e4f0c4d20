"""Runs to judge, built as values: a model of the host loop whose true step time is known."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, isfinite, log
from statistics import NormalDist

from msgspec.structs import replace

from bot.logs.facts import (
    CallSite,
    CompiledMemory,
    DeviceMemory,
    Environment,
    Failure,
    Mark,
    MarkKind,
    OutcomeState,
    RunLog,
    RunOutcome,
    Step,
)
from bot.verdict.hardware import DeviceFamily
from bot.verdict.judgement import Margins, MeasuredRun, RunTiming, SecondsDialect, SteadyStepTime
from bot.verdict.measure import measure
from bot.verdict.timing_decision import TimingWorking, decide_timing

START = 1_776_765_600.0

FINAL_WAIT = 64.0

TOKENS = 2048.0

TFLOP = 13.587

DEVICES = 32

TPU = Environment(
    jax="0.9.2",
    jaxlib="0.9.2",
    libtpu="cl/878335365",
    orbax="0.11.34",
    device_kind="TPU v6 lite",
    devices=DEVICES,
    mesh=(1, 1, 1, DEVICES),
    process=0,
    dtype="bf16",
    call_sites=(CallSite(message="step", file="metric_logger.py", line=196),),
)

CPU = replace(TPU, device_kind="cpu", libtpu=None, devices=1, mesh=(1,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a made run looks like. `stalls` are seconds added before a step; the gap after it is short."""

    step_seconds: float = 0.147
    steps: int = 20
    jitter: float = 0.002
    seed: int = 1
    stalls: Mapping[int, float] = field(default_factory=dict)
    dialect: SecondsDialect = SecondsDialect.DISPATCH
    timed: bool = True
    first: int = 0
    losses: Sequence[float] | None = None
    perplexity: bool = True


def losses(steps: int, *, start: float = 10.872, scale: float = 1.0) -> list[float]:
    """Return a loss curve that falls as the seeds' do, times `scale`."""
    return [scale * (start - 3 * (1 - exp(-step / 6))) for step in range(steps)]


def run_log(shape: Shape = Shape(), *, environment: Environment = TPU) -> RunLog:
    """Build a run that ended well."""
    gaps = _gaps(shape)
    steps = _steps(shape, gaps)
    last = steps[-1].step
    return RunLog(
        source="made",
        run=1,
        format="maxtext",
        dated=True,
        outcome=RunOutcome(
            state=OutcomeState.SUCCEEDED,
            exit_code=0,
            last_step=last,
            expected_steps=shape.steps + shape.first,
        ),
        steps=tuple(steps),
        steps_seen=len(steps),
        mean_seconds_after_first=sum(step.seconds or 0 for step in steps[1:]) / (len(steps) - 1),
        marks=(
            Mark(kind=MarkKind.START, time=START - 60),
            Mark(kind=MarkKind.END, time=(steps[-1].time or START + 100) + 10),
        ),
        environment=environment,
        parameters_billion=1.104,
        tflop_per_step=13.59,
        memory=(DeviceMemory(device="TPU_0", used_gb=0.44, limit_gb=31.25, percent=1.408),),
        compiled_memory=CompiledMemory(total_gb=1.8, temp_gb=1.4),
    )


def run(shape: Shape = Shape(), *, environment: Environment = TPU) -> MeasuredRun:
    """Build and measure a run that ended well."""
    return measure(run_log(shape, environment=environment))


def failed(
    kind: str = "code",
    *,
    after: int | None = None,
    exit_code: int = 1,
    fingerprint: str = "",
    error: str = "NotImplementedError: no such path",
) -> MeasuredRun:
    """Build a run that failed, before its first step or after `after`."""
    log = run_log()
    steps = () if after is None else log.steps[: after + 1]
    outcome = RunOutcome(
        state=OutcomeState.KILLED if exit_code in {137, 143} else OutcomeState.FAILED,
        exit_code=exit_code,
        failure=Failure(kind=kind, error=error, fingerprint=fingerprint),
        last_step=after,
        expected_steps=20,
    )
    return measure(replace(log, steps=steps, steps_seen=len(steps), outcome=outcome))


def ended(state: OutcomeState, *, steps: int = 5) -> MeasuredRun:
    """Build a run that ended otherwise than well or badly."""
    log = run_log()
    outcome = RunOutcome(state=state, last_step=steps - 1, expected_steps=20)
    return measure(replace(log, steps=log.steps[:steps], steps_seen=steps, outcome=outcome))


def repeats(
    count: int, *, sd: float, seed: int, seconds: float = 0.147, environment: Environment = TPU
) -> list[MeasuredRun]:
    """Build runs of one commit whose step time moves between runs by `sd` (of its logarithm)."""
    return [
        run(Shape(step_seconds=seconds * exp(sd * z), seed=1000 * seed + place), environment=environment)
        for place, z in enumerate(normals(count, seed))
    ]


@lru_cache(maxsize=16)
def normals(count: int, seed: int) -> tuple[float, ...]:
    """Return independent standard normal draws, the same ones for the same seed."""
    return tuple(NormalDist().samples(count, seed=seed))


def _gaps(shape: Shape) -> list[float]:
    """Return the completion-clock gap before each step; the first holds compilation."""
    gaps = [shape.step_seconds * (1 + shape.jitter * z) for z in normals(shape.steps, shape.seed)]
    for step, seconds in shape.stalls.items():
        gaps[step] += seconds
        if step + 1 < shape.steps:
            gaps[step + 1] = 0.009
    gaps[1] += 0.2
    return gaps


def _steps(shape: Shape, gaps: Sequence[float]) -> list[Step]:
    curve = losses(shape.steps) if shape.losses is None else shape.losses
    times = [START + 14.0]
    for gap in gaps[1:]:
        times.append(times[-1] + gap)
    times[-1] += FINAL_WAIT
    return [
        _step(shape, number, _printed(shape, gaps, number), times[number], curve[number])
        for number in range(shape.steps)
    ]


def _printed(shape: Shape, gaps: Sequence[float], number: int) -> float:
    """Return the seconds that the line of a step prints: another step's on the dispatch clock."""
    if number == 0:
        return 14.272
    if shape.dialect is SecondsDialect.FLUSH:
        return gaps[number] + (FINAL_WAIT if number == shape.steps - 1 else 0)
    return gaps[number - 2] if number >= 3 else (1.163, 0.032)[number - 1]


def _step(shape: Shape, number: int, seconds: float, time: float, loss: float) -> Step:
    return Step(
        step=number + shape.first,
        seconds=round(seconds, 3),
        tflops_per_device=round(TFLOP / seconds, 3),
        tokens_per_device=round(TOKENS / seconds, 3),
        total_weights=TOKENS * DEVICES,
        loss=round(loss, 3),
        perplexity=round(exp(loss), 3) if shape.perplexity and isfinite(loss) else None,
        time=round(time, 6) if shape.timed else None,
        offset=1000 * number,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoop:
    """A host that dispatches steps ahead of the device, and how it saves and what its logger times.

    Every `checkpoint_every` steps (0: never) it waits for the step and copies for about `checkpoint_seconds`.
    With `flushes` it prints the time between two flushes and saves after the flush, as MaxText's pull request
    4270 has it; else the time between two dispatches, and it saves before.
    """

    step_seconds: float = 0.147
    steps: int = 20
    checkpoint_every: int = 0
    checkpoint_seconds: float = 2.0
    flushes: bool = False
    seed: int = 1


def host_loop(loop: HostLoop) -> RunLog:
    """Return the log of a host loop, simulated event by event; the last line waits for its checkpoint."""
    noise = iter(normals(2 * loop.steps + 2, loop.seed))
    now = device = flushed = dispatched = 0.0
    done: list[float] = []
    printed: list[float] = []
    lines: list[float] = []

    def flush() -> None:
        nonlocal now, flushed
        number = len(lines)
        now = max(now, done[number]) + 0.002
        if loop.flushes:
            printed[number] = now - flushed
        flushed = now
        lines.append(now)

    for number in range(loop.steps):
        now += 14.0 if number == 0 else 0.004
        device = max(device, now) + loop.step_seconds * (1 + 0.002 * next(noise))
        done.append(device)
        printed.append(now - dispatched)
        dispatched = now
        saves = bool(loop.checkpoint_every) and number % loop.checkpoint_every == 0
        if loop.flushes and number:
            flush()
        if saves:
            now = max(now, device) + loop.checkpoint_seconds * (1 + 0.2 * next(noise))
        if not loop.flushes and number:
            flush()
    if loop.checkpoint_every:
        now = max(now, device) + FINAL_WAIT
    flush()
    curve = losses(loop.steps)
    shape = Shape(steps=loop.steps)
    steps = [
        _step(shape, number, max(printed[number], 0.001), START + lines[number], curve[number])
        for number in range(loop.steps)
    ]
    return replace(
        run_log(shape),
        steps=tuple(steps),
        mean_seconds_after_first=sum(step.seconds or 0 for step in steps[1:]) / (loop.steps - 1),
    )


def log_ratio(percent: float) -> float:
    """Return the change on the log scale of a change in percent."""
    return log(1 + percent / 100)


def apart(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Return the runs, each on a submission of its own."""
    return [replace(one, submission=f"submission {place}") for place, one in enumerate(runs)]


def an_hour_later(one: MeasuredRun) -> MeasuredRun:
    """Return another run that prints the same figures, at its own time: its log is no copy."""
    steps = tuple(replace(step, time=step.time and step.time + 3600) for step in one.log.steps)
    marks = tuple(replace(mark, time=mark.time and mark.time + 3600) for mark in one.log.marks)
    return measure(replace(one.log, steps=steps, marks=marks))


def several(shape: Shape, count: int) -> list[MeasuredRun]:
    """Return different runs of one shape, each on a submission of its own."""
    return apart([run(dataclasses.replace(shape, seed=100 * shape.seed + place)) for place in range(count)])


def timings(steady: Sequence[SteadyStepTime], submission: str | None = "") -> list[RunTiming]:
    """Return runs to judge, each of a submission of its own unless one is given."""
    return [
        RunTiming(steady=one, submission=f"submission {place}" if submission == "" else submission)
        for place, one in enumerate(steady)
    ]


def decide_steady(
    base: Sequence[SteadyStepTime],
    head: Sequence[SteadyStepTime],
    *,
    family: DeviceFamily | None,
    history: Sequence[float] = (),
    comparable_cases: int = 1,
    margins: Margins = Margins(),
    look: int = 1,
) -> TimingWorking:
    """Decide on steady step times, each run on a submission of its own."""
    return decide_timing(
        timings(base),
        timings(head),
        family=family,
        history=history,
        comparable_cases=comparable_cases,
        margins=margins,
        look=look,
    )
