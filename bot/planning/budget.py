"""Whether the rest of a budget covers one more run: None where it may start, else a `BudgetHold`.

What is used includes what is reserved for runs under way, so the sum never passes a limit. A run takes
at most what was reserved for it, so what is spent never does either.
"""

from collections.abc import Iterable

from msgspec import Struct

from bot.domain.price import HoldLimit, HoldReason

DAY_SECONDS = 86_400.0

SLOT_RETRY_SECONDS = 20.0
"""How often a run asks again for a free slot. Mostly it is woken earlier, when another run ends."""

LIMIT_RETRY_SECONDS = 600.0
"""How often a run asks again that can start only after a higher limit, or after a run that costs less than
reserved."""

# Floating point sums: a budget of 0.3 covers three runs of 0.1.
_ROUNDING = 1e-9

CONFIG_FILE = ".github/maxview.yml"


class BudgetLimits(Struct, frozen=True, kw_only=True):
    """The limits of a repository: chip-hours, and runs on one cluster. None: no limit of that kind."""

    concurrent_runs: int
    chip_hours_per_day: float
    chip_hours_per_person_per_day: float | None = None
    chip_hours_per_pull_request: float | None = None


class OperatorLimit(Struct, frozen=True, kw_only=True):
    """The operator's limit of chip-hours a day of all these repositories together."""

    chip_hours_per_day: float
    repositories: tuple[str, ...]


class BudgetUse(Struct, frozen=True, kw_only=True):
    """What is used or reserved: runs on the cluster, and chip-hours of the repository's day, of the person's
    day, and of the pull request."""

    runs: int
    day: float
    person: float
    pull: float


class BudgetHold(Struct, frozen=True, kw_only=True):
    """A run that may not start yet: ask again at `until` (Unix seconds)."""

    until: float
    reason: HoldReason


def budget_hold(
    limits: BudgetLimits, used: BudgetUse, price: float | None, *, now: float, place: str
) -> BudgetHold | None:
    """What keeps a run from starting that takes `price` chip-hours at most, the longest wait first.

    A run of unknown price is held back only by a limit that is used up already.
    """
    cost = price or 0.0
    budgets = (
        (HoldLimit.PULL_REQUEST, limits.chip_hours_per_pull_request, used.pull, None),
        (HoldLimit.DAY, limits.chip_hours_per_day, used.day, next_day(now)),
        (HoldLimit.PERSON, limits.chip_hours_per_person_per_day, used.person, next_day(now)),
    )
    for name, limit, spent, reset_at in budgets:
        if limit is None or (shortfall := _shortfall(limit, spent, cost)) is None:
            continue
        if cost > limit + _ROUNDING or reset_at is None:
            reason = HoldReason(name, f"{shortfall}; {_remedy(limit, cost)}")
            return BudgetHold(until=now + LIMIT_RETRY_SECONDS, reason=reason)
        return BudgetHold(until=reset_at, reason=HoldReason(name, f"{shortfall}; it resets at 00:00 UTC"))
    if used.runs >= limits.concurrent_runs:
        taken = f"{used.runs} of {limits.concurrent_runs} runs are on {place}"
        reason = HoldReason(HoldLimit.CONCURRENT_RUNS, taken)
        return BudgetHold(until=now + SLOT_RETRY_SECONDS, reason=reason)
    return None


def operator_hold(
    limits: Iterable[tuple[float, float]], price: float | None, *, now: float
) -> BudgetHold | None:
    """What of the operator's limits keeps a run from starting; each is given with what is used of it.

    What is used is not said: it may be other repositories'."""
    cost = price or 0.0
    for limit, used in limits:
        if _shortfall(limit, used, cost) is None:
            continue
        if cost > limit + _ROUNDING:
            least = f"{_format_hours(limit)} is less than this one run can take, {_format_hours(cost)}"
            detail = f"{least}; a shorter timeout lets it start, or ask the operator"
            return BudgetHold(until=now + LIMIT_RETRY_SECONDS, reason=HoldReason(HoldLimit.OPERATOR, detail))
        detail = f"what is left of {_format_hours(limit)} does not cover this run; it resets at 00:00 UTC"
        return BudgetHold(until=next_day(now), reason=HoldReason(HoldLimit.OPERATOR, detail))
    return None


def day_start(now: float) -> float:
    """The last midnight, UTC; both in Unix seconds."""
    return now - now % DAY_SECONDS


def next_day(now: float) -> float:
    """The next midnight, UTC; both in Unix seconds."""
    return day_start(now) + DAY_SECONDS


def _shortfall(limit: float, spent: float, cost: float) -> str | None:
    """Why a limit does not cover this cost; None where it does."""
    if cost > limit + _ROUNDING:
        return f"{_format_hours(limit)} is less than this one run can take, {_format_hours(cost)}"
    if spent + cost > limit + _ROUNDING or spent >= limit - _ROUNDING:
        wanted = f"{_format_hours(spent)} + at most {_format_hours(cost)}"
        return f"{_format_hours(limit)} does not cover {wanted}"
    return None


def _remedy(limit: float, cost: float) -> str:
    """What lets the run start. Where one run alone is too much, a shorter time limit helps as well."""
    either = " or a shorter timeout" if cost > limit + _ROUNDING else ""
    return f"a higher limit{either} in {CONFIG_FILE} lets it start"


def _format_hours(hours: float) -> str:
    """Chip-hours for people: `200`, `6.4`, `0.03`."""
    return f"{hours:.1f}".removesuffix(".0") if hours >= 1 else f"{hours:.2g}"
