"""Whether the rest of a budget covers one more run: None where it may start, else a `BudgetHold`.

What is used includes what is reserved for runs under way, so the sum never passes a limit. A run takes
at most what was reserved for it, so what is spent never does either.
"""

from msgspec import Struct

DAY_SECONDS = 86_400.0

SLOT_RETRY_SECONDS = 20.0
"""How often a run asks again for a place; mostly it is told earlier, when another run ends."""

LIMIT_RETRY_SECONDS = 600.0
"""How often a run asks again that only a higher limit, or a cheaper end of another run, lets in."""

# Sums of floating point: a budget of 0.3 holds three runs of 0.1.
_ROUNDING = 1e-9

CONFIG_FILE = ".github/maxview.yml"


class BudgetLimits(Struct, frozen=True, kw_only=True):
    """The most that may be used; None is no limit of that kind. Chip-hours, and runs at one place."""

    concurrent_runs: int
    chip_hours_per_day: float
    chip_hours_per_person_per_day: float | None = None
    chip_hours_per_pull_request: float | None = None


class BudgetUse(Struct, frozen=True, kw_only=True):
    """What is used or set aside: runs at the place, and chip-hours of the repository's day, of the person's
    day, and of the pull request."""

    runs: int
    day: float
    person: float
    pull: float


class BudgetHold(Struct, frozen=True, kw_only=True):
    """A run that may not start yet: ask again at `until` (Unix seconds)."""

    until: float
    why: str


def budget_hold(
    limits: BudgetLimits, used: BudgetUse, price: float | None, *, now: float, place: str
) -> BudgetHold | None:
    """What keeps a run from starting that takes `price` chip-hours at most, the longest wait first.

    A price that nobody knows is held against nothing but a limit that is used up.
    """
    cost = price or 0.0
    spans = (
        ("chip_hours_per_pull_request", limits.chip_hours_per_pull_request, used.pull, None),
        ("chip_hours_per_day", limits.chip_hours_per_day, used.day, next_day(now)),
        (
            "chip_hours_per_person_per_day",
            limits.chip_hours_per_person_per_day,
            used.person,
            next_day(now),
        ),
    )
    for name, limit, spent, resets in spans:
        if limit is not None and (why := _shortfall(name, limit, spent, cost)):
            if cost > limit + _ROUNDING or resets is None:
                return BudgetHold(until=now + LIMIT_RETRY_SECONDS, why=f"{why}; {_remedy(limit, cost)}")
            return BudgetHold(until=resets, why=f"{why}; it resets at 00:00 UTC")
    if used.runs >= limits.concurrent_runs:
        return BudgetHold(
            until=now + SLOT_RETRY_SECONDS,
            why=f"concurrent_runs: {used.runs} of {limits.concurrent_runs} runs are on {place}",
        )
    return None


def day_start(now: float) -> float:
    """The last midnight, UTC; both in Unix seconds."""
    return now - now % DAY_SECONDS


def next_day(now: float) -> float:
    """The next midnight, UTC; both in Unix seconds."""
    return day_start(now) + DAY_SECONDS


def _shortfall(name: str, limit: float, spent: float, cost: float) -> str | None:
    """Why a limit does not cover this cost; None where it does."""
    if cost > limit + _ROUNDING:
        return f"{name}: {_format_hours(limit)} is less than this one run can take, {_format_hours(cost)}"
    if spent + cost > limit + _ROUNDING or spent >= limit - _ROUNDING:
        wanted = f"{_format_hours(spent)} + at most {_format_hours(cost)}"
        return f"{name}: {_format_hours(limit)} does not cover {wanted}"
    return None


def _remedy(limit: float, cost: float) -> str:
    """Where one run alone is too much, its time limit is as good a place to act as the budget."""
    either = " or a shorter timeout" if cost > limit + _ROUNDING else ""
    return f"a higher limit{either} in {CONFIG_FILE} lets it start"


def _format_hours(hours: float) -> str:
    """Chip-hours for people: `200`, `6.4`, `0.03`."""
    return f"{hours:.1f}".removesuffix(".0") if hours >= 1 else f"{hours:.2g}"
