"""The values of a run that cannot be true, so that no figure is made of them.

In:  a `RunLog`. Out: `Implausible`s: step, field, value and why; the steps that are struck out.
Promises: what print rounding, batch ramp-up or a rate that is no constant over seconds explains is believed;
a device whose peak is not known excuses any rate.

Step time, tokens/s and TFLOP/s of a line are one measurement: where one is impossible, none is used.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf, isfinite
from statistics import median

from bot.logs.facts import MarkKind, RunLog, Step, StepKind
from bot.verdict.digits import printed_decimals, time_resolution
from bot.verdict.implausible import TITLES, Implausible, Why
from bot.verdict.judgement import Dialect
from bot.verdict.peaks import fastest_tflops
from bot.verdict.recover import TOO_BLURRED, constants
from bot.verdict.timeline import dialect, elapsed, last_segment

HALF_A_DIGIT = 0.51
"""Half of the last printed digit, and a little for binary rounding."""

MOST_AGREE = 2 / 3
"""Lines whose tokens/s must be a constant over their seconds before the others can contradict: a rate that is
an average over several steps, or counts padding, agrees with none."""

FEWEST = 3
"""Lines below which nothing is the rule that another could break."""

WAITS = 1.5
"""A last line longer than this many medians holds more than a step: the bound of the steady step time."""

COARSE = 0.01
"""Timestamps whose last digit is a larger share of a step may be equal on two lines."""

SAVES = frozenset({MarkKind.CHECKPOINT_WAITED, MarkKind.CHECKPOINT_STARTED, MarkKind.CHECKPOINT_SAVED})

SPEEDS = ("seconds", "tflops_per_device", "tokens_per_device")


def implausible(log: RunLog) -> tuple[Implausible, ...]:
    """Return the values of the last attempt's step lines that cannot be true, one per line and clock."""
    steps = last_segment(log.steps)
    speeds = [*_not_positive(steps), *_above_peak(log, steps), *_contradicting(log, steps)]
    found = [*speeds, *_final_wait(log, steps)]
    first = {one.step: one for one in reversed(found)}
    return tuple(sorted((*first.values(), *_backwards(steps)), key=lambda one: one.step))


def struck(found: Iterable[Implausible]) -> frozenset[int]:
    """Return the steps whose printed step time and rates are not to be used."""
    return frozenset(one.step for one in found if one.why is not Why.BACKWARDS)


def summary(found: Sequence[Implausible]) -> str:
    """Say in one clause what was struck out and where; empty where nothing was."""
    parts = []
    for why in Why:
        steps = [one.step for one in found if one.why is why]
        if steps:
            more = f" and {len(steps) - 5} more" if len(steps) > 5 else ""
            word = "step" if len(steps) == 1 else "steps"
            parts.append(f"{TITLES[why]} ({word} {', '.join(map(str, steps[:5]))}{more})")
    return "; ".join(parts)


def _not_positive(steps: Sequence[Step]) -> Iterator[Implausible]:
    """A time of zero or less, a rate below zero, or no number at all; a rate of 0.000 may be rounding."""
    for step in steps:
        for field in SPEEDS:
            value: float | None = getattr(step, field)
            if value is None or (isfinite(value) and (value > 0 or (value == 0 and field != "seconds"))):
                continue
            text = f"{value:g} s is no step time" if field == "seconds" else f"{value:g} is no rate"
            yield Implausible(step=step.step, field=field, value=value, why=Why.NOT_POSITIVE, text=text)
            break


def _above_peak(log: RunLog, steps: Sequence[Step]) -> Iterator[Implausible]:
    peak = fastest_tflops(log.environment.device_kind)
    for step in steps if peak is not None else ():
        rate = step.tflops_per_device
        if rate is not None and peak is not None and isfinite(rate) and rate > peak:
            text = f"{rate:g} TFLOP/s, and {log.environment.device_kind} does at most {peak:g}"
            yield Implausible(
                step=step.step, field="tflops_per_device", value=rate, why=Why.ABOVE_PEAK, text=text
            )


def _contradicting(log: RunLog, steps: Sequence[Step]) -> Iterator[Implausible]:
    """Lines whose tokens/s are not the run's tokens over the line's seconds, however both were rounded."""
    tokens = constants(steps, log.environment.devices).tokens
    printed = [(step, *pair) for step in steps if (pair := _printed(step)) is not None]
    if tokens is None or len(printed) < FEWEST:
        return
    half_second = HALF_A_DIGIT * 10.0 ** -printed_decimals([seconds for _, seconds, _ in printed])
    half_rate = HALF_A_DIGIT * 10.0 ** -printed_decimals([rate for _, _, rate in printed])
    odd = []
    for step, seconds, rate in printed:
        least = tokens * (1 - TOO_BLURRED) / (seconds + half_second) - half_rate
        spare = seconds - half_second
        most = tokens * (1 + TOO_BLURRED) / spare + half_rate if spare > 0 else inf
        if not least <= rate <= most:
            odd.append((step, seconds, rate))
    if len(printed) - len(odd) < max(FEWEST, MOST_AGREE * len(printed)):
        return
    for step, seconds, rate in odd:
        text = f"{rate:g} tokens/s, but {tokens:g} tokens in {seconds:g} s are {tokens / seconds:.4g}"
        yield Implausible(
            step=step.step, field="tokens_per_device", value=rate, why=Why.CONTRADICTS, text=text
        )


def _printed(step: Step) -> tuple[float, float] | None:
    """Return seconds and tokens/s of an ordinary line, None where it does not print both as numbers."""
    seconds, rate = step.seconds, step.tokens_per_device
    if step.kind is StepKind.RAMP_UP or seconds is None or rate is None:
        return None
    return (seconds, rate) if isfinite(seconds) and isfinite(rate) and seconds > 0 and rate >= 0 else None


def _final_wait(log: RunLog, steps: Sequence[Step]) -> Iterator[Implausible]:
    """On a flush clock, the last line prints the wait for the last checkpoint as its step time."""
    earlier = [step.seconds for step in steps[1:-1] if step.seconds is not None and step.seconds > 0]
    last = steps[-1] if steps else None
    if last is None or last.seconds is None or len(earlier) < FEWEST:
        return
    usual = median(earlier)
    saves = any(mark.kind in SAVES for mark in log.marks)
    if saves and last.seconds > WAITS * usual and dialect(steps) is Dialect.FLUSH:
        text = f"{last.seconds:g} s holds the wait for the last checkpoint; a step takes {usual:.3g} s"
        yield Implausible(
            step=last.step, field="seconds", value=last.seconds, why=Why.CHECKPOINT_WAIT, text=text
        )


def _backwards(steps: Sequence[Step]) -> Iterator[Implausible]:
    """Lines stamped before the line before them, or at the same moment where stamps are fine."""
    gaps = [
        (after, after.time - before.time, elapsed(before.time, after.time))
        for before, after in pairwise(steps)
        if before.time is not None and after.time is not None
    ]
    forward = [gap for _, _, gap in gaps if gap]
    times = [step.time for step in steps if step.time is not None]
    coarse = not forward or time_resolution(times) > COARSE * median(forward)
    for step, apart, gap in gaps:
        if gap is None or (gap == 0 and not coarse):
            text = (
                f"{-apart:.3g} s before the line before it" if apart else "the same moment as the line before"
            )
            yield Implausible(step=step.step, field="time", value=apart, why=Why.BACKWARDS, text=text)
