"""One case, base against head: one verdict and everything it rests on.

The first of these that applies is the verdict: how the runs ended, whether they can be compared, whether they
ran in the same environment, what the loss says, what the clock says. Nothing is green that was not shown.
"""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from bot.logs.facts import OutcomeState
from bot.verdict.comparability import (
    ComparisonAxis,
    OutcomeClass,
    Provenance,
    SideOutcome,
    check_provenance,
    describe_outcome,
    file_damage,
    find_caveats,
    killed_without_error,
    side_outcome,
    summarize_caveats,
)
from bot.verdict.explanation import DecisionInputs, explain
from bot.verdict.hardware import DeviceFamily, device_family
from bot.verdict.judgement import (
    Caveat,
    CaveatKind,
    CaveatWeight,
    Comparison,
    Direction,
    LossDecision,
    LossVerdict,
    Margins,
    MeasuredRun,
    MetricRow,
    TimingDecision,
    TimingVerdict,
    Verdict,
)
from bot.verdict.loss import compare_loss
from bot.verdict.metrics import METRICS_BY_KEY, metric_rows
from bot.verdict.timing_decision import decide_timing, decision_rules

GREEN_VERDICTS = frozenset({Verdict.SAME, Verdict.FASTER})
"""Verdicts that tell a person there is nothing to do: each needs the loss curve's word too."""

LOSS_UNCHANGED = frozenset({LossVerdict.IDENTICAL, LossVerdict.WITHIN_TOLERANCE})

LOSS_CHANGED = frozenset({LossVerdict.DIVERGED, LossVerdict.DRIFTED, LossVerdict.DIFFERENT_START})


class CaseVerdict(Struct, frozen=True, kw_only=True):
    """A verdict and its reason, one clause; `untimed` where a side has no run whose times may be compared."""

    verdict: Verdict
    reason: str = ""
    untimed: bool = False


def case_verdict(
    base: SideOutcome,
    head: SideOutcome,
    differences: Sequence[Caveat],
    loss: LossDecision,
    timing: TimingDecision,
) -> CaseVerdict:
    """Take the first ruling that applies, gravest evidence first."""
    rulings = (
        _outcome_verdict(base, head),
        _caveat_verdict(differences, CaveatWeight.NOT_COMPARABLE, Verdict.NOT_COMPARABLE),
        _caveat_verdict(differences, CaveatWeight.NOT_LIKE_FOR_LIKE, Verdict.NOT_LIKE_FOR_LIKE),
        _loss_verdict(loss),
    )
    first = next((ruling for ruling in rulings if ruling is not None), None)
    return first or _timing_verdict(head, loss, timing)


def _outcome_verdict(base: SideOutcome, head: SideOutcome) -> CaseVerdict | None:
    """Rule on how the runs ended, None where both sides have a run that passed.

    A failure that some of base's runs have too is not new; a case of which a run of head still fails is not
    fixed.
    """
    if head.goes_bad and not base.goes_bad and base.fate is OutcomeClass.PASSED:
        return CaseVerdict(
            verdict=Verdict.DIVERGED, reason=f"head's loss became NaN or infinite: {describe_side(head)}"
        )
    unusable = [it for it in (base, head) if it.fate not in {OutcomeClass.PASSED, OutcomeClass.FAILED}]
    if unusable:
        return CaseVerdict(
            verdict=Verdict.NOT_COMPARABLE,
            reason="; ".join(f"{describe_side(it)}; {_way_out(it)}" for it in unusable),
            untimed=True,
        )
    match (base.fate, head.fate):
        case (OutcomeClass.PASSED, OutcomeClass.FAILED):
            known = head.fingerprint in base.fingerprints
            verdict = Verdict.FAILS_ON_BOTH if known else Verdict.NEW_FAILURE
            reason = (
                f"some runs of base fail the same: {describe_side(head)}" if known else describe_side(head)
            )
            return CaseVerdict(verdict=verdict, reason=reason, untimed=True)
        case (OutcomeClass.FAILED, OutcomeClass.PASSED):
            verdict = Verdict.INCONCLUSIVE if head.flaky else Verdict.FIXED
            reason = (
                f"some runs of head passed, but {describe_side(head)}; {describe_side(base)}"
                if head.flaky
                else describe_side(base)
            )
            return CaseVerdict(verdict=verdict, reason=reason, untimed=True)
        case (OutcomeClass.FAILED, OutcomeClass.FAILED):
            return CaseVerdict(
                verdict=Verdict.FAILS_ON_BOTH, reason=_describe_both_failed(base, head), untimed=True
            )
        case _:
            return None


