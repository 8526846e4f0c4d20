"""Our client on the stand-in GitHub, whose one repository is made of plain values.

For tests that name commits, pull requests and files themselves and need no git.
"""

import time
from collections.abc import Iterable, Mapping

import httpx

from bot.demo.github.stand_in import StandInGitHub
from bot.demo.github.state import AccountState, GitHubComment, PullState
from bot.domain.commit import Commit
from bot.domain.pull_request import PullRequest
from bot.domain.repository import Permission, Person
from bot.github.client import GitHubClient
from tests.github.plain_history import PlainHistory
from tests.peers.keys import private_key

NAME = "acme/maxtext"

APP_ID = 42


class PlainGitHub(GitHubClient):
    """A client of `acme/maxtext`; `stand_in` is the GitHub behind it, `pulls` what was shown of it last."""

    def __init__(
        self,
        *,
        files: Mapping[str, str] | None = None,
        commits: tuple[Commit, ...] = (),
        pulls: Iterable[PullRequest] = (),
        teams: Mapping[str, set[str]] | None = None,
        history: PlainHistory | None = None,
    ) -> None:
        """`files` maps a path, or `ref:path`, to a text; every difference is of `src/a.py`."""
        self.history = history or PlainHistory(commits=commits, paths=("src/a.py",))
        self.history.files |= files or {}
        self.stand_in = StandInGitHub(self.history, NAME, None, "a secret", APP_ID, people={})
        self.stand_in.state.teams |= teams or {}
        self.pulls: dict[int, PullRequest] = {}
        for pull in pulls:
            self.show(pull)
        super().__init__(
            app_id=APP_ID,
            private_key=private_key(),
            api_url=self.stand_in.state.url,
            transport=httpx.ASGITransport(self.stand_in.application),
            now=time.time,
        )

    def show(self, pull: PullRequest) -> None:
        """Show a pull request as given, in place of an earlier one of its number."""
        self.pulls[pull.number] = pull
        self.history.branches[pull.base_branch] = pull.base_sha
        ended = None if pull.open else pull.updated_at
        self.stand_in.state.pulls[pull.number] = PullState(
            number=pull.number,
            id=pull.number,
            title=pull.title,
            author=AccountState(id=pull.author.id, login=pull.author.login, permission=Permission.READ),
            head_branch=pull.head_branch,
            head_sha=pull.head_sha,
            base_branch=pull.base_branch,
            draft=pull.draft,
            created_at=pull.updated_at,
            updated_at=pull.updated_at,
            closed_at=ended,
            merged_at=ended if pull.merged else None,
            labels=list(pull.labels or ()),
            fork=pull.head_repository if pull.from_fork else None,
        )

    def permit(self, person: Person, permission: Permission) -> None:
        """Give a person a permission; whoever has none is a stranger."""
        self.stand_in.state.accounts[person.login] = AccountState(
            id=person.id, login=person.login, permission=permission
        )

    def add_comment(self, comment_id: int) -> None:
        """Add a comment that a delivery mentions."""
        self.stand_in.state.comments[comment_id] = GitHubComment(
            id=comment_id,
            number=7,
            author=self.stand_in.state.account("somebody"),
            body="/benchmark",
            by_app=False,
            created_at=0.0,
            updated_at=0.0,
        )

    @property
    def requests(self) -> list[str]:
        """The requests so far, without those for tokens."""
        return [one for one in self.stand_in.state.requests if not one.endswith("/access_tokens")]

    @property
    def reactions(self) -> list[tuple[int, str]]:
        """The reactions to comments."""
        comments = self.stand_in.state.comments.values()
        return [(comment.id, content) for comment in comments for content in comment.reactions]
