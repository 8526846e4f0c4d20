"""Where a run's time went: phases that add up to its wall time.

The wall time runs from XPK Start to XPK End, or from the first stamped line to the last one without a
frame. A cursor moves over it from left to right and gives every stretch to one phase, so that nothing is
counted twice. The last phase is the residual. Phases that did not happen are left out.
"""

import math
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from bot.logs.facts import Mark, MarkKind, RunLog, Step, StepKind

RAMP_STEPS = 3
"""Steps after the first line whose intervals are no steady steps: dispatch runs ahead of the device."""


class PhaseName(StrEnum):
    """The names of the phases, in their order."""

    START_UP = "start-up"
    COMPILE = "compile"
    RAMP = "ramp"
    STEADY = "steady steps"
    CHECKPOINT = "checkpoint blocking"
    STALLS = "checkpoint stalls"
    EVAL = "eval"
    FINAL_WAIT = "final checkpoint wait"
    TEARDOWN = "teardown"
    RESIDUAL = "residual"


class Phase(Struct, frozen=True, kw_only=True):
    """One named stretch of a run, seconds."""

    name: str
    seconds: float


class _PhaseSpan(Struct, frozen=True):
    """When a phase happened, Unix seconds."""

    start: float
    end: float
    name: PhaseName


class _TimeCursor:
    """Moves over the wall time from left to right; each phase starts where the one before it ended."""

    def __init__(self, start: float, end: float) -> None:
        self.at = start
        self._end = end
        self.spent: dict[PhaseName, float] = {}

    def advance(self, until: float, name: PhaseName | None) -> float:
        """Move to `until` and give that time to a phase (`None`: to the residual); the seconds passed."""
        until = min(max(until, self.at), self._end)
        passed, self.at = until - self.at, until
        if name is not None:
            self.add(name, passed)
        return passed

    def add(self, name: PhaseName, seconds: float) -> None:
        """Give a phase seconds that the cursor has passed already."""
        self.spent[name] = self.spent.get(name, 0.0) + seconds


def time_ledger(run: RunLog, steady_seconds: float | None, kept_steps: tuple[int, ...]) -> tuple[Phase, ...]:
    """The phases of one run, seconds; empty where its wall time is unknown.

    `steady_seconds` is the steady step time, and `kept_steps` are the steps that it was measured from.
    """
    span = _wall_span(run)
    if span is None:
        return ()
    cursor = _TimeCursor(*span)
    lines = [step for step in run.steps if step.time is not None]
    if lines:
        _before_first_step(run, cursor, lines[0])
        _between_steps(run, cursor, lines, steady_seconds, frozenset(kept_steps))
        if any(mark.kind is MarkKind.END for mark in run.marks):
            cursor.advance(span[1], PhaseName.TEARDOWN)
    else:
        _from_printed_seconds(run, cursor, steady_seconds)
    phases = [
        Phase(name=name.value, seconds=seconds)
        for name in PhaseName
        if (seconds := cursor.spent.get(name, 0.0)) > 0
    ]
    residual = span[1] - span[0] - math.fsum(phase.seconds for phase in phases)
    return (*phases, Phase(name=PhaseName.RESIDUAL.value, seconds=residual))


def _wall_span(run: RunLog) -> tuple[float, float] | None:
    """First and last moment of the run."""
    lines = (*run.steps[:1], *run.steps[-1:])
    times = [t for t in (*(mark.time for mark in run.marks), *(line.time for line in lines)) if t is not None]
    starts = [m.time for m in run.marks if m.kind is MarkKind.START and m.time is not None]
    ends = [m.time for m in run.marks if m.kind is MarkKind.END and m.time is not None]
    start, end = min(starts or times, default=None), max(ends or times, default=None)
    last = max(times, default=None)
    if end is not None and last is not None and 0 < last - end < 1:
        end = last  # XPK's lines have whole seconds, the program's lines microseconds
    if start is None or end is None or end <= start:
        return None
    return start, end


def _before_first_step(run: RunLog, cursor: _TimeCursor, first: Step) -> None:
    """Start-up, compilation and the first checkpoint, up to the first step line."""
    line = first.time or cursor.at
    compiled = next((m for m in run.marks if m.kind is MarkKind.COMPILED and m.time is not None), None)
    saves = [s for s in _checkpoints(run.marks) if s.end <= line]
    ready = saves[0].start if saves else line
    if compiled is not None and compiled.time is not None and compiled.time <= line:
        cursor.advance(compiled.time - (compiled.seconds or 0.0), PhaseName.START_UP)
    elif first.seconds is not None:
        cursor.advance(ready - first.seconds, PhaseName.START_UP)
    known = compiled is not None or first.seconds is not None
    cursor.advance(ready, PhaseName.COMPILE if known else PhaseName.START_UP)
    for save in saves:
        cursor.advance(save.start, PhaseName.RAMP)
        cursor.advance(save.end, PhaseName.CHECKPOINT)
    cursor.advance(line, PhaseName.RAMP)


