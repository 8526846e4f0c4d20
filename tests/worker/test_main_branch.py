"""Main is measured by the clock and on demand, and takes over what landed on it."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

import pytest
from msgspec.structs import replace

from bot.commands.handler import CommandHandler
from bot.config.loader import SuiteLoader
from bot.domain.case_key import CaseKey
from bot.domain.commit import Commit
from bot.domain.pull_request import MAIN_ROW_NUMBER
from bot.domain.repository import Repository
from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.domain.run_request import RequestSource, RunRequest
from bot.storage import main_branch, pull_requests, queue, repositories, requests, runs
from bot.storage.database import Database
from bot.storage.repositories import RepositoryRow
from bot.storage.tables import MAIN_BRANCH, PULL_REQUEST
from bot.verdict.measure import measure
from bot.webhooks.app_events import RepositoryChange, RepositoryChanged
from bot.worker.deliveries import AppEventHandler
from bot.worker.main_branch import POLL_SECONDS, MainBranchStep
from bot.worker.maintenance.visibility import VisibilityGate
from tests.github.plain_github import PlainGitHub
from tests.github.plain_history import PlainHistory
from tests.policy.open_policy import OpenPolicy
from tests.verdict.made_runs import Shape, run_log
from tests.worker.samples import HEAD, LAUNCHES

NAME = "acme/maxtext"

MAIN_SHA, TREE = "d" * 40, "e" * 40

NOON = datetime(2026, 4, 21, 12, tzinfo=UTC).timestamp()

AT_THREE = LAUNCHES + 'baseline: {daily_at: "03:00"}\n'

ON_XPK = AT_THREE.replace(
    "cluster: local, local: {repository: /code, timeout: 5m}",
    "cluster: xpk, xpk: {cluster: c, project: p, zone: z, device-type: v6e-32, docker-image: i}",
)

DAY = 86_400.0

KEYS = [
    CaseKey("03_dropout", "linen"),
    CaseKey("03_dropout", "nnx"),
    CaseKey("04_int8", "linen"),
    CaseKey("04_int8", "nnx"),
]


@dataclass(slots=True, kw_only=True)
class Scene:
    """A main with one commit, looked at whenever a test says so."""

    database: Database
    forge: PlainGitHub = field(default_factory=PlainGitHub)
    now: float = NOON
    permissions: OpenPolicy = field(default_factory=OpenPolicy)
    woken: int = 0

    def look(self, text: str | None = AT_THREE) -> float | None:
        """Look at main with this configuration, whose push was heard; when it is due again."""
        self.forge.history.files = {".github/maxview.yml": text} if text else {}
        suites = SuiteLoader(forge=self.forge, database=self.database, now=lambda: self.now)
        asyncio.run(suites.refresh(Repository(full_name=NAME, installation=1, default_branch="main")))
        self.forge.stand_in.state.requests.clear()
        self.database.write_now(main_branch.enqueue_main, repository=NAME, installation=1, now=self.now)
        held = self.database.write_now(queue.claim, MAIN_BRANCH, owner="me", now=self.now, lease=30.0)
        assert held is not None
        step = MainBranchStep(
            database=self.database,
            forge=self.forge,
            suites=suites,
            permissions=self.permissions,
            now=lambda: self.now,
            wake=self._wake,
        )
        asyncio.run(step(held))
        due: float | None = self.database.write_now(_due)
        return due

    def wanted(self) -> list[RunRecord]:
        """The runs that are wanted for main itself."""
        return list(self.database.write_now(runs.wanted_runs, NAME, MAIN_ROW_NUMBER))

    def end_all(self, state: RunState = RunState.ENDED) -> None:
        """Have every wanted run end so."""
        for run in self.wanted():
            self.database.write_now(runs.save, replace(run, state=state), now=self.now)

    def _wake(self) -> None:
        self.woken += 1


def _due(connection: object) -> float | None:
    due: float | None = connection.execute(MAIN_BRANCH.select()).mappings().one()["due"]  # type: ignore[attr-defined]
    return due


@pytest.fixture
def scene(database: Database) -> Scene:
    """A repository that is installed, and main's one commit."""
    row = RepositoryRow(full_name=NAME, installation=1, default_branch="main", private=False, active=True)
    database.write_now(repositories.save_repository, row)
    made = Scene(database=database)
    made.forge.history.commits = (Commit(sha=MAIN_SHA, committed_at=NOON - 60, message="Newest", tree=TREE),)
    return made


