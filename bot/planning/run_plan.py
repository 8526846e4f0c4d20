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
    """One pull request while its runs are planned.

    `started` are the launched runs that it wants, `lost` the keys of runs of the same files that the cluster
    lost under others, `prices` what one run costs.
    """

    pull: Subject
    facts: HeadFacts
    suite: Suite
    device: Device
    asks: tuple[RunRequest, ...]
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


class RunPlan(Struct, frozen=True, kw_only=True):
    """Every run to have; by key how many each side should have, those that there are included."""

    planned: tuple[PlannedRun, ...] = ()
    targets: Mapping[CaseKey, int] = {}


def plan_pull_request(subject: PlanInput, rows: Sequence[CaseReport]) -> RunPlan:
    """Every run that should be there for this head."""
    lines = [line for line in rows if subject.suite.cases[line.case].command]
    order = _job_context(subject)
    targets = {line.key: _target(line, subject, order) for line in lines}
    needs = [_need(line, subject, order, targets[line.key]) for line in lines]
    wanted = plan_runs(base=subject.base, head=subject.head, needs=needs)
    named = (make_planned_run(one, order) for one in _skip_lost_runs(wanted, subject, order))
    return RunPlan(planned=tuple(one for one in named if _stays_planned(one, subject)), targets=targets)


def _stays_planned(one: PlannedRun, subject: PlanInput) -> bool:
    """Whether a run is asked for, or over anyway: what nobody asks for any more is stopped, not forgotten."""
    if _is_requested(one.record.case_key, subject):
        return True
    return any(run.key == one.record.key and run.state in KEPT_STATES for run in subject.started)


def _job_context(subject: PlanInput) -> JobContext:
    pull = subject.pull
    people: dict[CaseKey, str] = {}
    for ask in sorted(subject.asks, key=lambda ask: (ask.order, ask.by)):
        for key in ask.keys:
            people[key] = people.get(key) or ask.by
    return JobContext(
        repository=pull.repository,
        suite=subject.suite,
        device=subject.device,
        base_branch=pull.base_branch,
        head_branch=pull.head_branch,
        session=f"{pull.row_number}-{subject.base.code}-{subject.head.code}",
        prices=subject.prices,
        charged_to={key: by or pull.author.login for key, by in people.items()},
    )


def _need(line: CaseReport, subject: PlanInput, order: JobContext, target: int) -> CaseNeed:
    """The runs of ours to name for either side: what lacks, or what we have where nothing lacks."""
    numbers = []
    states = OVER_STATES if line.state in DECIDED_STATES else ALL_STATES
    for commit, runs in ((subject.base, line.base_runs), (subject.head, line.head_runs)):
        if subject.device.keeps_pace and len(runs) >= target:
            numbers.append(len(_launched_runs(line, subject, order, commit, states)))
        else:
            numbers.append(max(0, target - count_found(runs, commit)))
    keeps_pace = subject.device.keeps_pace
    return CaseNeed(
        case=line.case,
        variant=line.variant,
        base=numbers[0],
        head=numbers[1],
        fresh=_fresh_count(line, subject) if keeps_pace else 0,
        round=_first_round(subject.device),
    )


def _target(line: CaseReport, subject: PlanInput, order: JobContext) -> int:
    """Runs a side: what is there or under way, what the verdict needs, what people asked for.

    Where the verdict no longer hangs on times, runs that have not ended are not wanted.
    """
    if not _is_requested(line.key, subject):
        return _available_runs(line, subject, order, ALL_STATES)
    rounds = 0
    if not subject.device.keeps_pace and (fresh := _fresh_count(line, subject)):
        rounds = min((1 + fresh) * _first_round(subject.device), MAX_REPEATS)
    if line.state in DECIDED_STATES:
        return max(_available_runs(line, subject, order, OVER_STATES), rounds)
    there = max(_available_runs(line, subject, order, ALL_STATES), rounds)
    if line.state in BUSY_STATES and there:
        return there
    n = min(len(line.head_runs), len(line.base_runs))
    comparison = line.comparison if n else None
    return max(there, repeats_needed(comparison, n, device_is_known_quiet=subject.device.quiet))


def _first_round(device: Device) -> int:
    return QUIET_DEVICE_RUNS if device.quiet else NOISY_DEVICE_RUNS


def _available_runs(
    line: CaseReport, subject: PlanInput, order: JobContext, states: Collection[RunState]
) -> int:
    """Runs of the side that has more, of those on which we started some: found ready-made, and started."""
    numbers = [0]
    for commit, found in ((subject.base, line.base_runs), (subject.head, line.head_runs)):
        if mine := _launched_runs(line, subject, order, commit, states):
            numbers.append(count_found(found, commit) + len(mine))
    return max(numbers)


def _launched_runs(
    line: CaseReport, subject: PlanInput, order: JobContext, commit: SideCommit, states: Collection[RunState]
) -> list[RunRecord]:
    """The launched runs of a side that the pull request wants, fresh measurements left out."""
    runs = [
        run
        for run in subject.started
        if (run.case, run.variant) == (line.case, line.variant)
        and run.state in states
        and measures_commit(run, commit)
    ]
    if not subject.device.keeps_pace or not _fresh_count(line, subject):
        return runs
    fresh = {
        run_key(
            RequiredRun(commit=commit, case=line.case, variant=line.variant, repeat=repeat, fresh=again),
            order,
        )
        for again in range(1, _fresh_count(line, subject) + 1)
        for repeat in range(1, _first_round(subject.device) + 1)
    }
    return [run for run in runs if run.key not in fresh]


def _is_requested(key: CaseKey, subject: PlanInput) -> bool:
    return any(key in ask.keys for ask in subject.asks)


def _fresh_count(line: CaseReport, subject: PlanInput) -> int:
    """How often a new measurement of this case was asked for; asking for ever does not run for ever."""
    return min(sum(ask.fresh for ask in subject.asks if line.key in ask.keys), MAX_REPEATS)


def _skip_lost_runs(
    wanted: Sequence[RequiredRun], subject: PlanInput, order: JobContext
) -> list[RequiredRun]:
    """The same wishes, with repeats counted past runs that the cluster lost while others wanted them.

    What is lost under the pull request itself is said there, and not started again for ever.
    """
    lost = subject.lost - {run.key for run in subject.started}
    if not (lost and subject.device.keeps_pace):
        return list(wanted)
    skipped: dict[tuple[str, str, str, int], int] = {}
    sound = []
    for one in wanted:
        group = (one.commit.code, one.case, one.variant, one.fresh)
        moved = _later_repeat(one, skipped.get(group, 0))
        while run_key(moved, order) in lost:
            skipped[group] = skipped.get(group, 0) + 1
            moved = _later_repeat(one, skipped[group])
        sound.append(moved)
    return sound


def _later_repeat(one: RequiredRun, by: int) -> RequiredRun:
    return RequiredRun(
        commit=one.commit, case=one.case, variant=one.variant, repeat=one.repeat + by, fresh=one.fresh
    )
