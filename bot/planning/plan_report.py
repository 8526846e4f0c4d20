"""What a report says about the plan: price, waiting and reused runs, and why cases are skipped. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from bot.config import Suite
from bot.domain.case_key import CaseKey, combine_keys
from bot.domain.price import Price, exhausted_budget
from bot.domain.pull_request import PullRequest, Subject
from bot.domain.run import RunRecord, RunState
from bot.domain.run_request import RunRequest
from bot.planning.plan import PlannedRun, measures_commit
from bot.planning.price import RunCost, total_price
from bot.planning.run_plan import OVER_STATES, PlanInput, RunPlan, RunTargets
from bot.report.model import (
    CaseReport,
    Plan,
    PlannedRuns,
    PossibleRuns,
    Report,
    RowState,
    SkippedCase,
    WaitingCases,
)
from bot.verdict.timing_decision import most_wanted

Bills = Mapping[str, RunCost]


def price_plan(plan_input: PlanInput, run_plan: RunPlan, rows: Sequence[CaseReport], bills: Bills) -> Plan:
    """What will start or is under way, its price, what waits, and what is reused."""
    ahead = [one for one in run_plan.planned if not _is_over(one.record.id, bills)]
    priced = [plan_input.prices.get(one.record.case_key) for one in ahead]
    hours = [saved for row in rows for saved in _reused(row, plan_input, run_plan, bills)]
    known = [saved for saved in hours if saved is not None]
    return Plan(
        runs=_by_case(ahead, plan_input),
        price=total_price(price for price in priced if price is not None),
        unpriced=sum(price is None for price in priced),
        confirming=_confirming(ahead, plan_input, run_plan, rows),
        reused=len(hours),
        saved_chip_hours=sum(known) if known else None,
        waiting=_waiting(ahead, bills),
    )


def _confirming(
    ahead: Sequence[PlannedRun], plan_input: PlanInput, run_plan: RunPlan, rows: Sequence[CaseReport]
) -> PossibleRuns | None:
    """What may follow the runs ahead to confirm what they show, at most; None where nothing may."""
    states = {row.key: row.state for row in rows}
    possible: list[tuple[CaseKey, int]] = []
    for key in dict.fromkeys(one.record.case_key for one in ahead):
        targets = run_plan.targets.get(key, RunTargets())
        wanted = most_wanted(targets.base, targets.head)
        if states.get(key) is not RowState.CONFIRMING and wanted.any:
            possible.append((key, wanted.base + wanted.head))
    if not possible:
        return None
    priced = [plan_input.prices.get(key) for key, number in possible for _ in range(number)]
    return PossibleRuns(
        cases=len(possible),
        runs=len(priced),
        price=total_price(price for price in priced if price is not None),
        unpriced=sum(price is None for price in priced),
    )


def _by_case(ahead: Sequence[PlannedRun], plan_input: PlanInput) -> tuple[PlannedRuns, ...]:
    grouped: dict[CaseKey, list[PlannedRun]] = {}
    for one in ahead:
        grouped.setdefault(one.record.case_key, []).append(one)
    return tuple(_planned_runs(key, runs, plan_input) for key, runs in grouped.items())


def _planned_runs(key: CaseKey, runs: Sequence[PlannedRun], plan_input: PlanInput) -> PlannedRuns:
    price = plan_input.prices.get(key)
    of_head = sum(measures_commit(one.record, plan_input.head) for one in runs)
    return PlannedRuns(
        case=key.case,
        variant=key.variant,
        base=len(runs) - of_head,
        head=of_head,
        price=total_price([price] * len(runs)) if price else None,
    )


def _waiting(ahead: Sequence[PlannedRun], bills: Bills) -> tuple[WaitingCases, ...]:
    """Why runs wait, each reason with its cases."""
    reasons: dict[str, list[CaseKey]] = {}
    for one in ahead:
        bill = bills.get(one.record.id)
        if bill is not None and bill.state == RunState.PLANNED and bill.waiting:
            reasons.setdefault(bill.waiting, []).append(one.record.case_key)
    return tuple(
        WaitingCases(keys=tuple(dict.fromkeys(keys)), why=why, budget=exhausted_budget(why))
        for why, keys in reasons.items()
    )


def _reused(row: CaseReport, plan_input: PlanInput, run_plan: RunPlan, bills: Bills) -> list[float | None]:
    """The chip-hours of the runs of both sides that this head uses and did not pay for.

    Runs beyond the number that a side needs saved nothing: nobody would have started them.
    """
    targets = run_plan.targets.get(row.key, RunTargets())
    sides = (
        (row.base_runs, plan_input.base, targets.base),
        (row.head_runs, plan_input.head, targets.head),
    )
    free = []
    for runs, commit, target in sides:
        free += [run for run in runs[:target] if not _is_paid_here(run, plan_input, commit.sha, bills)]
    price = plan_input.prices.get(row.key)
    return [_chip_hours_of(run, bills, price) for run in free]


def _is_paid_here(run: RunRecord, plan_input: PlanInput, sha: str, bills: Bills) -> bool:
    """Whether the pull request started the run, for the commit that it is used for now."""
    bill = bills.get(run.id)
    return bill is not None and bill.number == plan_input.pull.row_number and run.sha == sha


def _chip_hours_of(run: RunRecord, bills: Bills, price: Price | None) -> float | None:
    bill = bills.get(run.id)
    if bill is not None and bill.took is not None:
        return bill.took
    return price.usual if price else None


def _is_over(run: str, bills: Bills) -> bool:
    """Whether a run is over; a cancelled one starts again."""
    return run in bills and RunState(bills[run].state) in OVER_STATES - {RunState.CANCELLED}


NO_AUTOMATIC_RUNS = "pull requests start no runs by themselves here, and nobody asked"

IS_DRAFT = "this pull request is a draft, and nobody asked"

OUTSIDE_TRIGGER_PATHS = "the change touches none of triggers.paths, and nobody asked"

OUTSIDE_CASE_PATHS = "the change touches none of its paths, and nobody asked"

NOT_REQUESTED = "nobody asked"


def skip_reasons(
    run_requests: Iterable[RunRequest], pull: Subject, suite: Suite, changed_paths: Sequence[str]
) -> Mapping[CaseKey, str]:
    """By key, why it is not measured; requested cases are not in it."""
    asked = {key for request in run_requests for key in request.keys}
    keys = combine_keys(suite.case_names, suite.variant_names)
    return {key: _skip_reason(key.case, pull, suite, changed_paths) for key in keys if key not in asked}


def without_skipped(report: Report, reasons: Mapping[CaseKey, str]) -> Report:
    """The report with the empty rows of skipped cases moved to `skipped`; rows with runs or a state of their
    own stay."""
    empty = [row for row in report.rows if row.state is RowState.NO_RUN and row.key in reasons]
    if not empty:
        return report
    skipped = (SkippedCase(case=row.case, variant=row.variant, why=reasons[row.key]) for row in empty)
    rows = tuple(row for row in report.rows if row not in empty)
    cases = {row.case for row in rows}
    return replace(
        report,
        rows=rows,
        skipped=(*report.skipped, *skipped),
        parity=tuple(row for row in report.parity if row.case in cases),
    )


def _skip_reason(case: str, pull: Subject, suite: Suite, changed_paths: Sequence[str]) -> str:
    triggers = suite.triggers
    if isinstance(pull, PullRequest):
        if not triggers.pull_request:
            return NO_AUTOMATIC_RUNS
        if pull.draft and not triggers.drafts:
            return IS_DRAFT
    if not triggers.touched_by(changed_paths):
        return OUTSIDE_TRIGGER_PATHS
    return NOT_REQUESTED if suite.cases[case].touched_by(changed_paths) else OUTSIDE_CASE_PATHS