def test_the_day_on_which_a_schedule_is_written_is_left_out(scene: Scene) -> None:
    """Nobody waits for a run of the past; the next moment is looked at in time."""
    due = scene.look()
    assert [] == scene.wanted()
    assert NOON + POLL_SECONDS == due
    scene.now = NOON + 14.5 * 3600
    assert NOON + 15 * 3600 == scene.look()


def test_main_is_run_once_a_day_at_its_time(scene: Scene) -> None:
    """Every case and variant of main's newest commit; looking again plans nothing twice."""
    scene.look()
    scene.now += DAY
    for _ in range(2):
        scene.look()
        assert KEYS == sorted(run.case_key for run in scene.wanted())
        assert {(MAIN_SHA, TREE, "main")} == {(run.sha, run.tree, run.branch) for run in scene.wanted()}
    assert 1 == scene.woken
    scene.end_all()
    scene.look()
    assert [] == scene.wanted()
    assert () == scene.database.write_now(requests.run_requests, NAME, MAIN_ROW_NUMBER)


def test_a_day_that_was_slept_through_is_run_on_waking(scene: Scene) -> None:
    """Three days of absence make one run, of main as it is now."""
    scene.look()
    scene.now += 3 * DAY
    scene.look()
    assert len(KEYS) == len(scene.wanted())


def test_a_commit_that_was_run_already_is_not_run_again(scene: Scene) -> None:
    """Main did not move since yesterday, and the cluster keeps its pace."""
    scene.look(ON_XPK)
    scene.now += DAY
    scene.look(ON_XPK)
    assert len(KEYS) == len(scene.wanted())
    scene.end_all()
    scene.look(ON_XPK)
    scene.now += DAY
    scene.look(ON_XPK)
    assert [] == scene.wanted()


def test_what_a_cluster_lost_is_tried_again_on_the_next_day(scene: Scene) -> None:
    """Not on the same one: an outage ends at some time; and main, which stands still, gets its baseline."""
    scene.look(ON_XPK)
    names = set()
    for _ in range(3):
        scene.now += DAY
        scene.look(ON_XPK)
        names |= {run.id for run in scene.wanted()}
        scene.end_all(RunState.LOST)
        for _ in range(2):
            scene.look(ON_XPK)
            assert [] == scene.wanted()
    assert 3 * len(KEYS) == len(names)


def test_a_baseline_is_run_on_demand(scene: Scene) -> None:
    """The cases that were asked for, on the commit that was asked for."""
    ask = RunRequest(
        source=RequestSource.COMMAND,
        name="baseline:7:99",
        keys=frozenset(KEYS[:1]),
        by="alice",
        head_sha=MAIN_SHA,
        made=NOON,
    )
    scene.database.write_now(requests.save_request, NAME, MAIN_ROW_NUMBER, ask)
    scene.look(LAUNCHES)
    (run,) = scene.wanted()
    assert ("03_dropout", "linen", MAIN_SHA) == (run.case, run.variant, run.sha)


def test_a_schedule_is_answered_when_all_of_its_runs_have_ended(scene: Scene) -> None:
    """One that ended first takes none of the others along."""
    scene.look()
    scene.now += DAY
    scene.look()
    first, *_ = scene.wanted()
    scene.database.write_now(runs.save, replace(first, state=RunState.ENDED), now=scene.now)
    scene.look()
    assert len(KEYS) == len(scene.wanted())


def test_a_wish_that_arrives_during_a_look_is_not_lost(scene: Scene) -> None:
    """A push that is heard while main is read has it read again at once."""

    async def push() -> None:
        await scene.database.write(main_branch.enqueue_main, repository=NAME, installation=1, now=scene.now)

    quiet = scene.look(None)
    scene.forge.stand_in.interrupt_next("GET", "/commits", push)
    assert (quiet, scene.look(None)) == (NOON + POLL_SECONDS, NOON)


