"""What people and rules request to have measured, what they cancel, and which commits they approve."""

from enum import StrEnum

from msgspec import Struct

from bot.domain.case_key import CaseKey

RequestOrder = tuple[float, int, str]


class RequestSource(StrEnum):
    """What a run request comes from."""

    PUSH = "push"
    LABEL = "label"
    COMMAND = "command"
    SCHEDULE = "schedule"


class RunRequest(Struct, frozen=True, kw_only=True):
    """A request to measure these cases in these variants; `fresh` is the number of new measurements.

    `name` identifies it among the requests of its source (the label, the comment's id). `by` is the login of
    the person, empty for a rule. `head_sha` is the only head it is for, None for every head. `made` is in
    Unix seconds; a rule's request has always been made.
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
        """Sorts requests and cancellations in the order in which people made them."""
        return _request_order(self.made, self.name)


class Cancellation(Struct, frozen=True, kw_only=True):
    """Earlier requests for these cases on this head no longer hold, until somebody requests them again."""

    name: str
    keys: frozenset[CaseKey]
    by: str
    head_sha: str
    made: float

    @property
    def order(self) -> RequestOrder:
        """Sorts requests and cancellations in the order in which people made them."""
        return _request_order(self.made, self.name)


def _request_order(made: float, name: str) -> RequestOrder:
    """GitHub's times are whole seconds. Within one, names decide: comment ids and line numbers grow."""
    return made, len(name), name


class Approval(Struct, frozen=True, kw_only=True):
    """`by` approved that a commit's code runs; `tree` is the hash of the commit's files."""

    head_sha: str
    tree: str
    by: str
    made: float
