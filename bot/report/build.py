"""Build the Report on one head commit from the runs of both sides and what was measured of them.

Two passes: first which cases can be compared at all, since the error rate of a report is shared among them;
then the comparisons.
"""

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from bot.domain.case_key import CaseKey
from bot.domain.commit import same_commit
from bot.domain.run import BaselineChoice, RunOrigin, RunRecord, RunState
from bot.report.assess import failure_novelty, with_acknowledgements
from bot.report.model import (
    Baseline,
    CaseReport,
    CaseRuns,
    CaseSides,
    FailureNovelty,
    InterimLook,
    Novelty,
    ParityRow,
    ParityTransition,
    Report,
    ReportRequest,
    RowState,
)
from bot.report.wording import days_words
from bot.verdict.comparability import ComparisonAxis, OutcomeClass, side_outcome
from bot.verdict.compare import compare, is_comparable
from bot.verdict.judgement import Comparison, MeasuredRun, RunsWanted, Verdict
from bot.verdict.noise import NoisePrior, noise_history, noise_prior
from bot.verdict.submissions import cluster_spans

TIMED_VERDICTS = frozenset(
    {Verdict.SAME, Verdict.FASTER, Verdict.SLOWER, Verdict.CONFIRMING, Verdict.INCONCLUSIVE}
)
"""Verdicts that rest on noisy times. They wait until every run of the round is in: stopping at the first run
that decides would raise the error rate."""


class BuiltReport(Struct, frozen=True, kw_only=True):
    """The report, and the looks at each case's data."""

    report: Report
    looks: Mapping[CaseKey, InterimLook]


def build_report(
    request: ReportRequest, cases: Sequence[CaseRuns], measured: Mapping[str, MeasuredRun]
) -> BuiltReport:
    """Compare every case; runs without an entry in `measured` are ignored."""
    sides = [take_sides(case, measured) for case in cases]
    priors = noise_priors(sides)
    comparable = max(1, sum(bool(s.base and s.head) and is_comparable(s.base, s.head) for s in sides))
    rows = with_acknowledgements(
        [_case_row(one, request, comparable, _prior_of(one, priors)) for one in sides],
        request.acknowledgements,
    )
    report = Report(
        repository=request.pull.repository,
        number=request.pull.row_number,
        title=request.pull.title,
        head_sha=request.pull.head_sha,
        head_branch=request.pull.head_branch,
        base_branch=request.pull.base_branch,
        merge_base=request.merge_base,
        made_at=request.made_at,
        rows=rows,
        parity=parity_rows(sides, request, priors),
        skipped=request.skipped,
        commands=request.commands,
        labels=request.labels,
        approval=request.approval,
        problem=request.problem,
        problem_kind=request.problem_kind,
        launches=request.launches,
        variants=request.variants,
        chip_hours_used=_head_chip_hours(sides),
        practical_percent=request.margins.practical_percent,
        equivalence_percent=request.margins.equivalence_percent,
    )
    looks = {
        one.runs.key: _kept_look(one, row) for one, row in zip(sides, rows, strict=True) if _has_look(one)
    }
    return BuiltReport(report=report, looks=looks)


def _kept_look(sides: CaseSides, row: CaseReport) -> InterimLook:
    """The look, with the runs that it saw where they showed a change that further runs confirm."""
    if sides.runs.unfinished:
        return sides.look
    if row.state is not RowState.CONFIRMING:
        return replace(sides.look, base=(), head=())
    base, head = (tuple(run.id for run in side.runs) for side in (sides.runs.base, sides.runs.head))
    return replace(sides.look, base=base, head=head)


def _has_look(sides: CaseSides) -> bool:
    return bool(sides.runs.last_look or (sides.head and sides.base and not sides.runs.unfinished))


def take_sides(case: CaseRuns, measured: Mapping[str, MeasuredRun]) -> CaseSides:
    """The case with its measurements; runs without measurements are ignored."""
    base = measured_runs(case.base.runs, measured)
    head = measured_runs(case.head.runs, measured)
    return CaseSides(case, base, head, _next_look(case, _runs_digest(case, measured)))


def measured_runs(runs: Sequence[RunRecord], measured: Mapping[str, MeasuredRun]) -> tuple[MeasuredRun, ...]:
    """The runs that were measured, each with its submission."""
    known = [run for run in runs if run.id in measured]
    return tuple(
        replace(
            measured[run.id],
            submission=measured[run.id].submission or name,
            launched=run.origin is RunOrigin.LAUNCHED,
        )
        for run, name in zip(known, run_submissions(known), strict=True)
    )


