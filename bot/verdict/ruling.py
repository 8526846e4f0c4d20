"""Which word of the contract a comparison gets, and the reason for it.

In:  how both sides ended, their caveats, the loss and the timing decision. Out: `Ruling`.
Promises: gravest evidence first; nothing is green that was not shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from bot.logs.facts import State
from bot.verdict.comparable import summary
from bot.verdict.judgement import Caveat, Loss, LossVerdict, Timing, TimingVerdict, Verdict, Weight
from bot.verdict.outcome import Fate, Side, damage, describe, killed_without_a_word

GREEN = frozenset({Verdict.SAME, Verdict.FASTER})
"""Verdicts that tell a person there is nothing to do: each needs the loss curve's word too."""

LOSS_HOLDS = frozenset({LossVerdict.IDENTICAL, LossVerdict.WITHIN_TOLERANCE})

LOSS_CHANGED = frozenset({LossVerdict.DIVERGED, LossVerdict.DRIFTED, LossVerdict.DIFFERENT_START})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A verdict and its reason, one clause; `untimed` where a side has no run whose times may be compared."""

    verdict: Verdict
    reason: str = ""
    untimed: bool = False


def rule(base: Side, head: Side, differences: Sequence[Caveat], loss: Loss, timing: Timing) -> Ruling:
    """Take the first ruling that applies, gravest evidence first."""
    rulings = (
        _of_outcomes(base, head),
        _of_weight(differences, Weight.NOT_COMPARABLE, Verdict.NOT_COMPARABLE),
        _of_weight(differences, Weight.NOT_LIKE_FOR_LIKE, Verdict.NOT_LIKE_FOR_LIKE),
        _of_loss(loss),
    )
    first = next((ruling for ruling in rulings if ruling is not None), None)
    return first or _of_timing(head, loss, timing)


def _of_outcomes(base: Side, head: Side) -> Ruling | None:
    """Rule on how the runs ended, None where both sides have a run that passed.

    A failure that some of base's runs have too is not new; a case of which a run of head still fails is not
    fixed.
    """
    if head.goes_bad and not base.goes_bad and base.fate is Fate.PASSED:
        return Ruling(verdict=Verdict.DIVERGED, reason=f"head's loss became NaN or infinite: {said(head)}")
    unusable = [it for it in (base, head) if it.fate not in {Fate.PASSED, Fate.FAILED}]
    if unusable:
        return Ruling(
            verdict=Verdict.NOT_COMPARABLE,
            reason="; ".join(f"{said(it)}; {_way_out(it)}" for it in unusable),
            untimed=True,
        )
    match (base.fate, head.fate):
        case (Fate.PASSED, Fate.FAILED):
            known = head.fingerprint in base.fingerprints
            verdict = Verdict.FAILS_ON_BOTH if known else Verdict.NEW_FAILURE
            reason = f"some runs of base fail the same: {said(head)}" if known else said(head)
            return Ruling(verdict=verdict, reason=reason, untimed=True)
        case (Fate.FAILED, Fate.PASSED):
            verdict = Verdict.INCONCLUSIVE if head.flaky else Verdict.FIXED
            reason = f"some runs of head passed, but {said(head)}; {said(base)}" if head.flaky else said(base)
            return Ruling(verdict=verdict, reason=reason, untimed=True)
        case (Fate.FAILED, Fate.FAILED):
            return Ruling(verdict=Verdict.FAILS_ON_BOTH, reason=_both(base, head), untimed=True)
        case _:
            return None


def _of_weight(differences: Sequence[Caveat], weight: Weight, verdict: Verdict) -> Ruling | None:
    grave = [caveat for caveat in differences if caveat.weight is weight]
    untimed = weight is Weight.NOT_COMPARABLE
    return Ruling(verdict=verdict, reason=summary(grave), untimed=untimed) if grave else None


def _of_loss(loss: Loss) -> Ruling | None:
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
    return Ruling(verdict=Verdict.DIVERGED, reason=text)


def _of_timing(head: Side, loss: Loss, timing: Timing) -> Ruling:
    """Rule on the clock, and refuse green where another piece of evidence is missing."""
    verdict = _word(timing.verdict)
    if verdict not in GREEN:
        return Ruling(verdict=verdict, reason=timing.reason)
    if head.flaky:
        return Ruling(verdict=Verdict.INCONCLUSIVE, reason=f"some runs of head passed, but {said(head)}")
    if loss.verdict not in LOSS_HOLDS:
        word = "the same" if verdict is Verdict.SAME else verdict
        text = f"the step time is {word}, but the loss curves could not be compared: {loss.reason}"
        return Ruling(verdict=Verdict.INCONCLUSIVE, reason=text)
    return Ruling(verdict=verdict, reason=timing.reason)


def _word(timing: TimingVerdict) -> Verdict:
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


def said(its: Side) -> str:
    """Say in one clause how the runs of a side ended."""
    failed = sum(run.log.outcome.state.value != "succeeded" for run in its.runs)
    many = f" ({failed} of {len(its.runs)} runs)" if len(its.runs) > 1 else ""
    return f"{its.name} {describe(its.telling)}{many}"


def _way_out(its: Side) -> str:
    if its.telling is not None and killed_without_a_word(its.telling.log):
        return "its log does not say why: rerun it, and if it happens again compare host memory"
    if its.telling is not None and its.telling.log.outcome.state is State.NOT_A_TRAINING_LOG:
        return "name the file into which the trainer printed its step lines"
    if its.telling is not None and damage(its.telling.log):
        return "copy the file again, or rerun it"
    if its.fate is Fate.CLUSTER_FAILED:
        return "the cluster failed it: rerun"
    return "wait for it or run it" if its.fate is Fate.ABSENT else "rerun it to its last step"


def _both(base: Side, head: Side) -> str:
    if head.fingerprint in base.fingerprints:
        return f"the same failure on both sides: {said(head)}"
    return f"{said(base)}; {said(head)}"
