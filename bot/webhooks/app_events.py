"""Reads what happens to the App, its repositories, and what it wrote: checks, comments, merge groups.

An event of another kind gives None. Raises `UserError` naming a missing field, and nothing else. The facts
may be old when they are read.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct

from bot.domain.check import MERGE_GROUP_KEY, ButtonAction, parse_check_key
from bot.domain.repository import Person, Repository
from bot.github.payload import JsonFields, read_person, read_repository


class RepositoryChange(StrEnum):
    """What happened to a repository as a whole."""

    RENAMED = "renamed"
    TRANSFERRED = "transferred"
    ARCHIVED = "archived"
    UNARCHIVED = "unarchived"
    DELETED = "deleted"
    PRIVATIZED = "privatized"
    PUBLICIZED = "publicized"
    EDITED = "edited"


class CheckRequested(Struct, frozen=True, kw_only=True):
    """`by` pressed a button, or re-requested our checks of a commit (`reset`: they lose their conclusion).

    `row_number` is the stored number of the pull request or branch that the check is about; None where all
    checks of the commit are meant."""

    repository: Repository
    head_sha: str
    row_number: int | None
    action: ButtonAction
    by: Person
    reset: bool


class RepositoryChanged(Struct, frozen=True, kw_only=True):
    """A repository was renamed, transferred, archived, deleted, or changed its visibility."""

    repository: Repository
    change: RepositoryChange


class BotCommentChanged(Struct, frozen=True, kw_only=True):
    """Somebody else edited or deleted a bot's comment, which may be ours."""

    repository: Repository
    number: int
    comment_id: int


class ConversationUnlocked(Struct, frozen=True, kw_only=True):
    """Comments on a pull request are possible again."""

    repository: Repository
    number: int


class MergeGroupCreated(Struct, frozen=True, kw_only=True):
    """A merge queue made a commit and waits for its checks; `pull` is the newest pull request in it, where
    the branch's name says so."""

    repository: Repository
    head_sha: str
    pull: int | None


AppEvent = CheckRequested | RepositoryChanged | BotCommentChanged | ConversationUnlocked | MergeGroupCreated

MERGE_QUEUE_PREFIX = "gh-readonly-queue/"
"""The prefix of the branches that GitHub makes for merge queues."""

# refs/heads/gh-readonly-queue/release/1.2/pr-104-08a9a46...    base branch, last pull request, its base
_MERGE_QUEUE_REF = re.compile(rf"refs/heads/{MERGE_QUEUE_PREFIX}.+/pr-(?P<pull>[0-9]{{1,9}})-[0-9a-f]+")


def read_app_event(name: str, payload: Mapping[str, object]) -> AppEvent | None:
    """Read a delivery whose `X-GitHub-Event` header is `name`."""
    fields = JsonFields(payload)
    if fields.find("installation") is None:
        return None
    reader = _READERS.get((name, str(fields.find("action"))))
    return reader(fields) if reader else None


def _read_repository(fields: JsonFields) -> RepositoryChanged:
    return RepositoryChanged(repository=_repository(fields), change=RepositoryChange(fields.text("action")))


def _read_unlock(fields: JsonFields) -> ConversationUnlocked:
    return ConversationUnlocked(repository=_repository(fields), number=fields.number("pull_request.number"))


def _read_check_run(fields: JsonFields) -> CheckRequested | None:
    reset = fields.text("action") == "rerequested"
    action = "rerun" if reset else fields.text("requested_action.identifier")
    key = fields.text_or_none("check_run.external_id") or ""
    row_number = parse_check_key(key)
    ours = row_number is not None or (reset and key == MERGE_GROUP_KEY)
    if action not in set(ButtonAction) or not ours:
        return None
    return CheckRequested(
        repository=_repository(fields),
        head_sha=fields.text("check_run.head_sha"),
        row_number=row_number,
        action=ButtonAction(action),
        by=read_person(fields, "sender"),
        reset=reset,
    )


def _read_check_suite(fields: JsonFields) -> CheckRequested:
    return CheckRequested(
        repository=_repository(fields),
        head_sha=fields.text("check_suite.head_sha"),
        row_number=None,
        action=ButtonAction.RERUN,
        by=read_person(fields, "sender"),
        reset=True,
    )


def _read_comment(fields: JsonFields) -> BotCommentChanged | None:
    author, by = read_person(fields, "comment.user"), read_person(fields, "sender")
    if not author.is_bot or (author.login, author.id) == (by.login, by.id):
        return None
    return BotCommentChanged(
        repository=_repository(fields),
        number=fields.number("issue.number"),
        comment_id=fields.number("comment.id"),
    )


def _read_merge_group(fields: JsonFields) -> MergeGroupCreated:
    queued = _MERGE_QUEUE_REF.fullmatch(fields.text_or_none("merge_group.head_ref") or "")
    return MergeGroupCreated(
        repository=_repository(fields),
        head_sha=fields.text("merge_group.head_sha"),
        pull=int(queued["pull"]) if queued else None,
    )


def _repository(fields: JsonFields) -> Repository:
    return read_repository(fields.within("repository"), fields.number("installation.id"))


_READERS: Mapping[tuple[str, str], Callable[[JsonFields], AppEvent | None]] = {
    ("check_run", "requested_action"): _read_check_run,
    ("check_run", "rerequested"): _read_check_run,
    ("check_suite", "rerequested"): _read_check_suite,
    ("merge_group", "checks_requested"): _read_merge_group,
    ("issue_comment", "edited"): _read_comment,
    ("issue_comment", "deleted"): _read_comment,
    ("pull_request", "unlocked"): _read_unlock,
    **{("repository", change.value): _read_repository for change in RepositoryChange},
}
