"""Times as pages show them: UTC dates and ages, from Unix seconds."""

from msgspec import Struct

from bot.report.wording import age_words, iso_time


class Moment(Struct, frozen=True, kw_only=True):
    """A time for machines (ISO 8601) and for people."""

    machine: str
    words: str


def moment(seconds: float | None) -> Moment | None:
    """`2026-04-21 10:17 UTC`; None if unknown."""
    text = iso_time(seconds)
    if text is None:
        return None
    return Moment(machine=text[:19] + "Z", words=f"{text[:10]} {text[11:16]} UTC")


def ago(seconds: float | None, now: float) -> str:
    """`14 h ago`; empty if unknown."""
    old = age_words(max(now - seconds, 0.0)) if seconds is not None else None
    return f"{old} ago" if old else ""
