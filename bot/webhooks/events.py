"""Reads a webhook delivery into the few facts that we act on, and lists the kinds of deliveries we use.

A delivery that does not concern us is an `IgnoredEvent` with the reason. One that lacks a field we need
raises `UserError` naming it; nothing else is raised. Deliveries come late and out of order, so the facts
may be old: they say where to look, not what is true.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct

from bot.domain.repository import Person, Repository
from bot.github.payload import JsonFields, read_person, read_repository


class PullAction(StrEnum):
    """What happened to a pull request. `edited` is a change of its base branch only."""

    OPENED = "opened"
    SYNCHRONIZE = "synchronize"
    REOPENED = "reopened"
    READY_FOR_REVIEW = "ready_for_review"
    CONVERTED_TO_DRAFT = "converted_to_draft"
    EDITED = "edited"
    CLOSED = "closed"


class LabelChange(StrEnum):
    """What happened to a label of a pull request."""

    PUT = "labeled"
    TAKEN = "unlabeled"


class InstallationAction(StrEnum):
    """What happened to an installation. `added` and `removed` are about its repositories."""

    CREATED = "created"
    DELETED = "deleted"
    SUSPENDED = "suspend"
    UNSUSPENDED = "unsuspend"
    PERMISSIONS_ACCEPTED = "new_permissions_accepted"
    ADDED = "added"
    REMOVED = "removed"


class PullChanged(Struct, frozen=True, kw_only=True):
    """A pull request was opened, closed, or changed. `by` caused it."""

    repository: Repository
    number: int
    action: PullAction
    head_sha: str
    head_branch: str
    head_repository: str | None
    base_branch: str
    draft: bool
    merged: bool
    by: Person


class Labelled(Struct, frozen=True, kw_only=True):
    """`by` added or removed a label of a pull request, at `at` (Unix seconds)."""

    repository: Repository
    number: int
    label: str
    change: LabelChange
    by: Person
    at: float


class Commented(Struct, frozen=True, kw_only=True):
    """Somebody wrote a new comment. `body` is untrusted.

    `on_pull` says that the delivery marks the issue as a pull request. GitHub marks every one; an emulator of
    GitHub may not, so if it is false, ask GitHub whether `number` is one.
    """

    repository: Repository
    number: int
    comment_id: int
    author: Person
    body: str
    created_at: float
    on_pull: bool = True


class Pushed(Struct, frozen=True, kw_only=True):
    """A branch moved from `before` to `after`; for a new branch `before` is all zeros."""

    repository: Repository
    branch: str
    before: str
    after: str
    deleted: bool
    pushed_at: float | None


class InstallationChanged(Struct, frozen=True, kw_only=True):
    """The App was installed, removed, or given other repositories. `account` owns the installation."""

    installation: int
    action: InstallationAction
    account: str
    added: tuple[Repository, ...]
    removed: tuple[Repository, ...]


class Ping(Struct, frozen=True, kw_only=True):
    """GitHub tests the webhook's address."""


class IgnoredEvent(Struct, frozen=True, kw_only=True):
    """A delivery that we ignore, and why."""

    why: str


Event = PullChanged | Labelled | Commented | Pushed | InstallationChanged | Ping | IgnoredEvent

BRANCH_REF = "refs/heads/"


def read_event(name: str, payload: Mapping[str, object]) -> Event:
    """Read a delivery whose `X-GitHub-Event` header is `name`.

    Raises `UserError` naming the field that is missing or of another type.
    """
    fields = JsonFields(payload)
    match name:
        case "ping":
            return Ping()
        case "installation" | "installation_repositories":
            return _read_installation(fields)
        case "pull_request" | "issue_comment" | "push" if fields.find("installation") is None:
            return IgnoredEvent(
                why="it names no installation: a repository's own webhook sent it, not the App's"
            )
        case "pull_request" | "issue_comment" | "push":
            return _READERS[name](fields)
        case _:
            return IgnoredEvent(why=f"no use is made of {name} events")


