"""Which runs a comparison needs, and in which order.

In:  cases, variants, the two commits, the runs there are, the repeats asked for.
Out: every run to want, in the order to launch them.
Promises: pure and level-triggered: it names all runs that should be there, started or not, so a wish that is
no longer named is one to withdraw.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

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
    """One run to have. `repeat` counts the runs of the same commit, case and variant from 1."""

    commit: Commit
    case: str
    variant: str
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Cases selected by name or glob, in the suite's order, and the patterns that no case answers to."""

    cases: tuple[str, ...]
    unmatched: tuple[str, ...]


def choose_cases(cases: Iterable[str], patterns: Iterable[str]) -> Chosen:
    """Select cases by `03_dropout` or `03_*`; no pattern at all selects every case."""
    cases, patterns = tuple(cases), tuple(patterns)
    if not patterns:
        return Chosen(cases=cases, unmatched=())
    return Chosen(
        cases=tuple(case for case in cases if any(fnmatchcase(case, pattern) for pattern in patterns)),
        unmatched=tuple(
            pattern for pattern in patterns if not any(fnmatchcase(case, pattern) for case in cases)
        ),
    )


def plan_runs(
    *,
    cases: Iterable[str],
    variants: Iterable[str],
    sides: Iterable[Commit],
    existing: Iterable[RunRecord],
    repeats: Mapping[tuple[str, str], int],
) -> tuple[Wanted, ...]:
    """Name the runs that should be started, first to last.

    `repeats` says for each case and variant how many runs each side needs. Runs that were found ready-made
    (`Origin.FOUND`) count towards them; launched ones do not, because they are among those named here. The
    sides take turns (base, head, base, head, …), so that a drift of the machine falls on both alike.
    """
    sides, variants = _distinct(sides), tuple(variants)
    found = [run for run in existing if run.origin is Origin.FOUND and run.state is RunState.ENDED]
    wanted: list[Wanted] = []
    for case in cases:
        for variant in variants:
            needed = {
                commit: repeats.get((case, variant), 0) - _count(found, commit.sha, case, variant)
                for commit in sides
            }
            rounds = range(1, max([0, *needed.values()]) + 1)
            wanted += [
                Wanted(commit=commit, case=case, variant=variant, repeat=repeat)
                for repeat in rounds
                for commit in sides
                if repeat <= needed[commit]
            ]
    return tuple(wanted)


def _distinct(sides: Iterable[Commit]) -> tuple[Commit, ...]:
    """One commit for each different code: two sides with the same files share their runs."""
    kept: dict[str, Commit] = {}
    for commit in sides:
        kept.setdefault(commit.code, commit)
    return tuple(kept.values())


def _count(found: Iterable[RunRecord], sha: str, case: str, variant: str) -> int:
    return sum(
        1 for run in found if run.case == case and run.variant == variant and _same_commit(run.sha, sha)
    )


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