def run_submissions(runs: Sequence[RunRecord]) -> tuple[str | None, ...]:
    """Name what each run was submitted with: a launch is a submission of its own, and found runs belong
    together where their folders tell about the same start. None: only the log can tell."""
    found = [run.started if run.origin is RunOrigin.FOUND else None for run in runs]
    clusters = cluster_spans([None if start is None else (start, start) for start in found])
    return tuple(
        f"launch {run.id}"
        if run.origin is RunOrigin.LAUNCHED
        else (None if cluster is None else f"start {cluster}")
        for run, cluster in zip(runs, clusters, strict=True)
    )


Priors = Mapping[str, NoisePrior | None]
"""What the cases of a report on one device say together of the noise, by the device's name."""


def noise_priors(sides: Sequence[CaseSides]) -> Priors:
    """Pool the noise of the cases of each device."""
    histories: dict[str, list[Sequence[float]]] = {}
    for one in sides:
        if (device := _device(one)) is not None and one.runs.history:
            histories.setdefault(device, []).append([run.seconds for run in one.runs.history])
    return {device: noise_prior(found) for device, found in histories.items()}


def _prior_of(sides: CaseSides, priors: Priors) -> NoisePrior | None:
    device = _device(sides)
    return None if device is None else priors.get(device)


def _device(sides: CaseSides) -> str | None:
    """The device that the runs of a case name; None where they name none, or several."""
    kinds = {run.log.environment.device_kind for run in (*sides.base, *sides.head)}
    return kinds.pop() if len(kinds) == 1 else None


def _runs_digest(case: CaseRuns, measured: Mapping[str, MeasuredRun]) -> str:
    """A digest of the runs that are compared: a run in another's place makes another look."""
    sides = (case.base.runs, case.head.runs)
    ids = [sorted(run.id for run in side if run.id in measured) for side in sides]
    return hashlib.sha256(repr(ids).encode()).hexdigest()[:16]


def _next_look(case: CaseRuns, runs: str) -> InterimLook:
    """The look that this report is: the last one on the same runs, else the next.

    While runs are under way no verdict on time is given, so no look is spent.
    """
    before = case.last_look
    if before is None:
        return InterimLook(look=1, runs=runs)
    if case.unfinished or before.runs == runs:
        return before
    return InterimLook(look=before.look + 1, runs=runs)


def _case_row(
    sides: CaseSides, request: ReportRequest, comparable: int, prior: NoisePrior | None
) -> CaseReport:
    runs = sides.runs
    comparison = _compared(sides, request, comparable, prior) if sides.head else None
    seen = _seen_before(sides)
    if comparison is not None and seen is not None and comparison.verdict in TIMED_VERDICTS:
        comparison = _compared(seen, request, comparable, prior)
    failure = failure_novelty(sides, request) if comparison else None
    state = _row_state(sides, comparison, request)
    return CaseReport(
        case=runs.case,
        variant=runs.variant,
        state=state,
        comparison=comparison,
        baseline=_reported_baseline(runs.base) if runs.base.runs else None,
        base_runs=tuple(runs.base.runs),
        head_runs=tuple(runs.head.runs),
        stale_runs=tuple(runs.head.stale),
        progress=runs.progress,
        note=_row_note(sides, request),
        failure=failure,
        noise_history=noise_history(runs.history) if comparison and comparison.timing.history else None,
        under_way=_under_way(sides, request) if state is RowState.CONFIRMING else RunsWanted(),
        lost_runs=len(runs.lost) if state is RowState.CONFIRMING else 0,
    )


def _compared(
    sides: CaseSides, request: ReportRequest, comparable: int, prior: NoisePrior | None
) -> Comparison:
    return compare(
        sides.base,
        sides.head,
        history=sides.runs.history,
        prior=prior,
        comparable_cases=comparable,
        margins=request.margins,
        base_commit=sides.runs.base.sha,
        head_commit=sides.runs.head.commit(request.pull.head_sha),
        look=sides.look.look,
        across=ComparisonAxis.COMMITS,
    )


def _seen_before(sides: CaseSides) -> CaseSides | None:
    """The sides as the last look saw them, where it saw a change and the runs that decide have not all ended.

    Until then that look stands: deciding on some of the runs would be another look.
    """
    runs, look = sides.runs, sides.runs.last_look
    if look is None or not runs.unfinished or not (look.base and look.head):
        return None
    base = _runs_of_look(runs.base.runs, sides.base, look.base)
    head = _runs_of_look(runs.head.runs, sides.head, look.head)
    return CaseSides(runs, base, head, look) if base and head else None


def _runs_of_look(
    runs: Sequence[RunRecord], measured: tuple[MeasuredRun, ...], look: Sequence[str]
) -> tuple[MeasuredRun, ...]:
    """What a look saw of a side; nothing where any of its runs is no longer compared."""
    if len(runs) != len(measured) or not set(look) <= {run.id for run in runs}:
        return ()
    return tuple(one for run, one in zip(runs, measured, strict=True) if run.id in look)


