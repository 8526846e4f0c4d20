"""Explains a comparison: the samples behind each run, the noise, the decision with its numbers.

In:  the runs of both sides and what the decision was held to. Out: `Explanation`.
Promises: every number is taken from the functions that decide, given what they were given, so that an
explanation cannot tell another story than the verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from bot.verdict.change_points import since_last_change
from bot.verdict.explain_run import explain_run
from bot.verdict.explanation import (
    Arithmetic,
    ExactFigure,
    ExplainedHistory,
    ExplainedRun,
    Explanation,
)
from bot.verdict.footing import footing
from bot.verdict.judgement import Comparison, MeasuredRun, Row, Spread
from bot.verdict.metric import Judging
from bot.verdict.metrics import BY_KEY
from bot.verdict.noise import HISTORY, run_to_run, sift
from bot.verdict.outcome import Side
from bot.verdict.peaks import Family
from bot.verdict.threshold import POWER_Z, Rules, report_level, rule, variances


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a comparison was given beside its runs."""

    family: Family | None
    history: Sequence[float]
    rules: Rules


def explain(base: Side, head: Side, given: Given, found: Comparison) -> Explanation:
    """Return why the comparison of two sides says what it says."""
    return Explanation(
        base=_runs(base),
        head=_runs(head),
        history=explain_history(given.history),
        arithmetic=None if found.timing.change is None else _arithmetic(base.usable, head.usable, given),
        exact=tuple(one for row in found.rows if (one := _exact(row)) is not None),
    )


def explain_history(history: Sequence[float]) -> ExplainedHistory:
    """Return what became of main's runs (steady seconds, oldest first) on their way to the noise."""
    usable = [place for place, seconds in enumerate(history) if isfinite(seconds) and seconds > 0]
    level_now = since_last_change([history[place] for place in usable])
    newest = usable[len(usable) - len(level_now) :][-HISTORY:]
    sifted = sift(history)
    return ExplainedHistory(
        given=len(history),
        used=len(sifted.used),
        before_change=len(usable) - len(level_now),
        older=len(level_now) - len(newest),
        glitches=tuple(history[place] for place in sifted.glitches),
    )


def _runs(side: Side) -> tuple[ExplainedRun, ...]:
    usable = {id(run) for run in side.usable}
    return tuple(explain_run(run, usable=id(run) in usable) for run in side.runs)


def _arithmetic(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun], given: Given) -> Arithmetic | None:
    """Return the decision's numbers; None where a side has no steady step time, or the noise is unknown."""
    sides = [[run.measurements.steady for run in runs] for runs in (base, head)]
    times = [[one.seconds for one in side if one.seconds is not None and one.seconds > 0] for side in sides]
    if not all(times):
        return None
    noise = run_to_run(times[0], times[1], given.history, given.family)
    ground = footing(sides[0], sides[1], given.history, noise)
    evidence = ground.evidence
    ruling = rule(evidence, noise, given.rules)
    if ruling is None or noise.sd is None:
        return None
    between, within = variances(evidence, noise.sd)
    return Arithmetic(
        change=evidence.change,
        n=evidence.n,
        spread=noise.spread.value,
        sd=noise.sd,
        nu=noise.nu,
        between=between,
        within=within,
        summed=noise.spread is not Spread.MEASURED,
        se=ruling.se,
        standing=ground.standing.value,
        main=ground.main,
        base_off=ground.base_off,
        level=report_level(noise, given.rules.look),
        first_level=report_level(noise, 1),
        look=given.rules.look,
        cases=given.rules.cases,
        quantile=ruling.quantile,
        z=ruling.z,
        practical=given.rules.practical,
        equivalence=given.rules.equivalence,
        rounding=evidence.rounding,
        band=ruling.band,
        mde=ruling.band + POWER_Z * ruling.se,
        decision=ruling.verdict.value,
    )


def _exact(row: Row) -> ExactFigure | None:
    metric = BY_KEY.get(row.key)
    if metric is None or metric.judging is not Judging.EXACT or not row.judged:
        return None
    if not isinstance(row.base, float | int) or not isinstance(row.head, float | int):
        return None
    smaller = min(abs(row.base), abs(row.head))
    return ExactFigure(
        key=row.key,
        base=row.base,
        head=row.head,
        percent=100 * abs(row.head - row.base) / smaller if smaller else None,
        least=metric.least,
        least_percent=metric.least_percent,
        direction=row.direction.value,
    )
