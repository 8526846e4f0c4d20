"""What a report is about: a pull request, or a branch that is watched without one.

Times are Unix seconds, UTC. A commit is named by its full SHA: 40 hexadecimal digits, 64 for SHA-256.
"""

import re
from enum import StrEnum

from msgspec import Struct

from bot.domain.repository import GHOST, Person


class PullRequest(Struct, frozen=True, kw_only=True):
    """A pull request on GitHub. `head_repository` is None where the fork was deleted, `labels` where they are
    not known."""

    repository: str
    number: int
    title: str
    open: bool
    merged: bool
    draft: bool
    head_sha: str
    head_branch: str
    head_repository: str | None
    base_branch: str
    base_sha: str
    author: Person
    updated_at: float
    labels: tuple[str, ...] | None = None

    @property
    def from_fork(self) -> bool:
        """Whether the head is in another repository, or in one that is gone."""
        return self.head_repository is None or self.head_repository.lower() != self.repository.lower()

    @property
    def row_number(self) -> int:
        """Its stored number."""
        return self.number


class Branch(Struct, frozen=True, kw_only=True):
    """A branch of the repository that is watched without a pull request: it has no conversation.

    `row_number` is its stored number. `title` is the first line of its newest commit's
    message. It counts as closed while an open pull request has it as its head."""

    repository: str
    row_number: int
    title: str
    open: bool
    head_sha: str
    head_branch: str
    base_branch: str
    updated_at: float

    @property
    def from_fork(self) -> bool:
        """Never: branches of forks are not watched."""
        return False

    @property
    def author(self) -> Person:
        """Nobody opened it."""
        return GHOST


Subject = PullRequest | Branch


class SubjectKind(StrEnum):
    """What runs are made for; each is stored under a number among the pull requests."""

    PULL_REQUEST = "pull_request"
    BRANCH = "branch"
    MAIN = "main"


MAIN_ROW_NUMBER = 0
"""The stored number of main, whose runs the schedule and `/benchmark baseline` ask for."""


def subject_kind(row_number: int) -> SubjectKind:
    """The kind of row of a stored number: above zero is GitHub's number of a pull request, below zero our own
    number of a branch."""
    if row_number == MAIN_ROW_NUMBER:
        return SubjectKind.MAIN
    return SubjectKind.PULL_REQUEST if row_number > 0 else SubjectKind.BRANCH


class Comment(Struct, frozen=True, kw_only=True):
    """One comment of a pull request. `app_id` is the App that wrote it, where one did."""

    id: int
    author: Person
    body: str
    app_id: int | None
    created_at: float


def branch_slug(branch: str) -> str:
    """A branch as run names spell it: each run of other characters becomes `_`, case is kept."""
    return re.sub(r"[^A-Za-z0-9]+", "_", branch)
