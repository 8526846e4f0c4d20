"""What a row of the table of metrics says of its metric.

In:  nothing; these are values. Out: `Metric` and its words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from bot.verdict.judgement import MeasuredRun


class Better(StrEnum):
    """Which way is good news."""

    LOWER = "lower"
    HIGHER = "higher"
    EQUAL = "equal"
    NONE = "none"


class Judging(StrEnum):
    """How a metric is judged, if it is: by the timing decision, or exactly because it is deterministic."""

    INFORMATIONAL = "informational"
    TIMING = "timing"
    EXACT = "exact"


class Repeats(StrEnum):
    """Which figure stands for several runs of one side."""

    MEDIAN = "median"
    FIRST = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row: `digits` are decimals shown, `how` is one sentence for readers, `read` takes it from a run.

    An exact metric has moved when it changed by at least `least` (in its unit) and `least_percent`.
    """

    key: str
    title: str
    how: str
    read: Callable[[MeasuredRun], float | str | None]
    unit: str = ""
    digits: int = 3
    better: Better = Better.NONE
    judging: Judging = Judging.INFORMATIONAL
    repeats: Repeats = Repeats.FIRST
    least: float = 0.0
    least_percent: float = 0.0

    @property
    def judged(self) -> bool:
        """Whether the metric may be coloured at all."""
        return self.judging is not Judging.INFORMATIONAL
