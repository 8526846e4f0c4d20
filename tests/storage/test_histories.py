"""Which of main's runs tell the noise of a case."""

import pytest
from msgspec import structs
from sqlalchemy import ColumnElement, Connection, TextClause, select, text

from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.planning.baseline import HISTORY_RUNS
from bot.storage import runs
from bot.storage.database import Database
from bot.storage.histories import (
    ComparableSeries,
    HistoryQuery,
    all_series,
    case_histories,
    comparable_main_runs,
    query_histories,
)
from bot.storage.runs import COMPARABLE, COMPARABLE_SQL, RunFigures
from bot.storage.tables import RUN
from bot.verdict.comparability import conditions_text
from bot.verdict.judgement import MeasuredRun
from bot.verdict.measure import measure
from bot.verdict.noise import PastRun
from tests.verdict.made_runs import Shape, run_log

V6E = RunFigures(steady_seconds=0.2, conditions="TPU v6 lite · 32 · 0.9.2", fingerprint=None)

RUNS = tuple(
    RunRecord(id=f"r{n}", repository="acme/x", case="a", variant="", sha=f"{n:07x}", started=100.0 * n)
    for n in range(6)
)


def _past(n: int, seconds: float = 0.2) -> PastRun:
    return PastRun(
        seconds=seconds, sha=f"{n:07x}", started=100.0 * n, run=f"r{n}", submission=f"start {100 * n}"
    )


def test_only_runs_under_the_baselines_conditions_count() -> None:
    """Other devices and versions, runs without a steady state and runs not read are left out."""
    figures = {
        "r0": structs.replace(V6E, steady_seconds=0.19),
        "r1": structs.replace(V6E, conditions="TPU v6 lite · 32 · 0.8.1"),
        "r2": V6E,
        "r3": structs.replace(V6E, conditions="TPU v5p · 32 · 0.9.2"),
        "r4": structs.replace(V6E, steady_seconds=None),
    }
    assert comparable_main_runs(RUNS, figures, like=[RUNS[5], RUNS[2]]) == (_past(0, 0.19), _past(2))
    assert comparable_main_runs(RUNS, figures, like=[RUNS[3]]) == (_past(3),)


def test_without_a_measured_baseline_there_is_no_history() -> None:
    """What the baseline ran on is then not known, and no other runs stand in for it."""
    assert comparable_main_runs(RUNS, {"r0": V6E}, like=[RUNS[1]]) == ()
    assert comparable_main_runs(RUNS, {"r0": V6E}, like=[]) == ()


def test_a_run_of_this_machine_is_no_history() -> None:
    """It took turns with a pull request's runs; what we started on a cluster counts as if it was found."""
    ours = structs.replace(RUNS[0], origin=RunOrigin.LAUNCHED)
    there = structs.replace(RUNS[1], origin=RunOrigin.LAUNCHED, place="p/z/c")
    known = {"r0": V6E, "r1": V6E}
    assert comparable_main_runs((ours, there), known, like=[ours]) == (_past(1),)


@pytest.mark.parametrize("origin", list(RunOrigin))
@pytest.mark.parametrize("place", [None, "p/z/c"])
def test_the_rule_is_the_same_in_questions_and_in_values(
    origin: RunOrigin, place: str | None, database: Database
) -> None:
    """Which runs keep their pace is said once for values, once as an expression, once as text."""
    run = structs.replace(RUNS[0], origin=origin, place=place)
    database.write_now(runs.save, run, now=1.0)

    def meets(connection: Connection, condition: ColumnElement[bool] | TextClause) -> bool:
        return bool(connection.execute(select(RUN.c.id).where(condition)).all())

    for condition in (COMPARABLE, text(COMPARABLE_SQL)):
        assert run.comparable_across_days == database.write_now(meets, condition)


def test_runs_that_have_not_ended_are_no_history() -> None:
    """A run that is still printing may be anything."""
    runs = (structs.replace(RUNS[0], state=RunState.RUNNING), RUNS[1])
    assert comparable_main_runs(runs, {"r0": V6E, "r1": V6E}, like=[RUNS[1]]) == (_past(1),)


def _measured(jax: str = "0.9.2") -> MeasuredRun:
    log = run_log(Shape(steps=12))
    return measure(structs.replace(log, environment=structs.replace(log.environment, jax=jax)))


def test_a_series_is_of_the_newest_runs_conditions(database: Database) -> None:
    """Of each case on main the runs like its newest one, oldest first: of no branch, none of this machine.
    Those that we started on a cluster count: main's own baselines are its history."""
    new, old = _measured(), _measured("0.8.1")
    seconds = new.measurements.steady.seconds
    assert seconds is not None
    kept = [structs.replace(run, branch="main") for run in RUNS]
    for run, measured in (
        (kept[0], new),
        (kept[1], old),
        (structs.replace(kept[2], origin=RunOrigin.LAUNCHED, place="p/z/c"), new),
        (structs.replace(kept[3], branch="feat"), new),
        (structs.replace(kept[4], origin=RunOrigin.LAUNCHED), new),
        (structs.replace(kept[5], case="b", variant="nnx"), old),
        (structs.replace(kept[5], id="unread"), None),
    ):
        database.write_now(runs.save, run, now=1.0, measured=measured)
    assert all_series(database.write_now(case_histories, "acme/x", "main")) == (
        ComparableSeries(
            case="a", variant="", conditions=conditions_text(new), runs=(_past(0, seconds), _past(2, seconds))
        ),
        ComparableSeries(case="b", variant="nnx", conditions=conditions_text(old), runs=(_past(5, seconds),)),
    )
    assert all_series(database.write_now(case_histories, "acme/else", "main")) == ()


def test_a_history_goes_up_to_a_moment_and_begins_with_what_has_none(database: Database) -> None:
    """Later runs are left out; those of an unknown moment count as the oldest, and only as far as there is
    room; what no run is like has no history."""
    measured = _measured()
    for number, started in enumerate((None, 10.0, 20.0, 30.0)):
        run = structs.replace(RUNS[0], id=f"m{number}", branch="main", sha=f"{number}" * 40, started=started)
        database.write_now(runs.save, run, now=1.0, measured=measured)
    under, key = conditions_text(measured), (RUNS[0].case, RUNS[0].variant)

    def known(*wanted: HistoryQuery) -> list[list[float | None]]:
        found = database.write_now(query_histories, "acme/x", "main", wanted)
        return [[past.started for past in one] for one in found]

    whole, earlier = (
        HistoryQuery(key=key, under=under, until=None),
        HistoryQuery(key=key, under=under, until=20.0),
    )
    other = HistoryQuery(key=key, under="another device", until=None)
    assert [[None, 10.0, 20.0, 30.0], [None, 10.0, 20.0], []] == known(whole, earlier, other)
    for number in range(HISTORY_RUNS):
        run = structs.replace(RUNS[0], id=f"more{number}", branch="main", started=15.0)
        database.write_now(runs.save, run, now=1.0, measured=measured)
    assert [[15.0] * (HISTORY_RUNS - 1) + [20.0]] == known(earlier)