def test_a_case_that_is_no_more_is_not_run_for_an_old_ask(scene: Scene) -> None:
    """It was asked for under another configuration; what is still there is run."""
    ask = RunRequest(
        source=RequestSource.COMMAND,
        name="baseline:7:99",
        keys=frozenset({*KEYS[:1], CaseKey("99_gone", "linen")}),
        by="alice",
        head_sha=MAIN_SHA,
        made=NOON,
    )
    scene.database.write_now(requests.save_request, NAME, MAIN_ROW_NUMBER, ask)
    scene.look(LAUNCHES)
    assert [(run.case, run.variant) for run in scene.wanted()] == [("03_dropout", "linen")]


def test_runs_that_are_asked_for_no_more_are_let_go_of(scene: Scene) -> None:
    """Without a launch section nothing is left to run."""
    scene.look()
    scene.now += DAY
    scene.look()
    assert scene.wanted()
    scene.look('version: 1\nruns: {source: "file:/runs", pattern: "{case}/*.log"}\ncases: {a: {}}\n')
    assert [] == scene.wanted()


def test_what_landed_is_adopted_and_told_to_those_who_compare(scene: Scene) -> None:
    """The head of a pull request became main's newest commit with the same files."""
    database = scene.database
    database.write_now(
        pull_requests.enqueue, repository=NAME, number=7, installation=1, now=NOON, head_sha=HEAD
    )
    database.write_now(pull_requests.enqueue, repository=NAME, number=8, installation=1, now=NOON)
    held = database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOON, lease=30.0)
    assert held is not None
    values = {"head_sha": HEAD, "head_tree": TREE, "head_branch": "feat/x", "open": False}
    database.write_now(pull_requests.release_pull, held, now=NOON, due=None, values=values)
    run = RunRecord(id="r", repository=NAME, case="a", variant="", branch="feat_x", sha=HEAD, started=1.0)
    scene.look(None)
    before = database.write_now(pull_requests.find_pull, NAME, 8)
    database.write_now(runs.save, run, now=NOON, measured=measure(run_log(Shape(steps=12))))
    scene.look(None)
    (adopted,) = database.write_now(runs.branch_runs, NAME, "main")
    after = database.write_now(pull_requests.find_pull, NAME, 8)
    assert before is not None
    assert after is not None
    assert (MAIN_SHA, HEAD, RunOrigin.FOUND) == (adopted.sha, adopted.measured_sha, adopted.origin)
    assert before.wanted + 1 == after.wanted


def _line(number: int) -> tuple[Commit, ...]:
    """So many commits of main, newest first, each on top of the next."""
    return tuple(
        Commit(
            sha=f"{place:040x}",
            committed_at=NOON - place,
            message="",
            tree=f"t{place}",
            parents=(f"{place + 1:040x}",),
        )
        for place in range(number)
    )


def _closed(database: Database, tree: str) -> None:
    """Pull request 7, whose head had these files, and a run of it."""
    database.write_now(
        pull_requests.enqueue, repository=NAME, number=7, installation=1, now=NOON, head_sha=HEAD
    )
    held = database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOON, lease=30.0)
    assert held is not None
    values = {"head_sha": HEAD, "head_tree": tree, "head_branch": "feat/x", "open": False}
    database.write_now(pull_requests.release_pull, held, now=NOON, due=None, values=values)
    run = RunRecord(id="r", repository=NAME, case="a", variant="", branch="feat_x", sha=HEAD, started=1.0)
    database.write_now(runs.save, run, now=NOON, measured=measure(run_log(Shape(steps=12))))


def _of(scene: Scene, branch: str) -> list[tuple[str | None, str | None]]:
    """The commits of a branch's runs, and the heads that they were measured on."""
    return [(run.sha, run.measured_sha) for run in scene.database.write_now(runs.branch_runs, NAME, branch)]


