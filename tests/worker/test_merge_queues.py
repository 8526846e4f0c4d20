"""A merge queue's commit gets one concluded check, where the repository has checks."""

import asyncio
from dataclasses import dataclass, field

import pytest
from msgspec import structs

from bot.config import CONFIG_PATH
from bot.config.loader import SuiteLoader
from bot.domain.check import Conclusion, RenderedCheck
from bot.domain.repository import Repository
from bot.errors import NotFound, UserError
from bot.publish.publisher import REFUSED_RETRY_SECONDS
from bot.storage import main_branch, queue, repositories
from bot.storage.database import Database
from bot.storage.main_branch import MERGE_GROUP_KEPT_SECONDS, MergeGroup
from bot.storage.tables import MERGE_GROUP
from bot.worker.merge_queues import MAX_WAIT_SECONDS, MergeQueueStep
from tests.github.plain_github import PlainGitHub
from tests.worker.samples import ACME, FETCHES, HEAD, NOW

NAME = "acme/maxtext"

GROUP = MergeGroup(repository=NAME, head_sha=HEAD, installation=1, pull=12, asked=NOW)


@dataclass(slots=True, kw_only=True)
class Wall:
    """Where checks are kept, by key, and statuses; or the refusal of both."""

    checks: dict[str, RenderedCheck] = field(default_factory=dict)
    statuses: list[RenderedCheck] = field(default_factory=list)
    refusal: UserError | None = None

    async def write_check_run(
        self, repository: Repository, head_sha: str, text: RenderedCheck, *, key: str, known_id: int | None
    ) -> int:
        """Keep a check, which is looked for by its key."""
        assert (NAME, HEAD, None) == (repository.full_name, head_sha, known_id)
        self._refuse()
        self.checks[key] = text
        return 1

    async def write_status(self, repository: Repository, head_sha: str, text: RenderedCheck) -> None:
        """Keep a status."""
        assert (NAME, HEAD) == (repository.full_name, head_sha)
        self._refuse()
        self.statuses.append(text)

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal


@dataclass(slots=True, kw_only=True)
class Scene:
    """A repository with a merge queue."""

    database: Database
    wall: Wall = field(default_factory=Wall)
    forge: PlainGitHub = field(default_factory=PlainGitHub)
    clock: float = NOW

    def __post_init__(self) -> None:
        """It wants checks."""
        self.database.write_now(repositories.save_repository, repositories.repository_row(ACME))
        self.configure("check")

    def configure(self, checks: str) -> None:
        """What the default branch says."""
        self.forge.history.files = {CONFIG_PATH: f"{FETCHES}checks: {checks}\n"}

    def ask(self, group: MergeGroup = GROUP) -> None:
        """The queue waits."""
        self.database.write_now(main_branch.enqueue_merge_group, group)

    def work(self) -> bool:
        """Do what is due; whether anything was."""
        held = self.database.write_now(queue.claim, MERGE_GROUP, owner="me", now=self.clock, lease=30.0)
        if held is not None:
            asyncio.run(self._step()(held))
        return held is not None

    def _step(self) -> MergeQueueStep:
        async def page(repository: str, number: int) -> str:
            return f"http://m/{repository}/pull/{number}"

        return MergeQueueStep(
            database=self.database,
            suites=SuiteLoader(forge=self.forge, database=self.database, now=lambda: self.clock),
            checks=self.wall,
            page_url=page,
            now=lambda: self.clock,
        )


@pytest.fixture
def scene(database: Database) -> Scene:
    """Nothing is queued yet."""
    return Scene(database=database)


def test_the_check_is_skipped_and_says_where_the_answer_stands(scene: Scene) -> None:
    """Once; nothing is due after it."""
    scene.ask()
    assert [True, False] == [scene.work() for _ in range(2)]
    (said,) = scene.wall.checks.values()
    assert (Conclusion.SKIPPED, "http://m/acme/maxtext/pull/12") == (said.conclusion, said.url)
    assert "Not measured: this is a merge queue's commit; the head of pull request 12 is" == said.title
    assert said.url in said.summary


def test_a_group_that_names_no_pull_request_gets_its_check_too(scene: Scene) -> None:
    """How its branch is called is GitHub's affair."""
    scene.ask(structs.replace(GROUP, pull=None))
    scene.work()
    (said,) = scene.wall.checks.values()
    assert (Conclusion.SKIPPED, "") == (said.conclusion, said.url)


def test_a_repository_with_statuses_gets_a_status_and_one_without_checks_nothing(scene: Scene) -> None:
    """As on pull requests."""
    scene.configure("status")
    scene.ask()
    scene.work()
    scene.configure("off")
    scene.clock += 3600
    scene.ask(structs.replace(GROUP, asked=scene.clock))
    assert scene.work()
    assert ({}, 1) == (scene.wall.checks, len(scene.wall.statuses))


def test_two_that_ask_at_once_are_one_row_and_who_asks_meanwhile_is_answered_after(scene: Scene) -> None:
    """No two processes write beside each other; one that is reset meanwhile is written again."""
    scene.ask()
    scene.ask()
    held = scene.database.write_now(queue.claim, MERGE_GROUP, owner="me", now=NOW, lease=30.0)
    assert held is not None
    assert not scene.work()
    assert scene.database.write_now(main_branch.touch_merge_group, repository=NAME, head_sha=HEAD, now=NOW)
    assert scene.database.write_now(main_branch.release_merge_group, held, now=NOW, due=None)
    assert [True, False] == [scene.work() for _ in range(2)]


def test_a_refusal_is_tried_again_while_the_queue_waits(scene: Scene) -> None:
    """A missing permission may be given; GitHub drops the pull request after six hours at most."""
    scene.wall.refusal = UserError("checks=write is missing")
    scene.ask()
    assert [True, False] == [scene.work() for _ in range(2)]
    scene.clock += REFUSED_RETRY_SECONDS
    assert [True, False] == [scene.work() for _ in range(2)]
    scene.clock = NOW + MAX_WAIT_SECONDS
    assert [True, False] == [scene.work() for _ in range(2)]
    scene.clock += REFUSED_RETRY_SECONDS
    assert not scene.work()


def test_a_commit_that_is_gone_is_let_go_of(scene: Scene) -> None:
    """The queue went on before we came."""
    scene.wall.refusal = NotFound("no such commit")
    scene.ask()
    assert scene.work()
    scene.clock += REFUSED_RETRY_SECONDS
    assert not scene.work()


def test_groups_of_last_week_are_forgotten(scene: Scene) -> None:
    """A busy queue makes thousands."""
    scene.ask()
    scene.work()
    scene.ask(structs.replace(GROUP, head_sha="c" * 40, asked=NOW + MERGE_GROUP_KEPT_SECONDS + 1))
    assert not scene.database.write_now(
        main_branch.touch_merge_group, repository=NAME, head_sha=HEAD, now=NOW
    )
