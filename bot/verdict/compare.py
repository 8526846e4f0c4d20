"""One case, base against head: one honest verdict and everything it rests on.

In:  the measured runs of both sides, the history of main, how many cases and looks the decision is one of.
Out: `Comparison`.
Promises: the first of these that applies is the verdict: how the runs ended, whether they can be compared,
whether they are like for like, what the loss says, what the clock says. Nothing is green that was not shown.
"""

from collections.abc import Sequence
from dataclasses import replace

from bot.verdict.comparable import caveats
from bot.verdict.decide import decide
from bot.verdict.explain import Given, explain
from bot.verdict.judgement import (
    Caveat,
    CaveatKind,
    Comparison,
    Direction,
    Margins,
    MeasuredRun,
    Row,
    Timing,
    TimingVerdict,
    Verdict,
    Weight,
)
from bot.verdict.loss import compare_loss
from bot.verdict.metrics import BY_KEY
from bot.verdict.outcome import Fate, Side, side
from bot.verdict.peaks import Family, family
from bot.verdict.provenance import Across, Provenance, provenance
from bot.verdict.rows import rows
from bot.verdict.ruling import Ruling, rule, said
from bot.verdict.threshold import held_to


def compare(
    base: Sequence[MeasuredRun],
    head: Sequence[MeasuredRun],
    *,
    history: Sequence[float] = (),
    comparable_cases: int = 1,
    margins: Margins = Margins(),
    base_commit: str | None = None,
    head_commit: str | None = None,
    look: int = 1,
    across: Across = Across.UNSTATED,
    explained: bool = True,
) -> Comparison:
    """Compare the runs of a case on two commits, or in two variants of one.

    `history` holds steady seconds of main runs of this case, oldest first; `comparable_cases` counts the
    cases of the report for which `is_comparable` holds; `look` counts the judgements of this head, from 1.
    Where it is not to be `explained`, a list of many cases is had in half the time.
    """
    one, other = side("base", base), side("head", head)
    kind = _family((*one.usable, *other.usable))
    timing = decide(
        [run.measurements.steady for run in one.usable],
        [run.measurements.steady for run in other.usable],
        family=kind,
        history=history,
        comparable_cases=comparable_cases,
        margins=margins,
        look=look,
    )
    found = _judged(one, other, timing, provenance(base, head, base_commit, head_commit, across=across))
    if not explained:
        return found
    given = Given(family=kind, history=history, rules=held_to(margins, comparable_cases, look))
    return replace(found, explanation=explain(one, other, given, found))


def _judged(base: Side, head: Side, decided: Timing, source: Provenance) -> Comparison:
    """Put the clock's word in its place among the other evidence."""
    differences = (*_outcomes(base, head), *_differences(base, head), *source.caveats)
    loss = compare_loss([run.log for run in base.usable], [run.log for run in head.usable])
    allowed = _never_against_itself(decided, source)
    ruling = rule(base, head, differences, loss, allowed)
    timing = _withheld(allowed, ruling)
    shown = rows(base.usable, head.usable, None if ruling.untimed else timing.verdict)
    return Comparison(
        verdict=ruling.verdict,
        timing=timing,
        loss=loss,
        caveats=differences,
        rows=shown,
        base=tuple(base.runs),
        head=tuple(head.runs),
        reason="; ".join(part for part in (ruling.reason, _moved(shown, ruling)) if part),
    )


def is_comparable(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> bool:
    """Tell whether a timing verdict can be given, so that the case counts among those of its report."""
    one, other = side("base", base), side("head", head)
    timed = all(any(run.measurements.steady.seconds for run in its.usable) for its in (one, other))
    passed = one.fate is Fate.PASSED and other.fate is Fate.PASSED
    return timed and passed and all(it.weight is Weight.NOTED for it in _differences(one, other))


def _never_against_itself(timing: Timing, source: Provenance) -> Timing:
    """Two sides of one commit are never a regression: what they differ by is noise, or not the commit's."""
    if timing.verdict not in {TimingVerdict.SLOWER, TimingVerdict.FASTER} or not source.same_claim:
        return timing
    text = (
        "both sides are the same commit, so this is noise or the machines, not the change"
        if source.same_code
        else "both sides claim the same commit, so it is not known which change this is: see the provenance"
    )
    return replace(timing, verdict=TimingVerdict.INCONCLUSIVE, reason=text, more_runs=None)


def _withheld(timing: Timing, ruling: Ruling) -> Timing:
    """Withhold a timing verdict that the ruling does not allow; where there is no delta, its figures too."""
    if ruling.untimed:
        bare = replace(timing, change=None, band=None, mde=None, se=None, more_runs=None)
        return replace(bare, verdict=TimingVerdict.WITHHELD, reason=ruling.reason)
    if ruling.verdict is Verdict.NOT_LIKE_FOR_LIKE:
        return replace(timing, verdict=TimingVerdict.WITHHELD, reason=ruling.reason, more_runs=None)
    return timing


def _differences(base: Side, head: Side) -> tuple[Caveat, ...]:
    return caveats(base.usable, head.usable) if base.usable and head.usable else ()


def _outcomes(base: Side, head: Side) -> tuple[Caveat, ...]:
    """Note every side whose runs did not all pass."""
    odd = base.fate is not Fate.PASSED or head.fate is not Fate.PASSED or base.flaky or head.flaky
    if not odd:
        return ()
    texts = [said(it) for it in (base, head) if it.flaky or it.fate is not Fate.PASSED]
    return (
        Caveat(
            kind=CaveatKind.OUTCOME,
            field="state",
            base=_state(base),
            head=_state(head),
            weight=Weight.NOTED,
            text="; ".join(texts),
        ),
    )


def _state(its: Side) -> str | None:
    return its.telling.log.outcome.state.value.replace("_", " ") if its.telling else None


def _moved(shown: Sequence[Row], ruling: Ruling) -> str:
    """Say which exact metrics moved, so that a quiet headline does not contradict its rows."""
    if ruling.verdict is Verdict.NOT_LIKE_FOR_LIKE:
        return ""
    moved = [row for row in shown if row.direction is not Direction.SAME and row.key != "steady_step_seconds"]
    return "; ".join(
        f"{BY_KEY[row.key].title}: {row.base} → {row.head} {BY_KEY[row.key].unit}" for row in moved
    )


def _family(runs: Sequence[MeasuredRun]) -> Family | None:
    """Return the family of all runs; one run that does not name its device may be of any, so None."""
    kinds = {family(run.log.environment.device_kind) for run in runs}
    return kinds.pop() if len(kinds) == 1 else None
