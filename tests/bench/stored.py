"""A store of a hundred thousand runs, written at once.

In:  a folder. Out: a SQLite file: 25 cases, one of them with ten thousand runs on main, and a head commit.
"""

import random
import time
from collections.abc import Sequence
from functools import partial
from math import exp
from pathlib import Path

from bot.domain.run import RunRecord
from bot.storage import runs
from bot.storage.database import Connection, Database
from bot.storage.repositories import RepositoryRow, confirm_repository
from bot.storage.tables import CASE_KEY, MEASUREMENT, RUN
from bot.verdict.comparability import conditions_text
from bot.verdict.judgement import MeasuredRun
from tests.verdict.made_runs import Shape
from tests.verdict.made_runs import run as made

REPOSITORY = "octo/maxtext"

CASES = tuple(f"{number:02d}_case" for number in range(25))

LONG = CASES[0]

LONG_RUNS, BRANCHES, REPEATS = 10_000, 800, 3

RUNS = 100_000

HEAD = "cdc765a1f0e94b7f9d1c2e3a4b5c6d7e8f901234"

START = 1.7e9

STEPS = 20


def commit(number: int) -> str:
    """Main's commit of that number."""
    return f"{number:08x}" * 5


def store(folder: Path) -> Database:
    """Write the file; a minute's work."""
    database = Database(f"sqlite:///{folder}/maxview.sqlite")
    database.migrate()
    row = RepositoryRow(
        full_name=REPOSITORY, installation=1, default_branch="main", private=False, active=True, id=1
    )
    database.write_now(confirm_repository, row, closings=None, now=time.time())
    dice = random.Random(7)  # noqa: S311 - repeatable noise
    shapes = {case: _shapes(seed, dice) for seed, case in enumerate(CASES)}
    records = _records()
    written = [
        _rows(record, shapes[record.case][place % len(shapes[record.case])]) for place, record in records
    ]
    for at in range(0, len(written), 5_000):
        database.write_now(partial(_insert, part=written[at : at + 5_000]))
    database.write_now(lambda c: c.execute(CASE_KEY.delete()))
    database.write_now(runs.backfill_case_keys)
    return database


def _shapes(seed: int, dice: random.Random) -> list[MeasuredRun]:
    """Some different runs of a case; the store repeats them, as their documents cost most of its time."""
    base = 0.05 + 0.02 * seed
    return [
        made(Shape(step_seconds=base * exp(dice.gauss(0, 0.0012)), steps=STEPS, seed=seed * 50 + number))
        for number in range(41)
    ]


def _records() -> list[tuple[int, RunRecord]]:
    found = [(n, _record(LONG, f"long-{n}", "main", commit(n), 600.0 * n)) for n in range(LONG_RUNS)]
    per_case = (RUNS - LONG_RUNS) // (2 * (len(CASES) - 1))
    for case in CASES[1:]:
        found += [
            (n, _record(case, f"{case}-{n}", "main", commit(n), 600.0 * (LONG_RUNS - per_case + n)))
            for n in range(per_case)
        ]
    for case in CASES:
        found += [
            (n, _record(case, f"{case}-head-{n}", "head", HEAD, 600.0 * LONG_RUNS + n))
            for n in range(REPEATS)
        ]
    others = RUNS - len(found)
    found += [
        (n, _record(CASES[n % len(CASES)], f"other-{n}", f"b{n % BRANCHES}", commit(900_000 + n), 60.0 * n))
        for n in range(others)
    ]
    return found


def _record(case: str, name: str, branch: str, sha: str, started: float) -> RunRecord:
    return RunRecord(
        id=name,
        repository=REPOSITORY,
        case=case,
        variant="linen",
        branch=branch,
        sha=sha,
        started=START + started,
    )


Rows = tuple[dict[str, object], dict[str, object]]

_KNOWN: dict[int, dict[str, object]] = {}


def _rows(record: RunRecord, run: MeasuredRun) -> Rows:
    if id(run) not in _KNOWN:
        _KNOWN[id(run)] = {
            "document": runs.encode_measured(run),
            "steady_seconds": run.measurements.steady.seconds,
            "conditions": conditions_text(run),
            "made": 1.0,
            **runs.summary_columns(run),
        }
    values = {name: getattr(record, name) for name in RunRecord.__struct_fields__}
    lease = {"seen": 0.0, "lease_until": 0.0, "token": 0, "attempts": 0}
    return {**values, **lease}, {"run": record.id, **_KNOWN[id(run)]}


def _insert(connection: Connection, part: Sequence[Rows]) -> None:
    connection.execute(RUN.insert(), [row for row, _ in part])
    connection.execute(MEASUREMENT.insert(), [row for _, row in part])
