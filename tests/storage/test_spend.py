"""Budgets that hold whoever asks: one process or several, SQLite or PostgreSQL."""

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import Connection, delete, func, select

from bot.clusters.interface import Job
from bot.domain.run import RunOrigin, RunRecord, RunState
from bot.planning.budget import BudgetLimits
from bot.planning.plan import PlannedRun
from bot.storage import pull_requests, queue, runs, spend
from bot.storage.database import Database
from bot.storage.spend import AdmissionRequest
from bot.storage.tables import MEASUREMENT, PULL_REQUEST, RUN, SPEND, WANT

ACME, CLUSTER = "acme/maxtext", "p/z/c"

NOW = 1_795_003_200.0 + 6 * 3600

WIDE = BudgetLimits(concurrent_runs=100, chip_hours_per_day=1e6)


def _planned(name: str, price: float | None = 1.0, by: str = "alice") -> PlannedRun:
    record = RunRecord(
        id=name,
        key=name,
        repository=ACME,
        case="03_dropout",
        variant="linen",
        origin=RunOrigin.LAUNCHED,
        state=RunState.PLANNED,
        place=CLUSTER,
    )
    job = Job(
        name=f"mv-{name}",
        repository="/code",
        sha="a" * 40,
        case="03_dropout",
        variant="linen",
        command="true",
        run_name=name,
        timeout_seconds=60.0,
    )
    return PlannedRun(record=record, job=job, price=price, charged_to=by)


def _plan(database: Database, *planned: PlannedRun, number: int = 7) -> None:
    database.write_now(runs.plan_runs, planned, repository=ACME, number=number, now=NOW)


def _admit(
    database: Database, name: str, limits: BudgetLimits, *, attempt: int = 1, now: float = NOW
) -> bool:
    return (
        database.write_now(
            spend.admit, AdmissionRequest(run=name, attempt=attempt, place=CLUSTER), limits, now=now
        )
        is None
    )


def _day(database: Database, now: float = NOW) -> float:
    return database.write_now(spend.day_chip_hours, ACME, now)


def test_what_a_run_may_cost_is_reserved_until_it_is_known(database: Database) -> None:
    """Reserved at the launch, replaced by the real figure at the end."""
    _plan(database, _planned("a", 6.4))
    assert _admit(database, "a", WIDE)
    assert (_day(database), database.write_now(spend.pull_chip_hours_of_ended, ACME, 7)) == (6.4, None)
    assert database.write_now(spend.settle, "a", 1, chip_hours=2.5, now=NOW + 60) == 2.5
    assert (_day(database), database.write_now(spend.pull_chip_hours, ACME, 7)) == (2.5, 2.5)
    assert database.write_now(spend.pull_chip_hours_of_ended, ACME, 7) == 2.5
    assert database.write_now(spend.pull_chip_hours, ACME, 8) == 0.0


def test_admitting_and_settling_again_change_nothing(database: Database) -> None:
    """A crash repeats either; neither costs twice, and an attempt nobody admitted settles to nothing."""
    _plan(database, _planned("a", 6.4), _planned("b"))
    only_one = replace(WIDE, concurrent_runs=1)
    assert [_admit(database, "a", only_one) for _ in range(3)] == [True] * 3
    assert _day(database) == 6.4
    for hours in (2.5, 9.0):
        database.write_now(spend.settle, "a", 1, chip_hours=hours, now=NOW)
    assert _day(database) == 2.5
    assert database.write_now(spend.settle, "b", 1, chip_hours=None, now=NOW) is None


def test_every_attempt_is_paid_for(database: Database) -> None:
    """What the cluster broke off has been spent; a second attempt sets aside anew."""
    _plan(database, _planned("a", 4.0))
    assert _admit(database, "a", WIDE)
    database.write_now(spend.settle, "a", 1, chip_hours=1.0, now=NOW)
    assert _admit(database, "a", WIDE, attempt=2)
    assert _day(database) == 5.0


def test_a_run_begun_anew_adds_to_what_it_took_before(database: Database) -> None:
    """Cancelled, asked for again, and settled twice: nothing is forgotten."""
    _plan(database, _planned("a", 4.0))
    for hours in (1.0, 3.0):
        assert _admit(database, "a", WIDE)
        database.write_now(spend.settle, "a", 1, chip_hours=hours, now=NOW)
    assert _day(database) == 4.0


def test_an_unknown_cost_counts_as_reserved(database: Database) -> None:
    """An end without a figure does not hand chip-hours back."""
    _plan(database, _planned("a", 4.0))
    assert _admit(database, "a", WIDE)
    assert database.write_now(spend.settle, "a", 1, chip_hours=None, now=NOW) == 4.0


