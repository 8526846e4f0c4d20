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
    deduplicate_runs,
    describe_outcome,
    file_damage,
    find_caveats,
    find_copies,
    killed_without_error,
    side_outcome,
    summarize_caveats,
)
from bot.verdict.explanation import explain
from bot.verdict.hardware import DeviceFamily, device_family
from bot.verdict.judgement import (
    Caveat,
    CaveatKind,
    CaveatWeight,
    Comparison,
    Direction,
    LossDecision,
    LossRepeat,
    LossTrace,
    LossVerdict,
    Margins,
    MeasuredRun,
    MetricRow,
    RunsWanted,
    TimingDecision,
    TimingVerdict,
    Verdict,
)
from bot.verdict.loss.decision import compare_loss
from bot.verdict.metrics import METRICS_BY_KEY, Judging, metric_rows
from bot.verdict.noise import NoisePrior, PastRun, past_runs
from bot.verdict.submissions import run_timings
from bot.verdict.timing_decision import SEEN, decide_timing

GREEN_VERDICTS = frozenset({Verdict.SAME, Verdict.FASTER})
"""Verdicts that ask nothing of a person: each needs an unchanged loss curve too."""

LOSS_UNCHANGED = frozenset({LossVerdict.IDENTICAL, LossVerdict.WITHIN_TOLERANCE})

LOSS_CHANGED = frozenset({LossVerdict.DIVERGED, LossVerdict.DRIFTED, LossVerdict.DIFFERENT_START})


class CaseVerdict(Struct, frozen=True, kw_only=True):
    """A verdict and its reason, one clause; `untimed` where a side has no run whose times may be compared."""

    verdict: Verdict
    reason: str = ""
    untimed: bool = False


def compare(
    base: Sequence[MeasuredRun],
    head: Sequence[MeasuredRun],
    *,
    history: Sequence[PastRun | float] = (),
    comparable_cases: int = 1,
    margins: Margins = Margins(),
    base_commit: str | None = None,
    head_commit: str | None = None,
    look: int = 1,
    across: ComparisonAxis = ComparisonAxis.UNSTATED,
    prior: NoisePrior | None = None,
    explained: bool = True,
) -> Comparison:
    """Compare the runs of a case on two commits, or in two variants of one.

    `history` holds main runs of this case, oldest first, a number being a run's steady seconds;
    `comparable_cases` counts the cases of the report for which `is_comparable` holds; `look` counts the
    judgements of this head, from 1; `prior` is what other cases of the device say of the noise.
    Without `explained`, a list of many cases takes half the time.
    """
    copies = find_copies(base, head)
    base, head = deduplicate_runs(base)[0], deduplicate_runs(head)[0]
    base_side, head_side = side_outcome("base", base), side_outcome("head", head)
    past = past_runs(history)
    working = decide_timing(
        run_timings(base_side.usable),
        run_timings(head_side.usable),
        family=_common_family((*base_side.usable, *head_side.usable)),
        history=past,
        comparable_cases=comparable_cases,
        margins=margins,
        look=look,
        prior=prior,
    )
    provenance = check_provenance(base, head, base_commit, head_commit, across=across)
    provenance = replace(provenance, caveats=(*copies, *provenance.caveats))
    losses = [run.losses for run in past if run.losses is not None]
    found = _judge_sides(base_side, head_side, working.decision, provenance, losses)
    if not explained:
        return found
    return replace(found, explanation=explain(base_side, head_side, past, working, found))


def is_comparable(base: Sequence[MeasuredRun], head: Sequence[MeasuredRun]) -> bool:
    """Tell whether a timing verdict can be given, so that the case counts among those of its report."""
    sides = (side_outcome("base", base), side_outcome("head", head))
    timed = all(any(run.measurements.steady.seconds for run in side.usable) for side in sides)
    passed = all(side.outcome is OutcomeClass.PASSED for side in sides)
    return timed and passed and all(it.weight is CaveatWeight.NOTED for it in _usable_caveats(*sides))


def _common_family(runs: Sequence[MeasuredRun]) -> DeviceFamily | None:
    """Return the family of all runs; one run that does not name its device may be of any, so None."""
    families = {device_family(run.log.environment.device_kind) for run in runs}
    return families.pop() if len(families) == 1 else None


