"""What a pull request's people and rules ask to have measured.

In:  nothing. Out: `Ask`, which intake and storage make and the plan of runs is read from.
"""

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Who or what asks."""

    PUSH = "push"
    LABEL = "label"
    COMMAND = "command"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One wish: these cases, in these variants, measured; `fresh` counts how often anew.

    `keys` are `case/variant`. `name` tells asks of one source apart (the label, the comment's id). `by` is
    the login of who asked, empty for a rule; `head_sha` is the only head it holds for, None for every head.
    """

    source: Source
    name: str
    keys: frozenset[str]
    by: str = ""
    fresh: int = 0
    head_sha: str | None = None
