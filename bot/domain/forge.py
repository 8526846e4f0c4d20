"""What we need from GitHub, as a protocol; `bot.github` implements it."""

from typing import Protocol

from bot.domain.commit import Commit
from bot.domain.pull_request import PullRequest
from bot.domain.repository import Permission, Person, Repository


class Forge(Protocol):
    """GitHub. Raises `NotFound`, `TransientError`, `InternalError` or `UserError`."""

    async def pull(self, repository: Repository, number: int) -> PullRequest:
        """The pull request as it stands now."""
        ...

    async def file(self, repository: Repository, path: str, ref: str) -> str | None:
        """The text of a file at a commit or branch; None where there is none."""
        ...

    async def repository_facts(self, repository: Repository) -> Repository:
        """The repository with its default branch, its numbers, and whether it is private."""
        ...

    async def changed_paths(self, repository: Repository, number: int) -> tuple[str, ...]:
        """Every path that the pull request touches, old names included."""
        ...

    async def compared_paths(self, repository: Repository, base: str, head: str) -> tuple[str, ...]:
        """Every path that differs between the merge base of two commits and the second, of 300 at most."""
        ...

    async def merge_base(self, repository: Repository, base: str, head: str) -> Commit:
        """The commit where `head` left `base`."""
        ...

    async def ancestors(self, repository: Repository, sha: str, limit: int = 100) -> tuple[Commit, ...]:
        """The commit and those before it, newest first."""
        ...

    async def permission(self, repository: Repository, person: Person) -> Permission | None:
        """What a person may do with the repository; None where the login is another account's by now."""
        ...

    async def is_member(self, repository: Repository, team: str, person: Person) -> bool:
        """Whether a person is of a team, `organisation/team`."""
        ...

    async def app_owner(self) -> int | None:
        """The number of the account that owns the App."""
        ...

    async def installed_accounts(self) -> dict[str, int]:
        """The numbers of the accounts that the App is installed on, by login in small letters."""
        ...

    async def app_slug(self) -> str:
        """The App's name: its own comments and labels are by `slug[bot]`."""
        ...

    async def make_label(self, repository: Repository, name: str, *, colour: str, description: str) -> None:
        """Make a label, unless there is one of the name."""
        ...

    async def react(self, repository: Repository, comment_id: int, content: str) -> None:
        """Put a reaction under a comment; again is harmless."""
        ...

    async def repositories(self, installation: int) -> tuple[Repository, ...]:
        """The repositories of an installation."""
        ...
