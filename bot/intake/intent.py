"""Decides what a delivery asks of us.

In:  an event. Out: one `Intent`, which the controller writes down as what is now desired. Pure: whether the
     author may ask, and whether the facts still hold, is decided later from GitHub's own answers.
"""

from dataclasses import dataclass
from typing import assert_never

from bot.intake import command
from bot.intake.event import (
    Commented,
    Event,
    Ignored,
    InstallationAction,
    InstallationChanged,
    LabelChange,
    Labelled,
    Ping,
    PullAction,
    PullChanged,
    Pushed,
)
from bot.intake.grammar import read_commands
from bot.intake.pull import Person, Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Keep this pull request's report true; `head_sha` is what the delivery saw."""

    repository: Repository
    number: int
    head_sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Stop watching this pull request."""

    repository: Repository
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Somebody asks for something in a comment; nothing says yet that they may.

    Where `on_pull` is false, nothing says yet that `number` is a pull request and not an issue either.
    """

    repository: Repository
    number: int
    comment_id: int
    author: Person
    commands: tuple[command.Command | command.Unclear, ...]
    created_at: float
    on_pull: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label was put on a pull request or taken from it; nothing says yet that `by` may, or that the label
    means anything here. `at` is in Unix seconds."""

    repository: Repository
    number: int
    label: str
    change: LabelChange
    by: Person
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch moved to `sha`, or was deleted. Whether it is watched, the repository's configuration says."""

    repository: Repository
    branch: str
    sha: str
    pushed_at: float | None
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """These repositories came to, or went from, an installation; `gone` when all of it ended or is paused."""

    installation: int
    account: str
    added: tuple[Repository, ...] = ()
    removed: tuple[Repository, ...] = ()
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """Nothing is asked, and why."""

    why: str


Intent = Watch | Close | Command | Label | Branch | Install | Ignore

_GONE = {InstallationAction.DELETED, InstallationAction.SUSPENDED}


def decide_intent(event: Event) -> Intent:
    """Say what an event asks of us."""
    match event:
        case Ping():
            return Ignore(why="GitHub tried out the address")
        case Ignored():
            return Ignore(why=event.why)
        case InstallationChanged():
            return Install(
                installation=event.installation,
                account=event.account,
                added=event.added,
                removed=event.removed,
                gone=event.action in _GONE,
            )
        case _:
            return _in_a_repository(event)


def _in_a_repository(event: PullChanged | Labelled | Commented | Pushed) -> Intent:
    match event:
        case PullChanged():
            return _of_pull(event)
        case Labelled():
            return Label(
                repository=event.repository,
                number=event.number,
                label=event.label,
                change=event.change,
                by=event.by,
                at=event.at,
            )
        case Commented():
            return _of_comment(event)
        case Pushed():
            return _of_push(event)
        case _:
            assert_never(event)


def _of_pull(event: PullChanged) -> Watch | Close:
    if event.action is PullAction.CLOSED:
        return Close(repository=event.repository, number=event.number)
    return Watch(repository=event.repository, number=event.number, head_sha=event.head_sha)


def _of_comment(event: Commented) -> Command | Ignore:
    commands = read_commands(event.body)
    if not commands:
        return Ignore(why="the comment holds no /benchmark command")
    return Command(
        repository=event.repository,
        number=event.number,
        comment_id=event.comment_id,
        author=event.author,
        commands=commands,
        created_at=event.created_at,
        on_pull=event.on_pull,
    )


def _of_push(event: Pushed) -> Branch:
    return Branch(
        repository=event.repository,
        branch=event.branch,
        sha=event.after,
        pushed_at=event.pushed_at,
        deleted=event.deleted,
    )
