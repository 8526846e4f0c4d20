"""Where a run's time went: phases that add up to its wall time.

The wall time runs from XPK Start to XPK End, or from the first stamped line to the last one without a
frame. A cursor moves over it from left to right and gives every stretch to one phase, so that nothing is
counted twice. The last phase is the residual. Phases that did not happen are left out.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bot.logs.facts import Mark, MarkKind, RunLog, Step, StepKind

RAMP_STEPS = 3
"""Steps after the first line whose intervals are no steady steps: dispatch runs ahead of the device."""


class PhaseName:
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


_PHASE_ORDER = (
    PhaseName.START_UP, PhaseName.COMPILE, PhaseName.RAMP, PhaseName.STEADY,
    PhaseName.CHECKPOINT, PhaseName.STALLS, PhaseName.EVAL,
    PhaseName.FINAL_WAIT, PhaseName.TEARDOWN,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One named stretch of a run, seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _PhaseSpan:
    """A part of the time line that one thing took, Unix seconds."""

    start: float
    end: float
    name: str


class _TimeCursor:
    """Moves over the time line; each stretch starts where the one before it ended."""

    def __init__(self, start: float, end: float) -> None:
        self.at = start
        self._end = end
        self.spent: dict[str, float] = {}

    def give(self, until: float, name: str | None) -> float:
        """Give the time up to `until` to a phase (`None`: to the residual); the seconds given."""
        until = min(max(until, self.at), self._end)
        given, self.at = until - self.at, until
        if name is not None:
            self.add(name, given)
        return given

    def add(self, name: str, seconds: float) -> None:
        """Book seconds that the hand has already passed."""
        self.spent[name] = self.spent.get(name, 0.0) + seconds


def time_ledger(run: RunLog, steady_seconds: float | None, kept_steps: tuple[int, ...]) -> tuple[Phase, ...]:
    """The phases of one run, seconds; empty where its wall time is unknown.

    `steady_seconds` and `kept_steps` are the steady step time and the steps it was taken from.
    """
    span = _wall_span(run)
    if span is None:
        return ()
    hand = _TimeCursor(*span)
    lines = [step for step in run.steps if step.time is not None]
    if lines:
        _before_first_step(run, hand, lines[0])
        _between_steps(run, hand, lines, steady_seconds, frozenset(kept_steps))
        if any(mark.kind is MarkKind.END for mark in run.marks):
            hand.give(span[1], PhaseName.TEARDOWN)
    else:
        _from_printed_seconds(run, hand, steady_seconds)
    phases = [
        Phase(name=name, seconds=seconds)
        for name in _PHASE_ORDER
        if (seconds := hand.spent.get(name, 0.0)) > 0
    ]
    total = span[1] - span[0]
    rest = total - math.fsum(phase.seconds for phase in phases)
    return (*phases, Phase(name=PhaseName.RESIDUAL, seconds=rest))


def _wall_span(run: RunLog) -> tuple[float, float] | None:
    """First and last moment of the run."""
    lines = (*run.steps[:1], *run.steps[-1:])
    times = [t for t in (*(mark.time for mark in run.marks), *(line.time for line in lines)) if t is not None]
    starts = [m.time for m in run.marks if m.kind is MarkKind.START and m.time is not None]
    ends = [m.time for m in run.marks if m.kind is MarkKind.END and m.time is not None]
    start, end = min(starts or times, default=None), max(ends or times, default=None)
    last = max(times, default=None)
    if end is not None and last is not None and 0 < last - end < 1:
        end = last  # the frame is written in whole seconds, lines in millionths
    if start is None or end is None or end <= start:
        return None
    return start, end


def _before_first_step(run: RunLog, hand: _TimeCursor, first: Step) -> None:
    """Start-up, compilation and the first checkpoint, up to the first step line."""
    line = first.time or hand.at
    compiled = next((m for m in run.marks if m.kind is MarkKind.COMPILED and m.time is not None), None)
    saves = [s for s in _checkpoints(run.marks) if s.end <= line]
    ready = saves[0].start if saves else line
    if compiled is not None and compiled.time is not None and compiled.time <= line:
        hand.give(compiled.time - (compiled.seconds or 0.0), PhaseName.START_UP)
    elif first.seconds is not None:
        hand.give(ready - first.seconds, PhaseName.START_UP)
    known = compiled is not None or first.seconds is not None
    hand.give(ready, PhaseName.COMPILE if known else PhaseName.START_UP)
    for save in saves:
        hand.give(save.start, PhaseName.RAMP)
        hand.give(save.end, PhaseName.CHECKPOINT)
    hand.give(line, PhaseName.RAMP)


def _between_steps(
    run: RunLog, hand: _TimeCursor, lines: list[Step], steady: float | None, kept: frozenset[int]
) -> None:
    """From the first step line to the last one, interval by interval."""
    cuts = sorted((*_checkpoints(run.marks), *_evals(run.marks)), key=lambda cut: cut.start)
    final = _final_wait(run.marks, lines[-1])
    at, stretch, count = 0, 0.0, 0
    saved = any(mark.kind in (MarkKind.CHECKPOINT_STARTED, MarkKind.CHECKPOINT_SAVED) for mark in run.marks)
    for n, step in enumerate(lines[1:], start=1):
        end = step.time if step.time is not None else hand.at
        plain = 0.0
        while at < len(cuts) and cuts[at].start < end:
            cut = cuts[at]
            at += 1
            if cut.end <= hand.at or (final is not None and cut.start >= final):
                continue
            plain += hand.give(cut.start, None)
            hand.give(min(cut.end, end), cut.name)
        if n == len(lines) - 1 and final is not None:
            plain += hand.give(final, None)
            hand.give(end, PhaseName.FINAL_WAIT)
        plain += hand.give(end, None)
        if _is_ramping(step, n, lines):
            hand.add(PhaseName.RAMP, plain)
        elif steady is not None and step.step in kept:
            hand.add(PhaseName.STEADY, plain)
        elif steady is not None:
            stretch, count = stretch + plain, count + max(1, step.step - lines[n - 1].step)
        if count and (step.step in kept or n == len(lines) - 1):
            _split_stall(hand, stretch, count * (steady or 0.0), saved=saved)
            stretch, count = 0.0, 0


def _is_ramping(step: Step, n: int, lines: list[Step]) -> bool:
    return step.kind is StepKind.RAMP_UP or (n < RAMP_STEPS and step.step >= lines[0].step)


def _split_stall(hand: _TimeCursor, seconds: float, expected: float, *, saved: bool) -> None:
    """Divide intervals that were no clean steps: what the steps need, and the stall around them."""
    hand.add(PhaseName.STEADY, min(seconds, expected))
    if saved and seconds > expected:
        hand.add(PhaseName.STALLS, seconds - expected)


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
    """When the wait for the last step's checkpoint was over: its line is printed after the save."""
    waits = [m.time for m in marks if m.kind is MarkKind.CHECKPOINT_WAITED and m.step == last.step]
    return next((t for t in reversed(waits) if t is not None and last.time and t <= last.time), None)


def _from_printed_seconds(run: RunLog, hand: _TimeCursor, steady: float | None) -> None:
    """A frame around lines that carry no time: the printed seconds are all there is."""
    if not run.steps or steady is None:
        return
    left = hand.give(math.inf, None)
    for name, seconds in (
        (PhaseName.COMPILE, run.steps[0].seconds or 0.0),
        (PhaseName.STEADY, steady * max(run.steps_seen - RAMP_STEPS, 0)),
    ):
        if seconds <= left:
            hand.add(name, seconds)
            left -= seconds
