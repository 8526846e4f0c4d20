"""What may be done about a launched run: the words in which a decision asks for it.

In:  nothing. Out: the effects. Plain values; each may be performed again without harm.
"""

from dataclasses import dataclass

from bot.runs.standing import RunStanding


@dataclass(frozen=True, slots=True)
class Launch:
    """Ask the cluster for the job, if the limits admit it."""


@dataclass(frozen=True, slots=True)
class Delete:
    """End the job and forget its name on the cluster."""


@dataclass(frozen=True, slots=True)
class Collect:
    """Read what the job left: its log."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep the log of a job that is given up, for people to read; nothing is measured."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Say that this attempt is over, and what it cost."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Look again at `until`, in Unix seconds."""

    until: float


Effect = Launch | Delete | Collect | Keep | Settle | Wait
Decision = tuple[RunStanding, tuple[Effect, ...]]
