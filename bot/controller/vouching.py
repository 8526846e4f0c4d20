"""Whether the code of a head may be run here.

In:  a pull request as it stands, the hash of its head's files, the approval that was given last.
Out: `Vouched`, or `Waits` with the reason and the command that ends the wait. Pure.

Code on a branch of the repository was pushed by somebody who may write. Code of a fork is anybody's: it
waits until somebody who may write has approved that very commit, or a commit with the same files.
"""

from dataclasses import dataclass

from bot.intake.pull import Pull
from bot.intake.trust import Approval


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """The head's code may be run; `by` approved it, nobody had to where it is empty."""

    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """The head's code may not be run yet: `why` in one clause, and the `command` that lets it."""

    why: str
    command: str


FORK = "this pull request comes from a fork: its code runs once somebody with write permission approved it"
PUSHED = "files were pushed that are not those that {by} approved at {sha}"


def vouched(pull: Pull, tree: str | None, approval: Approval | None) -> Vouched | Waits:
    """Say whether the head may be run. An unknown `tree` is nobody's: only the approved commit passes."""
    if not pull.from_fork:
        return Vouched()
    if approval is not None and holds(approval, head_sha=pull.head_sha, tree=tree):
        return Vouched(by=approval.by)
    why = FORK if approval is None else PUSHED.format(by=approval.by, sha=approval.head_sha[:7])
    return Waits(why=why, command=f"/benchmark approve {pull.head_sha}")


def holds(approval: Approval, *, head_sha: str, tree: str | None) -> bool:
    """Whether an approval is of this head: of its files where they are known, else of its very commit."""
    return approval.head_sha == head_sha if tree is None else approval.tree == tree
