"""Counts of what rules said, and the shares they make with their errors.

In:  calls. Out: `Tally`, which adds up; `Share`.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import sqrt

from tests.verdictbench.rivals import ALARMS, Call

Z95 = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`hits` of `tries`, with the 95 % interval that the binomial law allows (Wilson's)."""

    hits: int
    tries: int

    @property
    def percent(self) -> float:
        """The share, in percent."""
        return 100 * self.hits / self.tries if self.tries else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end, in percent. Source: Wilson (1927)."""
        n = self.tries
        if not n:
            return 0.0, 100.0
        p, square = self.hits / n, Z95**2 / n
        middle, reach = p + square / 2, Z95 * sqrt(p * (1 - p) / n + square / (4 * n))
        return (
            100 * max(0.0, (middle - reach) / (1 + square)),
            100 * min(1.0, (middle + reach) / (1 + square)),
        )

    def __add__(self, other: "Share") -> "Share":
        return Share(hits=self.hits + other.hits, tries=self.tries + other.tries)


@dataclass(slots=True, kw_only=True)
class Tally:
    """What one rule said: counts of calls by true effect (percent), and of reports with any alarm."""

    calls: Counter[tuple[float, Call]] = field(default_factory=Counter)
    reports: int = 0
    flagged: int = 0

    def add(self, other: "Tally") -> None:
        """Take in another tally of the same rule."""
        self.calls.update(other.calls)
        self.reports += other.reports
        self.flagged += other.flagged

    def share(self, effect: float, *wanted: Call) -> Share:
        """Return how often any of the wanted calls was made at a true effect."""
        tries = sum(count for (at, _), count in self.calls.items() if at == effect)
        return Share(hits=sum(self.calls[effect, call] for call in wanted), tries=tries)

    @property
    def false_flags(self) -> Share:
        """Alarms a comparison at no change."""
        return self.share(0.0, *ALARMS)

    @property
    def false_reports(self) -> Share:
        """Reports with any alarm at no change."""
        return Share(hits=self.flagged, tries=self.reports)

    @property
    def wrong_direction(self) -> Share:
        """Slowdowns, of whatever size, that were called faster."""
        effects = sorted({at for at, _ in self.calls if at > 0})
        return sum((self.share(at, Call.FASTER) for at in effects), Share(hits=0, tries=0))
