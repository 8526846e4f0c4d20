"""Which runs a pull request should have, and which of those exist already. Pure.

Level-triggered: the plan names every run that should exist, in the order to start them. Repeating it plans
nothing twice, and what it no longer names is cancelled.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from bot.config import Suite
from bot.domain.case_key import CaseKey
from bot.domain.head import HeadFacts
from bot.domain.price import Price
from bot.domain.pull_request import Subject
from bot.domain.run import RunRecord, RunState
from bot.domain.run_request import RunRequest
from bot.planning.jobs import Device, JobContext, make_planned_run, run_key
from bot.planning.plan import (
    MAX_REPEATS,
    NOISY_DEVICE_RUNS,
    QUIET_DEVICE_RUNS,
    CaseNeed,
    ComparisonSide,
    PlannedRun,
    RequiredRun,
    SideCommit,
    count_found,
    measures_commit,
    plan_runs,
    repeats_needed,
)
from bot.report.model import CaseReport, RowState

FAILING_STATES = {RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH}

DECIDED_STATES = {*FAILING_STATES, RowState.DIVERGED, RowState.NOT_LIKE_FOR_LIKE, RowState.NOT_COMPARABLE}

BUSY_STATES = {RowState.QUEUED, RowState.RUNNING, RowState.RETRYING}

OVER_STATES = frozenset({RunState.ENDED, RunState.LOST, RunState.CANCELLED})

KEPT_STATES = OVER_STATES - {RunState.CANCELLED}

ALL_STATES = frozenset(RunState)


class PlanInput(Struct, frozen=True, kw_only=True):
    """What the runs of a pull request or branch are planned from.

    `started` are the launched runs that it wants, `lost` the keys of runs of the same files that the cluster
    lost under others, `prices` what one run costs.
    """

    pull: Subject
    facts: HeadFacts
    suite: Suite
    device: Device
    run_requests: tuple[RunRequest, ...]
    started: tuple[RunRecord, ...] = ()
    lost: frozenset[str] = frozenset()
    prices: Mapping[CaseKey, Price | None] = {}

    @property
    def base(self) -> SideCommit:
        """The merge base."""
        merge_base = self.facts.merge_base
        return SideCommit(side=ComparisonSide.BASELINE, sha=merge_base.sha, tree=merge_base.tree)

    @property
    def head(self) -> SideCommit:
        """The head."""
        return SideCommit(side=ComparisonSide.CANDIDATE, sha=self.pull.head_sha, tree=self.facts.tree)


class RunTargets(Struct, frozen=True, kw_only=True):
    """How many runs of a case each side should have, existing ones included."""

    base: int = 0
    head: int = 0


class RunPlan(Struct, frozen=True, kw_only=True):
    """Every run to have, and how many each side of a case should have."""

    planned: tuple[PlannedRun, ...] = ()
    targets: Mapping[CaseKey, RunTargets] = {}


def plan_pull_request(plan_input: PlanInput, rows: Sequence[CaseReport]) -> RunPlan:
    """Every run that should exist for this head."""
    rows_to_run = [row for row in rows if plan_input.suite.cases[row.case].command]
    context = _job_context(plan_input)
    targets = {row.key: _targets(row, plan_input, context) for row in rows_to_run}
    needs = [_need(row, plan_input, context, targets[row.key]) for row in rows_to_run]
    required = plan_runs(base=plan_input.base, head=plan_input.head, needs=needs)
    runs = (make_planned_run(one, context) for one in _skip_lost_runs(required, plan_input, context))
    return RunPlan(planned=tuple(one for one in runs if _stays_planned(one, plan_input)), targets=targets)


def _stays_planned(one: PlannedRun, plan_input: PlanInput) -> bool:
    """Whether a run is requested, or over anyway: what nobody requests any more is cancelled, not
    forgotten."""
    if _is_requested(one.record.case_key, plan_input):
        return True
    return any(run.key == one.record.key and run.state in KEPT_STATES for run in plan_input.started)


def _job_context(plan_input: PlanInput) -> JobContext:
    pull = plan_input.pull
    people: dict[CaseKey, str] = {}
    for request in sorted(plan_input.run_requests, key=lambda request: (request.order, request.by)):
        for key in request.keys:
            people[key] = people.get(key) or request.by
    return JobContext(
        repository=pull.repository,
        suite=plan_input.suite,
        device=plan_input.device,
        base_branch=pull.base_branch,
        head_branch=pull.head_branch,
        session=f"{pull.row_number}-{plan_input.base.code}-{plan_input.head.code}",
        prices=plan_input.prices,
        charged_to={key: by or pull.author.login for key, by in people.items()},
    )


def _need(row: CaseReport, plan_input: PlanInput, context: JobContext, targets: RunTargets) -> CaseNeed:
    """The runs to name for either side: the missing ones, or our own if none are missing."""
    numbers = []
    states = OVER_STATES if row.state in DECIDED_STATES else ALL_STATES
    for commit, runs, target in (
        (plan_input.base, row.base_runs, targets.base),
        (plan_input.head, row.head_runs, targets.head),
    ):
        launched = len(_launched_runs(row, plan_input, context, commit, states))
        if plan_input.device.keeps_pace and len(runs) >= target:
            numbers.append(launched)
        else:
            fresh = _fresh_keys(row, plan_input, context, commit)
            there = count_found(runs, commit) + sum(run.key in fresh for run in runs)
            numbers.append(max(launched, target - there))
    keeps_pace = plan_input.device.keeps_pace
    return CaseNeed(
        case=row.case,
        variant=row.variant,
        base=numbers[0],
        head=numbers[1],
        fresh=_fresh_count(row, plan_input) if keeps_pace else 0,
        round=_first_round(plan_input.device),
    )


def _targets(row: CaseReport, plan_input: PlanInput, context: JobContext) -> RunTargets:
    """Runs of each side: existing ones, those that the verdict needs, those that people requested.

    Where step times no longer decide the verdict, runs that have not ended are not wanted.
    """
    if not _is_requested(row.key, plan_input):
        return _targets_there(row, plan_input, context, ALL_STATES)
    rounds = 0
    if not plan_input.device.keeps_pace and (fresh := _fresh_count(row, plan_input)):
        rounds = min((1 + fresh) * _first_round(plan_input.device), MAX_REPEATS)
    states = OVER_STATES if row.state in DECIDED_STATES else ALL_STATES
    there = _at_least(_targets_there(row, plan_input, context, states), RunTargets(base=rounds, head=rounds))
    if row.state in DECIDED_STATES or row.under_way.any or (row.state in BUSY_STATES and there.head):
        return there
    return _at_least(there, _targets_of_verdict(row, plan_input.device))


def _targets_of_verdict(row: CaseReport, device: Device) -> RunTargets:
    """The runs that the verdict needs. What confirms a change is asked for of each side, else both get the
    same number."""
    base, head = len(row.base_runs), len(row.head_runs)
    comparison = row.comparison if base and head else None
    if comparison is not None and row.state is RowState.CONFIRMING:
        wanted = comparison.timing.confirm_runs
        return RunTargets(
            base=min(base + wanted.base, MAX_REPEATS) if wanted.base else 0,
            head=min(head + wanted.head, MAX_REPEATS) if wanted.head else 0,
        )
    needed = repeats_needed(comparison, min(base, head), device_is_known_quiet=device.quiet)
    more = needed - base if comparison is not None and 0 < base < head else 0
    return RunTargets(base=needed, head=min(head + more, MAX_REPEATS) if more > 0 else needed)


def _at_least(one: RunTargets, other: RunTargets) -> RunTargets:
    return RunTargets(base=max(one.base, other.base), head=max(one.head, other.head))


def _first_round(device: Device) -> int:
    return QUIET_DEVICE_RUNS if device.quiet else NOISY_DEVICE_RUNS


def _targets_there(
    row: CaseReport, plan_input: PlanInput, context: JobContext, states: Collection[RunState]
) -> RunTargets:
    """Existing runs, found and launched, of the sides on which we launched some.

    The head gets what the base has. The base gets what the head has only where runs must take turns: else
    the head has more because they confirm a change.
    """
    numbers = []
    for commit, found in ((plan_input.base, row.base_runs), (plan_input.head, row.head_runs)):
        launched = len(_launched_runs(row, plan_input, context, commit, states))
        numbers.append(count_found(found, commit) + launched if launched else 0)
    base, head = numbers
    share = head if not plan_input.device.keeps_pace else min(head, _first_round(plan_input.device))
    return RunTargets(base=max(base, share), head=max(base, head))


def _launched_runs(
    row: CaseReport,
    plan_input: PlanInput,
    context: JobContext,
    commit: SideCommit,
    states: Collection[RunState],
) -> list[RunRecord]:
    """The launched runs of a side that the pull request wants, without fresh measurements."""
    runs = [
        run
        for run in plan_input.started
        if (run.case, run.variant) == (row.case, row.variant)
        and run.state in states
        and measures_commit(run, commit)
    ]
    fresh = _fresh_keys(row, plan_input, context, commit)
    return [run for run in runs if run.key not in fresh]


def _fresh_keys(
    row: CaseReport, plan_input: PlanInput, context: JobContext, commit: SideCommit
) -> Collection[str]:
    """The keys of a side's fresh measurements; none where runs must take turns, which have no such keys."""
    if not plan_input.device.keeps_pace:
        return ()
    return {
        run_key(
            RequiredRun(commit=commit, case=row.case, variant=row.variant, repeat=repeat, fresh=again),
            context,
        )
        for again in range(1, _fresh_count(row, plan_input) + 1)
        for repeat in range(1, _first_round(plan_input.device) + 1)
    }