def test_yesterday_is_over(database: Database) -> None:
    """A day's budget begins anew at midnight UTC, a pull request's does not."""
    _plan(database, _planned("a", 6.0), _planned("b", 6.0))
    limits = replace(WIDE, chip_hours_per_day=10.0)
    assert _admit(database, "a", limits)
    assert not _admit(database, "b", limits)
    assert _admit(database, "b", limits, now=NOW + 86_400)
    assert database.write_now(spend.pull_chip_hours, ACME, 7) == 12.0


def test_a_persons_day_is_over_too(database: Database) -> None:
    """What somebody used yesterday is not held against today."""
    _plan(database, _planned("a", 6.0), _planned("b", 6.0))
    limits = replace(WIDE, chip_hours_per_person_per_day=10.0)
    assert _admit(database, "a", limits)
    assert not _admit(database, "b", limits)
    assert _admit(database, "b", limits, now=NOW + 86_400)


def test_every_place_has_slots_of_its_own(database: Database) -> None:
    """A full cluster keeps nobody from another; and who waits there is not woken by an end here."""
    there = _planned("c")
    _plan(
        database,
        _planned("a"),
        _planned("b"),
        replace(there, record=replace(there.record, place="p/z/other")),
    )
    only_one = replace(WIDE, concurrent_runs=1)
    assert [_admit(database, name, only_one) for name in "ab"] == [True, False]
    elsewhere = AdmissionRequest(run="c", attempt=1, place="p/z/other")
    assert database.write_now(spend.admit, elsewhere, only_one, now=NOW) is None
    waits = {"waiting": "it waits", "due": NOW + 999}
    database.write_now(lambda connection: connection.execute(RUN.update().values(**waits)))
    database.write_now(spend.settle, "a", 1, chip_hours=1.0, now=NOW)
    assert [(database.write_now(_waiting, name)[1] or 0.0) < NOW + 1 for name in "bc"] == [True, False]


def test_people_have_budgets_of_their_own(database: Database) -> None:
    """One person's is used up, another's is not; a schedule has none."""
    _plan(database, _planned("a", 6.0), _planned("b", 6.0), _planned("c", 6.0, "bob"), _planned("d", 6.0, ""))
    limits = replace(WIDE, chip_hours_per_person_per_day=10.0)
    assert [_admit(database, name, limits) for name in "abcd"] == [True, False, True, True]


def test_runs_of_main_itself_are_no_pull_requests(database: Database) -> None:
    """They count for the repository's day, and for no limit of a pull request."""
    _plan(database, _planned("a", 6.0, ""), _planned("b", 6.0, ""), number=0)
    limits = replace(WIDE, chip_hours_per_pull_request=10.0)
    assert [_admit(database, name, limits) for name in "ab"] == [True, True]
    assert _day(database) == 12.0


def _waiting(connection: Connection, name: str) -> tuple[str | None, float | None]:
    row = connection.execute(select(RUN.c.waiting, RUN.c.due).where(RUN.c.id == name)).one()
    return row.waiting, row.due


def test_a_free_slot_goes_to_the_run_that_waited_longest(database: Database) -> None:
    """Why a run waits is kept with it; at the end of another it is asked again, in the order planned."""
    _plan(database, _planned("a"), _planned("b"))
    only_one = replace(WIDE, concurrent_runs=1)
    assert _admit(database, "a", only_one)
    assert not _admit(database, "b", only_one)
    database.write_now(lambda connection: connection.execute(RUN.update().values(due=NOW + 999)))
    assert database.write_now(_waiting, "b") == ("concurrent_runs: 1 of 1 runs are on p/z/c", NOW + 999)
    database.write_now(spend.settle, "a", 1, chip_hours=1.0, now=NOW)
    assert (database.write_now(_waiting, "b")[1] or 0.0) < NOW + 1
    assert _admit(database, "b", only_one)
    assert database.write_now(_waiting, "b")[0] is None


def test_a_run_that_is_over_holds_no_slot_though_nobody_settled_it(database: Database) -> None:
    """A limit is about what is on the cluster, not about our book-keeping."""
    _plan(database, _planned("a"), _planned("b"))
    only_one = replace(WIDE, concurrent_runs=1)
    assert _admit(database, "a", only_one)
    held = database.write_now(queue.claim, RUN, owner="x", now=NOW + 1, lease=30.0)
    assert held is not None
    database.write_now(queue.release, held, due=None, values={"state": RunState.LOST})
    assert _admit(database, "b", only_one)


