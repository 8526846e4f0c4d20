"""What people and rules request to have measured, what they cancel, and which commits they approve."""

from enum import StrEnum

from msgspec import Struct

from bot.domain.case_key import CaseKey

RequestOrder = tuple[float, int, str]


class RequestSource(StrEnum):
    """Who or what asks."""

    PUSH = "push"
    LABEL = "label"
    COMMAND = "command"
    SCHEDULE = "schedule"


class RunRequest(Struct, frozen=True, kw_only=True):
    """One wish: these cases, in these variants, measured; `fresh` counts how often anew.

    `name` tells asks of one source apart (the label, the comment's id). `by` is
    the login of who asked, empty for a rule; `head_sha` is the only head it holds for, None for every head.
    `made` is when it was asked, in Unix seconds; a rule has always asked.
    """

    source: RequestSource
    name: str
    keys: frozenset[CaseKey]
    by: str = ""
    fresh: int = 0
    head_sha: str | None = None
    made: float = 0.0

    @property
    def order(self) -> RequestOrder:
        """Asks and withdrawals in the order in which people made them."""
        return _request_order(self.made, self.name)


class Cancellation(Struct, frozen=True, kw_only=True):
    """What was asked before is not wanted any more: these cases, on this head, until somebody asks again."""

    name: str
    keys: frozenset[CaseKey]
    by: str
    head_sha: str
    made: float

    @property
    def order(self) -> RequestOrder:
        """Asks and withdrawals in the order in which people made them."""
        return _request_order(self.made, self.name)


def _request_order(made: float, name: str) -> RequestOrder:
    """GitHub's times are whole seconds: within one the names tell, which count comments and lines up."""
    return made, len(name), name


class Approval(Struct, frozen=True, kw_only=True):
    """`by` has looked at a commit and lets its code run; `tree` is the hash of the commit's files."""

    head_sha: str
    tree: str
    by: str
    made: float