def _is_requested(key: CaseKey, plan_input: PlanInput) -> bool:
    return any(key in request.keys for request in plan_input.run_requests)


def _fresh_count(row: CaseReport, plan_input: PlanInput) -> int:
    """How many fresh measurements of this case were requested, at most `MAX_REPEATS`."""
    return min(
        sum(request.fresh for request in plan_input.run_requests if row.key in request.keys), MAX_REPEATS
    )


def _skip_lost_runs(
    required: Sequence[RequiredRun], plan_input: PlanInput, context: JobContext
) -> list[RequiredRun]:
    """The same runs, with repeats counted past runs that the cluster lost for other pull requests.

    Runs lost for the pull request itself are reported there, and not started again without end.
    """
    lost = plan_input.lost - {run.key for run in plan_input.started}
    if not (lost and plan_input.device.keeps_pace):
        return list(required)
    skipped: dict[tuple[str, str, str, int], int] = {}
    kept = []
    for one in required:
        group = (one.commit.code, one.case, one.variant, one.fresh)
        moved = _later_repeat(one, skipped.get(group, 0))
        while run_key(moved, context) in lost:
            skipped[group] = skipped.get(group, 0) + 1
            moved = _later_repeat(one, skipped[group])
        kept.append(moved)
    return kept


def _later_repeat(one: RequiredRun, by: int) -> RequiredRun:
    return RequiredRun(
        commit=one.commit, case=one.case, variant=one.variant, repeat=one.repeat + by, fresh=one.fresh
    )