def _clear(connection: Connection) -> None:
    for table in (SPEND, WANT, MEASUREMENT, RUN, PULL_REQUEST):
        connection.execute(delete(table))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    prices=st.lists(st.floats(0.125, 8.0), min_size=1, max_size=6),
    acts=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["admit", "end", "redo"])), max_size=25),
    limit=st.floats(1.0, 12.0),
)
def test_no_order_of_admissions_and_endings_passes_a_limit(
    database: Database, prices: list[float], acts: list[tuple[int, str]], limit: float
) -> None:
    """While runs cost what was set aside for them, the day stays in its budget and the place in its own."""
    database.write_now(_clear)
    limits = replace(WIDE, chip_hours_per_day=limit, concurrent_runs=2)
    _plan(database, *(_planned(f"r{at}", price) for at, price in enumerate(prices)))
    for which, act in acts:
        name, price = f"r{which % len(prices)}", prices[which % len(prices)]
        if act == "end":
            database.write_now(spend.settle, name, 1, chip_hours=price, now=NOW)
        else:
            _admit(database, name, limits)
        assert _day(database) <= limit + 1e-6
        assert database.write_now(_open) <= 2


def _open(connection: Connection) -> int:
    open_ones = select(func.count()).select_from(SPEND).where(SPEND.c.ended.is_(None))
    return connection.execute(open_ones).scalar_one()


HAMMER = """
import sys
from bot.planning.budget import BudgetLimits
from bot.storage import spend
from bot.storage.database import Database
url, limit, names = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
database = Database(url)
limits = BudgetLimits(concurrent_runs=10_000, chip_hours_per_day=limit)
print("ready", flush=True)
sys.stdin.readline()
for name in names:
    request = spend.AdmissionRequest(run=name, attempt=1, place="p/z/c")
    if database.write_now(spend.admit, request, limits, now=float(1_795_024_800)) is None:
        print(name, flush=True)
database.close()
"""


def _hammer(url: str, names: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HAMMER, url, "12", *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


def test_two_processes_together_never_pass_a_budget(database: Database, database_url: str) -> None:
    """Both ask for the same 40 runs in opposite orders at once: exactly what the budget holds is admitted."""
    names = [f"r{at:02}" for at in range(40)]
    _plan(database, *(_planned(name, 1.0) for name in names))
    processes = [_hammer(database_url, names), _hammer(database_url, names[::-1])]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said = [process.communicate("go\n", timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert _day(database) == 12.0
    assert len({*said[0], *said[1]}) == 12


def test_many_threads_never_pass_the_slots(database: Database) -> None:
    """Twenty runs ask at once for three places."""
    names = [f"r{at:02}" for at in range(20)]
    _plan(database, *(_planned(name) for name in names))
    limits = replace(WIDE, concurrent_runs=3)
    with ThreadPoolExecutor(8) as pool:
        admitted = list(pool.map(lambda name: _admit(database, name, limits), names))
    assert sum(admitted) == 3


def test_why_a_run_waits_is_a_sentence(database: Database) -> None:
    """With the limit, what is used, and what would let it start."""
    _plan(database, _planned("a", 198.4), _planned("b", 6.4))
    limits = replace(WIDE, chip_hours_per_day=200.0)
    assert _admit(database, "a", limits)
    held = database.write_now(
        spend.admit, AdmissionRequest(run="b", attempt=1, place=CLUSTER), limits, now=NOW
    )
    why = "chip_hours_per_day: 200 does not cover 198.4 + at most 6.4; it resets at 00:00 UTC"
    assert held is not None
    assert (held.until, str(held.reason)) == (NOW - NOW % 86_400 + 86_400, why)
    assert database.write_now(_waiting, "b")[0] == why
    assert pytest.approx(198.4) == _day(database)


def test_only_a_budget_that_holds_a_run_is_news(database: Database) -> None:
    """Whoever wants the run looks again then; a place in a queue is no reason to ask GitHub."""
    database.write_now(pull_requests.enqueue, repository=ACME, number=7, installation=1, now=NOW)
    _plan(database, _planned("a"), _planned("b"))

    def wanted() -> int:
        found = database.write_now(pull_requests.find_pull, ACME, 7)
        assert found is not None
        return found.wanted

    _admit(database, "a", replace(WIDE, concurrent_runs=1))
    before = wanted()
    assert not _admit(database, "b", replace(WIDE, concurrent_runs=1))
    assert wanted() == before
    assert not _admit(database, "b", replace(WIDE, chip_hours_per_day=1.5))
    assert wanted() == before + 1
    assert _admit(database, "b", WIDE)
    assert wanted() == before + 2