def _between_steps(
    run: RunLog, cursor: _TimeCursor, lines: list[Step], steady: float | None, kept: frozenset[int]
) -> None:
    """From the first step line to the last one, interval by interval."""
    interruptions = sorted(
        (*_checkpoints(run.marks), *_evals(run.marks)), key=lambda interruption: interruption.start
    )
    final = _final_wait(run.marks, lines[-1])
    upcoming, unclean, count = 0, 0.0, 0
    saved = any(mark.kind in (MarkKind.CHECKPOINT_STARTED, MarkKind.CHECKPOINT_SAVED) for mark in run.marks)
    for n, step in enumerate(lines[1:], start=1):
        end = step.time if step.time is not None else cursor.at
        training = 0.0
        while upcoming < len(interruptions) and interruptions[upcoming].start < end:
            interruption = interruptions[upcoming]
            upcoming += 1
            if interruption.end <= cursor.at or (final is not None and interruption.start >= final):
                continue
            training += cursor.advance(interruption.start, None)
            cursor.advance(min(interruption.end, end), interruption.name)
        if n == len(lines) - 1 and final is not None:
            training += cursor.advance(final, None)
            cursor.advance(end, PhaseName.FINAL_WAIT)
        training += cursor.advance(end, None)
        if _is_ramping(step, n, lines):
            cursor.add(PhaseName.RAMP, training)
        elif steady is not None and step.step in kept:
            cursor.add(PhaseName.STEADY, training)
        elif steady is not None:
            unclean, count = unclean + training, count + max(1, step.step - lines[n - 1].step)
        if count and (step.step in kept or n == len(lines) - 1):
            _split_stall(cursor, unclean, count * (steady or 0.0), saved=saved)
            unclean, count = 0.0, 0


def _is_ramping(step: Step, n: int, lines: list[Step]) -> bool:
    return step.kind is StepKind.RAMP_UP or (n < RAMP_STEPS and step.step >= lines[0].step)


def _split_stall(cursor: _TimeCursor, seconds: float, expected: float, *, saved: bool) -> None:
    """Divide intervals without a clean step into the time that the steps need and the stall around them."""
    cursor.add(PhaseName.STEADY, min(seconds, expected))
    if saved and seconds > expected:
        cursor.add(PhaseName.STALLS, seconds - expected)


def _checkpoints(marks: Iterable[Mark]) -> list[_PhaseSpan]:
    """From the wait for a step to the start of its save."""
    found, waited = [], dict[int, float]()
    for mark in marks:
        if mark.step is None or mark.time is None:
            continue
        if mark.kind is MarkKind.CHECKPOINT_WAITED:
            waited[mark.step] = mark.time
        elif mark.kind is MarkKind.CHECKPOINT_STARTED and mark.step in waited:
            found.append(_PhaseSpan(waited.pop(mark.step), mark.time, PhaseName.CHECKPOINT))
    return sorted(found, key=lambda save: save.start)


def _evals(marks: Iterable[Mark]) -> list[_PhaseSpan]:
    found: list[_PhaseSpan] = []
    start: float | None = None
    for mark in marks:
        if mark.kind is MarkKind.EVAL_STARTED and start is None:
            start = mark.time
        elif mark.kind is MarkKind.EVAL_ENDED:
            if start is not None and mark.time is not None:
                found.append(_PhaseSpan(start, mark.time, PhaseName.EVAL))
            start = None
    return found


def _final_wait(marks: Iterable[Mark], last: Step) -> float | None:
    """When the wait for the last step's checkpoint ended: its line is printed after the save."""
    waits = [m.time for m in marks if m.kind is MarkKind.CHECKPOINT_WAITED and m.step == last.step]
    return next((t for t in reversed(waits) if t is not None and last.time and t <= last.time), None)


def _from_printed_seconds(run: RunLog, cursor: _TimeCursor, steady: float | None) -> None:
    """Estimate from the printed seconds, where only start and end carry a time."""
    if not run.steps or steady is None:
        return
    left = cursor.advance(math.inf, None)
    for name, seconds in (
        (PhaseName.COMPILE, run.steps[0].seconds or 0.0),
        (PhaseName.STEADY, steady * max(run.steps_seen - RAMP_STEPS, 0)),
    ):
        if seconds <= left:
            cursor.add(name, seconds)
            left -= seconds
