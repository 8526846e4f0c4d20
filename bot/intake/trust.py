"""Who may start runs.

In:  what GitHub's permission API says of a person. Out: allowed, or refused with the reason to show them.
"""

from dataclasses import dataclass

from bot.intake.pull import Permission, Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The person may start runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The person may not; `why` is one plain sentence that names what is needed."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """`by` has looked at a commit and lets its code run; `tree` is the hash of the commit's files."""

    head_sha: str
    tree: str
    by: str
    made: float


Trust = Allowed | Refused


def decide_trust(permission: Permission, author: Person) -> Trust:
    """Decide whether `author`, who has `permission` on the repository, may start runs on it.

    The permission must come from the permission API: `author_association` in payloads cannot see private
    members of an organisation, and so refuses people who may write.
    """
    if author.is_bot:
        return Refused(why=f"{author.login} is a bot: only people with write permission start benchmarks.")
    if permission.may_write:
        return Allowed()
    has = "no permission" if permission is Permission.NONE else f"{permission} permission"
    return Refused(
        why=f"{author.login} has {has} on this repository and benchmarks need write: "
        "someone who may write can post the same command."
    )
