"""The states of a row in words and symbols: the one table that headline, rows, check and page read.

In:  a `RowState`. Out: its `StateWords`.
"""

from dataclasses import dataclass
from enum import IntEnum

from bot.report.escape import plain_name
from bot.report.model import RowState

WARNING = "⚠️"  # news that the state of a row does not tell


class Tier(IntEnum):
    """How bad news is; the comment is posted anew only when the worst tier rises."""

    QUIET = 0
    UNSETTLED = 1
    UNFAIR = 2
    RED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWords:
    """`rank` orders states, worst first when descending; `done` says that nothing more is awaited;
    `person` that somebody should look at the row."""

    symbol: str
    word: str
    rank: int
    tier: Tier
    done: bool
    person: bool


def _state(symbol: str, word: str, rank: int, tier: Tier, *traits: str) -> StateWords:
    return StateWords(
        symbol=symbol, word=word, rank=rank, tier=tier, done="done" in traits, person="person" in traits
    )


STATES: dict[RowState, StateWords] = {
    RowState.DIVERGED: _state("🔴", "diverged", 95, Tier.RED, "done", "person"),
    RowState.SLOWER: _state("🔴", "slower", 90, Tier.RED, "done", "person"),
    RowState.NEW_FAILURE: _state("❌", "new failure", 85, Tier.RED, "done", "person"),
    RowState.NOT_COMPARABLE: _state("⚠️", "not comparable", 70, Tier.UNFAIR, "done", "person"),
    RowState.NOT_LIKE_FOR_LIKE: _state("⚠️", "not like for like", 65, Tier.UNFAIR, "done", "person"),
    RowState.INCONCLUSIVE: _state("🟡", "inconclusive", 60, Tier.UNSETTLED, "done", "person"),
    RowState.LOST: _state("🔁", "lost by the cluster", 55, Tier.UNSETTLED, "person"),
    RowState.NO_BASELINE: _state("⚪", "no baseline", 50, Tier.UNSETTLED, "done", "person"),
    RowState.NO_RUN: _state("⚪", "no run", 48, Tier.QUIET, "person"),
    RowState.WAITING_FOR_APPROVAL: _state("⛔", "waiting for approval", 47, Tier.QUIET, "person"),
    RowState.CANCELLED: _state("🚫", "cancelled", 46, Tier.QUIET, "person"),
    RowState.SUPERSEDED: _state("🗑", "superseded", 44, Tier.QUIET),
    RowState.RETRYING: _state("🔁", "retrying, the cluster's fault", 40, Tier.QUIET, "person"),
    RowState.RUNNING: _state("⏳", "running", 38, Tier.QUIET, "person"),
    RowState.QUEUED: _state("🕓", "queued", 36, Tier.QUIET),
    RowState.FAILS_ON_BOTH: _state("🟤", "fails on main too", 30, Tier.QUIET, "done"),
    RowState.FIXED: _state("🩹", "fixed", 16, Tier.QUIET, "done"),
    RowState.FASTER: _state("🟢", "faster", 14, Tier.QUIET, "done"),
    RowState.CARRIED: _state("↩️", "carried", 12, Tier.QUIET, "done"),
    RowState.SAME: _state("✅", "same", 10, Tier.QUIET, "done"),
}

GREEN = frozenset({RowState.SAME, RowState.FASTER, RowState.FIXED, RowState.CARRIED})
PENDING = frozenset({RowState.QUEUED, RowState.RUNNING, RowState.RETRYING, RowState.WAITING_FOR_APPROVAL})


def word(state: RowState, base_branch: str = "main") -> str:
    """The state in words, with the base branch by its name."""
    words = STATES[state].word
    if state is RowState.FAILS_ON_BOTH and base_branch != "main":
        return f"fails on {plain_name(base_branch, 'the base branch')} too"
    return words
