"""A GitHub of plain values, for the tests of the controller.

In:  pull requests, files, permissions. Out: what `bot.domain.forge.Forge` asks, and a list of that.
"""

from dataclasses import dataclass, field

from bot.domain.commit import Commit
from bot.domain.pull_request import PullRequest
from bot.domain.repository import Permission, Person, Repository
from bot.errors import NotFound, UserError


@dataclass(slots=True, kw_only=True)
class FakeForge:
    """Answers from its fields; `asked` has one word for each question."""

    pulls: dict[int, PullRequest] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    commits: tuple[Commit, ...] = ()
    paths: tuple[str, ...] = ("src/a.py",)
    permissions: dict[str, Permission] = field(default_factory=dict)
    teams: dict[str, set[str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    reactions: list[tuple[int, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    default_branch: str = "main"

    async def pull(self, repository: Repository, number: int) -> PullRequest:
        """The pull request, or `Missing`."""
        self.asked.append(f"pull {repository.full_name}#{number}")
        if number not in self.pulls:
            raise NotFound(f"there is no pull request {number}")
        return self.pulls[number]

    async def file(self, repository: Repository, path: str, ref: str) -> str | None:
        """A file, the same at every commit that has none of its own (`ref:path`)."""
        self.asked.append(f"file {repository.full_name} {ref}")
        return self.files.get(f"{ref}:{path}", self.files.get(path))

    async def repository_facts(self, repository: Repository) -> Repository:
        """The repository with its default branch."""
        self.asked.append(f"facts {repository.full_name}")
        return Repository(
            full_name=repository.full_name,
            installation=repository.installation,
            default_branch=self.default_branch,
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

    async def permission(self, repository: Repository, person: Person) -> Permission | None:
        """What a person may do; who is not known may do nothing, and who is called like another nobody."""
        self.asked.append(f"permission {repository.full_name} {person.login}")
        if self.numbers.get(person.login, person.id) != person.id:
            return None
        return self.permissions.get(person.login, Permission.NONE)

    async def is_member(self, repository: Repository, team: str, person: Person) -> bool:
        """Whether a team's list holds the person; `Told` for a team that has none."""
        self.asked.append(f"member {repository.full_name} {team} {person.login}")
        if team not in self.teams:
            raise UserError(f"{team} may not be read")
        return person.login in self.teams[team]

    async def app_slug(self) -> str:
        """The App is `maxview`."""
        return "maxview"

    async def make_label(self, repository: Repository, name: str, *, colour: str, description: str) -> None:
        """Remember a label."""
        self.asked.append(f"label {repository.full_name} {name}")
        self.labels[name] = f"{colour} {description}"

    async def react(self, repository: Repository, comment_id: int, content: str) -> None:
        """Remember a reaction."""
        self.asked.append(f"react {repository.full_name} {comment_id}")
        self.reactions.append((comment_id, content))

    async def repositories(self, installation: int) -> tuple[Repository, ...]:
        """One repository for every installation."""
        self.asked.append(f"repositories {installation}")
        return (Repository(full_name="acme/maxtext", installation=installation, default_branch="main"),)
