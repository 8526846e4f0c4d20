"""A branch and its pull request: whoever speaks for it, the other is looked at when that changes."""

import asyncio
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from bot.config.loader import SuiteLoader
from bot.domain.commit import Commit
from bot.domain.pull_request import PullRequest
from bot.storage import pull_requests, queue
from bot.storage.database import Database
from bot.storage.tables import PULL_REQUEST
from bot.worker.pull_loader import PullLoader
from bot.worker.pull_requests import branch_with_new_owner
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import ACME, FETCHES, HEAD, NOW, PULL

NAME = PULL.repository

BRANCH = "test_936672580"

OPEN = replace(PULL, head_branch=BRANCH, open=True)

CLOSED = replace(OPEN, open=False)


@dataclass(slots=True, kw_only=True)
class Scene:
    """A repository whose configuration watches Copybara's branches, and one pull request of such a branch."""

    database: Database
    forge: PlainGitHub

    def is_seen(self, pull: PullRequest) -> str | None:
        """The pull request's step ends; the branch that is looked at because of it."""
        self.database.write_now(
            pull_requests.enqueue, repository=NAME, number=pull.number, installation=1, now=NOW
        )
        key = {"repository": NAME, "number": pull.number}
        held = self.database.write_now(queue.claim_row, PULL_REQUEST, key=key, owner="me", now=NOW, lease=9.0)
        assert held is not None
        suites = SuiteLoader(forge=self.forge, database=self.database, now=lambda: NOW)
        row = pull_requests.pull_row(held.row)
        branch = asyncio.run(branch_with_new_owner(self.database, suites, ACME, row, pull))
        values = {"open": pull.open, "head_branch": pull.head_branch, "head_sha": pull.head_sha}
        assert self.database.write_now(
            pull_requests.release_and_watch, held, now=NOW, due=None, values=values, branch=branch
        )
        return branch

    def push(self) -> None:
        """The branch is pushed to, and seen."""
        self.database.write_now(
            pull_requests.watch_branch, repository=NAME, branch=BRANCH, installation=1, sha=HEAD, now=NOW
        )
        self.look()

    def look(self) -> bool | None:
        """The branch's step; whether it stood for itself, None where nothing was to be looked at."""
        number = self.database.write_now(pull_requests.branch_number, NAME, BRANCH)
        row = None if number is None else self.database.write_now(pull_requests.find_pull, NAME, number)
        key = {"repository": NAME, "number": number}
        held = self.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=0.0)
        if row is None or held is None:
            return None
        subject = asyncio.run(PullLoader(database=self.database, forge=self.forge).load(ACME, row))
        held = self.database.write_now(
            queue.claim_row, PULL_REQUEST, key=key, owner="me", now=NOW + 1, lease=9.0
        )
        assert held is not None
        self.database.write_now(
            pull_requests.release_pull, held, now=NOW, due=None, values={"open": subject.open}
        )
        return subject.open


@pytest.fixture
def scene(database: Database) -> Scene:
    """Nothing has happened yet."""
    commits = (Commit(sha=HEAD, committed_at=NOW, message="Fast"),)
    forge = PlainGitHub(files={".github/maxview.yml": FETCHES}, commits=commits)
    return Scene(database=database, forge=forge)


def test_a_branch_gives_way_to_a_pull_request_and_comes_back_when_that_is_closed(scene: Scene) -> None:
    """Each time without a push: its runs are withdrawn at once, and wanted again at once; and so again."""
    scene.push()
    for _ in range(2):
        assert scene.is_seen(OPEN) == BRANCH
        assert scene.look() is False
        assert (scene.is_seen(OPEN), scene.look()) == (None, None)
        assert scene.is_seen(CLOSED) == BRANCH
        assert scene.look() is True
        assert (scene.is_seen(CLOSED), scene.look()) == (None, None)


def test_a_branch_that_only_a_pull_request_spoke_for_is_watched_once_that_is_closed(scene: Scene) -> None:
    """It still lives, and the configuration watches such branches."""
    assert scene.is_seen(OPEN) is None
    assert scene.is_seen(CLOSED) == BRANCH
    assert scene.look() is True


def test_a_branch_that_was_merged_or_is_nobodys_is_let_alone(scene: Scene) -> None:
    """So are a fork's branches, whatever they are called, and those that no configuration names."""
    for pull in (
        replace(OPEN, number=1, merged=True),
        replace(OPEN, number=2, head_branch="feat/x"),
        replace(OPEN, number=3, head_repository="eve/maxtext"),
    ):
        assert scene.is_seen(pull) is None
        assert scene.is_seen(replace(pull, open=False)) is None
    assert scene.look() is None


def test_a_step_that_lost_its_row_hands_nothing_over(scene: Scene) -> None:
    """Another process saw the pull request in the meantime."""
    scene.push()
    scene.database.write_now(pull_requests.enqueue, repository=NAME, number=7, installation=1, now=NOW)
    key = {"repository": NAME, "number": 7}
    late = scene.database.write_now(queue.claim_row, PULL_REQUEST, key=key, owner="late", now=NOW, lease=1.0)
    scene.database.write_now(queue.claim_row, PULL_REQUEST, key=key, owner="me", now=NOW + 9, lease=1.0)
    assert late is not None
    assert not scene.database.write_now(
        pull_requests.release_and_watch, late, now=NOW, due=None, values={}, branch=BRANCH
    )
    row = scene.database.write_now(pull_requests.find_pull, NAME, -1)
    assert row is not None
    assert row.wanted == 1
