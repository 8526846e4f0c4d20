"""What one place of a log states: the words between the formats and the run that is put together.

In:  nothing; these are values.
Out: the union `Statement`. Facts that `RunLog` holds as they are (steps, marks, memory) are stated as such.
"""

from dataclasses import dataclass
from enum import StrEnum

from bot.logs.facts import CallSite, CompiledMemory, DeviceMemory, Environment, Mark, Step

CUT = "The last record of the log is cut off in the middle: it was left out."
"""The `Doubt` of a log that ends within a step line."""

BROKEN = (
    "Step lines are broken in the middle, as by a terminal's width: what stands behind a break was left out. "
    "Give the log as it was written."
)
"""The `Doubt` of a log whose step lines were broken on a screen."""


class Figure(StrEnum):
    """A number that a log states once, about the whole run."""

    PARAMETERS_BILLION = "parameters_billion"
    TFLOP_PER_STEP = "tflop_per_step"
    MAX_ALLOCATED_MB = "max_allocated_mb"
    EXPECTED_STEPS = "expected_steps"
    SAVE_INTERVAL = "save_interval"
    STEPS_PER_EPOCH = "steps_per_epoch"
    SAMPLES_PER_STEP = "samples_per_step"
    TOKENS_PER_SAMPLE = "tokens_per_sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsure:
    """A step line that ends where the log ends: whole only if it states as much as the one before it."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One such number."""

    figure: Figure
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """The frame opens: a program was started. `time` is Unix seconds."""

    time: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The frame closes."""

    time: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """The program's exit code."""

    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A page says which commits the runs that follow measured, in their order."""

    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quit:
    """The program says that it stops before its last step, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The program says that it has come to its orderly end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Something that the reader of the report should know about this log."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that may have made the run fail.

    `echo`: it only says that something else failed, elsewhere. `training`: no other kind of program says it.
    `form` is the format whose program says it, `time` that of its line. Its text reaches from byte `offset`
    to `end`.
    """

    kind: str
    error: str
    where: str | None = None
    excerpt: str = ""
    fingerprint: str = ""
    time: float | None = None
    echo: bool = False
    training: bool = True
    form: str | None = None
    offset: int = 0
    end: int = 0


Statement = (
    Step
    | Unsure
    | CallSite
    | Mark
    | Environment
    | DeviceMemory
    | CompiledMemory
    | Quantity
    | Began
    | Ended
    | Exited
    | Claimed
    | Quit
    | Finished
    | Doubt
    | Trouble
)
