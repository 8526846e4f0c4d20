"""Decides what a webhook event asks of us: one `Intent` for each event.

Pure. Whether the author may ask, and whether the facts still hold, is decided later from GitHub's own
answers.
"""

from typing import assert_never

from msgspec import Struct

from bot.commands import grammar
from bot.commands.grammar import read_commands
from bot.domain.command import ButtonOrigin, CommentOrigin
from bot.domain.repository import Person, Repository
from bot.webhooks.events import (
    Commented,
    Event,
    IgnoredEvent,
    InstallationAction,
    InstallationChanged,
    LabelChange,
    Labelled,
    Ping,
    PullAction,
    PullChanged,
    Pushed,
)


class WatchIntent(Struct, frozen=True, kw_only=True):
    """Update this pull request's report; `head_sha` is the head in the delivery."""

    repository: Repository
    number: int
    head_sha: str


class CloseIntent(Struct, frozen=True, kw_only=True):
    """Stop watching this pull request."""

    repository: Repository
    number: int


class CommandIntent(Struct, frozen=True, kw_only=True):
    """Somebody gave commands in a comment or by a button; whether they may is not known yet.

    Where `on_pull` is false, it is not known either whether `number` is a pull request or an issue.
    """

    repository: Repository
    number: int
    origin: CommentOrigin | ButtonOrigin
    author: Person
    commands: tuple[grammar.Command | grammar.ParseError, ...]
    created_at: float
    on_pull: bool = True


class LabelIntent(Struct, frozen=True, kw_only=True):
    """A label was added or removed; whether `by` may, and whether the label means anything, is not known yet.
    `at` is in Unix seconds."""

    repository: Repository
    number: int
    label: str
    change: LabelChange
    by: Person
    at: float


class BranchIntent(Struct, frozen=True, kw_only=True):
    """A branch moved to `sha`, or was deleted. The repository's configuration says whether it is watched."""

    repository: Repository
    branch: str
    sha: str
    pushed_at: float | None
    deleted: bool = False


class InstallIntent(Struct, frozen=True, kw_only=True):
    """Repositories were added to or removed from an installation; `gone` where it ended or is paused."""

    installation: int
    account: str
    added: tuple[Repository, ...] = ()
    removed: tuple[Repository, ...] = ()
    gone: bool = False


class IgnoreIntent(Struct, frozen=True, kw_only=True):
    """Nothing is to be done, and why."""

    why: str


Intent = WatchIntent | CloseIntent | CommandIntent | LabelIntent | BranchIntent | InstallIntent | IgnoreIntent

_ENDED_INSTALLATION = {InstallationAction.DELETED, InstallationAction.SUSPENDED}


def decide_intent(event: Event) -> Intent:
    """The intent of an event."""
    match event:
        case Ping():
            return IgnoreIntent(why="GitHub tried out the address")
        case IgnoredEvent():
            return IgnoreIntent(why=event.why)
        case InstallationChanged():
            return InstallIntent(
                installation=event.installation,
                account=event.account,
                added=event.added,
                removed=event.removed,
                gone=event.action in _ENDED_INSTALLATION,
            )
        case _:
            return _repository_intent(event)


def _repository_intent(event: PullChanged | Labelled | Commented | Pushed) -> Intent:
    match event:
        case PullChanged():
            return _pull_intent(event)
        case Labelled():
            return LabelIntent(
                repository=event.repository,
                number=event.number,
                label=event.label,
                change=event.change,
                by=event.by,
                at=event.at,
            )
        case Commented():
            return _comment_intent(event)
        case Pushed():
            return _push_intent(event)
        case _:
            assert_never(event)


def _pull_intent(event: PullChanged) -> WatchIntent | CloseIntent:
    if event.action is PullAction.CLOSED:
        return CloseIntent(repository=event.repository, number=event.number)
    return WatchIntent(repository=event.repository, number=event.number, head_sha=event.head_sha)


def _comment_intent(event: Commented) -> CommandIntent | IgnoreIntent:
    commands = read_commands(event.body)
    if not commands:
        return IgnoreIntent(why="the comment holds no /benchmark command")
    return CommandIntent(
        repository=event.repository,
        number=event.number,
        origin=CommentOrigin(event.comment_id),
        author=event.author,
        commands=commands,
        created_at=event.created_at,
        on_pull=event.on_pull,
    )


def _push_intent(event: Pushed) -> BranchIntent:
    return BranchIntent(
        repository=event.repository,
        branch=event.branch,
        sha=event.after,
        pushed_at=event.pushed_at,
        deleted=event.deleted,
    )
