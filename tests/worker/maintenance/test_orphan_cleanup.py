"""What is deleted from a cluster, and what is left alone."""

import asyncio
import shutil
from collections.abc import Collection
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, update

from bot.artifacts.sources import open_store
from bot.clusters.interface import Cluster, ClusterFault, ClusterPlace, JobState, Observation
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.registry import ClusterRegistry
from bot.domain.run import RunState
from bot.errors import InternalError
from bot.planning.budget import BudgetLimits
from bot.runs.run_status import RunStatus
from bot.storage import launched_runs, pull_requests, queue, runs, spend
from bot.storage.database import Database
from bot.storage.spend import AdmissionRequest
from bot.storage.tables import RUN
from bot.worker.maintenance.orphan_cleanup import GRACE_SECONDS, OrphanCleanup
from tests.clusters.local_bench import LocalBench, run_async
from tests.policy.open_policy import OpenPolicy
from tests.worker.fake_cluster import FakeCluster, RunProcess, planned_run

NOW = 1_795_000_000.0

FIRST = planned_run()

NAME = FIRST.job.name


@pytest.fixture
def process(database: Database, tmp_path: Path) -> RunProcess:
    """A process with one launched run."""
    database.write_now(pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW)
    database.write_now(runs.plan_runs, [FIRST], repository="acme/maxtext", number=7, now=NOW)
    store = open_store(f"file:{tmp_path / 'artifacts'}")
    made = RunProcess(database=database, cluster=FakeCluster(), artifacts=store, clock=[NOW])
    made.step()
    return made


def _sweep(process: RunProcess, after: float = 0.0) -> frozenset[str]:
    process.clock[0] += after
    cleanup = OrphanCleanup(
        database=process.database,
        clusters=ClusterRegistry(local=process.cluster, open_place=lambda _: process.cluster),
        permissions=process.permissions,
        now=lambda: process.clock[0],
        owner="sweeper",
    )
    return asyncio.run(cleanup.run_once())


def test_open_runs_keep_their_jobs(process: RunProcess) -> None:
    """A job that a run stands for is left, however old it is."""
    assert _sweep(process, after=1e6) == frozenset()
    assert list(process.cluster.jobs) == [NAME]


def test_a_job_is_deleted_a_while_after_its_run_was_over(process: RunProcess) -> None:
    """Neither at once nor never."""
    process.cluster.ends(NAME)
    process.later()
    assert process.record(FIRST.record.id).state is RunState.ENDED
    assert _sweep(process, after=GRACE_SECONDS - 1) == frozenset()
    assert _sweep(process, after=1) == {NAME}
    assert process.cluster.jobs == {}


def test_a_late_launch_of_an_attempt_that_was_given_up_is_deleted(process: RunProcess) -> None:
    """The attempt that counts goes on; the other is an orphan."""
    process.cluster.fails(NAME, ClusterFault.EVICTED)
    process.later()
    process.later(30)
    process.cluster.runs_on(NAME)
    assert _sweep(process, after=GRACE_SECONDS) == {NAME}
    assert list(process.cluster.jobs) == [f"{NAME}-2"]


def test_what_our_database_does_not_know_is_left_alone(process: RunProcess) -> None:
    """Another installation's jobs, and people's, are not ours to delete."""
    others = ("mv-04-int8-ffffffffffffffff", "mv-somebody", "nightly")
    for name in others:
        process.cluster.runs_on(name)
    assert _sweep(process, after=1e6) == frozenset()
    assert set(process.cluster.jobs) == {NAME, *others}


def test_a_job_whose_run_somebody_moves_right_now_is_left_for_later(process: RunProcess) -> None:
    """A run that is held may be about to be started again."""
    process.cluster.ends(NAME)
    process.later()
    process.clock[0] += GRACE_SECONDS
    taken = process.database.write_now(
        queue.claim_row, RUN, key={"id": FIRST.record.id}, owner="other", now=process.clock[0], lease=60.0
    )
    assert taken is not None
    assert _sweep(process) == frozenset()
    assert _sweep(process, after=61) == {NAME}


def test_sweeping_leaves_the_row_as_it_was(process: RunProcess) -> None:
    """Due when it was, and free for the next who claims it."""
    process.cluster.ends(NAME)
    process.later()
    assert _sweep(process, after=GRACE_SECONDS) == {NAME}
    assert process.step() == 0
    found = process.database.write_now(
        queue.claim_row, RUN, key={"id": FIRST.record.id}, owner="x", now=process.clock[0], lease=1.0
    )
    assert found is not None
    assert (found.row["due"], found.row["state"]) == (None, "ended")


def test_a_job_that_was_over_in_the_future_is_deleted(process: RunProcess) -> None:
    """Its end was written down by a clock that was ahead: nobody waits until then."""
    process.cluster.ends(NAME)
    process.later()
    assert _sweep(process, after=-1e6) == {NAME}


