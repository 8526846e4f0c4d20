"""Runs, their measurements, and the pull requests that want them.

Runs that are found again by the files they measured, and what they cost.

What runs were measured under, asked for many at once."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.clusters.interface import Job
from bot.domain.case_key import CaseKey
from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.logs.facts import Failure, OutcomeState, RunOutcome
from bot.planning.plan import PlannedRun
from bot.planning.price import RunCost
from bot.storage import queue, runs, spend
from bot.storage.database import Database
from bot.storage.queue import Claim
from bot.storage.runs import RunFigures
from bot.storage.tables import RUN
from bot.verdict.comparability import conditions_text
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from tests.verdict.made_runs import DEVICES, Shape, run_log

ACME = "acme/maxtext"

FOUND = RunRecord(
    id="f1",
    repository=ACME,
    case="03_dropout",
    variant="linen",
    branch="main",
    sha="574ad3f",
    started=100.0,
    log_uri="gs://runs/a.log",
    generation="g1",
)


def _measured(losses: Sequence[float] | None = None, steps: int = 10) -> MeasuredRun:
    return measure(run_log(Shape(steps=steps, losses=losses)))


def _planned(name: str) -> PlannedRun:
    record = replace(
        FOUND,
        id=name,
        key=name,
        origin=RunOrigin.LAUNCHED,
        state=RunState.PLANNED,
        log_uri=None,
        generation=None,
    )
    job = Job(
        name=f"mv-{name}",
        repository="/code",
        sha="a" * 40,
        case="03_dropout",
        variant="linen",
        command="python3 train.py run_name={run_name}",
        run_name=f"linen_main_{name}",
        timeout_seconds=60.0,
        environment=(("A", "1"),),
    )
    return PlannedRun(record=record, job=job)


def _plan(database: Database, number: int, *names: str, now: float = 10.0) -> int:
    planned = [_planned(name) for name in names]
    return database.write_now(runs.plan_runs, planned, repository=ACME, number=number, now=now)


def _wanted(database: Database, number: int) -> list[str]:
    return [run.id for run in database.write_now(runs.wanted_runs, ACME, number)]


def _claim(database: Database, now: float) -> Claim | None:
    return database.write_now(queue.claim, RUN, owner="a", now=now, lease=30.0)


def _finish(database: Database, name: str, state: RunState, now: float = 11.0) -> None:
    while (held := _claim(database, now)) is not None:
        ended = held.row["id"] == name
        due = None if ended else now + 100.0
        database.write_now(queue.release, held, due=due, values={"state": state} if ended else {})


def test_a_found_run_comes_back_as_it_was_saved(database: Database) -> None:
    """The record and every measured value survive; saving again replaces them."""
    first, second = _measured(), _measured(steps=30)
    database.write_now(runs.save, FOUND, now=1.0, measured=first)
    assert database.write_now(runs.by_id, "f1") == FOUND
    assert database.write_now(runs.measured, ["f1", "unknown"]) == {"f1": first}
    grown = replace(FOUND, generation="g2")
    database.write_now(runs.save, grown, now=2.0, measured=second)
    assert database.write_now(runs.by_id, "f1") == grown
    assert database.write_now(runs.measured, ["f1"]) == {"f1": second}
    assert database.write_now(runs.by_id, "unknown") is None
    assert database.write_now(runs.measured, []) == {}


def test_losses_that_are_no_numbers_survive(database: Database) -> None:
    """NaN and both infinities come back as themselves, not as a failure and not as nothing."""
    run = _measured([10.0, math.nan, math.inf, -math.inf, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0])
    database.write_now(runs.save, FOUND, now=1.0, measured=run)
    kept = database.write_now(runs.measured, ["f1"])["f1"]
    losses = [step.loss for step in kept.log.steps][1:4]
    assert repr(losses) == "[nan, inf, -inf]"
    assert repr(kept) == repr(run)


@given(
    losses=st.lists(st.floats(), min_size=4, max_size=4),
    source=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_any_measured_run_comes_back(losses: list[float], source: str) -> None:
    """Encoding loses nothing of any run, whatever numbers and texts its log held."""
    run = _measured(steps=4)
    steps = [replace(step, loss=loss) for step, loss in zip(run.log.steps, losses, strict=True)]
    run = replace(run, log=replace(run.log, source=source, steps=tuple(steps)))
    assert repr(runs.decode_measured(runs.encode_measured(run))) == repr(run)


def test_only_what_changed_is_read_again(database: Database) -> None:
    """The content each found run was measured from is remembered, of however many it is asked."""
    database.write_now(runs.save, FOUND, now=1.0, measured=_measured())
    database.write_now(runs.save, replace(FOUND, id="f2", generation="g9"), now=1.0)
    database.write_now(runs.save, replace(FOUND, id="f3"), now=1.0, measured=_measured())
    many = [f"none{number}" for number in range(2_500)]
    assert database.write_now(runs.measured_generations, ["f1", "f2", *many]) == {"f1": "g1"}
    assert database.write_now(runs.measured_generations, []) == {}


def test_runs_of_a_branch_come_newest_first_with_those_of_no_branch(database: Database) -> None:
    """A run that names a commit and no branch may be of any; one that names neither is of none."""
    for record in (
        FOUND,
        replace(FOUND, id="f2", started=200.0),
        replace(FOUND, id="other", branch="main_v2"),
        replace(FOUND, id="nobranch", branch=None, started=150.0),
        replace(FOUND, id="nothing", branch=None, sha=None),
        replace(FOUND, id="elsewhere", repository="octo/net"),
    ):
        database.write_now(runs.save, record, now=1.0)
    assert [run.id for run in database.write_now(runs.branch_runs, ACME, "main")] == ["f2", "nobranch", "f1"]


def test_figures_say_under_what_a_branchs_runs_were_measured(database: Database) -> None:
    """Steady seconds, conditions and the failure's fingerprint are read without the documents."""
    timed, short = _measured(steps=12), _measured(steps=3)
    failure = Failure(kind="code", error="KeyError: 'x'", fingerprint="f00d")
    outcome = RunOutcome(state=OutcomeState.FAILED, exit_code=1, failure=failure)
    failed = replace(short, log=replace(short.log, outcome=outcome))
    for name, run in (("timed", timed), ("failed", failed)):
        database.write_now(runs.save, replace(FOUND, id=name), now=1.0, measured=run)
    database.write_now(runs.save, replace(FOUND, id="unread"), now=1.0)
    database.write_now(runs.save, replace(FOUND, id="else", branch="x"), now=1.0, measured=timed)
    assert database.write_now(runs.branch_figures, ACME, "main") == {
        "timed": RunFigures(
            steady_seconds=timed.measurements.steady.seconds,
            conditions=conditions_text(timed),
            fingerprint=None,
            loop_seconds=timed.measurements.loop.seconds if timed.measurements.loop else None,
        ),
        "failed": RunFigures(steady_seconds=None, conditions=conditions_text(short), fingerprint="f00d"),
    }


