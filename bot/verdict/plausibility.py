"""Values of a log that cannot be true, and step lines that a log has lost.

Step time, tokens/s and TFLOP/s of a line are one measurement: where one is impossible, none is used. Print
rounding, batch ramp-up, and rates that are no constant over seconds are believed. A regular habit is no loss:
neither lines for every k-th step, nor ever rarer ones, nor the same pause again and again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf, isfinite
from statistics import median

from bot.logs.facts import MarkKind, RunLog, Step, StepKind
from bot.logs.rules import LINES_BROKEN
from bot.verdict.hardware import max_tflops
from bot.verdict.judgement import IMPLAUSIBLE_TITLES, ImplausibleReason, ImplausibleValue, SecondsDialect
from bot.verdict.timing import (
    MAX_WORK_ERROR,
    detect_dialect,
    elapsed_seconds,
    last_attempt_steps,
    logging_interval,
    printed_decimals,
    step_work,
    time_resolution,
)

HALF_VALUE_DIGIT = 0.51
"""Half of the last printed digit, and a little for binary rounding."""

MIN_AGREEING_SHARE = 2 / 3
"""Share of lines whose tokens/s must be a constant over their seconds before the others contradict it: a rate
that is an average over several steps, or counts padding, agrees with none."""

MIN_LINES = 3
"""Fewer lines make no rule that another could break."""

FINAL_WAIT_MEDIANS = 1.5
"""A last line longer than this many medians holds more than a step: the bound of the steady step time."""

COARSE_STAMP = 0.01
"""Timestamps whose last digit is a larger share of a step may be equal on two lines."""

SAVE_MARKS = frozenset({MarkKind.CHECKPOINT_WAITED, MarkKind.CHECKPOINT_STARTED, MarkKind.CHECKPOINT_SAVED})

SPEED_FIELDS = ("seconds", "tflops_per_device", "tokens_per_device")


def find_implausible(log: RunLog) -> tuple[ImplausibleValue, ...]:
    """Return the values of the last attempt's step lines that cannot be true, one per line and clock."""
    steps = last_attempt_steps(log.steps)
    speeds = [*_not_positive_values(steps), *_above_peak_rates(log, steps), *_contradicting_rates(log, steps)]
    found = [*speeds, *_final_checkpoint_wait(log, steps)]
    first = {one.step: one for one in reversed(found)}
    return tuple(sorted((*first.values(), *_backward_times(steps)), key=lambda one: one.step))


def implausible_steps(found: Iterable[ImplausibleValue]) -> frozenset[int]:
    """Return the steps whose printed step time and rates are not to be used."""
    return frozenset(one.step for one in found if one.why is not ImplausibleReason.BACKWARDS)


def summarize_implausible(found: Sequence[ImplausibleValue]) -> str:
    """Say in one clause which values are implausible and where; empty where none is."""
    parts = []
    for why in ImplausibleReason:
        steps = [one.step for one in found if one.why is why]
        if steps:
            more = f" and {len(steps) - 5} more" if len(steps) > 5 else ""
            word = "step" if len(steps) == 1 else "steps"
            parts.append(f"{IMPLAUSIBLE_TITLES[why]} ({word} {', '.join(map(str, steps[:5]))}{more})")
    return "; ".join(parts)


def _not_positive_values(steps: Sequence[Step]) -> Iterator[ImplausibleValue]:
    """A time of zero or less, a rate below zero, or no number at all; a rate of 0.000 may be rounding."""
    for step in steps:
        for field in SPEED_FIELDS:
            value: float | None = getattr(step, field)
            if value is None or (isfinite(value) and (value > 0 or (value == 0 and field != "seconds"))):
                continue
            text = f"{value:g} s is no step time" if field == "seconds" else f"{value:g} is no rate"
            yield ImplausibleValue(
                step=step.step, field=field, value=value, why=ImplausibleReason.NOT_POSITIVE, text=text
            )
            break


def _above_peak_rates(log: RunLog, steps: Sequence[Step]) -> Iterator[ImplausibleValue]:
    peak = max_tflops(log.environment.device_kind)
    for step in steps if peak is not None else ():
        rate = step.tflops_per_device
        if rate is not None and peak is not None and isfinite(rate) and rate > peak:
            text = f"{rate:g} TFLOP/s, and {log.environment.device_kind} does at most {peak:g}"
            yield ImplausibleValue(
                step=step.step,
                field="tflops_per_device",
                value=rate,
                why=ImplausibleReason.ABOVE_PEAK,
                text=text,
            )


def _contradicting_rates(log: RunLog, steps: Sequence[Step]) -> Iterator[ImplausibleValue]:
    """Lines whose tokens/s are not the run's tokens over the line's seconds, however both were rounded."""
    tokens = step_work(steps, log.environment.devices).tokens
    printed = [(step, *pair) for step in steps if (pair := _printed_rates(step)) is not None]
    if tokens is None or len(printed) < MIN_LINES:
        return
    half_second = HALF_VALUE_DIGIT * 10.0 ** -printed_decimals([seconds for _, seconds, _ in printed])
    half_rate = HALF_VALUE_DIGIT * 10.0 ** -printed_decimals([rate for _, _, rate in printed])
    odd = []
    for step, seconds, rate in printed:
        least = tokens * (1 - MAX_WORK_ERROR) / (seconds + half_second) - half_rate
        spare = seconds - half_second
        most = tokens * (1 + MAX_WORK_ERROR) / spare + half_rate if spare > 0 else inf
        if not least <= rate <= most:
            odd.append((step, seconds, rate))
    if len(printed) - len(odd) < max(MIN_LINES, MIN_AGREEING_SHARE * len(printed)):
        return
    for step, seconds, rate in odd:
        text = f"{rate:g} tokens/s, but {tokens:g} tokens in {seconds:g} s are {tokens / seconds:.4g}"
        yield ImplausibleValue(
            step=step.step,
            field="tokens_per_device",
            value=rate,
            why=ImplausibleReason.CONTRADICTS,
            text=text,
        )