def _under_way(sides: CaseSides, request: ReportRequest) -> RunsWanted:
    """The runs of either side that have not ended."""
    unfinished = sides.runs.unfinished
    head = sum(_is_of_head(run, request.pull.head_sha, sides.runs.head.runs) for run in unfinished)
    return RunsWanted(base=len(unfinished) - head, head=head)


def _is_of_head(run: RunRecord, head_sha: str, others: Sequence[RunRecord]) -> bool:
    """Whether a launched run measures the head: its commit, or the same files as the head's other runs."""
    return same_commit(run.sha, head_sha) or (
        run.tree is not None and any(run.tree == other.tree for other in others)
    )


def _row_state(sides: CaseSides, comparison: Comparison | None, request: ReportRequest) -> RowState:
    unfinished, key = sides.runs.unfinished, sides.runs.key
    cancelled = key in request.cancelled_by
    half = bool(unfinished) or (cancelled and sides.runs.stopped > 0)
    if comparison is not None and sides.base and not (half and comparison.verdict in TIMED_VERDICTS):
        return RowState(comparison.verdict)
    if comparison is not None and comparison.verdict is Verdict.CONFIRMING and _seen_before(sides):
        return RowState.CONFIRMING
    if cancelled and (half or not sides.head):
        return RowState.CANCELLED
    return _unjudged_state(sides, request)


def _unjudged_state(sides: CaseSides, request: ReportRequest) -> RowState:
    """The state of a case that has no verdict and was not cancelled."""
    unfinished = sides.runs.unfinished
    if any(run.state is RunState.RUNNING for run in unfinished):
        return RowState.RUNNING
    if unfinished:
        again = sides.runs.progress is not None and sides.runs.progress.retrying
        return RowState.RETRYING if again else RowState.QUEUED
    if sides.head:
        return RowState.NO_BASELINE
    if sides.runs.key in request.waiting:
        return RowState.WAITING_FOR_APPROVAL
    return RowState.LOST if sides.runs.lost else RowState.NO_RUN


def _reported_baseline(choice: BaselineChoice) -> Baseline:
    started = [run.started for run in choice.runs if run.started is not None]
    return Baseline(
        sha=choice.sha,
        why=choice.why,
        distance=choice.distance,
        newest_started=max(started, default=None),
    )


def _row_note(sides: CaseSides, request: ReportRequest) -> str:
    """The note on the runs that a reader needs before the verdict."""
    head = sides.runs.head
    by = request.cancelled_by.get(sides.runs.key)
    notes = [f"cancelled by {by} on this commit"] if by else []
    if head.runs and not head.commit_recorded:
        after = sides.runs.began_after
        notes.append(f"no run of this branch records its commit; the newest that began after {after} is used")
    if not head.runs and head.stale:
        are = (
            "1 run of this branch is"
            if len(head.stale) == 1
            else f"{len(head.stale)} runs of this branch are"
        )
        notes.append(f"{are} older than this commit or of another one, and not used")
    if not head.runs and sides.runs.left_out:
        notes.append(sides.runs.left_out)
    if sides.runs.other_devices:
        notes.append(sides.runs.other_devices)
    if head.runs and not sides.runs.base.runs:
        notes.append(sides.runs.base.why)
    if old := _old_baseline_note(sides, request):
        notes.append(old)
    if launch_note := _launch_note(sides.runs):
        notes.append(launch_note)
    if len(sides.head) < len(head.runs):
        notes.append(f"{len(head.runs) - len(sides.head)} of the head's logs could not be read")
    return "; ".join(notes)


def _old_baseline_note(sides: CaseSides, request: ReportRequest) -> str:
    """`main has had no good run of this case for 9 days`; empty where that is recent enough.

    The time ends at the start of the head's newest run, or now where the head has none.
    """
    if sides.runs.last_good is None:
        return ""
    started = [run.started for run in sides.runs.head.runs if run.started is not None]
    without = max(started, default=request.made_at) - sides.runs.last_good
    if without < request.old_after_seconds:
        return ""
    return f"{request.pull.base_branch} has had no good run of this case for {days_words(without)}"


def _launch_note(runs: CaseRuns) -> str:
    """Why a run was lost, or what its cluster says about one that waits: plain text, not escaped."""
    if runs.progress is None:
        return ""
    progress = runs.progress
    waits = bool(runs.unfinished) and progress.step is None
    lost = progress.words if runs.lost and not runs.unfinished else ""
    cluster = f"the cluster says: {progress.note}" if progress.note and (waits or runs.lost) else ""
    return "; ".join(part for part in (lost, cluster) if part)


def _head_chip_hours(sides: Sequence[CaseSides]) -> float | None:
    spent = [run.measurements.chip_hours for one in sides for run in one.head]
    known = [hours for hours in spent if hours is not None]
    return sum(known) if known else None


