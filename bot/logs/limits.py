"""How much of a log is read, and what is said of one that is larger. Pure.

A log is written by whoever runs a job: what is read of it is bounded by its bytes, by how far it expands,
and by its step lines. What lies behind a bound is missing, and is said to be.
"""

from enum import StrEnum

from msgspec import Struct


class ReadLimit(StrEnum):
    """Which bound was reached."""

    SIZE = "size"
    EXPANSION = "expansion"
    STEPS = "steps"
    TIME = "time"


class ReadLimits(Struct, frozen=True, kw_only=True):
    """The bounds; None is no bound.

    `text_bytes` of text are read, and once there are `expanding_bytes`, no more than `expansion` bytes for
    each stored one. `step_lines` are read, and `kept_steps` of them are held in memory.
    """

    text_bytes: int | None = None
    expansion: int | None = None
    expanding_bytes: int = 0
    step_lines: int | None = None
    kept_steps: int | None = None

    def reached(self, text: int, stored: int, steps: int, kept: int) -> ReadLimit | None:
        """The bound that a log has reached with so many bytes of text from so many stored ones."""
        if self.text_bytes is not None and text >= self.text_bytes:
            return ReadLimit.SIZE
        if self.expansion is not None and text > max(self.expanding_bytes, self.expansion * stored):
            return ReadLimit.EXPANSION
        if self.step_lines is not None and steps > self.step_lines:
            return ReadLimit.STEPS
        if self.kept_steps is not None and kept > self.kept_steps:
            return ReadLimit.STEPS
        return None


NO_LIMITS = ReadLimits()
"""For a person at the terminal, who can end it."""

SERVER_LIMITS = ReadLimits(
    text_bytes=4 << 30,  # a week of a hundred hosts' chatter; 10 s of reading
    expansion=300,  # gzip makes 1,030 bytes of one at most; of real logs, no more than 60 (repeated warnings)
    expanding_bytes=64 << 20,
    step_lines=2_000_000,  # three weeks of a step a second; 30 s of reading
    kept_steps=400_000,  # eight hosts or runs with as many as are kept of each; 100 MB
)
"""For a server, whose readers all repositories share."""

_WHY = {
    ReadLimit.SIZE: "The log is too large",
    ReadLimit.EXPANSION: "The log is too large: it expands too far from what is stored",
    ReadLimit.STEPS: "The log has too many step lines",
    ReadLimit.TIME: "The log takes too long to read",
}


class UnreadRest(Struct, frozen=True, kw_only=True):
    """A log was read up to byte `offset` of its text, in line `line`; what follows is missing."""

    limit: ReadLimit
    offset: int
    line: int

    @property
    def words(self) -> str:
        """What is said of it."""
        read = f"{self.offset / 1e6:,.0f} MB" if self.offset >= 10_000_000 else f"{self.offset:,} bytes"
        return f"{_WHY[self.limit]}: read as far as line {self.line:,} ({read} of text); the rest is missing."
