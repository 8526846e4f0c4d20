"""Who may start runs: allowed, or denied with the reason to show."""

from msgspec import Struct

from bot.domain.repository import Permission, Person


class AuthorRights(Struct, frozen=True, kw_only=True):
    """What may allow somebody to start runs: the permission on the repository, a team that the configuration
    trusts, or (for a bot) being `listed` there by login, id and type."""

    permission: Permission
    team: str = ""
    listed: bool = False


class Allowed(Struct, frozen=True, kw_only=True):
    """The person may start runs; with `is_admin` also do what concerns the whole repository."""

    is_admin: bool = False


class Denied(Struct, frozen=True, kw_only=True):
    """The person may not start runs; `why` is one sentence that names what is needed."""

    why: str


PermissionDecision = Allowed | Denied


def decide_permission(standing: AuthorRights, author: Person) -> PermissionDecision:
    """Decide whether `author` may start runs.

    The permission must come from the permission API: `author_association` in payloads does not show private
    members of an organisation, and so would refuse people with write access.
    """
    if author.is_bot:
        if standing.listed:
            return Allowed()
        return Denied(why=f"{author.login} is a bot that trust.bots of the configuration does not list.")
    if standing.permission.may_write or standing.team:
        return Allowed(is_admin=standing.permission is Permission.ADMIN)
    permission = standing.permission
    has = "no permission" if permission is Permission.NONE else f"{permission} permission"
    return Denied(
        why=f"{author.login} has {has} on this repository and benchmarks need write: "
        "someone who may write can ask for the same."
    )
