"""The steady step time of one run, from its timestamps, printed seconds and rates.

The printed `seconds` of a line belong to another step: they are taken at dispatch, one or two lines early.
The time is read from the moments at which the host saw each step's loss, the completion clock. No compile,
checkpoint, eval, ramp-up or profiled interval is averaged in. Where two clocks disagree there is no time.

`seconds` has millisecond resolution, 0.7 % of a 70 ms step. `Tokens/s/device` is a constant divided by the
same number and carries every digit, so lost digits are recovered from it.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import pairwise
from math import hypot, inf, isfinite, sqrt
from operator import itemgetter
from statistics import median, stdev
from typing import NamedTuple

from msgspec import Struct

from bot.logs.facts import Mark, MarkKind, RunLog, Step, StepKind
from bot.verdict.hardware import max_tflops
from bot.verdict.judgement import SecondsDialect, SteadyStepTime, StepClock
from bot.verdict.statistics import median_standard_error

DAY = 86_400.0

YEARS = (365 * DAY, 366 * DAY)
"""absl lines carry no year: over New Year the clock seems to jump back by one."""

SAME_INTERVAL = 0.10
"""Printed seconds and a gap are one interval within this share: host jitter is far less, stalls far more."""

DISPATCH_JITTER = 0.010
"""A dispatch and the line it frees are 4 to 10 ms apart in every log measured."""

EVAL_MARKS = (MarkKind.EVAL_STARTED, MarkKind.EVAL_ENDED)

TIME_DECIMALS = 6
"""Decimals of a difference of two moments: as floats, Unix seconds of this century are good to 2.4e-7 s.
Lines are stamped in microseconds, so rounding gives back what was printed."""


def elapsed_seconds(start: float | None, end: float | None) -> float | None:
    """Return the seconds from `start` to `end`, None where one is missing or they run backwards."""
    if start is None or end is None:
        return None
    seconds = round(end - start, TIME_DECIMALS)
    if seconds >= 0:
        return seconds
    return next((seconds + year for year in YEARS if 0 <= seconds + year < DAY), None)


def last_attempt_steps(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps after the last restart: where a step number does not increase."""
    start = 0
    for place, (before, after) in enumerate(pairwise(steps), start=1):
        if after.step <= before.step:
            start = place
    return steps[start:]


def logging_interval(steps: Sequence[Step]) -> int:
    """Return the most frequent number of steps from line to line; the smallest of several."""
    counts = Counter(after.step - before.step for before, after in pairwise(steps))
    return min(counts, key=lambda interval: (-counts[interval], interval)) if counts else 1


def line_gaps(steps: Sequence[Step]) -> dict[int, float]:
    """Return the seconds per step that passed before each line, by step number.

    Only lines that follow their neighbour without a hole have one.
    """
    every = logging_interval(steps)
    found: dict[int, float] = {}
    for before, after in pairwise(steps):
        seconds = elapsed_seconds(before.time, after.time)
        if seconds is not None and seconds > 0 and after.step - before.step == every:
            found[after.step] = seconds / every
    return found


def steps_spanning_eval(log: RunLog, steps: Sequence[Step]) -> set[int]:
    """Return the steps whose line follows an evaluation that began or ended after the line before.

    The times of marks and lines decide where both have them in order, else their places in the log.
    """
    evals = [mark for mark in log.marks if mark.kind in EVAL_MARKS]
    if not evals:
        return set()
    times = sorted(mark.time for mark in evals if mark.time is not None)
    offsets = sorted(mark.offset for mark in evals)
    untimed = sorted(mark.offset for mark in evals if mark.time is None)
    found: set[int] = set()
    for before, after in pairwise(steps):
        if before.time is not None and after.time is not None and before.time <= after.time:
            spans = _any_within(times, before.time, after.time)
            spans = spans or _any_within(untimed, before.offset, after.offset)
        else:
            spans = _any_within(offsets, before.offset, after.offset)
        if spans:
            found.add(after.step)
    return found