def _printed_rates(step: Step) -> tuple[float, float] | None:
    """Return seconds and tokens/s of an ordinary line, None where it does not print both as numbers."""
    seconds, rate = step.seconds, step.tokens_per_device
    if step.kind is StepKind.RAMP_UP or seconds is None or rate is None:
        return None
    return (seconds, rate) if isfinite(seconds) and isfinite(rate) and seconds > 0 and rate >= 0 else None


def _final_checkpoint_wait(log: RunLog, steps: Sequence[Step]) -> Iterator[ImplausibleValue]:
    """On a flush clock, the last line prints the wait for the last checkpoint as its step time."""
    earlier = [step.seconds for step in steps[1:-1] if step.seconds is not None and step.seconds > 0]
    last = steps[-1] if steps else None
    if last is None or last.seconds is None or len(earlier) < MIN_LINES:
        return
    usual = median(earlier)
    saves = any(mark.kind in SAVE_MARKS for mark in log.marks)
    if saves and last.seconds > FINAL_WAIT_MEDIANS * usual and detect_dialect(steps) is SecondsDialect.FLUSH:
        text = f"{last.seconds:g} s holds the wait for the last checkpoint; a step takes {usual:.3g} s"
        yield ImplausibleValue(
            step=last.step,
            field="seconds",
            value=last.seconds,
            why=ImplausibleReason.CHECKPOINT_WAIT,
            text=text,
        )


def _backward_times(steps: Sequence[Step]) -> Iterator[ImplausibleValue]:
    """Lines stamped earlier than the line before them, or at the same moment where stamps are fine."""
    gaps = [
        (after, after.time - before.time, elapsed_seconds(before.time, after.time))
        for before, after in pairwise(steps)
        if before.time is not None and after.time is not None
    ]
    forward = [gap for _, _, gap in gaps if gap]
    times = [step.time for step in steps if step.time is not None]
    coarse = not forward or time_resolution(times) > COARSE_STAMP * median(forward)
    for step, apart, gap in gaps:
        if gap is None or (gap == 0 and not coarse):
            text = (
                f"{-apart:.3g} s before the line before it" if apart else "the same moment as the line before"
            )
            yield ImplausibleValue(
                step=step.step, field="time", value=apart, why=ImplausibleReason.BACKWARDS, text=text
            )


MIN_LOST_LINES = 2
"""Lines that must be missing in a row: trainers skip single ones."""

REGULAR_INTERVALS = 2
"""Regular intervals that must lie on either side of a hole: a trainer that logs ever more rarely has no hole
where it changes its interval."""

MAX_NAMED_HOLES = 3


def lost_steps(log: RunLog) -> tuple[range, ...]:
    """Return the steps whose lines are missing between others, hole by hole, at the interval of the lines."""
    if log.steps_seen > len(log.steps):
        return ()  # the reader kept no lines of the middle: nothing is known of them
    segment = last_attempt_steps(log.steps)
    steps = [step.step for step in segment]
    if not steps or steps[-1] - steps[0] < len(steps):
        return ()  # every step has its line, as most logs have
    interval = logging_interval(segment)
    apart = [after - before for before, after in pairwise(steps)]
    widths = Counter(apart)
    return tuple(
        range(steps[n] + interval, steps[n + 1], interval)
        for n, width in enumerate(apart)
        if _is_hole(width, interval) and widths[width] == 1 and _regular_around(apart, n, interval)
    )


def describe_lost_lines(log: RunLog) -> str:
    """`6 to 9 missing`, `broken`, both, or `whole`."""
    holes = lost_steps(log)
    missing = f"{_list_holes(holes)} missing" if holes else ""
    broken = "broken" if LINES_BROKEN in log.warnings else ""
    return ", ".join(part for part in (missing, broken) if part) or "whole"


def missing_lines_warning(log: RunLog) -> str:
    """Say which lines are missing and what to do; empty where none is."""
    holes = lost_steps(log)
    if not holes:
        return ""
    return (
        f"The lines of steps {_list_holes(holes)} are missing in the middle of the log. "
        "Give the log as it was written."
    )


def lost_lines_warnings(log: RunLog) -> tuple[str, ...]:
    """Every warning about lost lines."""
    return tuple(
        text
        for text in (missing_lines_warning(log), LINES_BROKEN if LINES_BROKEN in log.warnings else "")
        if text
    )


def _is_hole(width: int, interval: int) -> bool:
    return width % interval == 0 and width // interval > MIN_LOST_LINES


def _regular_around(apart: Sequence[int], n: int, interval: int) -> bool:
    before, after = apart[max(n - REGULAR_INTERVALS, 0) : n], apart[n + 1 : n + 1 + REGULAR_INTERVALS]
    return len(before) == len(after) == REGULAR_INTERVALS and {*before, *after} == {interval}


def _list_holes(holes: Sequence[range]) -> str:
    """`6 to 9 and 40 to 47`."""
    named = [f"{hole[0]} to {hole[-1]}" for hole in holes[:MAX_NAMED_HOLES]]
    *first, last = [*named, "others"] if len(holes) > MAX_NAMED_HOLES else named
    return f"{', '.join(first)} and {last}" if first else last