def test_a_run_that_is_begun_anew_while_a_place_is_swept_keeps_its_job(process: RunProcess) -> None:
    """It was over when the jobs were listed; an operator had it run again before its row was taken."""
    process.cluster.ends(NAME)
    process.later()
    process.clock[0] += GRACE_SECONDS
    known = launched_runs.statuses_by_key

    def then_anew(connection: Connection, keys: Collection[str]) -> dict[str, RunStatus]:
        found = known(connection, keys)
        fresh = {"state": RunState.PLANNED, "status": None, "due": process.clock[0]}
        connection.execute(update(RUN).values(**fresh))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launched_runs, "statuses_by_key", then_anew)
        assert _sweep(process) == frozenset()
    assert list(process.cluster.jobs) == [NAME]


def test_what_was_set_aside_for_an_attempt_that_is_over_is_given_back(process: RunProcess) -> None:
    """Who slept past its lease set it aside and was not allowed to launch; the attempt that counts keeps its
    own."""
    wide = BudgetLimits(concurrent_runs=9, chip_hours_per_day=1e6)
    for attempt in (1, 2):
        wish = AdmissionRequest(run=FIRST.record.id, attempt=attempt, place="p/z/c")
        assert process.database.write_now(spend.admit, wish, wide, now=NOW) is None
    process.database.write_now(lambda connection: connection.execute(update(RUN).values(attempt=2)))
    _sweep(process)
    given_back = [
        process.database.write_now(spend.is_reserved, FIRST.record.id, attempt) for attempt in (1, 2)
    ]
    assert given_back == [False, True]


def test_a_run_that_a_wrong_clock_put_to_sleep_is_woken(process: RunProcess) -> None:
    """Due in a year, held for a year, or due never: looked at again with the next sweep."""

    def put(connection: Connection, /, **values: float | None) -> None:
        connection.execute(update(RUN).values(**values))

    year = NOW + 365 * 86400.0
    for values in ({"due": year}, {"due": None}, {"lease_until": year}):
        process.database.write_now(put, **values)
        process.later()
        assert process.step() == 0
        _sweep(process)
        process.clock[0] += 20
        assert process.step() == 1


class Closed(FakeCluster):
    """A cluster that cannot be reached."""

    async def names(self) -> frozenset[str]:
        """Fail."""
        raise InternalError("no answer")

    async def aclose(self) -> None:
        """Nothing is open."""


def test_a_place_that_does_not_answer_does_not_keep_others_from_being_swept(process: RunProcess) -> None:
    """Each place is swept by itself."""
    other = replace(FIRST.job, place=None, name="mv-04-int8-0000000000000000")
    record = replace(FIRST.record, id="0000000000000000", key="0000000000000000", place=None)
    both = [FIRST, replace(FIRST, record=record, job=other)]
    process.database.write_now(
        runs.plan_runs, both, repository="acme/maxtext", number=7, now=process.clock[0]
    )
    process.step()
    here = process.cluster
    here.ends(other.name)
    process.later()
    process.clock[0] += GRACE_SECONDS
    closed = Closed()

    def opened(_place: ClusterPlace) -> Cluster:
        return closed

    clusters = ClusterRegistry(local=here, open_place=opened)
    cleanup = OrphanCleanup(
        database=process.database,
        clusters=clusters,
        permissions=OpenPolicy(),
        now=lambda: process.clock[0],
        owner="s",
    )
    assert asyncio.run(cleanup.run_once()) == {other.name}


def test_a_real_job_of_this_machine_is_ended_and_forgotten(database: Database, tmp_path: Path) -> None:
    """A process that runs for a run that was given up is gone after the sweep; its log stays."""
    bench = LocalBench(tmp_path)
    one = planned_run(place=None)
    job = replace(bench.job(one.job.name, "sleep 60"), case=one.job.case)
    database.write_now(pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW)
    planned_here = replace(one, job=job)
    database.write_now(runs.plan_runs, [planned_here], repository="acme/maxtext", number=7, now=NOW)
    database.write_now(runs.save, replace(one.record, state=RunState.CANCELLED), now=NOW)
    run_async(bench.cluster.launch(job))
    bench.until(job.name, JobState.RUNNING)
    clusters = ClusterRegistry(local=bench.cluster, open_place=lambda _: Closed())
    cleanup = OrphanCleanup(
        database=database, clusters=clusters, permissions=OpenPolicy(), now=lambda: NOW + 1e5, owner="s"
    )
    assert run_async(cleanup.run_once()) == {job.name}
    assert run_async(bench.cluster.observe(job.name)) == Observation(state=JobState.ABSENT)
    assert run_async(LocalCluster(bench.root).names()) == frozenset()
    assert bench.log(job.name).startswith("XPK Start")
    assert launched_runs.run_status(_row(database, one.record.id)).state is RunState.CANCELLED
    shutil.rmtree(bench.root)


def _row(database: Database, run: str) -> dict[str, object]:
    taken = database.write_now(queue.claim_row, RUN, key={"id": run}, owner="x", now=NOW + 2e6, lease=1.0)
    assert taken is not None
    return dict(taken.row)