def detect_dialect(steps: Sequence[Step]) -> SecondsDialect | None:
    """Return which clock the printed `seconds` follow, None where no interval sets the two apart.

    A flush clock prints the gap before its own line; a dispatch clock prints a gap one or two lines back.
    """
    between = line_gaps(steps)
    flush = dispatch = 0
    for step in steps:
        own, one_back = between.get(step.step), between.get(step.step - 1)
        two_back = between.get(step.step - 2)
        if step.seconds is None or own is None or one_back is None or two_back is None:
            continue
        if _same_interval(own, one_back) and _same_interval(own, two_back):
            continue
        flush += _same_interval(step.seconds, own)
        dispatch += _same_interval(step.seconds, one_back) or _same_interval(step.seconds, two_back)
    if flush == dispatch:
        return None
    return SecondsDialect.FLUSH if flush > dispatch else SecondsDialect.DISPATCH


def first_mark(log: RunLog, kind: MarkKind, *, step: int | None = None) -> Mark | None:
    """Return the first mark of a kind that has a time, of one step where `step` is given."""
    marks = (mark for mark in log.marks if mark.kind is kind and mark.time is not None)
    return next((mark for mark in marks if step is None or mark.step == step), None)


def _same_interval(one: float, other: float) -> bool:
    return abs(one - other) <= DISPATCH_JITTER + SAME_INTERVAL * max(one, other)


def _any_within(values: Sequence[float], low: float, high: float) -> bool:
    """Tell by bisection whether any of the sorted values lies between two others: logs hold thousands."""
    place = bisect_left(values, low)
    return place < len(values) and values[place] <= high


MAX_DECIMALS = 9
"""Finer than any trainer prints; past it a float's own error would be counted as digits."""

ENOUGH_PRINTED_VALUES = 4
"""Every tenth value ends in 0 by chance: with four values a digit is overlooked once in 10,000 logs."""


def printed_decimals(values: Iterable[float], *, at_least: int = 0) -> int:
    """Return the decimals that `values` were printed with, at least `at_least` where they are few."""
    known = list(values)
    shown = 0
    for value in known:  # fewer decimals than an earlier value has need no second try
        shown = _value_decimals(value, shown)
    return max(shown, at_least) if len(known) < ENOUGH_PRINTED_VALUES else shown


def time_digit(times: Sequence[float]) -> float:
    """Return the seconds of the last digit of timestamps (Unix seconds)."""
    return next((digit for digit in (1.0, 0.1, 0.01, 0.001) if _are_multiples(times, digit)), 1e-6)


def time_resolution(times: Sequence[float]) -> float:
    """Return the error of a gap from the last digit of the two timestamps that bound it, in seconds."""
    return sqrt(2) * time_digit(times)


def _are_multiples(times: Sequence[float], digit: float) -> bool:
    """Tell whether all times are whole numbers of a digit; a float of today's date is good to 1e-6 s."""
    return all(abs(time / digit - round(time / digit)) * digit < 2e-6 for time in times)


def _value_decimals(value: float, least: int) -> int:
    for count in range(least, MAX_DECIMALS):
        if abs(round(value, count) - value) <= 1e-12 * abs(value):
            return count
    return MAX_DECIMALS


MAX_WORK_ERROR = 0.002
"""A rate such as 0.003 TFLOP/s holds one digit: work that rounding may have moved by more is unknown."""

CLEAREST_LINES = 3
"""Lines that the work of a step is read from: the median of three survives one odd line."""

HALF_PRINTED_DIGIT = 0.0006
"""Half the last printed digit, 0.001, of `seconds` and of the rates, and a little for binary rounding."""

RECOVERY_TOLERANCE = 0.01
"""A recovered value this close to the printed one is the same number with more digits."""


class StepWork(Struct, frozen=True, kw_only=True):
    """The work of one step on one device: tokens and TFLOP, None where unknown."""

    tokens: float | None = None
    tflop: float | None = None


class WorkSample(NamedTuple):
    """A duration times the rate beside it; `error` is how far, relatively, rounding may have moved it."""

    error: float
    work: float


def step_work(steps: Sequence[Step], devices: int | None) -> StepWork:
    """Return the work of one step on one device, as its lines' rates imply it."""
    tokens = _tokens_per_step(steps, devices)
    work = StepWork(tokens=tokens)
    exact = bool(tokens)
    seconds = [recover_seconds(step, work) if exact else step.seconds for step in steps]
    rates = [step.tflops_per_device for step in steps]
    return StepWork(
        tokens=tokens,
        tflop=_work_constant(
            _clearest_samples(seconds, rates, rounding=0.0 if exact else HALF_PRINTED_DIGIT)
        ),
    )


