"""A push is seen by the pull requests of its branch, by main, and by branches watched for themselves."""

import asyncio
from dataclasses import dataclass, field

import pytest

from bot.commands.intents import BranchIntent
from bot.config.loader import SuiteLoader
from bot.domain.commit import Commit
from bot.domain.pull_request import Branch, Subject
from bot.errors import NotFound
from bot.storage import pull_requests, queue, repositories
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from bot.storage.tables import MAIN_BRANCH, PULL_REQUEST
from bot.worker.deliveries import PushHandler
from bot.worker.pull_loader import PullLoader
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import ACME, FETCHES, HEAD, NOW

NAME = "acme/maxtext"

COPYBARA = "test_936672580"

OTHER = "f" * 40


@dataclass(slots=True, kw_only=True)
class Scene:
    """A repository whose configuration watches Copybara's branches."""

    database: Database
    forge: PlainGitHub = field(
        default_factory=lambda: PlainGitHub(
            files={".github/maxview.yml": FETCHES},
            commits=(Commit(sha=HEAD, committed_at=NOW, message="Fast\n\nPiperOrigin-RevId: 936672580"),),
        )
    )

    def __post_init__(self) -> None:
        """Remember the repository, as every delivery does."""
        self.database.write_now(repositories.save_repository, repositories.repository_row(ACME))

    def push(self, branch: str, sha: str = HEAD, *, deleted: bool = False) -> str:
        """A push, and what was done because of it."""
        suites = SuiteLoader(forge=self.forge, database=self.database, now=lambda: NOW)
        pushes = PushHandler(database=self.database, suites=suites, now=lambda: NOW)
        moved = BranchIntent(repository=ACME, branch=branch, sha=sha, pushed_at=NOW, deleted=deleted)
        return asyncio.run(pushes.handle(moved))

    def row(self, branch: str = COPYBARA) -> PullRow | None:
        """The row that stands for a branch."""
        number = self.database.write_now(pull_requests.branch_number, NAME, branch)
        return None if number is None else self.database.write_now(pull_requests.find_pull, NAME, number)

    def subject(self) -> Subject:
        """What the row of the branch is about."""
        row = self.row()
        assert row is not None
        return asyncio.run(PullLoader(database=self.database, forge=self.forge).load(ACME, row))

    def open_pull(self, *, from_fork: bool = False) -> None:
        """A pull request of the branch is opened, or of a fork's that is called the same."""
        self.database.write_now(
            pull_requests.enqueue, repository=NAME, number=7, installation=1, now=NOW, head_sha=HEAD
        )
        held = self.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=30.0)
        while held is not None and held.row["number"] != 7:
            held = self.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=30.0)
        assert held is not None
        values = {"head_branch": COPYBARA, "head_sha": HEAD, "from_fork": from_fork}
        self.database.write_now(pull_requests.release_pull, held, now=NOW, due=None, values=values)


@pytest.fixture
def scene(database: Database) -> Scene:
    """Nothing has happened yet."""
    return Scene(database=database)


def test_a_branch_that_copybara_exports_is_watched_without_a_pull_request(scene: Scene) -> None:
    """It has a row of its own, below zero, however often it is pushed to."""
    assert "0 pull requests of test_936672580 are looked at, and the branch itself" == scene.push(COPYBARA)
    scene.push(COPYBARA, OTHER)
    scene.push("test_5")
    row, other = scene.row(), scene.row("test_5")
    assert row is not None
    assert other is not None
    assert (-1, True, 2) == (row.number, row.open, row.wanted)
    assert -2 == other.number
    assert () == scene.database.write_now(pull_requests.list_pulls, NAME)


def test_branches_that_the_configuration_does_not_name_are_let_alone(scene: Scene) -> None:
    """Pull requests have their own deliveries."""
    assert "0 pull requests of feat/x are looked at" == scene.push("feat/x")
    assert scene.row("feat/x") is None


def test_a_branch_with_a_pull_request_is_the_pull_requests(scene: Scene) -> None:
    """Whether it opened before the push or after it: the branch's own row then counts as closed."""
    scene.push(COPYBARA)
    scene.open_pull()
    assert not scene.subject().open
    assert "1 pull requests" in scene.push(COPYBARA, OTHER)


def test_a_pull_request_that_came_first_leaves_nothing_to_watch(scene: Scene) -> None:
    """No row is made for the branch."""
    scene.open_pull()
    scene.push(COPYBARA, OTHER)
    assert scene.row() is None


def test_a_forks_pull_request_silences_no_branch_of_the_repository(scene: Scene) -> None:
    """Anybody can name a branch of their fork like a watched one."""
    scene.open_pull(from_fork=True)
    assert "0 pull requests of test_936672580 are looked at, and the branch itself" == scene.push(COPYBARA)
    assert scene.subject().open


def test_a_watched_branch_is_read_as_a_branch(scene: Scene) -> None:
    """Its newest commit, against the default branch; nothing can be written to it."""
    scene.push(COPYBARA)
    subject = scene.subject()
    assert isinstance(subject, Branch)
    assert (True, False) == (subject.open, subject.from_fork)
    assert ("Fast", HEAD, COPYBARA, "main") == (
        subject.title,
        subject.head_sha,
        subject.head_branch,
        subject.base_branch,
    )


def test_a_deleted_branch_is_looked_at_once_more_and_found_gone(scene: Scene) -> None:
    """Whoever looks lets go of its runs; a branch that was never watched stays unknown."""
    scene.push(COPYBARA)
    assert scene.push(COPYBARA, "0" * 40, deleted=True).endswith("and the branch itself")
    row = scene.row()
    assert row is not None
    assert 2 == row.wanted
    scene.forge.history.commits = ()
    with pytest.raises(NotFound, match="the branch test_936672580 of acme/maxtext is gone"):
        scene.subject()
    scene.push("test_5", "0" * 40, deleted=True)
    assert scene.row("test_5") is None


def test_a_push_to_main_has_main_looked_at(scene: Scene) -> None:
    """And the configuration read anew; main is no branch of a pull request."""
    assert "main is looked at, and every open pull request" == scene.push("main")
    held = scene.database.write_now(queue.claim, MAIN_BRANCH, owner="me", now=NOW, lease=30.0)
    assert held is not None
    assert NAME == held.row["repository"]


def test_a_branch_that_is_gone_leaves_its_pull_request_at_its_head(scene: Scene) -> None:
    """Deleted after the merge: the pull request was measured at the commit that it had."""
    scene.open_pull()
    before = scene.database.write_now(pull_requests.find_pull, NAME, 7)
    said = scene.push(COPYBARA, "0" * 40, deleted=True)
    assert said.startswith("0 pull requests")
    assert scene.database.write_now(pull_requests.find_pull, NAME, 7) == before
