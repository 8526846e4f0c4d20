"""The losses of main's runs are kept, thinned, and come with the history of a case."""

from functools import partial

from msgspec.structs import replace
from sqlalchemy import select

from bot.domain.run import RunState
from bot.storage import histories, loss_curves, runs
from bot.storage.database import Database
from bot.storage.histories import HistoryQuery
from bot.storage.tables import LOSS_CURVE
from bot.verdict.comparability import conditions_text
from bot.verdict.loss.curve import loss_trace
from tests.storage.test_runs import ACME, FOUND, _measured

MEASURED = _measured()


def _save(database: Database, count: int) -> None:
    for place in range(count):
        record = replace(FOUND, id=f"r{place:02}", started=100.0 + place, state=RunState.ENDED)
        database.write_now(partial(runs.save, record=record, now=1.0, measured=MEASURED))


def test_a_measured_run_keeps_its_losses(database: Database) -> None:
    """Under its commit, as the verdict needs them."""
    _save(database, 1)
    found = database.write_now(loss_curves.read, ["r00", "unknown"])
    assert found == {"r00": loss_trace(MEASURED.log, FOUND.sha)}


def test_a_history_comes_with_the_losses_of_its_newest_runs(database: Database) -> None:
    """Of 20: more would widen nothing."""
    _save(database, 25)
    query = HistoryQuery(key=(FOUND.case, FOUND.variant), under=conditions_text(MEASURED), until=None)
    (past,) = database.write_now(histories.query_histories, ACME, "main", [query])
    assert [run.losses is not None for run in past] == [False] * 5 + [True] * 20
    assert {run.losses.sha for run in past if run.losses} == {FOUND.sha}


def test_runs_of_an_older_version_get_their_losses(database: Database) -> None:
    """A batch at a time; a run without losses is asked once."""
    silent = replace(MEASURED, log=replace(MEASURED.log, steps=()))
    _save(database, 3)
    database.write_now(
        lambda connection: runs.save(connection, replace(FOUND, id="s"), now=1.0, measured=silent)
    )
    database.write_now(lambda connection: connection.execute(LOSS_CURVE.delete()))
    assert database.write_now(runs.backfill) == 4
    assert database.write_now(runs.backfill) == 0
    assert set(database.write_now(loss_curves.read, ["r00", "r01", "r02", "s"])) == {"r00", "r01", "r02"}
    assert len(database.write_now(lambda connection: connection.execute(select(LOSS_CURVE)).all())) == 4