def recover_seconds(step: Step, work: StepWork) -> float | None:
    """Return a step's seconds with every digit that its line holds, None where it prints none above zero."""
    seconds = step.seconds
    if seconds is None or not 0 < seconds < inf:
        return None
    for amount, rate in ((work.tokens, step.tokens_per_device), (work.tflop, step.tflops_per_device)):
        if amount and rate is not None and 0 < rate < inf:
            exact = amount / rate
            if abs(exact - seconds) <= HALF_PRINTED_DIGIT + RECOVERY_TOLERANCE * seconds:
                return exact
    return seconds


def _tokens_per_step(steps: Sequence[Step], devices: int | None) -> float | None:
    """Return total_weights / devices where the lines agree with it, else what they imply, rounded.

    They disagree on real data, where padding has no weight.
    """
    clearest = _clearest_samples(
        [step.seconds for step in steps],
        [step.tokens_per_device for step in steps],
        rounding=HALF_PRINTED_DIGIT,
    )
    if not clearest:
        return None
    implied, error = _median_work(clearest), clearest[-1].error
    weighed = tokens_from_weights(steps, devices)
    if weighed is not None and abs(weighed / implied - 1) <= error:
        return weighed
    known = error <= MAX_WORK_ERROR and _most_lines_agree(steps, implied)
    return (float(round(implied)) or implied) if known else None


def _most_lines_agree(steps: Sequence[Step], tokens: float) -> bool:
    """Tell whether at least half of the lines print these tokens over their seconds as their rate. A rate
    that is the same on every line, whatever the line took, measures nothing."""
    printed = [
        (step.seconds, step.tokens_per_device)
        for step in steps
        if step.seconds is not None and step.tokens_per_device is not None
        if 0 < step.seconds < inf and 0 < step.tokens_per_device < inf
    ]
    agree = sum(
        abs(tokens / rate - seconds) <= HALF_PRINTED_DIGIT + RECOVERY_TOLERANCE * seconds
        for seconds, rate in printed
    )
    return 2 * agree >= len(printed)


def tokens_from_weights(steps: Sequence[Step], devices: int | None) -> float | None:
    """Return total_weights / devices where all lines state the same weights."""
    weights = {step.total_weights for step in steps}
    weight = weights.pop() if len(weights) == 1 else None
    return weight / devices if weight and devices else None


def _work_constant(clearest: Sequence[WorkSample]) -> float | None:
    return _median_work(clearest) if clearest and clearest[-1].error <= MAX_WORK_ERROR else None


def _median_work(samples: Sequence[WorkSample]) -> float:
    return median(sample.work for sample in samples)


def _clearest_samples(
    durations: Iterable[float | None], rates: Iterable[float | None], *, rounding: float
) -> Sequence[WorkSample]:
    """Return the samples that rounding moves least, the clearest first; a duration was rounded by at most
    `rounding` seconds."""
    found = []
    for seconds, rate in zip(durations, rates, strict=True):
        if seconds is None or rate is None or not (0 < seconds < inf and 0 < rate < inf):
            continue
        work = seconds * rate
        if 0 < work < inf:
            found.append(WorkSample(rounding / seconds + HALF_PRINTED_DIGIT / rate, work))
    return nsmallest(CLEAREST_LINES, found, key=itemgetter(0))


MEDIAN_STANDARD_ERROR = 1.2533
"""Standard error of a median over that of a mean, for normal noise: sqrt(pi / 2)."""

WARM_UP_STEPS = 3
"""Steps after the first that still carry compilation and the filling of the double buffer."""

MIN_INTERVAL_MEDIANS, MAX_INTERVAL_MEDIANS = 0.67, 1.5
"""Kept intervals, in medians: stalls are far longer, catch-ups after them far shorter, noise is neither."""

MIN_CLEAN_STEPS = 3
"""Kept intervals needed: of two, either may be a late read."""

CLOCK_TOLERANCE = 0.10
"""Two late reads in a short log shift the completion clock by more; then the printed seconds disagree."""

MAX_LINES_LATE = 2
"""A dispatch clock prints a gap one or two lines after the one that it belongs to."""

COARSE_DIGIT = 0.01
"""A timestamp whose last digit is a larger share of a step than the practical margin cannot judge it."""


