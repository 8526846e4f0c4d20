"""Put together everything said about one head commit.

In:  the pull request, and for each case and variant the runs of both sides and what was measured of them.
Out: a `Report`, and how often each case's data has now been looked at. Pure.

Two passes: first which cases can be compared at all, since the error rate of a report is shared among
them; then the comparisons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.report.acknowledged import acknowledged
from bot.report.kinship import failure_news
from bot.report.material import CaseRuns, Looked, Request, Sides, take_sides
from bot.report.model import Baseline, CaseReport, Report, RowState
from bot.report.parity import parity
from bot.report.past import old_baseline
from bot.report.progress import of_launched
from bot.runs.baseline import BaselineChoice
from bot.runs.records import RunState
from bot.verdict.compare import compare, is_comparable
from bot.verdict.history import past
from bot.verdict.judgement import Comparison, MeasuredRun, Verdict
from bot.verdict.provenance import Across

BY_TIME = frozenset({Verdict.SAME, Verdict.FASTER, Verdict.SLOWER, Verdict.INCONCLUSIVE})
"""Verdicts that rest on noisy times: they wait until every run of the round is in, since stopping at the
first run that decides would raise the error rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The report, and the looks it cost, by `case/variant`."""

    report: Report
    looks: Mapping[str, Looked]


def build_report(request: Request, cases: Sequence[CaseRuns], measured: Mapping[str, MeasuredRun]) -> Built:
    """Compare every case and say it; runs without an entry in `measured` count as not there."""
    sides = [take_sides(case, measured) for case in cases]
    comparable = max(1, sum(bool(s.base and s.head) and is_comparable(s.base, s.head) for s in sides))
    rows = acknowledged([_row(one, request, comparable) for one in sides], request.acknowledgements)
    report = Report(
        repository=request.pull.repository,
        number=request.pull.number,
        title=request.pull.title,
        head_sha=request.pull.head_sha,
        head_branch=request.pull.head_branch,
        base_branch=request.pull.base_branch,
        merge_base=request.merge_base,
        made_at=request.made_at,
        rows=rows,
        parity=parity(sides, request),
        skipped=request.skipped,
        commands=request.commands,
        labels=request.labels,
        approval=request.approval,
        problem=request.problem,
        launches=request.launches,
        variants=request.variants,
        chip_hours_used=_chip_hours(sides),
        practical_percent=request.margins.practical_percent,
        equivalence_percent=request.margins.equivalence_percent,
    )
    return Built(report=report, looks={one.runs.key: one.looked for one in sides if _was_looked_at(one)})


def _was_looked_at(sides: Sides) -> bool:
    return bool(sides.runs.looked or (sides.head and sides.base and not sides.runs.unfinished))


def _row(sides: Sides, request: Request, comparable: int) -> CaseReport:
    runs = sides.runs
    comparison = None
    if sides.head:
        comparison = compare(
            sides.base,
            sides.head,
            history=[run.seconds for run in runs.history],
            comparable_cases=comparable,
            margins=request.margins,
            base_commit=runs.base.sha,
            head_commit=runs.head.commit(request.pull.head_sha),
            look=sides.looked.look,
            across=Across.COMMITS,
        )
    failure = failure_news(sides, request) if comparison else None
    return CaseReport(
        case=runs.case,
        variant=runs.variant,
        state=_state(sides, comparison, request),
        comparison=comparison,
        baseline=_baseline(runs.base) if runs.base.runs else None,
        base_runs=tuple(runs.base.runs),
        head_runs=tuple(runs.head.runs),
        stale_runs=tuple(runs.head.stale),
        progress=runs.progress,
        note=_note(sides, request),
        failure=failure,
        past=past(runs.history) if comparison and comparison.timing.history else None,
    )


def _state(sides: Sides, comparison: Comparison | None, request: Request) -> RowState:
    unfinished, key = sides.runs.unfinished, sides.runs.key
    cancelled = key in request.withdrawn
    half = bool(unfinished) or (cancelled and sides.runs.stopped > 0)
    if comparison is not None and sides.base and not (half and comparison.verdict in BY_TIME):
        return RowState(comparison.verdict)
    if cancelled and (half or not sides.head):
        return RowState.CANCELLED
    return _unjudged(sides, request)


def _unjudged(sides: Sides, request: Request) -> RowState:
    """The state of a case that has no verdict, and that nobody cancelled."""
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


def _baseline(choice: BaselineChoice) -> Baseline:
    started = [run.started for run in choice.runs if run.started is not None]
    return Baseline(
        sha=choice.sha,
        why=choice.why,
        distance=choice.distance,
        newest_started=max(started, default=None),
    )


def _note(sides: Sides, request: Request) -> str:
    """What a person must know of the runs themselves before reading the verdict."""
    head = sides.runs.head
    by = request.withdrawn.get(sides.runs.key)
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
    if old := old_baseline(sides, request):
        notes.append(old)
    if told := of_launched(sides.runs):
        notes.append(told)
    if len(sides.head) < len(head.runs):
        notes.append(f"{len(head.runs) - len(sides.head)} of the head's logs could not be read")
    return "; ".join(notes)


def _chip_hours(sides: Sequence[Sides]) -> float | None:
    spent = [run.measurements.chip_hours for one in sides for run in one.head]
    known = [hours for hours in spent if hours is not None]
    return sum(known) if known else None