class _SideResult(StrEnum):
    """The result of the runs of one side together."""

    PASSES = "passes"
    FAILS = "fails"
    MIXED = "mixed"
    UNKNOWN = "unknown"


_PASSES_BY_RESULT = {_SideResult.PASSES: True, _SideResult.FAILS: False}


class _VariantPair(Struct, frozen=True):
    """One case in both variants."""

    one: CaseSides
    two: CaseSides


def parity_rows(
    sides: Sequence[CaseSides], request: ReportRequest, priors: Priors | None = None
) -> tuple[ParityRow, ...]:
    """The first two variants of the configuration, case by case; empty while the head has no run."""
    if not request.compares_variants or len(request.variants) < 2:
        return ()
    first, second, *_ = request.variants
    by_key = {one.runs.key: one for one in sides}
    pairs = [
        _VariantPair(by_key[one], by_key[two])
        for case in dict.fromkeys(one.runs.case for one in sides)
        if (one := CaseKey(case, first)) in by_key and (two := CaseKey(case, second)) in by_key
    ]
    if not any(pair.one.head or pair.two.head for pair in pairs):
        return ()
    comparable = sum(
        bool(pair.one.head and pair.two.head) and is_comparable(pair.one.head, pair.two.head)
        for pair in pairs
    )
    return tuple(_parity_row(pair, request, max(comparable, 1), priors or {}) for pair in pairs)


def _parity_row(pair: _VariantPair, request: ReportRequest, comparable: int, priors: Priors) -> ParityRow:
    one, two = pair.one, pair.two
    comparison = None
    if one.head and two.head:
        comparison = compare(
            one.head,
            two.head,
            history=one.runs.history,
            prior=_prior_of(one, priors),
            comparable_cases=comparable,
            margins=request.margins,
            base_commit=request.pull.head_sha if one.runs.head.commit_recorded else None,
            head_commit=request.pull.head_sha if two.runs.head.commit_recorded else None,
            across=ComparisonAxis.VARIANTS,
        )
    return ParityRow(
        case=one.runs.case,
        first_variant=one.runs.variant,
        second_variant=two.runs.variant,
        first_passes=_PASSES_BY_RESULT.get(_side_result(one.head)),
        second_passes=_PASSES_BY_RESULT.get(_side_result(two.head)),
        base_first_passes=_PASSES_BY_RESULT.get(_side_result(one.base)),
        base_second_passes=_PASSES_BY_RESULT.get(_side_result(two.base)),
        first_transition=_transition(one, request),
        second_transition=_transition(two, request),
        comparison=comparison,
        first_mixed=_side_result(one.head) is _SideResult.MIXED,
        second_mixed=_side_result(two.head) is _SideResult.MIXED,
        base_first_mixed=_side_result(one.base) is _SideResult.MIXED,
        base_second_mixed=_side_result(two.base) is _SideResult.MIXED,
    )


def _side_result(runs: Sequence[MeasuredRun]) -> _SideResult:
    """The result of a side; unknown where no run is conclusive."""
    found = side_outcome("", runs)
    if found.outcome not in {OutcomeClass.PASSED, OutcomeClass.FAILED}:
        return _SideResult.UNKNOWN
    if found.flaky:
        return _SideResult.MIXED
    return _SideResult.PASSES if found.outcome is OutcomeClass.PASSED else _SideResult.FAILS


def _transition(sides: CaseSides, request: ReportRequest) -> ParityTransition:
    """The change of a case since the baseline, consistent with the novelty of its row's failure."""
    match _side_result(sides.base), _side_result(sides.head):
        case (_SideResult.UNKNOWN, _) | (_, _SideResult.UNKNOWN):
            return ParityTransition.UNKNOWN
        case (_, _SideResult.MIXED) | (_SideResult.MIXED, _SideResult.PASSES):
            return ParityTransition.MIXED
        case (base, _SideResult.PASSES):
            return (
                ParityTransition.STILL_PASSES if base is _SideResult.PASSES else ParityTransition.PASSES_NOW
            )
        case (base, _):
            return _failing_transition(base, failure_novelty(sides, request))


def _failing_transition(base: _SideResult, news: FailureNovelty | None) -> ParityTransition:
    """The change of a case that fails on the head; without a novelty the results alone decide."""
    match news.novelty if news else None:
        case Novelty.SAME_ON_BASE:
            return ParityTransition.FAILS_THE_SAME
        case Novelty.OTHER_ON_BASE:
            return ParityTransition.FAILS_OTHERWISE
        case _:
            return (
                ParityTransition.FAILS_THE_SAME if base is _SideResult.FAILS else ParityTransition.FAILS_NOW
            )
