"""Which runs a comparison needs, and in which order.

In:  the two commits, and how many runs of each case and variant either side needs.
Out: every run to want, in the order to launch them.
Promises: pure and level-triggered: it names all runs that should be there, started or not, so a wish that is
no longer named is one to withdraw.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bot.runs.records import Origin, RunRecord, RunState
from bot.verdict.judgement import Comparison, TimingVerdict, Verdict

# Where nothing is known of a device's noise it must be measured here, and VERDICT.md section 3 asks for 4
# degrees of freedom: 3 runs a side give 3 - 1 + 3 - 1.
FIRST_ROUND_ON_A_NOISY_DEVICE = 3
FIRST_ROUND_ON_A_QUIET_DEVICE = 1

# A settled answer is not worth more than this many runs of a case.
MOST_REPEATS = 10

# How short a commit hash may be and still name a commit (CONTRACTS.md).
SHORTEST_SHA = 7


class Side(StrEnum):
    """Which of the two commits of a comparison."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One side's commit. `tree` is the hash of its files, where known."""

    side: Side
    sha: str
    tree: str | None = None

    @property
    def code(self) -> str:
        """What the run's key is made from."""
        return self.tree or self.sha


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One run to have. `repeat` counts the runs of the same commit, case and variant from 1; `fresh` counts
    the times that people asked for a new measurement, whose runs are repeats of their own."""

    commit: Commit
    case: str
    variant: str
    repeat: int
    fresh: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """How many runs of a case and variant to name for each side, and how many more for each time that a
    fresh measurement was asked for."""

    case: str
    variant: str
    base: int = 0
    head: int = 0
    fresh: int = 0
    round: int = FIRST_ROUND_ON_A_QUIET_DEVICE


def plan_runs(*, base: Commit, head: Commit, needs: Iterable[Need]) -> tuple[Wanted, ...]:
    """Name the runs that should be there, first to last.

    The sides take turns (base, head, base, head, …), so that a drift of the machine falls on both alike.
    Two sides with the same files share their runs: nothing can be slower than itself.
    """
    wanted: list[Wanted] = []
    for need in needs:
        turns = _turns(need, base, head, base_runs=need.base, head_runs=need.head)
        for again in range(1, need.fresh + 1):
            turns += _turns(need, base, head, base_runs=need.round, head_runs=need.round, fresh=again)
        wanted += turns
    return tuple(wanted)


def _turns(
    need: Need, base: Commit, head: Commit, *, base_runs: int, head_runs: int, fresh: int = 0
) -> list[Wanted]:
    runs = {base.code: (base, base_runs)}
    shared, most = runs.get(head.code, (head, 0))
    runs[head.code] = (shared, max(most, head_runs))
    return [
        Wanted(commit=commit, case=need.case, variant=need.variant, repeat=repeat, fresh=fresh)
        for repeat in range(1, max(base_runs, head_runs) + 1)
        for commit, number in runs.values()
        if repeat <= number
    ]


def found_of(runs: Iterable[RunRecord], commit: Commit) -> int:
    """How many of a case's runs were found ready-made, and are of this commit or of the same files."""
    return sum(
        run.origin is Origin.FOUND and run.state is RunState.ENDED and is_of(run, commit) for run in runs
    )


def is_of(run: RunRecord, commit: Commit) -> bool:
    """Whether a run measured this commit's files."""
    return _same_commit(run.sha, commit.sha) or (run.tree is not None and run.tree == commit.tree)


def _same_commit(recorded: str | None, sha: str) -> bool:
    return recorded is not None and len(recorded) >= SHORTEST_SHA and sha.startswith(recorded)


def repeats_wanted(
    comparison: Comparison | None,
    n: int,
    *,
    device_is_known_quiet: bool,
    limit: int = MOST_REPEATS,
) -> int:
    """How many runs each side should have, given the `n` it has.

    None as `comparison` means that there is nothing to compare yet. More runs are asked for only where
    timing is the open question and more runs can close it; the answer never falls below `n`.
    """
    first = FIRST_ROUND_ON_A_QUIET_DEVICE if device_is_known_quiet else FIRST_ROUND_ON_A_NOISY_DEVICE
    if comparison is None:
        return max(n, min(first, limit))
    if comparison.verdict is not Verdict.INCONCLUSIVE:
        return n
    if comparison.timing.verdict is not TimingVerdict.INCONCLUSIVE:
        return n
    if n < first:
        return min(first, limit)
    return max(n, min(limit, n + (comparison.timing.more_runs or 0)))
