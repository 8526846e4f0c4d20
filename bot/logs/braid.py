"""Recognises the step lines of several hosts that print into one log without any mark.

In:  the `Track` of lines that no host can be told for. Out: the track with one line a step, or the same one.
Promises: a restart, also one of many and one in a crash loop, is never taken for several hosts.

Hosts that train together are at most a few steps apart: the step number goes back again and again, each time
to a later step than before, and nearly every step is printed as often as there are hosts. A restart goes back
to a checkpoint: restarts repeat only what was lost, or all of it from the same step on.
"""

from collections import Counter
from itertools import pairwise
from statistics import median

from bot.logs.facts import Step
from bot.logs.track import Track

NEARLY_ALL = 0.9
"""Share of the steps that are printed more than once: a host may miss its first or last lines."""

FEWEST_RETURNS = 3
"""Returns to ever later steps from which chance, and a run that was restarted twice, are ruled out."""

RETURNS = 0.1
"""Share of the steps that are returned to at least: hosts' output is flushed every few lines."""

PAUSE = 2.0
"""Typical steps that a return may take: another host's line is late by less, a start by far more."""


def unbraided(track: Track) -> Track:
    """Return the first line of each step where several hosts printed them, else the track itself."""
    if track.back < FEWEST_RETURNS or track.backwards:
        return track
    steps = track.steps()
    if not is_braided(steps):
        return track
    found, highest = Track(), -1
    for step in steps:
        if step.step > highest:
            found.add(step, anonymous=False)
            highest = step.step
    found.repeats = track.repeats + len(steps) - found.seen
    found.seen += (track.seen - len(steps)) * found.seen // len(steps)
    return found


def is_braided(steps: tuple[Step, ...]) -> bool:
    """Tell whether these lines, in the order printed, are those of several hosts."""
    times = Counter(step.step for step in steps)
    pairs = list(pairwise(steps))
    returns = [after.step for before, after in pairs if after.step <= before.step]
    often = sum(count > 1 for count in times.values())
    earlier = sum(after < before for before, after in pairwise(returns))
    return (
        often >= NEARLY_ALL * len(times)
        and len(set(returns)) >= max(FEWEST_RETURNS, RETURNS * len(times))
        and earlier <= (1 - NEARLY_ALL) * len(returns)
        and not _pauses(pairs)
    )


def _pauses(pairs: list[tuple[Step, Step]]) -> bool:
    """Tell whether the log takes time to go back, as a program does that starts again."""
    back: list[float] = []
    on: list[float] = []
    for before, after in pairs:
        if before.time is not None and after.time is not None:
            (on if after.step > before.step else back).append(after.time - before.time)
    return bool(back and on) and median(back) > PAUSE * max(median(on), 0.0)
