"""The loop time of one run: elapsed seconds of its judged window per step, all gaps included.

The steady step time leaves out what is far from the median: a step that stalls now and then does not move it.
The loop time holds all of it. Its window begins after the warm-up and ends before the last line, which waits
for the final checkpoint. A late read and the catch-up after it cancel. One stretch is cut out, the stall that
the background save of the first step causes: it costs 9 to 28 seconds in the seeds, and differs by tens of
seconds between equal runs.

What passes between two lines beyond a steady step goes to a phase: eval or checkpoint where the log marks
one there, else stalls. Time that the log itself gives to its input is input.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from statistics import fmean, variance

from msgspec import Struct

from bot.logs.facts import Mark, MarkKind, RunLog, Step, StepKind
from bot.verdict.judgement import LoopPhase, LoopTime, PhaseTime, SteadyStepTime, StepClock
from bot.verdict.timing import (
    EVAL_MARKS,
    MAX_INTERVAL_MEDIANS,
    MIN_INTERVAL_MEDIANS,
    WARM_UP_STEPS,
    StepIntervals,
    last_attempt_steps,
    line_gaps,
    step_intervals,
)

MIN_WINDOW = 3
"""Intervals that a loop time needs, as many as a steady step time."""

SETTLING_WITHIN = 180.0
"""Seconds after the save of the first step within which its stall begins: 1 to 10 s in the seeds, and a save
takes tens of seconds."""

SETTLING_LINES = 10
"""Lines after the first among which the stall begins where the log names no save: 4 to 7 in the seeds."""

MIN_SETTLING = 1.0
"""Seconds that a settling stall costs at least where the log names the save: a tenth of the least seen."""

MIN_UNNAMED_SETTLING = 5.0
"""The same where it names none: half of the least of the seeds, 9.25 s."""

MIN_SETTLING_MEDIANS = 10.0
"""Steady steps that a settling stall costs at least: a step that takes three times as long is none."""

CHECKPOINT_MARKS = (MarkKind.CHECKPOINT_WAITED, MarkKind.CHECKPOINT_STARTED, MarkKind.CHECKPOINT_SAVED)

INPUT_EXTRAS = frozenset(
    {"data_time", "data_loading_time", "data_wait_time", "dataloader_time", "input_time"}
)
"""Names under which trainers print the seconds that a step waited for its input."""


class _Stretch(Struct, frozen=True):
    """Consecutive steps whose intervals are far from the median: a stall with its catch-up."""

    steps: tuple[int, ...]
    lost: float


def loop_time(log: RunLog, steady: SteadyStepTime, implausible: Collection[int] = ()) -> LoopTime | None:
    """Return the loop time of a run; None where it has no steady step time or too few intervals."""
    considered = step_intervals(log, implausible) if steady.seconds is not None else None
    if considered is None or steady.seconds is None:
        return None
    steps = last_attempt_steps(log.steps)
    intervals = _window(steps, considered)
    stretches = _stretches(intervals, steady.seconds)
    settling, named = _settling(log, steps, stretches, steady.seconds)
    cut = frozenset(settling.steps if settling else ())
    kept = {step: seconds for step, seconds in intervals.items() if step not in cut}
    if len(kept) < MIN_WINDOW:
        return None
    mean = fmean(kept.values())
    rest = [stretch for stretch in stretches if stretch is not settling]
    return LoopTime(
        seconds=mean,
        se=sqrt(variance(kept.values()) / len(kept)) / mean,
        steps=len(kept),
        bursts=sum(stretch.lost > 0 for stretch in rest),
        phases=_phases(log, steps, kept, rest, steady.seconds),
        settling_seconds=max(settling.lost, 0.0) if settling else 0.0,
        settling_steps=len(cut),
        settling_named=named,
    )


def _window(steps: Sequence[Step], considered: StepIntervals) -> dict[int, float]:
    """Return the intervals of the judged window, by step: on the completion clock also those that span an
    eval."""
    if considered.clock is StepClock.LOGGER:
        return dict(sorted(considered.seconds.items()))
    usable = {step.step for step in steps[:-1] if step.kind is StepKind.PLAIN}
    first = steps[0].step + WARM_UP_STEPS
    gaps = line_gaps(steps)
    return {step: gaps[step] for step in sorted(gaps) if step in usable and step >= first}


def _stretches(intervals: Mapping[int, float], usual: float) -> list[_Stretch]:
    """Return the stretches of intervals far longer than usual, each with the catch-ups next to it."""
    low, high = MIN_INTERVAL_MEDIANS * usual, MAX_INTERVAL_MEDIANS * usual
    found: list[list[int]] = []
    open_at: int | None = None
    for place, (step, seconds) in enumerate(intervals.items()):
        if low <= seconds <= high:
            continue
        if open_at == place - 1 and found:
            found[-1].append(step)
        else:
            found.append([step])
        open_at = place
    return [
        _Stretch(tuple(steps), sum(intervals[step] - usual for step in steps))
        for steps in found
        if any(intervals[step] > high for step in steps)
    ]


def _settling(
    log: RunLog, steps: Sequence[Step], stretches: Sequence[_Stretch], usual: float
) -> tuple[_Stretch | None, bool]:
    """Return the stall that the save of the first step causes, and whether the log names that save.

    It is the largest within its time, and none that holds a mark of a later save.
    """
    saves = [mark for mark in log.marks if mark.kind in CHECKPOINT_MARKS]
    start = _first_save(saves, steps)
    times = {step.step: step.time for step in steps}
    first = steps[0].step
    before = {after.step: one.step for one, after in pairwise(steps)}
    found = []
    for stretch in stretches:
        began = times.get(before.get(stretch.steps[0], first))
        if start is not None and start.time is not None and began is not None:
            early = began - start.time <= SETTLING_WITHIN
        else:
            early = stretch.steps[0] <= first + SETTLING_LINES
        least = MIN_UNNAMED_SETTLING if start is None else MIN_SETTLING
        large = stretch.lost >= max(least, MIN_SETTLING_MEDIANS * usual)
        if early and large and not _marked_within(_later_saves(saves, first), stretch, times, before):
            found.append(stretch)
    if saves and start is None:
        return None, False
    return max(found, key=lambda one: one.lost, default=None), start is not None


def _first_save(saves: Sequence[Mark], steps: Sequence[Step]) -> Mark | None:
    """Return the mark of the save that began before the judged window."""
    first = steps[0]
    by_step = (mark for mark in saves if mark.step is not None and mark.step <= first.step + 1)
    opening = next((step.time for step in steps if step.step == first.step + WARM_UP_STEPS - 1), None)
    by_time = (
        mark
        for mark in saves
        if mark.step is None and mark.time is not None and opening is not None and mark.time <= opening
    )
    return next(by_step, None) or next(by_time, None)


def _later_saves(saves: Sequence[Mark], first: int) -> list[Mark]:
    return [mark for mark in saves if mark.step is not None and mark.step > first + 1]


def _marked_within(
    marks: Sequence[Mark], stretch: _Stretch, times: Mapping[int, float | None], before: Mapping[int, int]
) -> bool:
    return any(_marked(marks, times.get(before.get(step, step)), times.get(step)) for step in stretch.steps)


def _marked(marks: Sequence[Mark], start: float | None, end: float | None) -> bool:
    """Tell whether any of the marks lies between two moments."""
    if start is None or end is None:
        return False
    return any(mark.time is not None and start <= mark.time <= end for mark in marks)


def _phases(
    log: RunLog,
    steps: Sequence[Step],
    intervals: Mapping[int, float],
    stretches: Sequence[_Stretch],
    usual: float,
) -> tuple[PhaseTime, ...]:
    """Split the loop time: what the stretches lost by the marks within them, the rest as steady steps."""
    evals = [mark for mark in log.marks if mark.kind in EVAL_MARKS]
    saves = [mark for mark in log.marks if mark.kind in CHECKPOINT_MARKS]
    times = {step.step: step.time for step in steps}
    before = {after.step: one.step for one, after in pairwise(steps)}
    lost: dict[LoopPhase, float] = {}
    count: dict[LoopPhase, int] = {}
    for stretch in stretches:
        if _marked_within(evals, stretch, times, before):
            phase = LoopPhase.EVAL
        elif _marked_within(saves, stretch, times, before):
            phase = LoopPhase.CHECKPOINT
        else:
            phase = LoopPhase.STALLS
        long = sum(intervals[step] > MAX_INTERVAL_MEDIANS * usual for step in stretch.steps)
        lost[phase] = lost.get(phase, 0.0) + stretch.lost
        count[phase] = count.get(phase, 0) + long
    window = len(intervals)
    waited = _input_seconds(steps, intervals)
    if waited > 0:
        lost[LoopPhase.INPUT], count[LoopPhase.INPUT] = waited * window, window
    rest = fmean(intervals.values()) - sum(lost.values()) / window
    return (
        PhaseTime(phase=LoopPhase.STEADY, seconds=rest, steps=window),
        *(
            PhaseTime(phase=phase, seconds=lost[phase] / window, steps=count[phase])
            for phase in LoopPhase
            if phase in lost
        ),
    )


def _input_seconds(steps: Sequence[Step], intervals: Mapping[int, float]) -> float:
    """Return the seconds a step that the log gives to its input, 0 where it names none."""
    named = [
        value
        for step in steps
        if step.step in intervals
        for name, value in step.extras
        if name in INPUT_EXTRAS and 0 <= value < intervals[step.step]
    ]
    return sum(named) / len(intervals) if named else 0.0