def _read_pull_request(fields: JsonFields) -> PullChanged | Labelled | IgnoredEvent:
    action = fields.text("action")
    if action in set(LabelChange):
        return _read_label(fields, LabelChange(action))
    if action not in set(PullAction):
        return IgnoredEvent(why=f"pull_request {action} changes nothing that is measured")
    if action == PullAction.EDITED and fields.find("changes.base") is None:
        return IgnoredEvent(why="an edited title or description changes nothing that is measured")
    pull = fields.within("pull_request")
    return PullChanged(
        repository=_repository(fields),
        number=pull.number("number"),
        action=PullAction(action),
        head_sha=pull.text("head.sha"),
        head_branch=pull.text("head.ref"),
        head_repository=pull.text_or_none("head.repo.full_name"),
        base_branch=pull.text("base.ref"),
        draft=pull.flag("draft"),
        merged=pull.flag("merged"),
        by=read_person(fields, "sender"),
    )


def _read_label(fields: JsonFields, change: LabelChange) -> Labelled:
    return Labelled(
        repository=_repository(fields),
        number=fields.number("pull_request.number"),
        label=fields.text("label.name"),
        change=change,
        by=read_person(fields, "sender"),
        at=fields.time("pull_request.updated_at"),
    )


def _read_issue_comment(fields: JsonFields) -> Commented | IgnoredEvent:
    action = fields.text("action")
    if action != "created":
        return IgnoredEvent(why=f"a comment was {action}: only new comments are read for commands")
    return Commented(
        repository=_repository(fields),
        number=fields.number("issue.number"),
        comment_id=fields.number("comment.id"),
        author=read_person(fields, "comment.user"),
        body=fields.text_or_none("comment.body") or "",
        created_at=fields.time("comment.created_at"),
        on_pull=fields.find("issue.pull_request") is not None,
    )


def _read_push(fields: JsonFields) -> Pushed | IgnoredEvent:
    ref = fields.text("ref")
    if not ref.startswith(BRANCH_REF):
        return IgnoredEvent(why=f"{ref} is not a branch")
    timed = next((at for at in ("repository.pushed_at", "head_commit.timestamp") if fields.find(at)), None)
    return Pushed(
        repository=_repository(fields),
        branch=ref.removeprefix(BRANCH_REF),
        before=fields.text("before"),
        after=fields.text("after"),
        deleted=fields.flag("deleted"),
        pushed_at=fields.time(timed) if timed else None,
    )


def _read_installation(fields: JsonFields) -> InstallationChanged | IgnoredEvent:
    action = fields.text("action")
    if action not in set(InstallationAction):
        return IgnoredEvent(why=f"installation {action} changes nothing here")
    installation = fields.number("installation.id")
    listed = _repositories(fields, "repositories", installation)
    gone = action == InstallationAction.DELETED
    return InstallationChanged(
        installation=installation,
        action=InstallationAction(action),
        account=fields.text_or_none("installation.account.login") or "",
        added=(() if gone else listed) + _repositories(fields, "repositories_added", installation),
        removed=(listed if gone else ()) + _repositories(fields, "repositories_removed", installation),
    )


def _repositories(fields: JsonFields, path: str, installation: int) -> tuple[Repository, ...]:
    return tuple(read_repository(one, installation) for one in fields.each(path))


def _repository(fields: JsonFields) -> Repository:
    return read_repository(fields.within("repository"), fields.number("installation.id"))


_READERS: Mapping[str, Callable[[JsonFields], Event]] = {
    "pull_request": _read_pull_request,
    "issue_comment": _read_issue_comment,
    "push": _read_push,
}

PULL_REQUEST_ACTIONS = (
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

USED_EVENTS: Mapping[str, frozenset[str]] = {
    "pull_request": frozenset(PULL_REQUEST_ACTIONS),
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
"""The actions of each event; an event without actions has an empty one."""


def is_used_event(event: str, action: str | None) -> bool:
    """Whether we may act on a delivery of this kind."""
    return (action or "") in USED_EVENTS.get(event, frozenset())
