"""When main is run by the clock.

In:  a time of day, and now. Out: the day whose run is due, and when to look again. Pure.
Times are Unix seconds and days are UTC's.
"""

from datetime import UTC, datetime

DAY = 86_400


def newest_day(now: float, daily_at: int) -> str:
    """The day, as `2026-04-21`, whose moment (`daily_at` seconds after midnight) has come last."""
    return datetime.fromtimestamp(now - daily_at, UTC).date().isoformat()


def next_moment(now: float, daily_at: int) -> float:
    """When the next day's moment comes, in Unix seconds."""
    since = (now - daily_at) % DAY
    return now + DAY - since
