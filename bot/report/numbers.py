"""Numbers for JSON: no more digits than were measured, and nothing that JSON cannot say.

In:  floats as measured or printed, some of them None, NaN or infinite.
Out: floats, strings of time, or None. `number` never returns what strict JSON readers refuse.
"""

import math
from datetime import UTC, datetime

SIGNIFICANT = 4  # a figure far below its usual unit still keeps this many digits


def number(value: float | None, digits: int | None = None) -> float | None:
    """`value` with `digits` decimals, or more where it would lose its leading digits; None if not finite."""
    if value is None or not math.isfinite(value):
        return None
    if digits is None or value == 0:
        return value
    leading = SIGNIFICANT - 1 - math.floor(math.log10(abs(value)))
    return round(value, max(digits, leading) if abs(value) < 10**-digits * 10 else digits)


def percent_of_log(value: float | None, digits: int = 2) -> float | None:
    """A ratio given as a natural logarithm, in percent of change: ln 1.061 is 6.1."""
    if value is None or not math.isfinite(value) or value > 700:
        return None
    return round(math.expm1(value) * 100, digits)


def odd_number(value: float | None) -> str | None:
    """`nan`, `inf` or `-inf` in words where `number` has to say None; None for every other value."""
    return str(value) if value is not None and not math.isfinite(value) else None


def iso_time(seconds: float | None) -> str | None:
    """Unix seconds as `2026-04-21T10:17:39.824857Z`; None where there is no such day."""
    if seconds is None or not math.isfinite(seconds):
        return None
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
