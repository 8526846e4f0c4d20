"""The steady step time of one run: what a step costs once compilation, stalls and catch-ups are set aside.

In:  a `RunLog`. Out: `Steady`: seconds, its relative standard error, the steps used, or why there is none.
Promises: no compile, checkpoint, eval, ramp-up or profiled interval is ever averaged in; a steady state that
two clocks do not agree on is not reported.

The printed `seconds` of a line belong to another step (they are taken at dispatch, one or two lines early):
the time is read from the moments at which the host saw each step's loss, the completion clock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, isfinite, sqrt
from statistics import median, stdev

from bot.logs.facts import RunLog, Step, StepKind
from bot.verdict.digits import printed_decimals, time_digit, time_resolution
from bot.verdict.judgement import Clock, Dialect, Steady
from bot.verdict.peaks import fastest_tflops
from bot.verdict.recover import Constants, constants, recovered_seconds
from bot.verdict.timeline import dialect, gaps, last_segment, steps_that_span_an_eval

WARM_UP = 3
"""Steps after the first that still carry compilation and the filling of the double buffer."""

SHORTEST, LONGEST = 0.67, 1.5
"""Kept intervals, in medians: stalls are far longer, catch-ups after them far shorter, noise is neither."""

FEWEST = 3
"""Kept intervals needed: with two, one late read cannot be told from a step."""

CLOCKS_AGREE = 0.10
"""Two late reads in a short log shift the completion clock by more; then the printed seconds disagree."""

MEDIAN_ERROR = 1.2533
"""Standard error of a median over that of a mean, for normal noise: sqrt(pi / 2)."""

COARSE = 0.01
"""A timestamp whose last digit is a larger share of a step than the practical margin cannot judge it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Intervals by step number, the seconds of their last digit (`digit`; `blur` is what it does to one of
    them: two stamps bound an interval), and the shortest that the device can do."""

    clock: Clock
    seconds: Mapping[int, float]
    digit: float
    blur: float
    shortest_possible: float


def steady(log: RunLog, struck: Collection[int] = ()) -> Steady:
    """Return the steady step time of a run, by `VERDICT.md` section 2.

    `struck` names the steps whose printed seconds and rates are implausible: nothing is read from them.
    """
    steps = last_segment(log.steps)
    if not steps:
        return Steady(problem="the log has no step lines")
    believed = [step for step in steps if step.step not in struck]
    work = constants(believed, log.environment.devices)
    chosen = _samples(log, steps, believed, work)
    if chosen is None:
        return Steady(problem="the step lines carry neither timestamps nor seconds")
    found = _settle(chosen)
    if found.seconds is None or chosen.clock is Clock.LOGGER:
        return found
    return _confirmed(found, _logger_seconds(steps, believed, work))


def samples(log: RunLog, struck: Collection[int] = ()) -> Samples | None:
    """Return the intervals that `steady` considers, None where the log has none."""
    steps = last_segment(log.steps)
    believed = [step for step in steps if step.step not in struck]
    work = constants(believed, log.environment.devices)
    return _samples(log, steps, believed, work) if steps else None


def bounds(considered: Samples) -> tuple[float, float] | None:
    """Return the shortest and the longest interval that is kept, seconds; None where none is considered."""
    if not considered.seconds:
        return None
    middle = median(considered.seconds.values())
    return max(SHORTEST * middle, considered.shortest_possible), LONGEST * middle


def _samples(log: RunLog, steps: Sequence[Step], believed: Sequence[Step], work: Constants) -> Samples | None:
    """Choose the clock: completion where most lines have a fine timestamp, else the logger's own."""
    shortest = _shortest_possible(log, work)
    times = [step.time for step in steps if step.time is not None]
    if 2 * len(times) < len(steps) or len(times) < 2:
        stated = any(step.seconds is not None for step in steps)
        return _printed(steps, believed, work, shortest) if stated else None
    completion = Samples(
        clock=Clock.COMPLETION,
        seconds=_completion_seconds(log, steps),
        digit=time_digit(times),
        blur=time_resolution(times),
        shortest_possible=shortest,
    )
    if not _is_coarse(completion):
        return completion
    logger = _printed(steps, believed, work, shortest)
    return logger if logger.seconds else completion