def _caveat_verdict(
    differences: Sequence[Caveat], weight: CaveatWeight, verdict: Verdict
) -> CaseVerdict | None:
    grave = [caveat for caveat in differences if caveat.weight is weight]
    untimed = weight is CaveatWeight.NOT_COMPARABLE
    return CaseVerdict(verdict=verdict, reason=summarize_caveats(grave), untimed=untimed) if grave else None


def _loss_verdict(loss: LossDecision) -> CaseVerdict | None:
    """Rule on changed numbers; no other word of ours says that they changed, so all are `diverged`."""
    if loss.verdict not in LOSS_CHANGED:
        return None
    size = "" if loss.max_relative is None else f" (by up to {100 * loss.max_relative:.2g} %)"
    match loss.verdict:
        case LossVerdict.DIFFERENT_START:
            text = f"the loss starts differently{size}: initialisation, data, seed or number format changed"
        case LossVerdict.DRIFTED:
            text = (
                f"the loss drifts from step {loss.first_outside_step} on{size}, more than rounding explains"
            )
        case _:
            text = f"the loss diverged from step {loss.first_outside_step} on{size}"
    return CaseVerdict(verdict=Verdict.DIVERGED, reason=text)


def _timing_verdict(head: SideOutcome, loss: LossDecision, timing: TimingDecision) -> CaseVerdict:
    """Rule on the clock, and refuse green where another piece of evidence is missing."""
    verdict = _verdict_of_timing(timing.verdict)
    if verdict not in GREEN_VERDICTS:
        return CaseVerdict(verdict=verdict, reason=timing.reason)
    if head.flaky:
        return CaseVerdict(
            verdict=Verdict.INCONCLUSIVE, reason=f"some runs of head passed, but {describe_side(head)}"
        )
    if loss.verdict not in LOSS_UNCHANGED:
        word = "the same" if verdict is Verdict.SAME else verdict
        text = f"the step time is {word}, but the loss curves could not be compared: {loss.reason}"
        return CaseVerdict(verdict=Verdict.INCONCLUSIVE, reason=text)
    return CaseVerdict(verdict=verdict, reason=timing.reason)


def _verdict_of_timing(timing: TimingVerdict) -> Verdict:
    match timing:
        case TimingVerdict.SLOWER:
            return Verdict.SLOWER
        case TimingVerdict.FASTER:
            return Verdict.FASTER
        case TimingVerdict.SAME:
            return Verdict.SAME
        case TimingVerdict.INCONCLUSIVE | TimingVerdict.WITHHELD:
            return Verdict.INCONCLUSIVE
        case _:
            assert_never(timing)


def describe_side(its: SideOutcome) -> str:
    """Say in one clause how the runs of a side ended."""
    failed = sum(run.log.outcome.state.value != "succeeded" for run in its.runs)
    many = f" ({failed} of {len(its.runs)} runs)" if len(its.runs) > 1 else ""
    return f"{its.name} {describe_outcome(its.telling)}{many}"


def _way_out(its: SideOutcome) -> str:
    if its.telling is not None and killed_without_error(its.telling.log):
        return "its log does not say why: rerun it, and if it happens again compare host memory"
    if its.telling is not None and its.telling.log.outcome.state is OutcomeState.NOT_A_TRAINING_LOG:
        return "name the file into which the trainer printed its step lines"
    if its.telling is not None and file_damage(its.telling.log):
        return "copy the file again, or rerun it"
    if its.fate is OutcomeClass.CLUSTER_FAILED:
        return "the cluster failed it: rerun"
    return "wait for it or run it" if its.fate is OutcomeClass.ABSENT else "rerun it to its last step"


def _describe_both_failed(base: SideOutcome, head: SideOutcome) -> str:
    if head.fingerprint in base.fingerprints:
        return f"the same failure on both sides: {describe_side(head)}"
    return f"{describe_side(base)}; {describe_side(head)}"


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
    across: ComparisonAxis = ComparisonAxis.UNSTATED,
    explained: bool = True,
) -> Comparison:
    """Compare the runs of a case on two commits, or in two variants of one.

    `history` holds steady seconds of main runs of this case, oldest first; `comparable_cases` counts the
    cases of the report for which `is_comparable` holds; `look` counts the judgements of this head, from 1.
    Where it is not to be `explained`, a list of many cases is had in half the time.
    """
    one, other = side_outcome("base", base), side_outcome("head", head)
    kind = _common_family((*one.usable, *other.usable))
    timing = decide_timing(
        [run.measurements.steady for run in one.usable],
        [run.measurements.steady for run in other.usable],
        family=kind,
        history=history,
        comparable_cases=comparable_cases,
        margins=margins,
        look=look,
    )
    found = _judge_sides(
        one, other, timing, check_provenance(base, head, base_commit, head_commit, across=across)
    )
    if not explained:
        return found
    given = DecisionInputs(
        family=kind, history=history, rules=decision_rules(margins, comparable_cases, look)
    )
    return replace(found, explanation=explain(one, other, given, found))


