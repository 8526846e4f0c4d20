"""What was asked on a pull request and what came of it, as its row remembers it.

In:  records. Out: the same, in the order in which people asked, the newest only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

KEPT_COMMANDS = 20
"""Commands remembered per pull request: the comment shows the newest, the rest is folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRecord:
    """A command that was given, or a label that was put: by whom, when, and what came of it (`result`, one
    sentence). `position` is its place in the comment; a label has no comment (`comment_id` is 0)."""

    comment_id: int
    text: str
    by: str
    at: float
    result: str
    refused: bool = False
    head_sha: str | None = None
    position: int = 0

    @property
    def key(self) -> tuple[int, int, str]:
        """What tells it apart."""
        return self.comment_id, self.position, "" if self.comment_id else f"{self.text} {self.at}"

    @property
    def order(self) -> tuple[float, int, int]:
        """The order in which people gave commands."""
        return self.at, self.comment_id, self.position


def merged(kept: Sequence[CommandRecord], new: Sequence[CommandRecord]) -> tuple[CommandRecord, ...]:
    """The newest of both, in the order in which they were given, whichever delivery came first."""
    by_key = {one.key: one for one in (*kept, *new)}
    return tuple(sorted(by_key.values(), key=lambda one: one.order)[-KEPT_COMMANDS:])
