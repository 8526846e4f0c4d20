"""Which step lines a log has lost: cut out of its middle, or broken where they stand.

In:  a `RunLog`. Out: the steps without a line, and sentences that say what is lost.
Promises that a habit is no loss: neither lines for every k-th step, nor ever rarer ones, nor the same pause
again and again.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from bot.logs.facts import RunLog
from bot.logs.statement import BROKEN
from bot.verdict.timeline import last_segment, stride

FEWEST_LOST = 2
"""Lines that must be missing in a row: a trainer leaves out a single one for reasons of its own."""

REGULAR = 2
"""Intervals on either side of a hole that must be the usual one: a trainer that prints ever more rarely has
no hole where it changes its interval."""

MOST_NAMED = 3


def lost_steps(log: RunLog) -> tuple[range, ...]:
    """Return the steps whose lines are missing between others, hole by hole, at the interval of the lines."""
    if log.steps_seen > len(log.steps):
        return ()  # the reader kept no lines of the middle, so that nothing is known of them
    segment = last_segment(log.steps)
    steps = [step.step for step in segment]
    if not steps or steps[-1] - steps[0] < len(steps):
        return ()  # every step has its line, as most logs have
    every = stride(segment)
    apart = [after - before for before, after in pairwise(steps)]
    widths = Counter(apart)
    return tuple(
        range(steps[n] + every, steps[n + 1], every)
        for n, width in enumerate(apart)
        if _is_hole(width, every) and widths[width] == 1 and _regular_around(apart, n, every)
    )


def lost_words(log: RunLog) -> str:
    """`6 to 9 missing`, `broken`, both, or `whole`."""
    holes = lost_steps(log)
    missing = f"{_named(holes)} missing" if holes else ""
    broken = "broken" if BROKEN in log.warnings else ""
    return ", ".join(part for part in (missing, broken) if part) or "whole"


def missing_warning(log: RunLog) -> str:
    """Say which lines are missing and what to do; empty where none is."""
    holes = lost_steps(log)
    if not holes:
        return ""
    return (
        f"The lines of steps {_named(holes)} are missing in the middle of the log. "
        "Give the log as it was written."
    )


def lost_warnings(log: RunLog) -> tuple[str, ...]:
    """Everything that is to be said of lost lines."""
    return tuple(text for text in (missing_warning(log), BROKEN if BROKEN in log.warnings else "") if text)


def _is_hole(width: int, every: int) -> bool:
    return width % every == 0 and width // every > FEWEST_LOST


def _regular_around(apart: Sequence[int], n: int, every: int) -> bool:
    before, after = apart[max(n - REGULAR, 0) : n], apart[n + 1 : n + 1 + REGULAR]
    return len(before) == len(after) == REGULAR and {*before, *after} == {every}


def _named(holes: Sequence[range]) -> str:
    """`6 to 9 and 40 to 47`."""
    named = [f"{hole[0]} to {hole[-1]}" for hole in holes[:MOST_NAMED]]
    *first, last = [*named, "others"] if len(holes) > MOST_NAMED else named
    return f"{', '.join(first)} and {last}" if first else last
