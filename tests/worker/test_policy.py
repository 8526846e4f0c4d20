"""The operator's policy where the worker acts: no grant, no effect, and one line that says so."""

import asyncio
from pathlib import Path

import pytest

from bot.artifacts.folder import FolderStore
from bot.artifacts.sources import open_store
from bot.clusters.interface import Isolation, JobState, Observation
from bot.clusters.registry import ClusterRegistry
from bot.config import RunSource
from bot.domain.price import HoldLimit, HoldReason
from bot.domain.run import RunState
from bot.domain.run_pattern import RunPattern
from bot.errors import NotGranted
from bot.ingest.collect import ImportQuery
from bot.ingest.importer import RunImporter
from bot.planning.budget import BudgetHold, BudgetLimits, OperatorLimit
from bot.policy.gate import Asked
from bot.report.model import ProblemKind
from bot.storage import launched_runs, pull_requests, runs, spend
from bot.storage.database import Database
from bot.worker.maintenance.orphan_cleanup import OrphanCleanup
from bot.worker.pull_decisions import FoundProblem, ReportLimits, joined_limits
from tests.policy.open_policy import OpenPolicy
from tests.worker.fake_cluster import FakeCluster, RunProcess, planned_run
from tests.worker.samples import suite

NOW = 1_795_000_000.0

REFUSED = "this server may not launch on p/z/c: ask its operator"

UNREAD = "this server may not read gs://b: ask its operator"

FIRST = planned_run()

LAUNCH = "launch: {cluster: local, local: {repository: /x.git}}\ncases: {a: {command: x}}\nversion: 1\n"

FIND = 'runs: {source: "gs://bb", pattern: "{slug}/*.log"}\n'


@pytest.fixture
def process(database: Database, tmp_path: Path) -> RunProcess:
    """A process with one planned run that pull request 7 wants."""
    database.write_now(pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW)
    database.write_now(runs.plan_runs, [FIRST], repository="acme/maxtext", number=7, now=NOW)
    store = open_store(f"file:{tmp_path / 'artifacts'}")
    return RunProcess(database=database, cluster=FakeCluster(), artifacts=store, clock=[NOW])


def _forbid(cluster: FakeCluster) -> None:
    def asked(call: str, name: str) -> None:
        pytest.fail(f"the cluster was asked: {call} {name}")

    cluster.before = asked


def test_a_run_without_a_grant_waits_and_its_cluster_is_asked_nothing(process: RunProcess) -> None:
    """Also a row that an older version planned: the words are those of the comment."""
    process.permissions.refused = REFUSED
    _forbid(process.cluster)
    process.step()
    process.later(3600)

    assert process.record(FIRST.record.id).state is RunState.PLANNED
    assert process.standing(FIRST.record.id).why == REFUSED


def test_a_grant_is_asked_anew_right_before_the_launch(process: RunProcess) -> None:
    """What was true a moment ago is not enough; and the job is as isolated as the policy says."""
    process.step()

    assert process.permissions.asked == [Asked.RECENTLY, Asked.NOW]
    assert [job.isolation for job in process.cluster.asked] == [Isolation.UNSANDBOXED]


def test_a_run_whose_grant_ends_is_given_up(process: RunProcess) -> None:
    """Its job is deleted where the policy still knows the cluster."""
    process.step()
    process.permissions.refused = REFUSED
    process.later()

    assert process.record(FIRST.record.id).state is RunState.LOST
    assert process.standing(FIRST.record.id).why == REFUSED
    assert process.cluster.deleted == [FIRST.job.name]


def test_a_cluster_that_nobody_is_granted_is_asked_nothing(process: RunProcess) -> None:
    """Neither about a run that was launched there before, nor for orphans."""
    process.step()
    process.permissions = OpenPolicy(refused=REFUSED, unknown_places=True)
    _forbid(process.cluster)
    process.later()
    cleanup = OrphanCleanup(
        database=process.database,
        clusters=ClusterRegistry(local=process.cluster, open_place=lambda _: process.cluster),
        permissions=process.permissions,
        now=lambda: process.clock[0] + 1e5,
        owner="sweeper",
    )

    assert process.record(FIRST.record.id).state is RunState.LOST
    assert asyncio.run(cleanup.run_once()) == frozenset()


