"""Repositories, pull requests, commits, people and comments, in our own words.

In:  nothing. Out: the values that the doors to GitHub make and every other room reads.

Times are Unix seconds, UTC. A commit is named by its full SHA, 40 hexadecimal digits (64 for SHA-256).
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository as one installation of the App sees it; `full_name` is `owner/name`."""

    full_name: str
    installation: int
    default_branch: str | None = None
    private: bool = False
    id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """An account. A deleted one is `ghost` with the id 0."""

    login: str
    id: int
    is_bot: bool = False


GHOST = Person(login="ghost", id=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
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
class Commit:
    """One commit; `committed_at` is the committer's date, which a rebase renews. `tree` is the hash of its
    files, and `parents` the commits it was made on, where the answer says them."""

    sha: str
    committed_at: float
    message: str
    tree: str | None = None
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One comment of a pull request. `app_id` is the App that wrote it, where one did."""

    id: int
    author: Person
    body: str
    app_id: int | None
    created_at: float


class Permission(StrEnum):
    """What a person may do with a repository; GitHub maps `maintain` to write and `triage` to read."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def may_write(self) -> bool:
        """Whether this is enough to start runs. Everyone has `read` on a public repository."""
        return self in {Permission.WRITE, Permission.ADMIN}