def _judge_sides(
    base: SideOutcome,
    head: SideOutcome,
    timing: TimingDecision,
    provenance: Provenance,
    main_losses: Sequence[LossTrace],
) -> Comparison:
    """Weigh outcomes, comparability, loss and timing against each other."""
    caveats = (*_outcome_caveats(base, head), *_usable_caveats(base, head), *provenance.caveats)
    loss = compare_loss([run.log for run in base.usable], [run.log for run in head.usable], main_losses)
    timing = _never_flag_one_commit(timing, provenance)
    judged = case_verdict(base, head, caveats, loss, timing)
    timing = _withhold_timing(timing, judged)
    rows = metric_rows(base.usable, head.usable, None if judged.untimed else timing)
    return Comparison(
        verdict=judged.verdict,
        timing=timing,
        loss=loss,
        caveats=caveats,
        rows=rows,
        base=tuple(base.runs),
        head=tuple(head.runs),
        reason="; ".join(part for part in (judged.reason, _describe_moved_metrics(rows, judged)) if part),
    )


def _outcome_caveats(base: SideOutcome, head: SideOutcome) -> tuple[Caveat, ...]:
    """Note every side whose runs did not all pass."""
    odd = [side for side in (base, head) if side.flaky or side.outcome is not OutcomeClass.PASSED]
    if not odd:
        return ()
    return (
        Caveat(
            kind=CaveatKind.OUTCOME,
            field="state",
            base=_state_text(base),
            head=_state_text(head),
            weight=CaveatWeight.NOTED,
            text="; ".join(map(describe_side, odd)),
        ),
    )


def _state_text(side: SideOutcome) -> str | None:
    run = side.decisive_run
    return run.log.outcome.state.value.replace("_", " ") if run else None


def _usable_caveats(base: SideOutcome, head: SideOutcome) -> tuple[Caveat, ...]:
    return find_caveats(base.usable, head.usable) if base.usable and head.usable else ()


def _never_flag_one_commit(timing: TimingDecision, provenance: Provenance) -> TimingDecision:
    """Two sides of one commit are never a regression: what they differ by is noise, or not the commit's."""
    if timing.verdict not in SEEN or not provenance.same_claim:
        return timing
    text = (
        "both sides are the same commit, so this is noise or the machines, not the change"
        if provenance.same_code
        else "both sides claim the same commit, so it is not known which change this is: see the provenance"
    )
    quiet = replace(timing, confirms=None, confirm_runs=RunsWanted(), more_runs=None)
    return replace(quiet, verdict=TimingVerdict.INCONCLUSIVE, reason=text)


def _withhold_timing(timing: TimingDecision, judged: CaseVerdict) -> TimingDecision:
    """Withhold a timing verdict that the case's verdict does not allow; where there is no delta, its figures
    too."""
    if judged.untimed:
        bare = replace(timing, change=None, threshold=None, mde=None, se=None, loop=None)
        return _withheld(bare, judged.reason)
    if judged.verdict is Verdict.NOT_LIKE_FOR_LIKE:
        return _withheld(timing, judged.reason)
    return timing


def _withheld(timing: TimingDecision, reason: str) -> TimingDecision:
    asks_nothing = replace(timing, more_runs=None, confirms=None, confirm_runs=RunsWanted())
    return replace(asks_nothing, verdict=TimingVerdict.WITHHELD, reason=reason)


def _describe_moved_metrics(rows: Sequence[MetricRow], judged: CaseVerdict) -> str:
    """Say which exact metrics moved, so that a quiet headline does not contradict its rows."""
    if judged.verdict is Verdict.NOT_LIKE_FOR_LIKE:
        return ""
    moved = [
        (METRICS_BY_KEY[row.key], row)
        for row in rows
        if row.direction is not Direction.SAME and METRICS_BY_KEY[row.key].judging is Judging.EXACT
    ]
    return "; ".join(f"{metric.title}: {row.base} → {row.head} {metric.unit}" for metric, row in moved)


def case_verdict(
    base: SideOutcome,
    head: SideOutcome,
    caveats: Sequence[Caveat],
    loss: LossDecision,
    timing: TimingDecision,
) -> CaseVerdict:
    """Return the first verdict that applies, gravest evidence first."""
    return (
        _outcome_verdict(base, head)
        or _caveat_verdict(caveats, CaveatWeight.NOT_COMPARABLE, Verdict.NOT_COMPARABLE)
        or _caveat_verdict(caveats, CaveatWeight.NOT_LIKE_FOR_LIKE, Verdict.NOT_LIKE_FOR_LIKE)
        or _loss_verdict(loss)
        or _timing_verdict(head, loss, timing)
    )


