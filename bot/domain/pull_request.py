"""Pull requests, their comments, and the slug of a branch.

Times are Unix seconds, UTC. A commit is named by its full SHA: 40 hexadecimal digits, 64 for SHA-256.
"""

import re
from dataclasses import dataclass

from bot.domain.repository import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request as it stands. `head_repository` is None where the fork was deleted, `labels` where they
    are not known. A branch that is watched without a pull request stands as one with a number below zero."""

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
        """Whether the head lies in another repository, or in one that is gone."""
        return self.head_repository is None or self.head_repository.lower() != self.repository.lower()

    @property
    def is_branch(self) -> bool:
        """Whether nothing but a branch is there: no comment can be written."""
        return self.number < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One comment of a pull request. `app_id` is the App that wrote it, where one did."""

    id: int
    author: Person
    body: str
    app_id: int | None
    created_at: float


def branch_slug(branch: str) -> str:
    """A branch as runs spell it: every stretch of other characters becomes one underscore, case is kept."""
    return re.sub(r"[^A-Za-z0-9]+", "_", branch)
