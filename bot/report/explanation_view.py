"""Why a comparison says what it says, in lines that a terminal, a comment and a page can show.

In:  a `Comparison` with its `Explanation`.
Out: `Section`s of plain text, in the order in which the verdict was reached. Nothing is escaped here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.report.comparison_words import loss_sentence
from bot.report.decision_words import decision_lines, small
from bot.report.figures import counted, significant
from bot.report.judged import loss_words
from bot.verdict.explanation import (
    REASONS,
    ExactFigure,
    ExplainedHistory,
    ExplainedRun,
    Place,
    Spans,
)
from bot.verdict.judgement import Comparison, Loss, LossVerdict
from bot.verdict.metrics import BY_KEY
from bot.verdict.noise import GLITCH_ALPHA, HISTORY, SHORTEST_HISTORY

MOST_SPANS = 12
"""Stretches of steps named in a line; the JSON has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One question and its answer."""

    title: str
    lines: tuple[str, ...]


def explanation_sections(comparison: Comparison) -> tuple[Section, ...]:
    """Everything that the verdict rests on; empty where the comparison carries no explanation."""
    why = comparison.explanation
    if why is None:
        return ()
    sides = (("base", why.base), ("head", why.head))
    runs = [_run(name, place, one, len(side)) for name, side in sides for place, one in enumerate(side)]
    return (
        *runs,
        Section(title="history of main", lines=(history_words(why.history),)),
        Section(title="decision on step time", lines=decision_lines(comparison)),
        Section(title="decision on the loss", lines=_loss(comparison)),
        *([Section(title="exact figures", lines=tuple(map(exact_words, why.exact)))] if why.exact else []),
    )


def steps_words(steps: Spans) -> str:
    """`3, 6–8`."""
    shown = [str(first) if first == last else f"{first}–{last}" for first, last in steps[:MOST_SPANS]]
    more = f" and {counted(len(steps) - MOST_SPANS, 'more stretch', 'more stretches')}"
    return ", ".join(shown) + (more if len(steps) > MOST_SPANS else "")


def place_words(place: Place) -> str:
    """`first kept step 3 at byte 3 000`."""
    step = "" if place.step is None else f" {place.step}"
    return f"{place.what}{step} at byte {place.offset}"


def history_words(history: ExplainedHistory) -> str:
    """What became of main's runs on their way to the noise."""
    if not history.given:
        return "no runs of main were given"
    if not history.used:
        needed = f"{SHORTEST_HISTORY} since the last change of level are needed"
        return f"none of {counted(history.given, 'main run')} used: {needed}"
    parts = [f"{history.used} of {counted(history.given, 'main run')} used"]
    if history.before_change:
        parts.append(f"{history.before_change} before the last change of level")
    if history.older:
        parts.append(f"{history.older} older than the newest {HISTORY}")
    if history.glitches:
        seconds = ", ".join(f"{significant(one, 4)} s" for one in history.glitches)
        parts.append(f"dropped as a glitch, Grubbs' test at {100 * GLITCH_ALPHA:g} %: {seconds}")
    return "; ".join(parts)


def exact_words(one: ExactFigure) -> str:
    """`Memory: 1.31 → 1.44 %, 9.9 % apart; counts from 0.5 % on: worse`."""
    metric = BY_KEY[one.key]
    base, head = (f"{side:.{metric.digits}f}" for side in (one.base, one.head))
    apart = "" if one.percent is None else f", {one.percent:.2g} % apart"
    least = [f"{one.least:g} {metric.unit}"] if one.least else []
    least += [f"{one.least_percent:g} %"] if one.least_percent else []
    counts = f"counts from {' and '.join(least)} on" if least else "any difference counts"
    return f"{metric.title}: {base} → {head} {metric.unit}{apart}; {counts}: {one.direction}"


def _run(side: str, place: int, one: ExplainedRun, of: int) -> Section:
    name = f"{side} run {place + 1} of {of}" if of > 1 else f"{side} run"
    selector = f"#{one.run}" if one.run > 1 else ""
    return Section(title=f"{name}: {one.source}{selector}", lines=tuple(_run_lines(one)))


def _run_lines(one: ExplainedRun) -> Sequence[str]:
    lines = [_steady(one)]
    if one.kept:
        lines.append(f"kept: steps {steps_words(one.kept)}{_within(one)}")
    if one.dropped:
        parts = [f"{steps_words(group.steps)} ({REASONS[group.reason]})" for group in one.dropped]
        lines.append(f"dropped: steps {'; '.join(parts)}")
    if one.places:
        lines.append(f"in the log: {'; '.join(map(place_words, one.places))}")
    return lines


def _steady(one: ExplainedRun) -> str:
    if one.seconds is None:
        return f"S: none, {one.problem or 'nothing was measured'}"
    error = "" if one.se is None else f", SE {100 * one.se:.2f} %"
    median = f"the median of {one.kept_count} of {counted(one.considered, 'interval')}"
    unused = "" if one.used else "; not in the comparison, as the run did not pass"
    return f"S = {one.seconds:.5f} s{error}: {median}, on the {one.clock or 'unknown'} clock{unused}"


def _within(one: ExplainedRun) -> str:
    if one.bounds is None:
        return ""
    return f", from {significant(one.bounds[0])} to {significant(one.bounds[1])} s"


def _loss(comparison: Comparison) -> tuple[str, ...]:
    loss = comparison.loss
    lines = [loss_sentence(loss, loss_words(comparison))]
    if loss.verdict is LossVerdict.NOT_COMPARABLE:
        return tuple(lines)
    return (*lines, *_tolerated(loss), *([loss.reason] if loss.reason else []))


def _tolerated(loss: Loss) -> list[str]:
    if not loss.max_relative or loss.worst_step is None:
        return []
    worst = f"largest difference {small(100 * loss.max_relative)} % at step {loss.worst_step}"
    allowed = loss.allowed_relative
    return [worst if allowed is None else f"{worst}, where {small(100 * allowed)} % is tolerated"]