def _judge_sides(
    base: SideOutcome, head: SideOutcome, decided: TimingDecision, source: Provenance
) -> Comparison:
    """Put the clock's word in its place among the other evidence."""
    differences = (*_outcome_caveats(base, head), *_usable_caveats(base, head), *source.caveats)
    loss = compare_loss([run.log for run in base.usable], [run.log for run in head.usable])
    allowed = _never_flag_one_commit(decided, source)
    ruling = case_verdict(base, head, differences, loss, allowed)
    timing = _withhold_timing(allowed, ruling)
    shown = metric_rows(base.usable, head.usable, None if ruling.untimed else timing.verdict)
    return Comparison(
        verdict=ruling.verdict,
        timing=timing,
        loss=loss,
        caveats=differences,
        rows=shown,
        base=tuple(base.runs),
        head=tuple(head.runs),
        reason="; ".join(part for part in (ruling.reason, _describe_moved_metrics(shown, ruling)) if part),
    )


def is_comparable(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> bool:
    """Tell whether a timing verdict can be given, so that the case counts among those of its report."""
    one, other = side_outcome("base", base), side_outcome("head", head)
    timed = all(any(run.measurements.steady.seconds for run in its.usable) for its in (one, other))
    passed = one.fate is OutcomeClass.PASSED and other.fate is OutcomeClass.PASSED
    return timed and passed and all(it.weight is CaveatWeight.NOTED for it in _usable_caveats(one, other))


def _never_flag_one_commit(timing: TimingDecision, source: Provenance) -> TimingDecision:
    """Two sides of one commit are never a regression: what they differ by is noise, or not the commit's."""
    if timing.verdict not in {TimingVerdict.SLOWER, TimingVerdict.FASTER} or not source.same_claim:
        return timing
    text = (
        "both sides are the same commit, so this is noise or the machines, not the change"
        if source.same_code
        else "both sides claim the same commit, so it is not known which change this is: see the provenance"
    )
    return replace(timing, verdict=TimingVerdict.INCONCLUSIVE, reason=text, more_runs=None)


def _withhold_timing(timing: TimingDecision, ruling: CaseVerdict) -> TimingDecision:
    """Withhold a timing verdict that the ruling does not allow; where there is no delta, its figures too."""
    if ruling.untimed:
        bare = replace(timing, change=None, band=None, mde=None, se=None, more_runs=None)
        return replace(bare, verdict=TimingVerdict.WITHHELD, reason=ruling.reason)
    if ruling.verdict is Verdict.NOT_LIKE_FOR_LIKE:
        return replace(timing, verdict=TimingVerdict.WITHHELD, reason=ruling.reason, more_runs=None)
    return timing


def _usable_caveats(base: SideOutcome, head: SideOutcome) -> tuple[Caveat, ...]:
    return find_caveats(base.usable, head.usable) if base.usable and head.usable else ()


def _outcome_caveats(base: SideOutcome, head: SideOutcome) -> tuple[Caveat, ...]:
    """Note every side whose runs did not all pass."""
    odd = (
        base.fate is not OutcomeClass.PASSED
        or head.fate is not OutcomeClass.PASSED
        or base.flaky
        or head.flaky
    )
    if not odd:
        return ()
    texts = [describe_side(it) for it in (base, head) if it.flaky or it.fate is not OutcomeClass.PASSED]
    return (
        Caveat(
            kind=CaveatKind.OUTCOME,
            field="state",
            base=_state_text(base),
            head=_state_text(head),
            weight=CaveatWeight.NOTED,
            text="; ".join(texts),
        ),
    )


def _state_text(its: SideOutcome) -> str | None:
    return its.telling.log.outcome.state.value.replace("_", " ") if its.telling else None


def _describe_moved_metrics(shown: Sequence[MetricRow], ruling: CaseVerdict) -> str:
    """Say which exact metrics moved, so that a quiet headline does not contradict its rows."""
    if ruling.verdict is Verdict.NOT_LIKE_FOR_LIKE:
        return ""
    moved = [row for row in shown if row.direction is not Direction.SAME and row.key != "steady_step_seconds"]
    return "; ".join(
        f"{METRICS_BY_KEY[row.key].title}: {row.base} → {row.head} {METRICS_BY_KEY[row.key].unit}"
        for row in moved
    )


def _common_family(runs: Sequence[MeasuredRun]) -> DeviceFamily | None:
    """Return the family of all runs; one run that does not name its device may be of any, so None."""
    kinds = {device_family(run.log.environment.device_kind) for run in runs}
    return kinds.pop() if len(kinds) == 1 else None
