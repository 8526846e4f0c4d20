"""The kinds of deliveries that may ask something of us.

In:  an event's name and its action, as GitHub's list of deliveries gives them.
Out: whether to fetch the rest.

What is not named here is certain to be ignored when it is read, so a missed one need not be fetched.
"""

from collections.abc import Mapping

PULLS = (
    "opened",
    "synchronize",
    "reopened",
    "ready_for_review",
    "converted_to_draft",
    "edited",
    "closed",
    "labeled",
    "unlabeled",
    "locked",
    "unlocked",
)

USED: Mapping[str, frozenset[str]] = {
    "pull_request": frozenset(PULLS),
    "issue_comment": frozenset(["created", "edited", "deleted"]),
    "push": frozenset({""}),
    "check_run": frozenset(["rerequested", "requested_action"]),
    "check_suite": frozenset({"rerequested"}),
    "merge_group": frozenset({"checks_requested"}),
    "installation": frozenset(["created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"]),
    "installation_repositories": frozenset(["added", "removed"]),
    "repository": frozenset(
        ["renamed", "transferred", "archived", "unarchived", "deleted", "privatized", "publicized", "edited"]
    ),
}
"""Actions by event; an event that has no action has an empty one."""


def is_used(event: str, action: str | None) -> bool:
    """Whether a delivery of this kind may ask something of us."""
    return (action or "") in USED.get(event, frozenset())