class StepIntervals(Struct, frozen=True, kw_only=True):
    """Intervals by step number, all from one clock, in seconds.

    `digit` is the last digit that they were printed with, `error` its effect on one of them (two
    timestamps bound an interval), `shortest_possible` what the device needs at its peak.
    """

    clock: StepClock
    seconds: Mapping[int, float]
    digit: float
    error: float
    shortest_possible: float


def steady_step_time(log: RunLog, implausible: Collection[int] = ()) -> SteadyStepTime:
    """Return the steady step time of a run.

    `implausible` names the steps whose printed seconds and rates are not used.
    """
    steps = last_attempt_steps(log.steps)
    if not steps:
        return SteadyStepTime(problem="the log has no step lines")
    believed = [step for step in steps if step.step not in implausible]
    work = step_work(believed, log.environment.devices)
    chosen = _choose_clock(log, steps, believed, work)
    if chosen is None:
        return SteadyStepTime(problem="the step lines carry neither timestamps nor seconds")
    steady = _median_interval(chosen)
    if steady.seconds is None or chosen.clock is StepClock.LOGGER:
        return steady
    agreed = _state_the_same_time(chosen.seconds, {step.step: step.seconds for step in steps})
    return _confirm_by_logger(steady, _logger_seconds(steps, believed, work), same_time=agreed)


def step_intervals(log: RunLog, implausible: Collection[int] = ()) -> StepIntervals | None:
    """Return the intervals that `steady_step_time` considers, None where the log has none."""
    steps = last_attempt_steps(log.steps)
    believed = [step for step in steps if step.step not in implausible]
    work = step_work(believed, log.environment.devices)
    return _choose_clock(log, steps, believed, work) if steps else None


def interval_bounds(considered: StepIntervals) -> tuple[float, float] | None:
    """Return the shortest and the longest interval that is kept, seconds; None where none is considered."""
    if not considered.seconds:
        return None
    return _bounds(considered.seconds, considered.shortest_possible)


def _bounds(intervals: Mapping[int, float], shortest_possible: float) -> tuple[float, float]:
    middle = median(intervals.values())
    return max(MIN_INTERVAL_MEDIANS * middle, shortest_possible), MAX_INTERVAL_MEDIANS * middle


def _choose_clock(
    log: RunLog, steps: Sequence[Step], believed: Sequence[Step], work: StepWork
) -> StepIntervals | None:
    """Take the completion clock where most lines have a fine timestamp, else the logger's."""
    shortest = _min_possible_seconds(log, work)
    times = [step.time for step in steps if step.time is not None]
    if 2 * len(times) < len(steps) or len(times) < 2:
        stated = any(step.seconds is not None for step in steps)
        return _logger_intervals(steps, believed, work, shortest) if stated else None
    completion = StepIntervals(
        clock=StepClock.COMPLETION,
        seconds=_completion_seconds(log, steps),
        digit=time_digit(times),
        error=time_resolution(times),
        shortest_possible=shortest,
    )
    if not _too_coarse(completion):
        return completion
    logger = _logger_intervals(steps, believed, work, shortest)
    return logger if logger.seconds else completion


def _logger_intervals(
    steps: Sequence[Step], believed: Sequence[Step], work: StepWork, shortest: float
) -> StepIntervals:
    """Return the intervals that the logger prints."""
    digit = _printed_digit(believed, work)
    return StepIntervals(
        clock=StepClock.LOGGER,
        seconds=_logger_seconds(steps, believed, work),
        digit=digit,
        error=digit,
        shortest_possible=shortest,
    )


def _completion_seconds(log: RunLog, steps: Sequence[Step]) -> dict[int, float]:
    """Return the candidate gaps between lines, without the last one: it waits for the final checkpoint."""
    usable = {step.step for step in steps[:-1] if step.kind is StepKind.PLAIN}
    usable -= steps_spanning_eval(log, steps)
    first = steps[0].step
    return {
        step: gap
        for step, gap in line_gaps(steps).items()
        if step in usable and step >= first + WARM_UP_STEPS
    }


def _logger_seconds(steps: Sequence[Step], believed: Sequence[Step], work: StepWork) -> dict[int, float]:
    """Return the candidate printed intervals; on a flush clock the last line holds a checkpoint: left out."""
    first, last = steps[0].step, steps[-1].step
    flush = detect_dialect(steps) is SecondsDialect.FLUSH
    usable = [step for step in believed if step.kind is StepKind.PLAIN and not (flush and step.step == last)]
    found = {step.step: recover_seconds(step, work) for step in usable}
    return {
        step: seconds
        for step, seconds in found.items()
        if seconds is not None and step >= first + WARM_UP_STEPS
    }


