"""What runs were measured under, asked for many at once."""

from typing import Any

import pytest

from bot.runs.records import RunRecord
from bot.storage import measured_under, runs
from bot.storage.database import Database
from bot.verdict.conditions import conditions
from bot.verdict.measure import measure
from tests.verdict.samples import run_log

GOOD = measure(run_log())


def test_the_conditions_of_many_runs_are_told(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that were measured, however few a statement takes."""
    monkeypatch.setattr(measured_under, "AT_ONCE", 2)
    for number in range(5):
        record = RunRecord(id=f"r{number}", repository="acme/maxtext", case="a", variant="linen")
        more: dict[str, Any] = {} if number == 3 else {"measured": GOOD}
        database.now(runs.save, record, now=1.0, **more)
    asked = {"r0", "r1", "r2", "r3", "r4", "unknown"}
    told = database.now(measured_under.measured_under, asked)
    assert told == dict.fromkeys(("r0", "r1", "r2", "r4"), conditions(GOOD))
