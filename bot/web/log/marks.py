"""The places of a log worth finding: the first error, the step lines, start and end, checkpoints.

In:  what was read from the log. Out: `LogMark`s by offset, each with an HTML id of its own. Pure.
"""

from bot.logs.facts import MarkKind
from bot.verdict.judgement import MeasuredRun
from bot.web.log.window import LogMark

WORDS = {
    MarkKind.START: "start",
    MarkKind.END: "end",
    MarkKind.COMPILED: "compiled",
    MarkKind.CHECKPOINT_WAITED: "waited for checkpoint",
    MarkKind.CHECKPOINT_STARTED: "checkpoint started",
    MarkKind.CHECKPOINT_SAVED: "checkpoint saved",
    MarkKind.EVAL_STARTED: "eval started",
    MarkKind.EVAL_ENDED: "eval ended",
    MarkKind.RESTORED: "restored",
}

FIRST_PAGE = 100_000
"""Bytes of a log that its first page shows, unless its lines are shorter than 20 bytes on average."""

BEFORE = 20_000
"""Bytes shown before the place that a link leads to."""


def log_marks(run: MeasuredRun | None) -> tuple[LogMark, ...]:
    """The marks in the order of the log; where two stand at one place the first error, then a step, leads."""
    if run is None:
        return ()
    places: list[tuple[int, int, str, str, str]] = []
    failure = run.log.outcome.failure
    if failure is not None and failure.error:
        places.append((failure.offset, 0, "error", "error", "error"))
    places += [(step.offset, 1, f"step-{step.step}", f"step {step.step}", "step") for step in run.log.steps]
    places += [
        (mark.offset, 2, mark.kind.value, _words(mark.kind, mark.step), "mark") for mark in run.log.marks
    ]
    return tuple(_unique(sorted(set(places))))


def _words(kind: MarkKind, step: int | None) -> str:
    return WORDS[kind] if step is None else f"{WORDS[kind]}, step {step}"


def _unique(places: list[tuple[int, int, str, str, str]]) -> list[LogMark]:
    """An anchor that comes again (steps repeated after a restart) carries its number."""
    counts: dict[str, int] = {}
    marks = []
    for offset, _, anchor, words, kind in places:
        counts[anchor] = counts.get(anchor, 0) + 1
        own = anchor if counts[anchor] == 1 else f"{anchor}-again-{counts[anchor]}"
        marks.append(LogMark(offset=offset, anchor=own, words=words, kind=kind))
    return marks


def log_start(offset: int) -> int | None:
    """Where a log page begins that shows the byte at `offset`: at the start of the log, if it can."""
    return None if offset < FIRST_PAGE else offset - BEFORE