def _median_interval(considered: StepIntervals) -> SteadyStepTime:
    """Keep the intervals near the median of all candidates, and take their median."""
    candidates = tuple(sorted(considered.seconds))
    kept = _kept_steps(considered.seconds, considered.shortest_possible)
    if len(kept) < MIN_CLEAN_STEPS:
        return SteadyStepTime(
            clock=considered.clock,
            candidate_steps=candidates,
            problem=f"too few clean steps: {len(kept)} of {len(candidates)} intervals after warm-up are "
            f"undisturbed, {MIN_CLEAN_STEPS} are needed",
        )
    values = [considered.seconds[step] for step in kept]
    seconds = median(values)
    return SteadyStepTime(
        seconds=seconds,
        se=hypot(MEDIAN_STANDARD_ERROR * stdev(values) / sqrt(len(values)), considered.error / sqrt(12))
        / seconds,
        robust_se=hypot(median_standard_error(values), considered.error / sqrt(12)) / seconds,
        resolution=considered.digit / seconds,
        clock=considered.clock,
        kept_steps=kept,
        candidate_steps=candidates,
    )


def _kept_steps(intervals: Mapping[int, float], shortest_possible: float = 0.0) -> tuple[int, ...]:
    """Return the steps whose intervals are neither stalls nor catch-ups."""
    if not intervals:
        return ()
    low, high = _bounds(intervals, shortest_possible)
    return tuple(sorted(step for step, seconds in intervals.items() if low <= seconds <= high))


def _confirm_by_logger(
    steady: SteadyStepTime, printed: Mapping[int, float], *, same_time: bool
) -> SteadyStepTime:
    """Withhold the time where the printed seconds contradict it: they are another clock of the same steps.

    A checkpoint that blocks the host moves printed seconds from step to step: the dispatch after it waits,
    the next ones do not. Such a clock is not steady, or less so than the lines, and states the `same_time`.
    """
    kept = _kept_steps(printed)
    if not kept or steady.seconds is None:
        return steady
    second = median(printed[step] for step in kept)
    if abs(second / steady.seconds - 1) <= CLOCK_TOLERANCE:
        return steady
    if same_time and len(kept) <= max(len(steady.kept_steps), len(printed) / 2):
        return steady
    return SteadyStepTime(
        clock=steady.clock,
        kept_steps=steady.kept_steps,
        candidate_steps=steady.candidate_steps,
        problem=f"the log's two clocks disagree: {steady.seconds:.3f} s a step between its lines, "
        f"{second:.3f} s as printed",
    )


def _state_the_same_time(gaps: Mapping[int, float], printed: Mapping[int, float | None]) -> bool:
    """Tell whether two clocks of the same steps agree on their sum.

    Printed seconds come up to two lines late, so the windows may differ by a part of the longest interval.
    """
    for late in range(MAX_LINES_LATE + 1):
        later = ((gap, printed.get(step + late)) for step, gap in gaps.items())
        both = [(gap, seconds) for gap, seconds in later if seconds is not None and 0 <= seconds < inf]
        one, other = sum(gap for gap, _ in both), sum(seconds for _, seconds in both)
        edge = max((seconds for _, seconds in both), default=0.0) / 2
        if one > 0 and abs(other - one) <= CLOCK_TOLERANCE * one + edge:
            return True
    return False


def _min_possible_seconds(log: RunLog, work: StepWork) -> float:
    """Return the seconds that a step takes at the device's peak; a shorter interval is an artefact."""
    tflop = work.tflop if work.tflop is not None else log.tflop_per_step
    peak = max_tflops(log.environment.device_kind)
    return tflop / peak if tflop and peak and isfinite(tflop) else 0.0


def _printed_digit(steps: Sequence[Step], work: StepWork) -> float:
    """Return the last digit of the printed intervals, in seconds; 0 where the rates restore the digits."""
    if work.tokens is not None or work.tflop is not None:
        return 0.0
    return 10.0 ** -printed_decimals([step.seconds for step in steps if step.seconds is not None], at_least=3)


def _too_coarse(considered: StepIntervals) -> bool:
    values = considered.seconds.values()
    return bool(values) and considered.error > COARSE_DIGIT * median(values)