def _outcome_verdict(base: SideOutcome, head: SideOutcome) -> CaseVerdict | None:
    """Judge how the runs ended; None where both sides have a run that passed.

    A failure that some of base's runs have too is not new; a case of which a run of head still fails is not
    fixed.
    """
    if head.nonfinite_loss and not base.nonfinite_loss and base.outcome is OutcomeClass.PASSED:
        return CaseVerdict(
            verdict=Verdict.DIVERGED, reason=f"head's loss became NaN or infinite: {describe_side(head)}"
        )
    unusable = [
        side for side in (base, head) if side.outcome not in {OutcomeClass.PASSED, OutcomeClass.FAILED}
    ]
    if unusable:
        return CaseVerdict(
            verdict=Verdict.NOT_COMPARABLE,
            reason="; ".join(f"{describe_side(side)}; {_way_out(side)}" for side in unusable),
            untimed=True,
        )
    match (base.outcome, head.outcome):
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
            known = head.fingerprint in base.fingerprints
            reason = (
                f"the same failure on both sides: {describe_side(head)}"
                if known
                else f"{describe_side(base)}; {describe_side(head)}"
            )
            return CaseVerdict(verdict=Verdict.FAILS_ON_BOTH, reason=reason, untimed=True)
        case _:
            return None


def _caveat_verdict(caveats: Sequence[Caveat], weight: CaveatWeight, verdict: Verdict) -> CaseVerdict | None:
    grave = [caveat for caveat in caveats if caveat.weight is weight]
    untimed = weight is CaveatWeight.NOT_COMPARABLE
    return CaseVerdict(verdict=verdict, reason=summarize_caveats(grave), untimed=untimed) if grave else None


def _loss_verdict(loss: LossDecision) -> CaseVerdict | None:
    """Judge the loss; no other verdict says that the numbers changed, so all changes are `diverged`."""
    if loss.verdict not in LOSS_CHANGED:
        return None
    size = "" if loss.max_relative is None else f" (by up to {100 * loss.max_relative:.2g} %)"
    cause = "equal runs of it differ" if loss.repeat is LossRepeat.VARIES else "rounding explains"
    match loss.verdict:
        case LossVerdict.DIFFERENT_START:
            text = f"the loss starts differently{size}: initialisation, data, seed or number format changed"
        case LossVerdict.DRIFTED if loss.shift is not None:
            way = "lower" if loss.shift < 0 else "higher"
            text = (
                f"the loss of the last {loss.shift_steps} steps is {100 * abs(loss.shift):.2g} % {way} on "
                f"average, more than {cause}"
            )
        case LossVerdict.DRIFTED:
            text = f"the loss drifts from step {loss.first_outside_step} on{size}, more than {cause}"
        case _:
            text = f"the loss diverged from step {loss.first_outside_step} on{size}"
    return CaseVerdict(verdict=Verdict.DIVERGED, reason=text)


def _timing_verdict(head: SideOutcome, loss: LossDecision, timing: TimingDecision) -> CaseVerdict:
    """Judge the step time, and refuse green where other evidence is missing."""
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
        case TimingVerdict.CONFIRMING:
            return Verdict.CONFIRMING
        case TimingVerdict.INCONCLUSIVE | TimingVerdict.WITHHELD:
            return Verdict.INCONCLUSIVE
        case _:
            assert_never(timing)


def describe_side(side: SideOutcome) -> str:
    """Say in one clause how the runs of a side ended."""
    failed = sum(run.log.outcome.state is not OutcomeState.SUCCEEDED for run in side.runs)
    many = f" ({failed} of {len(side.runs)} runs)" if len(side.runs) > 1 else ""
    return f"{side.name} {describe_outcome(side.decisive_run)}{many}"


def _way_out(side: SideOutcome) -> str:
    """Say what to do about a side without a usable run."""
    log = side.decisive_run.log if side.decisive_run else None
    if log is not None and killed_without_error(log):
        return "its log does not say why: rerun it, and if it happens again compare host memory"
    if log is not None and log.outcome.state is OutcomeState.NOT_A_TRAINING_LOG:
        return "name the file into which the trainer printed its step lines"
    if log is not None and log.unread_from is not None:
        return "print less into it, and rerun it"
    if log is not None and file_damage(log):
        return "copy the file again, or rerun it"
    if side.outcome is OutcomeClass.CLUSTER_FAILED:
        return "the cluster failed it: rerun"
    return "wait for it or run it" if side.outcome is OutcomeClass.ABSENT else "rerun it to its last step"
