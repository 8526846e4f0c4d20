"""The steps of a run that a person wants to see: the first, the last, the odd ones.

In:  a `MeasuredRun`. Out: a table with lines for what was left out.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from bot.cli.screen import DIM, Screen
from bot.logs.facts import Step, StepKind
from bot.report.figures import NONE, counted, significant
from bot.verdict.implausible import SHORT, Implausible
from bot.verdict.judgement import MeasuredRun

ALL = 14  # up to so many steps are shown
ENDS = 3  # of more, so many at each end
ODDEST = 6  # and so many of those that took longest
SLOW = 1.5  # times the steady step: what the steady step time itself leaves out


def show_steps(screen: Screen, run: MeasuredRun) -> None:
    """Print the table of steps."""
    steps = run.log.steps
    if not steps:
        return
    odd = {one.step: one for one in run.measurements.implausible}
    marked = [place for place, step in enumerate(steps) if step.step in odd]
    places = interesting([step.seconds for step in steps], marked)
    gaps = _gaps(steps)
    rows: list[tuple[str, ...]] = []
    last = -1
    for place in places:
        if place > last + 1:
            rows.append(("⋯", counted(place - last - 1, "step"), "", "", "", ""))
        rows.append(_row(steps[place], gaps[place], run, odd.get(steps[place].step)))
        last = place
    screen.gap()
    screen.table(("step", "printed s", "line to line s", "loss", "tokens/s", ""), "rrrrrl", rows)
    if run.measurements.steady.kept_steps:
        screen.paragraph("• measured for the steady step", DIM)
    if odd:
        screen.paragraph("✗ its printed seconds and rates are struck out: see below", DIM)


def interesting(seconds: list[float | None], marked: Sequence[int] = ()) -> list[int]:
    """The places of the steps worth a line: all of few; of many the ends, the slowest between them, and the
    first of those that are `marked`."""
    count = len(seconds)
    if count <= ALL:
        return list(range(count))
    between = range(ENDS, count - ENDS)
    slowest = sorted(between, key=lambda place: -(seconds[place] or 0.0))[:ODDEST]
    return sorted({*range(ENDS), *slowest, *marked[:ODDEST], *range(count - ENDS, count)})


def decimals(steps: tuple[Step, ...]) -> int:
    """As many decimals as the loss was printed with, so that points stand below each other."""
    losses = (f"{step.loss:g}" for step in steps if step.loss is not None and math.isfinite(step.loss))
    return max((len(loss.partition(".")[2]) for loss in losses if "e" not in loss), default=0)


def _row(step: Step, gap: float | None, run: MeasuredRun, odd: Implausible | None) -> tuple[str, ...]:
    return (
        str(step.step),
        significant(step.seconds, 4),
        significant(gap, 4),
        NONE if step.loss is None else f"{step.loss:.{decimals(run.log.steps)}f}",
        NONE if step.tokens_per_device is None else f"{step.tokens_per_device:,.0f}",
        f"{_remark(step, gap, run)} ✗ {SHORT[odd.why]}".strip() if odd else _remark(step, gap, run),
    )


def _remark(step: Step, gap: float | None, run: MeasuredRun) -> str:
    steady = run.measurements.steady
    if step.step in steady.kept_steps:
        return "•"
    if step.kind is not StepKind.PLAIN:
        return step.kind.value.replace("_", " ")
    if step is run.log.steps[0]:
        return "compiles"
    if gap is not None and steady.seconds and gap > SLOW * steady.seconds:
        return "waits"
    return ""


def _gaps(steps: tuple[Step, ...]) -> list[float | None]:
    """Seconds from the line before to this line, where both carry a time."""
    gaps: list[float | None] = [None]
    for before, step in pairwise(steps):
        known = before.time is not None and step.time is not None and step.step == before.step + 1
        gaps.append(
            step.time - before.time if known and step.time is not None and before.time is not None else None
        )
    return gaps