def test_what_landed_during_an_absence_is_adopted_however_many_commits_followed(scene: Scene) -> None:
    """Main is read back to the last commit known; before any is, a week of it is enough."""
    line = _line(600)
    _closed(scene.database, "t450")
    scene.forge.history.commits = line
    scene.look(None)
    assert _of(scene, "main") == []
    scene.forge.history.commits = line[500:]
    scene.look(None)
    scene.forge.history.commits = line
    scene.look(None)
    assert _of(scene, "main") == [(line[450].sha, HEAD)]
    scene.look(None)
    assert scene.forge.requests.count(f"GET /repos/{NAME}/commits") == 1


def test_a_default_branch_that_is_renamed_keeps_its_history(scene: Scene) -> None:
    """Its runs follow it, once, with what landed; who compares looks again."""
    _closed(scene.database, TREE)
    scene.forge.stand_in.state.default_branch = "master"
    scene.look(None)
    assert _of(scene, "master") == [(MAIN_SHA, HEAD)]
    scene.database.write_now(pull_requests.enqueue, repository=NAME, number=8, installation=1, now=NOON)
    before = scene.woken
    scene.forge.stand_in.state.default_branch = "main"
    for _ in range(2):
        scene.look(None)
        assert (_of(scene, "main"), _of(scene, "master")) == ([(MAIN_SHA, HEAD)], [])
    assert scene.woken == before + 1


def test_a_default_branch_of_another_line_begins_a_history_of_its_own(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Whose commits are others, its runs are others too; that is said."""
    _closed(scene.database, TREE)
    scene.forge.stand_in.state.default_branch = "master"
    scene.look(None)
    scene.forge.stand_in.state.default_branch = "next"
    scene.forge.history.commits = _line(3)
    with caplog.at_level("INFO"):
        scene.look(None)
    assert (_of(scene, "next"), _of(scene, "master")) == ([], [(MAIN_SHA, HEAD)])
    assert "next does not hold master" in caplog.text


@dataclass(slots=True, kw_only=True)
class Diverged(PlainHistory):
    """Two branches left each other at `base`; None where one of them is gone."""

    base: str | None = None

    def merge_base(self, one: str, other: str) -> str | None:  # noqa: ARG002 - as the Protocol
        """That commit."""
        return self.base


@pytest.mark.parametrize(("base", "followed"), [(MAIN_SHA, 1), ("f" * 40, 0), (None, 0)])
def test_a_new_name_far_ahead_is_asked_whether_it_holds_the_old_head(
    scene: Scene, base: str | None, followed: int
) -> None:
    """Where the commits that are read do not tell; a commit that is gone is not held."""
    _closed(scene.database, TREE)
    scene.forge = PlainGitHub(history=Diverged(commits=scene.forge.history.commits, base=base))
    scene.forge.stand_in.state.default_branch = "master"
    scene.look(None)
    scene.forge.stand_in.state.default_branch = "main"
    scene.forge.history.commits = _line(3)
    scene.look(None)
    assert len(_of(scene, "main")) == followed


def test_main_is_looked_at_when_the_repository_was_edited(scene: Scene) -> None:
    """Its default branch may have another name."""
    edited = RepositoryChanged(
        repository=Repository(full_name=NAME, installation=1, default_branch="next"),
        change=RepositoryChange.EDITED,
    )
    suites = SuiteLoader(forge=scene.forge, database=scene.database, now=lambda: NOON)
    life = AppEventHandler(
        database=scene.database,
        suites=suites,
        handler=cast("CommandHandler", None),
        visibility=VisibilityGate(database=scene.database, forge=scene.forge, now=lambda: NOON),
        now=lambda: NOON,
    )
    asyncio.run(life.handle(edited, delivery="d"))
    assert scene.database.write_now(_due) == NOON


def test_a_repository_that_left_is_let_alone(scene: Scene) -> None:
    """Nothing is asked of GitHub."""
    scene.database.write_now(repositories.deactivate, installation=1)
    assert scene.look() is None
    assert [] == scene.forge.requests