def test_a_retried_run_needs_its_grant_again(process: RunProcess) -> None:
    """An operator's retry and a cluster's fault make another launch, which is another use."""
    process.step()
    process.cluster.jobs[FIRST.job.name] = Observation(state=JobState.ABSENT)
    process.database.write_now(runs.save, process.record(FIRST.record.id), now=NOW)
    process.permissions.refused = REFUSED
    process.later(3600)

    assert len(process.cluster.asked) == 1


def test_nobody_wants_a_refused_run(process: RunProcess) -> None:
    """It is cancelled, though it cannot be launched."""
    process.permissions.refused = REFUSED
    process.database.write_now(runs.drop_wants, repository="acme/maxtext", number=7)
    process.later(3600)

    assert process.record(FIRST.record.id).state is RunState.CANCELLED


def test_a_source_without_a_grant_is_not_opened(database: Database, tmp_path: Path) -> None:
    """Not even to see whether it is there."""
    importer = RunImporter(
        database=database,
        permissions=OpenPolicy(unread=UNREAD),
        now=lambda: NOW,
        artifacts=FolderStore(tmp_path / "artifacts"),
    )
    source = RunSource(source=f"file:{tmp_path}/nowhere", pattern=RunPattern("{slug}/*.log"))
    query = ImportQuery(slug="main", shas=(), variants=("default",), cases=("a",))
    with pytest.raises(NotGranted) as caught:
        asyncio.run(importer.import_runs("acme/maxtext", source, [query]))

    assert caught.value.text == UNREAD


def test_the_operators_budget_is_of_all_its_repositories(process: RunProcess) -> None:
    """What another repository of the entry took counts, and is not told."""
    other = planned_run("another case")
    database = process.database
    database.write_now(runs.plan_runs, [other], repository="acme/maxtext", number=7, now=NOW)
    limit = OperatorLimit(chip_hours_per_day=10.0, repositories=("acme/maxtext", "acme/second"))
    wide = BudgetLimits(concurrent_runs=10, chip_hours_per_day=1000.0)

    def admit(run: str, operator: OperatorLimit) -> BudgetHold | None:
        request = spend.AdmissionRequest(run=run, attempt=1, place="p/z/c", most=6.0)
        return database.write_now(spend.admit, request, wide, now=NOW, operator=[operator])

    assert admit(FIRST.record.id, limit) is None
    held = admit(other.record.id, limit)
    assert held is not None
    assert held.reason == HoldReason(
        HoldLimit.OPERATOR, "what is left of 10 does not cover this run; it resets at 00:00 UTC"
    )
    elsewhere = OperatorLimit(chip_hours_per_day=10.0, repositories=("acme/second",))
    assert admit(other.record.id, elsewhere) is None
    assert database.write_now(launched_runs.run_statuses, [other.record.id])


@pytest.mark.parametrize(
    ("text", "found", "launch", "limits"),
    [
        (LAUNCH, FoundProblem(), "", ReportLimits()),
        (LAUNCH, FoundProblem(), REFUSED, ReportLimits(problem=REFUSED, kind=ProblemKind.REFUSED)),
        (LAUNCH + FIND, FoundProblem(), REFUSED, ReportLimits(notice=REFUSED)),
        (LAUNCH + FIND, FoundProblem(refused=UNREAD), "", ReportLimits(notice=UNREAD)),
        (
            LAUNCH + FIND,
            FoundProblem(refused=UNREAD),
            REFUSED,
            ReportLimits(problem=f"{UNREAD}; {REFUSED}", kind=ProblemKind.REFUSED),
        ),
        (
            LAUNCH + FIND,
            FoundProblem(unreadable="gone"),
            REFUSED,
            ReportLimits(problem="gone", notice=REFUSED),
        ),
    ],
)
def test_what_is_granted_keeps_its_verdict(
    text: str, found: FoundProblem, launch: str, limits: ReportLimits
) -> None:
    """Where runs are found or launched all the same, what is refused is a line beside their verdict."""
    assert joined_limits(suite(text), found, launch) == limits
