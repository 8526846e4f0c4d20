"""Whether the code of a head may run on our machines. Pure.

A branch of the repository was pushed by somebody with write access. Code of a fork is anybody's: it runs once
somebody with write access has approved that commit, or a commit with the same files.
"""

from msgspec import Struct

from bot.domain.pull_request import Subject
from bot.domain.run_request import Approval


class RunAllowed(Struct, frozen=True, kw_only=True):
    """The head's code may run. `by` approved it; empty if no approval is needed."""

    by: str = ""


class ApprovalNeeded(Struct, frozen=True, kw_only=True):
    """The head's code may not run yet: `why` in one clause, and the `command` that allows it."""

    why: str
    command: str


FORK_REASON = (
    "this pull request comes from a fork: its code runs once somebody with write permission approved it"
)

OTHER_FILES_REASON = "files were pushed that are not those that {by} approved at {sha}"


def check_approval(pull: Subject, tree: str | None, approval: Approval | None) -> RunAllowed | ApprovalNeeded:
    """Whether the head may run. If its `tree` is unknown, only the approved commit itself passes."""
    if not pull.from_fork:
        return RunAllowed()
    if approval is not None and approval_covers(approval, head_sha=pull.head_sha, tree=tree):
        return RunAllowed(by=approval.by)
    why = (
        FORK_REASON
        if approval is None
        else OTHER_FILES_REASON.format(by=approval.by, sha=approval.head_sha[:7])
    )
    return ApprovalNeeded(why=why, command=f"/benchmark approve {pull.head_sha}")


def approval_covers(approval: Approval, *, head_sha: str, tree: str | None) -> bool:
    """Whether an approval is for this head: for its files if they are known, else for this very commit."""
    return approval.head_sha == head_sha if tree is None else approval.tree == tree
