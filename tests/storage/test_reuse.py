"""Runs that are found again by the files they measured, and what they cost."""

from dataclasses import replace

from bot.runs.clusters.port import Job
from bot.runs.records import Origin, RunRecord, RunState
from bot.storage import prices, queue, reuse, runs
from bot.storage.database import Database
from bot.storage.prices import Bill
from bot.storage.runs import Planned
from bot.storage.tables import RUN
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from tests.verdict.samples import DEVICES, Shape, run_log

ACME, TREE = "acme/maxtext", "1" * 40
FOUND = RunRecord(
    id="f1",
    repository=ACME,
    case="03_dropout",
    variant="linen",
    branch="main",
    sha="574ad3f",
    started=100.0,
    tree=TREE,
)


def _measured() -> MeasuredRun:
    return measure(run_log(Shape(steps=12)))


def _planned(name: str) -> Planned:
    record = replace(FOUND, id=name, key=name, origin=Origin.LAUNCHED, state=RunState.PLANNED)
    job = Job(
        name=name,
        repository="",
        sha="a" * 40,
        case="03_dropout",
        variant="linen",
        command="true",
        run_name=name,
        timeout_seconds=60.0,
    )
    return Planned(record=record, job=job, price=6.4, charged_to="alice")


def test_runs_are_found_by_the_files_they_measured(database: Database) -> None:
    """On whatever branch and commit, in this repository only, newest first."""
    newer = replace(FOUND, id="f2", sha="c" * 40, branch="feat_x", started=200.0)
    others = replace(FOUND, id="f3", tree="2" * 40), replace(FOUND, id="f4", repository="acme/other")
    for run in (FOUND, newer, *others):
        database.now(runs.save, run, now=1.0)
    assert database.now(reuse.of_trees, ACME, {TREE}) == (newer, FOUND)
    assert database.now(reuse.of_trees, ACME, set()) == ()


def test_the_files_of_a_commit_are_noted_with_its_runs(database: Database) -> None:
    """Also with those that name it by its first digits; what is known already stays."""
    full = "574ad3f" + "0" * 33
    unknown = replace(FOUND, tree=None)
    known = replace(FOUND, id="f2", sha=full, tree="2" * 40)
    other = replace(FOUND, id="f3", sha="574ad3e", tree=None)
    for run in (unknown, known, other):
        database.now(runs.save, run, now=1.0)
    assert database.now(reuse.learn_trees, ACME, {full: TREE, "9" * 40: None}) == 1
    kept = [database.now(runs.by_id, name) for name in ("f1", "f2", "f3")]
    assert [run.tree for run in kept if run] == [TREE, "2" * 40, None]


def test_what_is_there_is_kept_and_nothing_is_started(database: Database) -> None:
    """A pull request goes on wanting the runs that are named and there; the others it lets go of."""
    planned = [_planned(name) for name in ("a", "b")]
    database.now(runs.plan, planned, repository=ACME, number=7, now=10.0)
    database.now(reuse.keep, ["a", "not there"], repository=ACME, number=7)
    assert [run.id for run in database.now(runs.wanted, ACME, 7)] == ["a"]
    assert database.now(runs.by_id, "not there") is None


def test_a_run_that_was_cancelled_is_not_kept(database: Database) -> None:
    """It would be begun anew."""
    database.now(runs.plan, [_planned("a")], repository=ACME, number=7, now=10.0)
    held = database.now(queue.claim, RUN, owner="x", now=11.0, lease=30.0)
    assert held is not None
    database.now(queue.release, held, due=None, values={"state": RunState.CANCELLED})
    database.now(reuse.keep, ["a"], repository=ACME, number=8)
    assert database.now(runs.wanted, ACME, 8) == ()


def test_prices_come_from_runs_that_succeeded_on_as_many_devices(database: Database) -> None:
    """By case and variant, newest first."""
    measured = _measured()
    database.now(runs.save, FOUND, now=1.0, measured=measured)
    database.now(runs.save, replace(FOUND, id="f2", branch="feat_x"), now=1.0, measured=measured)
    database.now(runs.save, replace(FOUND, id="f3"), now=1.0)
    hours = measured.measurements.chip_hours
    assert hours is not None
    for devices in (DEVICES, None):
        assert database.now(prices.of_branch, ACME, "main", devices=devices) == {"03_dropout/linen": [hours]}
    assert database.now(prices.of_branch, ACME, "main", devices=DEVICES + 1) == {}


def test_a_bill_says_who_pays_and_what_it_took(database: Database) -> None:
    """The first pull request that wanted the run pays; a found run is charged to nobody."""
    for number in (7, 8):
        database.now(runs.plan, [_planned("a")], repository=ACME, number=number, now=10.0)
    measured = _measured()
    database.now(runs.save, FOUND, now=1.0, measured=measured)
    assert database.now(prices.bills, ["a", "f1", "nobody"]) == {
        "a": Bill(state="planned", number=7, price=6.4, took=None, waiting=None),
        "f1": Bill(
            state="ended", number=None, price=None, took=measured.measurements.chip_hours, waiting=None
        ),
    }
