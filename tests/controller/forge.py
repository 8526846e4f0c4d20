"""A GitHub of plain values, for the tests of the controller.

In:  pull requests, files, permissions. Out: what `bot.controller.ports.Forge` asks, and a list of that.
"""

from dataclasses import dataclass, field

from bot.errors import Missing
from bot.intake.pull import Commit, Permission, Pull, Repository


@dataclass(slots=True, kw_only=True)
class FakeForge:
    """Answers from its fields; `asked` has one word for each question."""

    pulls: dict[int, Pull] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    commits: tuple[Commit, ...] = ()
    paths: tuple[str, ...] = ("src/a.py",)
    permissions: dict[str, Permission] = field(default_factory=dict)
    reactions: list[tuple[int, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def pull(self, repository: Repository, number: int) -> Pull:
        """The pull request, or `Missing`."""
        self.asked.append(f"pull {repository.full_name}#{number}")
        if number not in self.pulls:
            raise Missing(f"there is no pull request {number}")
        return self.pulls[number]

    async def file(self, repository: Repository, path: str, ref: str) -> str | None:
        """A file, the same at every commit."""
        self.asked.append(f"file {repository.full_name} {ref}")
        return self.files.get(path)

    async def repository_facts(self, repository: Repository) -> Repository:
        """The repository with the default branch `main`."""
        self.asked.append(f"facts {repository.full_name}")
        return Repository(
            full_name=repository.full_name, installation=repository.installation, default_branch="main"
        )

    async def changed_paths(self, repository: Repository, number: int) -> tuple[str, ...]:
        """The same paths for every pull request."""
        self.asked.append(f"paths {repository.full_name}#{number}")
        return self.paths

    async def compared_paths(self, repository: Repository, base: str, head: str) -> tuple[str, ...]:
        """The same paths between any two commits."""
        self.asked.append(f"paths {repository.full_name} {base}...{head[:7]}")
        return self.paths

    async def merge_base(self, repository: Repository, base: str, head: str) -> Commit:
        """The newest of the commits."""
        self.asked.append(f"merge base {repository.full_name} {base} {head[:7]}")
        return self.commits[0]

    async def ancestors(self, repository: Repository, sha: str, limit: int = 100) -> tuple[Commit, ...]:
        """The commits, newest first."""
        self.asked.append(f"ancestors {repository.full_name} {sha[:7]}")
        return self.commits[:limit]

    async def permission(self, repository: Repository, login: str) -> Permission:
        """What a person may do; who is not known may do nothing."""
        self.asked.append(f"permission {repository.full_name} {login}")
        return self.permissions.get(login, Permission.NONE)

    async def react(self, repository: Repository, comment_id: int, content: str) -> None:
        """Remember a reaction."""
        self.asked.append(f"react {repository.full_name} {comment_id}")
        self.reactions.append((comment_id, content))

    async def repositories(self, installation: int) -> tuple[Repository, ...]:
        """One repository for every installation."""
        self.asked.append(f"repositories {installation}")
        return (Repository(full_name="acme/maxtext", installation=installation, default_branch="main"),)