def test_planned_runs_are_started_in_their_order(database: Database) -> None:
    """They are due one after the other, and each row carries the job that executes it."""
    assert _plan(database, 7, "b", "a", "c") == 3
    assert _wanted(database, 7) == ["b", "a", "c"]
    order = []
    for _ in range(3):
        held = _claim(database, 11.0)
        assert held is not None
        order.append(runs.planned_run(held.row))
    assert order == [_planned("b"), _planned("a"), _planned("c")]


def test_planning_again_plans_nothing_twice(database: Database) -> None:
    """The same plan, and a longer one, add only what is new."""
    _plan(database, 7, "a", "b")
    assert _plan(database, 7, "a", "b", now=20.0) == 0
    assert _plan(database, 7, "a", "b", "c", now=30.0) == 1
    assert _wanted(database, 7) == ["a", "b", "c"]


def test_a_run_that_another_pull_request_wants_survives(database: Database) -> None:
    """A shared run that one pull request drops stays wanted by the other; a run that nobody wants is due."""
    _plan(database, 7, "shared", "mine")
    assert _plan(database, 8, "shared") == 0
    for name in ("shared", "mine"):
        _finish(database, name, RunState.RUNNING)
    database.write_now(runs.drop_wants, repository=ACME, number=7)
    assert database.write_now(runs.wanters, "shared") == ((ACME, 8),)
    held = _claim(database, 11.0)
    assert held is not None
    assert held.row["id"] == "mine"
    assert database.write_now(runs.wanters, "mine") == ()


def test_a_run_that_ended_is_not_due_when_nobody_wants_it(database: Database) -> None:
    """Nothing is left to do about a finished run that nobody wants."""
    _plan(database, 7, "a")
    _finish(database, "a", RunState.ENDED)
    database.write_now(runs.drop_wants, repository=ACME, number=7)
    assert _claim(database, 1e9) is None


def test_a_cancelled_run_that_is_wanted_again_begins_anew(database: Database) -> None:
    """A pull request that was closed and opened again gets its runs, and those that ended are kept."""
    _plan(database, 7, "gone", "done")
    _finish(database, "done", RunState.ENDED)
    database.write_now(runs.drop_wants, repository=ACME, number=7)
    _finish(database, "gone", RunState.CANCELLED)
    assert _plan(database, 7, "gone", "done", now=50.0) == 1
    states = {run.id: run.state for run in database.write_now(runs.wanted_runs, ACME, 7)}
    assert states == {"gone": RunState.PLANNED, "done": RunState.ENDED}
    held = _claim(database, 50.0)
    assert held is not None
    assert (held.row["id"], held.row["status"]) == ("gone", None)


REPOSITORY, TREE = "acme/maxtext", "1" * 40

REUSED = RunRecord(
    id="f1",
    repository=REPOSITORY,
    case="03_dropout",
    variant="linen",
    branch="main",
    sha="574ad3f",
    started=100.0,
    tree=TREE,
)


def _measured_run() -> MeasuredRun:
    return measure(run_log(Shape(steps=12)))