def _printed(steps: Sequence[Step], believed: Sequence[Step], work: Constants, shortest: float) -> Samples:
    """Return the intervals that the logger prints."""
    digit = _seconds_digit(believed, work)
    return Samples(
        clock=Clock.LOGGER,
        seconds=_logger_seconds(steps, believed, work),
        digit=digit,
        blur=digit,
        shortest_possible=shortest,
    )


def _completion_seconds(log: RunLog, steps: Sequence[Step]) -> dict[int, float]:
    """Return the candidate gaps between lines; the last line waits for the final checkpoint: left out."""
    spoiled = steps_that_span_an_eval(log, steps)
    usable = {step.step for step in steps[:-1] if step.kind is StepKind.PLAIN} - spoiled
    first = steps[0].step
    return {step: gap for step, gap in gaps(steps).items() if step in usable and step >= first + WARM_UP}


def _logger_seconds(steps: Sequence[Step], believed: Sequence[Step], work: Constants) -> dict[int, float]:
    """Return the candidate printed intervals, the last line's too unless it is known to hold a checkpoint."""
    first, last = steps[0].step, steps[-1].step
    flush = dialect(steps) is Dialect.FLUSH
    usable = [step for step in believed if step.kind is StepKind.PLAIN and not (flush and step.step == last)]
    found = {step.step: recovered_seconds(step, work) for step in usable}
    return {
        step: seconds for step, seconds in found.items() if seconds is not None and step >= first + WARM_UP
    }


def _settle(considered: Samples) -> Steady:
    """Keep the intervals near the median of all candidates, and take their median."""
    candidates = tuple(sorted(considered.seconds))
    kept = _kept(considered)
    if len(kept) < FEWEST:
        return Steady(
            clock=considered.clock,
            candidate_steps=candidates,
            problem=f"too few clean steps: {len(kept)} of {len(candidates)} intervals after warm-up are "
            f"undisturbed, {FEWEST} are needed",
        )
    values = [considered.seconds[step] for step in kept]
    seconds = median(values)
    return Steady(
        seconds=seconds,
        se=hypot(MEDIAN_ERROR * stdev(values) / sqrt(len(values)), considered.blur / sqrt(12)) / seconds,
        resolution=considered.digit / seconds,
        clock=considered.clock,
        kept_steps=kept,
        candidate_steps=candidates,
    )


def _kept(considered: Samples) -> tuple[int, ...]:
    within = bounds(considered)
    if within is None:
        return ()
    low, high = within
    return tuple(sorted(step for step, seconds in considered.seconds.items() if low <= seconds <= high))


def _confirmed(found: Steady, logger: Mapping[int, float]) -> Steady:
    """Hold the completion clock against the printed seconds: they tick elsewhere, but as fast."""
    second = _second_clock(logger)
    if second is None or found.seconds is None or abs(second / found.seconds - 1) <= CLOCKS_AGREE:
        return found
    return Steady(
        clock=found.clock,
        kept_steps=found.kept_steps,
        candidate_steps=found.candidate_steps,
        problem=f"the log's two clocks disagree: {found.seconds:.3f} s a step between its lines, "
        f"{second:.3f} s as printed",
    )


def _second_clock(logger: Mapping[int, float]) -> float | None:
    """Return the median of the undisturbed printed seconds, None where the log prints too few to say."""
    printed = Samples(clock=Clock.LOGGER, seconds=logger, digit=0.0, blur=0.0, shortest_possible=0.0)
    kept = _kept(printed)
    return median(printed.seconds[step] for step in kept) if kept else None


def _shortest_possible(log: RunLog, work: Constants) -> float:
    """Return the seconds that a step takes at the device's peak: anything shorter is an artefact."""
    tflop = work.tflop if work.tflop is not None else log.tflop_per_step
    peak = fastest_tflops(log.environment.device_kind)
    return tflop / peak if tflop and peak and isfinite(tflop) else 0.0


def _seconds_digit(steps: Sequence[Step], work: Constants) -> float:
    """Return the seconds of the last digit of the printed intervals: nothing where the rates restore them."""
    if work.tokens is not None or work.tflop is not None:
        return 0.0
    return 10.0 ** -printed_decimals([step.seconds for step in steps if step.seconds is not None], at_least=3)


def _is_coarse(considered: Samples) -> bool:
    values = considered.seconds.values()
    return bool(values) and considered.blur > COARSE * median(values)
