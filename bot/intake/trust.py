"""Who may start runs.

In:  what GitHub says of a person. Out: allowed, or refused with the reason to show them.
"""

from dataclasses import dataclass

from bot.intake.pull import Permission, Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """`by` has looked at a commit and lets its code run; `tree` is the hash of the commit's files."""

    head_sha: str
    tree: str
    by: str
    made: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What makes somebody one who may: the permission on the repository, a team that the configuration
    trusts, or (for a bot) being `listed` there by login, number and type."""

    permission: Permission
    team: str = ""
    listed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The person may start runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The person may not; `why` is one plain sentence that names what is needed."""

    why: str


Trust = Allowed | Refused


def decide_trust(standing: Standing, author: Person) -> Trust:
    """Decide whether `author` may start runs.

    The permission must come from the permission API: `author_association` in payloads cannot see private
    members of an organisation, and so refuses people who may write.
    """
    if author.is_bot:
        if standing.listed:
            return Allowed()
        return Refused(why=f"{author.login} is a bot that trust.bots of the configuration does not list.")
    if standing.permission.may_write or standing.team:
        return Allowed()
    permission = standing.permission
    has = "no permission" if permission is Permission.NONE else f"{permission} permission"
    return Refused(
        why=f"{author.login} has {has} on this repository and benchmarks need write: "
        "someone who may write can ask for the same."
    )
