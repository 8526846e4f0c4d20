"""Which runs a comparison needs and in which order, and when main's daily runs are due.

Level-triggered: names every run that should be there, started or not. A run that is no longer named is
one to cancel. Times are Unix seconds, days are UTC.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

from bot.clusters.interface import Job
from bot.domain.case_key import CaseKey
from bot.domain.commit import same_commit
from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.verdict.judgement import Comparison, TimingVerdict, Verdict

NOISY_DEVICE_RUNS = 3
"""Runs a side of the first round where the device's noise is not known. It is measured here, and a verdict
needs 4 degrees of freedom: 3 runs a side give 3 - 1 + 3 - 1."""

QUIET_DEVICE_RUNS = 1

MAX_REPEATS = 10
"""Runs a side at most: a settled verdict is not worth more."""


class ComparisonSide(StrEnum):
    """A side of a comparison."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"


class SideCommit(Struct, frozen=True, kw_only=True):
    """The commit of one side. `tree` is the hash of its files, where known."""

    side: ComparisonSide
    sha: str
    tree: str | None = None

    @property
    def code(self) -> str:
        """What the run's key is made from."""
        return self.tree or self.sha


class RequiredRun(Struct, frozen=True, kw_only=True):
    """A run that should exist. `repeat` counts the runs of the same commit, case and variant from 1. `fresh`
    numbers the new measurements that people requested (0: the first); the repeats of each count anew."""

    commit: SideCommit
    case: str
    variant: str
    repeat: int
    fresh: int = 0

    @property
    def case_key(self) -> CaseKey:
        """The case and variant to run."""
        return CaseKey(self.case, self.variant)


class CaseNeed(Struct, frozen=True, kw_only=True):
    """How many runs of a case and variant each side needs, and how many more (`round`) for each of the
    `fresh` new measurements that people requested."""

    case: str
    variant: str
    base: int = 0
    head: int = 0
    fresh: int = 0
    round: int = QUIET_DEVICE_RUNS


def plan_runs(*, base: SideCommit, head: SideCommit, needs: Iterable[CaseNeed]) -> tuple[RequiredRun, ...]:
    """Every run that should exist, in the order to launch them.

    The sides alternate (base, head, base, head, …), so that a drift of the machine affects both alike. Two
    sides with the same files share their runs.
    """
    required: list[RequiredRun] = []
    for need in needs:
        turns = _alternate_sides(need, base, head, base_runs=need.base, head_runs=need.head)
        for again in range(1, need.fresh + 1):
            turns += _alternate_sides(
                need, base, head, base_runs=need.round, head_runs=need.round, fresh=again
            )
        required += turns
    return tuple(required)


def _alternate_sides(
    need: CaseNeed, base: SideCommit, head: SideCommit, *, base_runs: int, head_runs: int, fresh: int = 0
) -> list[RequiredRun]:
    runs = {base.code: (base, base_runs)}
    shared, most = runs.get(head.code, (head, 0))
    runs[head.code] = (shared, max(most, head_runs))
    return [
        RequiredRun(commit=commit, case=need.case, variant=need.variant, repeat=repeat, fresh=fresh)
        for repeat in range(1, max(base_runs, head_runs) + 1)
        for commit, number in runs.values()
        if repeat <= number
    ]


def count_found(runs: Iterable[RunRecord], commit: SideCommit) -> int:
    """How many ended runs of a case were found in the store, and are of this commit or of the same files."""
    return sum(
        run.origin is RunOrigin.FOUND and run.state is RunState.ENDED and measures_commit(run, commit)
        for run in runs
    )


def measures_commit(run: RunRecord, commit: SideCommit) -> bool:
    """Whether a run measured this commit or the same files."""
    return same_commit(run.sha, commit.sha) or (run.tree is not None and run.tree == commit.tree)


def repeats_needed(
    comparison: Comparison | None,
    n: int,
    *,
    device_is_known_quiet: bool,
    limit: int = MAX_REPEATS,
) -> int:
    """How many runs each side should have, where it has `n`; never fewer.

    `comparison` is None where there is nothing to compare yet. More runs are needed only where timing is
    inconclusive and more runs can decide it.
    """
    first = QUIET_DEVICE_RUNS if device_is_known_quiet else NOISY_DEVICE_RUNS
    if comparison is None:
        return max(n, min(first, limit))
    if comparison.verdict is not Verdict.INCONCLUSIVE:
        return n
    if comparison.timing.verdict is not TimingVerdict.INCONCLUSIVE:
        return n
    if n < first:
        return min(first, limit)
    return max(n, min(limit, n + (comparison.timing.more_runs or 0)))


class PlannedRun(Struct, frozen=True, kw_only=True):
    """A run to be started: its record, and the job that executes it.

    `price` is what it may cost, in chip-hours, None where nobody knows; `charged_to` is the person who asked
    for it, empty where a schedule did.
    """

    record: RunRecord
    job: Job
    price: float | None = None
    charged_to: str = ""


SECONDS_PER_DAY = 86_400


def newest_due_day(now: float, daily_at: int) -> str:
    """The newest day, as `2026-04-21`, whose daily time (`daily_at` seconds after midnight) has passed."""
    return datetime.fromtimestamp(now - daily_at, UTC).date().isoformat()


def next_daily_time(now: float, daily_at: int) -> float:
    """The next daily time, in Unix seconds."""
    since = (now - daily_at) % SECONDS_PER_DAY
    return now + SECONDS_PER_DAY - since
