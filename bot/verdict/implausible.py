"""A value of a log that cannot be true, and why: the words of `bot.verdict.plausibility`.

In:  nothing; these are values. Out: `Why`, `Implausible`.
"""

from dataclasses import dataclass
from enum import StrEnum


class Why(StrEnum):
    """Why a value is not believed."""

    NOT_POSITIVE = "not_positive"
    ABOVE_PEAK = "above_peak"
    CONTRADICTS = "contradicts"
    CHECKPOINT_WAIT = "checkpoint_wait"
    BACKWARDS = "backwards"


TITLES: dict[Why, str] = {
    Why.NOT_POSITIVE: "a time or rate that is not above zero",
    Why.ABOVE_PEAK: "TFLOP/s above the device's peak",
    Why.CONTRADICTS: "tokens/s that contradict the seconds",
    Why.CHECKPOINT_WAIT: "a last line that holds the wait for the final checkpoint",
    Why.BACKWARDS: "a timestamp that is not later than the one before",
}

SHORT: dict[Why, str] = {
    Why.NOT_POSITIVE: "not above zero",
    Why.ABOVE_PEAK: "above peak",
    Why.CONTRADICTS: "contradictory",
    Why.CHECKPOINT_WAIT: "checkpoint wait",
    Why.BACKWARDS: "clock back",
}
"""For a narrow column of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Implausible:
    """One value that no figure of ours may use.

    `field` is a field of `Step`, `value` what the line prints there, in that field's unit; for `time` it is
    the seconds since the line before. `text` says with figures what is wrong.
    """

    step: int
    field: str
    value: float
    why: Why
    text: str
