"""Main's daily run is due once a day, at its time."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bot.runs.schedule import DAY, newest_day, next_moment

NOW = datetime(2026, 4, 21, 2, 59, tzinfo=UTC).timestamp()
THREE = 3 * 3600


def test_before_its_time_the_newest_day_is_yesterday() -> None:
    """One minute to three, and three."""
    assert "2026-04-20" == newest_day(NOW, THREE)
    assert "2026-04-21" == newest_day(NOW + 60, THREE)


@given(st.floats(min_value=0, max_value=4e9), st.integers(min_value=0, max_value=DAY - 1))
def test_the_next_moment_begins_another_day(now: float, daily_at: int) -> None:
    """And it is at most a day away."""
    moment = next_moment(now, daily_at)
    assert 0 < moment - now <= DAY + 1e-3
    assert newest_day(moment + 1e-3, daily_at) != newest_day(now, daily_at)