def _planned_run(name: str) -> PlannedRun:
    record = replace(REUSED, id=name, key=name, origin=RunOrigin.LAUNCHED, state=RunState.PLANNED)
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
    return PlannedRun(record=record, job=job, price=6.4, charged_to="alice")


def test_runs_are_found_by_the_files_they_measured(database: Database) -> None:
    """On whatever branch and commit, in this repository only, newest first."""
    newer = replace(REUSED, id="f2", sha="c" * 40, branch="feat_x", started=200.0)
    others = (
        replace(REUSED, id="f3", tree="2" * 40),
        replace(REUSED, id="f4", repository="acme/other"),
    )
    for run in (REUSED, newer, *others):
        database.write_now(runs.save, run, now=1.0)
    assert database.write_now(runs.runs_of_trees, REPOSITORY, {TREE}) == (newer, REUSED)
    assert database.write_now(runs.runs_of_trees, REPOSITORY, set()) == ()


def test_the_files_of_a_commit_are_noted_with_its_runs(database: Database) -> None:
    """Also with those that name it by its first digits; what is known already stays."""
    full = "574ad3f" + "0" * 33
    unknown = replace(REUSED, tree=None)
    known = replace(REUSED, id="f2", sha=full, tree="2" * 40)
    other = replace(REUSED, id="f3", sha="574ad3e", tree=None)
    for run in (unknown, known, other):
        database.write_now(runs.save, run, now=1.0)
    assert database.write_now(runs.save_trees, REPOSITORY, {full: TREE, "9" * 40: None}) == 1
    kept = [database.write_now(runs.by_id, name) for name in ("f1", "f2", "f3")]
    assert [run.tree for run in kept if run] == [TREE, "2" * 40, None]


def test_existing_runs_are_reused_and_nothing_is_started(database: Database) -> None:
    """A pull request goes on wanting the runs that are named and there; the others it lets go of."""
    planned = [_planned_run(name) for name in ("a", "b")]
    database.write_now(runs.plan_runs, planned, repository=REPOSITORY, number=7, now=10.0)
    database.write_now(runs.want_existing, ["a", "not there"], repository=REPOSITORY, number=7)
    assert [run.id for run in database.write_now(runs.wanted_runs, REPOSITORY, 7)] == ["a"]
    assert database.write_now(runs.by_id, "not there") is None


def test_a_cancelled_run_is_not_reused(database: Database) -> None:
    """It would be begun anew."""
    database.write_now(runs.plan_runs, [_planned_run("a")], repository=REPOSITORY, number=7, now=10.0)
    held = database.write_now(queue.claim, RUN, owner="x", now=11.0, lease=30.0)
    assert held is not None
    database.write_now(queue.release, held, due=None, values={"state": RunState.CANCELLED})
    database.write_now(runs.want_existing, ["a"], repository=REPOSITORY, number=8)
    assert database.write_now(runs.wanted_runs, REPOSITORY, 8) == ()


def test_prices_come_from_runs_that_succeeded_on_as_many_devices(database: Database) -> None:
    """By case and variant, newest first."""
    measured = _measured_run()
    database.write_now(runs.save, REUSED, now=1.0, measured=measured)
    database.write_now(runs.save, replace(REUSED, id="f2", branch="feat_x"), now=1.0, measured=measured)
    database.write_now(runs.save, replace(REUSED, id="f3"), now=1.0)
    hours = measured.measurements.chip_hours
    assert hours is not None
    for devices in (DEVICES, None):
        assert database.write_now(spend.branch_costs, REPOSITORY, "main", devices=devices) == {
            CaseKey("03_dropout", "linen"): [hours]
        }
    assert database.write_now(spend.branch_costs, REPOSITORY, "main", devices=DEVICES + 1) == {}


def test_a_bill_says_who_pays_and_what_it_took(database: Database) -> None:
    """The first pull request that wanted the run pays; a found run is charged to nobody."""
    for number in (7, 8):
        database.write_now(
            runs.plan_runs, [_planned_run("a")], repository=REPOSITORY, number=number, now=10.0
        )
    measured = _measured_run()
    database.write_now(runs.save, REUSED, now=1.0, measured=measured)
    assert database.write_now(spend.run_costs, ["a", "f1", "nobody"]) == {
        "a": RunCost(state="planned", number=7, price=6.4, took=None, waiting=None),
        "f1": RunCost(
            state="ended", number=None, price=None, took=measured.measurements.chip_hours, waiting=None
        ),
    }


GOOD = measure(run_log())


def test_the_conditions_of_many_runs_are_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that were measured, however few a statement takes."""
    monkeypatch.setattr(runs, "IDS_PER_STATEMENT", 2)
    for number in range(5):
        record = RunRecord(id=f"r{number}", repository="acme/maxtext", case="a", variant="linen")
        more: dict[str, Any] = {} if number == 3 else {"measured": GOOD}
        database.write_now(runs.save, record, now=1.0, **more)
    asked = {"r0", "r1", "r2", "r3", "r4", "unknown"}
    read = database.write_now(runs.run_conditions, asked)
    assert read == dict.fromkeys(("r0", "r1", "r2", "r4"), conditions_text(GOOD))
