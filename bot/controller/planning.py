"""Which runs a pull request should have, and what of that is there for nothing.

In:  a pull request with its report so far, what was asked, the device, the runs it has.
Out: a `Wishes`: every run to have, started or not, in the order to start them. Pure.

Level-triggered: it names every run that should be there, so that repeating it plans nothing twice and what
is no longer named is withdrawn.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bot.config import Suite
from bot.controller.facts import HeadFacts
from bot.controller.jobs import Device, Order, planned, run_key
from bot.intake.pull import Pull
from bot.report.model import CaseReport, RowState
from bot.runs.asks import Ask
from bot.runs.plan import (
    FIRST_ROUND_ON_A_NOISY_DEVICE,
    FIRST_ROUND_ON_A_QUIET_DEVICE,
    MOST_REPEATS,
    Commit,
    Need,
    Side,
    Wanted,
    found_of,
    is_of,
    plan_runs,
    repeats_wanted,
)
from bot.runs.price import Price
from bot.runs.records import RunRecord, RunState
from bot.storage.runs import Planned

FAILING = {RowState.NEW_FAILURE, RowState.FAILS_ON_BOTH}
DECIDED = {*FAILING, RowState.DIVERGED, RowState.NOT_LIKE_FOR_LIKE, RowState.NOT_COMPARABLE}
BUSY = {RowState.QUEUED, RowState.RUNNING, RowState.RETRYING}
OVER = frozenset({RunState.ENDED, RunState.LOST, RunState.CANCELLED})
KEPT = OVER - {RunState.CANCELLED}
EVERY = frozenset(RunState)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One pull request while its runs are planned.

    `started` are the launched runs that it wants, `lost` the keys of runs of the same files that the cluster
    lost under others, `prices` what one run costs by `case/variant`.
    """

    pull: Pull
    facts: HeadFacts
    suite: Suite
    device: Device
    asks: tuple[Ask, ...]
    started: tuple[RunRecord, ...] = ()
    lost: frozenset[str] = frozenset()
    prices: Mapping[str, Price | None] = field(default_factory=dict)

    @property
    def base(self) -> Commit:
        """The merge base."""
        merge_base = self.facts.merge_base
        return Commit(side=Side.BASELINE, sha=merge_base.sha, tree=merge_base.tree)

    @property
    def head(self) -> Commit:
        """The head."""
        return Commit(side=Side.CANDIDATE, sha=self.pull.head_sha, tree=self.facts.tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Every run to have; by `case/variant` how many each side should have, those that there are included."""

    planned: tuple[Planned, ...] = ()
    targets: Mapping[str, int] = field(default_factory=dict)


def plan(subject: Subject, rows: Sequence[CaseReport]) -> Wishes:
    """Every run that should be there for this head."""
    lines = [line for line in rows if subject.suite.cases[line.case].command]
    order = _order(subject)
    targets = {f"{line.case}/{line.variant}": _target(line, subject, order) for line in lines}
    needs = [_need(line, subject, order, targets[f"{line.case}/{line.variant}"]) for line in lines]
    wanted = plan_runs(base=subject.base, head=subject.head, needs=needs)
    named = (planned(one, order) for one in _sound(wanted, subject, order))
    return Wishes(planned=tuple(one for one in named if _goes_on(one, subject)), targets=targets)


def _goes_on(one: Planned, subject: Subject) -> bool:
    """Whether a run is asked for, or over anyway: what nobody asks for any more is stopped, not forgotten."""
    if _is_asked(one.record.case, one.record.variant, subject):
        return True
    return any(run.key == one.record.key and run.state in KEPT for run in subject.started)


def _order(subject: Subject) -> Order:
    pull = subject.pull
    people: dict[str, str] = {}
    for ask in sorted(subject.asks, key=lambda ask: (ask.order, ask.by)):
        for key in ask.keys:
            people[key] = people.get(key) or ask.by
    return Order(
        repository=pull.repository,
        suite=subject.suite,
        device=subject.device,
        base_branch=pull.base_branch,
        head_branch=pull.head_branch,
        session=f"{pull.number}-{subject.base.code}-{subject.head.code}",
        prices=subject.prices,
        charged_to={key: by or pull.author.login for key, by in people.items()},
    )


def _need(line: CaseReport, subject: Subject, order: Order, target: int) -> Need:
    """The runs of ours to name for either side: what lacks, or what we have where nothing lacks."""
    numbers = []
    states = OVER if line.state in DECIDED else EVERY
    for commit, runs in ((subject.base, line.base_runs), (subject.head, line.head_runs)):
        if subject.device.keeps_pace and len(runs) >= target:
            numbers.append(len(_mine(line, subject, order, commit, states)))
        else:
            numbers.append(max(0, target - found_of(runs, commit)))
    keeps_pace = subject.device.keeps_pace
    return Need(
        case=line.case,
        variant=line.variant,
        base=numbers[0],
        head=numbers[1],
        fresh=_fresh(line, subject) if keeps_pace else 0,
        round=_first_round(subject.device),
    )


def _target(line: CaseReport, subject: Subject, order: Order) -> int:
    """Runs a side: what is there or under way, what the verdict needs, what people asked for.

    Where the verdict no longer hangs on times, runs that have not ended are not wanted.
    """
    if not _is_asked(line.case, line.variant, subject):
        return _there(line, subject, order, EVERY)
    rounds = 0
    if not subject.device.keeps_pace and (fresh := _fresh(line, subject)):
        rounds = min((1 + fresh) * _first_round(subject.device), MOST_REPEATS)
    if line.state in DECIDED:
        return max(_there(line, subject, order, OVER), rounds)
    there = max(_there(line, subject, order, EVERY), rounds)
    if line.state in BUSY and there:
        return there
    n = min(len(line.head_runs), len(line.base_runs))
    comparison = line.comparison if n else None
    return max(there, repeats_wanted(comparison, n, device_is_known_quiet=subject.device.quiet))


def _first_round(device: Device) -> int:
    return FIRST_ROUND_ON_A_QUIET_DEVICE if device.quiet else FIRST_ROUND_ON_A_NOISY_DEVICE


def _there(line: CaseReport, subject: Subject, order: Order, states: Collection[RunState]) -> int:
    """Runs of the side that has more, of those on which we started some: found ready-made, and started."""
    numbers = [0]
    for commit, found in ((subject.base, line.base_runs), (subject.head, line.head_runs)):
        if mine := _mine(line, subject, order, commit, states):
            numbers.append(found_of(found, commit) + len(mine))
    return max(numbers)


def _mine(
    line: CaseReport, subject: Subject, order: Order, commit: Commit, states: Collection[RunState]
) -> list[RunRecord]:
    """The launched runs of a side that the pull request wants, fresh measurements left out."""
    runs = [
        run
        for run in subject.started
        if (run.case, run.variant) == (line.case, line.variant) and run.state in states and is_of(run, commit)
    ]
    if not subject.device.keeps_pace or not _fresh(line, subject):
        return runs
    fresh = {
        run_key(
            Wanted(commit=commit, case=line.case, variant=line.variant, repeat=repeat, fresh=again), order
        )
        for again in range(1, _fresh(line, subject) + 1)
        for repeat in range(1, _first_round(subject.device) + 1)
    }
    return [run for run in runs if run.key not in fresh]


def _is_asked(case: str, variant: str, subject: Subject) -> bool:
    return any(f"{case}/{variant}" in ask.keys for ask in subject.asks)


def _fresh(line: CaseReport, subject: Subject) -> int:
    """How often a new measurement of this case was asked for; asking for ever does not run for ever."""
    key = f"{line.case}/{line.variant}"
    return min(sum(ask.fresh for ask in subject.asks if key in ask.keys), MOST_REPEATS)


def _sound(wanted: Sequence[Wanted], subject: Subject, order: Order) -> list[Wanted]:
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
        moved = _moved(one, skipped.get(group, 0))
        while run_key(moved, order) in lost:
            skipped[group] = skipped.get(group, 0) + 1
            moved = _moved(one, skipped[group])
        sound.append(moved)
    return sound


def _moved(one: Wanted, by: int) -> Wanted:
    return Wanted(
        commit=one.commit, case=one.case, variant=one.variant, repeat=one.repeat + by, fresh=one.fresh
    )
