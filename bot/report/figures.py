"""Figures in words: seconds, percent, ages, counts, as people write them.

In:  floats in the unit the function names. Out: short text; an en dash where there is no figure.
"""

import math
from collections.abc import Sequence

from bot.report.numbers import iso_time

NONE = "–"
_AGES = ((86_400.0 * 2, 86_400.0, "d"), (5_400.0, 3_600.0, "h"), (90.0, 60.0, "min"), (0.0, 1.0, "s"))


def significant(value: float | None, digits: int = 3) -> str:
    """`value` with so many significant digits, without exponent where it is of ordinary size."""
    if value is None:
        return NONE
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # as rounded: 9.996 is 10.0, not 10.00
    if exponent < -6 or exponent > 12:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - exponent, 0)}f}"


def pair(base: float | None, head: float | None, digits: int = 3) -> str:
    """`0.229 → 0.243`, with one digit more where both would read the same but are not."""
    first, second = significant(base, digits), significant(head, digits)
    if first == second and base != head:
        first, second = significant(base, digits + 1), significant(head, digits + 1)
    return f"{first} → {second}"


def change(log_ratio: float | None) -> str:
    """`+6.1 %` from ln(head/base)."""
    value = _percent(log_ratio)
    return NONE if value is None else f"{_plain(value, signed='+')} %"


def size(log_ratio: float | None) -> str:
    """`6.1 %` from ln(head/base), without its sign."""
    value = _percent(log_ratio)
    return NONE if value is None else f"{_plain(abs(value))} %"


def percent(value: float | None) -> str:
    """`1.5 %` from percent."""
    return NONE if value is None else f"{_plain(value).removesuffix('.0')} %"


def percent_up(value: float) -> str:
    """`1.5 %` from 1.41: a bound is never rounded to less than it is."""
    return f"{math.ceil(round(value * 10, 6)) / 10:.1f} %"


def seconds(value: float | None) -> str:
    """A duration people can compare: `0.61 s`, `64 s`, `3 min 5 s`."""
    if value is None or not math.isfinite(value):
        return NONE
    if abs(value) < 10:
        return f"{significant(value, 2)} s"
    if abs(value) < 120:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def age(value: float | None) -> str | None:
    """`14 h` from seconds; None where it is unknown or lies ahead."""
    if value is None or not math.isfinite(value) or value < 0:
        return None
    return next(f"{value / unit:.0f} {name}" for least, unit, name in _AGES if value >= least)


def day(moment: float) -> str:
    """`2026-04-21 10:17 UTC` from Unix seconds."""
    shown = iso_time(moment)
    return f"{shown[:10]} {shown[11:16]} UTC" if shown else NONE


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 case`, `14 cases`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}".replace(",", " ")


def run_counts(runs: tuple[int, int], beside: int) -> str:
    """`1 v 1+19`: head against base, and the base branch's runs that stand beside base's."""
    return f"{runs[1]} v {runs[0]}" + (f"+{beside}" if beside else "")


def listed(items: Sequence[str], most: int) -> str:
    """`a, b, c and 5 more`."""
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most} more"


def _percent(log_ratio: float | None) -> float | None:
    if log_ratio is None or not math.isfinite(log_ratio) or log_ratio > 100:
        return None
    return math.expm1(log_ratio) * 100


def _plain(value: float, signed: str = "") -> str:
    """One decimal; two where one would say zero; none from a hundred on."""
    decimals = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 0.095 or abs(value) < 0.005 else 2
    shown = format(value, f"{signed}.{decimals}f")
    return "0.0" if float(shown) == 0 else shown
