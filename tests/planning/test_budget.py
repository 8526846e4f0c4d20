"""Whether what is left of a budget covers one more run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.price import HoldReason
from bot.planning.budget import (
    DAY_SECONDS,
    LIMIT_RETRY_SECONDS,
    SLOT_RETRY_SECONDS,
    BudgetLimits,
    BudgetUse,
    budget_hold,
    next_day,
)

MORNING = 1_795_003_200.0 + 6 * 3600

NOTHING = BudgetUse(runs=0, day=0.0, person=0.0, pull=0.0)

DAY = BudgetLimits(concurrent_runs=4, chip_hours_per_day=200.0)

HOURS = st.floats(0, 1e6)


def _held(limits: BudgetLimits, price: float | None, **used: float) -> tuple[float, str] | None:
    spent = {"runs": 0, "day": 0.0, "person": 0.0, "pull": 0.0, **used}
    held = budget_hold(limits, BudgetUse(**spent), price, now=MORNING, place="p/z/c")  # type: ignore[arg-type]
    return (held.until, str(held.reason)) if held else None


def test_a_run_starts_while_the_budgets_last() -> None:
    """What fits exactly still fits."""
    assert _held(DAY, 6.4) is None
    assert _held(DAY, 6.4, day=193.6, runs=3) is None
    assert _held(BudgetLimits(concurrent_runs=1, chip_hours_per_day=0.3), 0.1, day=0.1 + 0.1) is None


def test_a_day_that_is_used_up_says_so_and_ends_at_midnight() -> None:
    """The sentence holds the limit, what is used, what this run adds, and when it resets."""
    why = "chip_hours_per_day: 200 does not cover 198.4 + at most 6.4; it resets at 00:00 UTC"
    assert (next_day(MORNING), why) == _held(DAY, 6.4, day=198.4)
    assert next_day(MORNING) % DAY_SECONDS == 0


def test_a_person_and_a_pull_request_have_limits_of_their_own() -> None:
    """Each is named; what a pull request used does not come back at midnight."""
    both = BudgetLimits(
        concurrent_runs=4,
        chip_hours_per_day=200.0,
        chip_hours_per_person_per_day=20.0,
        chip_hours_per_pull_request=10.0,
    )
    why = "chip_hours_per_person_per_day: 20 does not cover 19 + at most 2; it resets at 00:00 UTC"
    assert (next_day(MORNING), why) == _held(both, 2.0, person=19.0)
    why = (
        "chip_hours_per_pull_request: 10 does not cover 9 + at most 2; "
        "a higher limit in .github/maxview.yml lets it start"
    )
    assert (MORNING + LIMIT_RETRY_SECONDS, why) == _held(both, 2.0, pull=9.0, person=19.0)


def test_a_run_that_no_day_could_pay_for_waits_for_a_higher_limit() -> None:
    """It does not wait for midnight, which would change nothing."""
    why = (
        "chip_hours_per_day: 200 is less than this one run can take, 240; "
        "a higher limit or a shorter timeout in .github/maxview.yml lets it start"
    )
    assert (MORNING + LIMIT_RETRY_SECONDS, why) == _held(DAY, 240.0)


def test_a_full_cluster_lets_a_run_wait_for_a_place() -> None:
    """The limit counts the runs at that place."""
    why = "concurrent_runs: 4 of 4 runs are on p/z/c"
    assert (MORNING + SLOT_RETRY_SECONDS, why) == _held(DAY, 6.4, runs=4)


def test_a_price_that_nobody_knows_is_held_against_what_is_used_up() -> None:
    """Such a run starts while anything is left, and none starts where the limit is nothing."""
    assert _held(DAY, None, day=199.9) is None
    assert _held(DAY, None, day=200.0) is not None
    assert _held(BudgetLimits(concurrent_runs=1, chip_hours_per_day=0.0), None) is not None


@given(limit=HOURS, prices=st.lists(HOURS, max_size=30), runs=st.integers(1, 40))
def test_what_is_admitted_never_passes_a_limit(limit: float, prices: list[float], runs: int) -> None:
    """Whatever the runs cost and in whichever order they ask, the sum stays within every limit."""
    limits = BudgetLimits(concurrent_runs=runs, chip_hours_per_day=limit, chip_hours_per_pull_request=limit)
    spent, started = 0.0, 0
    for price in prices:
        used = BudgetUse(runs=started, day=spent, person=spent, pull=spent)
        if budget_hold(limits, used, price, now=MORNING, place="here") is None:
            spent, started = spent + price, started + 1
    assert spent <= limit + 1e-6
    assert started <= runs


@pytest.mark.parametrize(
    ("text", "is_budget"),
    [
        ("chip_hours_per_day: 200 does not cover 198.4 + at most 6.4; it resets at 00:00 UTC", True),
        ("chip_hours_per_person_per_day: 20 does not cover 19 + at most 2", True),
        ("chip_hours_per_pull_request: 10 does not cover 9 + at most 2", True),
        ("concurrent_runs: 4 of 4 runs are on p/z/c", False),
    ],
)
def test_a_stored_reason_is_read_back(text: str, is_budget: bool) -> None:  # noqa: FBT001
    """The limit is its first word, the configuration's key."""
    reason = HoldReason.parse(text)
    assert reason is not None
    assert (str(reason), reason.is_budget) == (text, is_budget)


@pytest.mark.parametrize("text", ["", "the image is not there yet", "runs: 4"])
def test_a_reason_without_a_limit_of_ours_is_none(text: str) -> None:
    """Whatever an older program may have stored."""
    assert HoldReason.parse(text) is None
