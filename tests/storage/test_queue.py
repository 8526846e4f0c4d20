"""Rows that wait for their time: one holder, the longest due first, and who lost a row writes nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Table, select

from bot.domain.delivery import Delivery
from bot.storage import deliveries, queue
from bot.storage.database import Database
from bot.storage.queue import Claim
from bot.storage.tables import DELIVERY


def _record(database: Database, *due: float) -> None:
    """Deliveries `d0`, `d1`, … that came at these times."""
    received = [
        Delivery(id=f"d{n}", event="ping", payload=b"{}", received=when) for n, when in enumerate(due)
    ]
    database.write_now(deliveries.record, received)


def _claim(database: Database, now: float, owner: str = "a", lease: float = 30.0) -> Claim | None:
    return database.write_now(queue.claim, DELIVERY, owner=owner, now=now, lease=lease)


def _taken(database: Database, now: float, owner: str = "a") -> Claim:
    held = _claim(database, now, owner)
    assert held is not None
    return held


def _row(database: Database, name: str = "d0") -> dict[str, object]:
    def read(connection: Connection, table: Table) -> dict[str, object]:
        return dict(connection.execute(select(table).where(table.c.id == name)).mappings().one())

    return database.write_now(read, DELIVERY)


def test_the_row_that_is_due_longest_is_claimed_first(database: Database) -> None:
    """Rows are claimed in the order of their times, and none before its time."""
    _record(database, 30.0, 10.0, 20.0)
    order = [_taken(database, 25.0).row["id"] for _ in range(2)]
    assert order == ["d1", "d2"]
    assert _claim(database, 29.9) is None


def test_a_held_row_is_not_claimed_again(database: Database) -> None:
    """Until its lease ends a row has one holder."""
    _record(database, 10.0)
    assert _taken(database, 10.0, "a").lease_until == 40.0
    assert _claim(database, 39.9, "b") is None


def test_a_lease_that_ended_frees_the_row(database: Database) -> None:
    """What a dead process held goes to another when its lease ends."""
    _record(database, 10.0)
    first, second = _taken(database, 10.0, "a"), _taken(database, 40.0, "b")
    assert (first.token, second.token) == (1, 2)
    assert second.row["lease_owner"] == "b"


@pytest.mark.parametrize("act", ["release", "postpone", "hold"])
def test_an_overtaken_claim_writes_nothing(database: Database, act: str) -> None:
    """A holder whose lease ended, and whose row another took, finds every write refused."""
    _record(database, 10.0)
    late = _taken(database, 10.0, "a")
    _taken(database, 40.0, "b")
    before = _row(database)
    match act:
        case "release":
            written = database.write_now(queue.release, late, due=None, values={"outcome": "late"})
        case "postpone":
            written = database.write_now(queue.postpone, late, due=99.0, error="late")
        case _:
            written = database.write_now(queue.extend_lease, late, until=99.0)
    assert not written
    assert _row(database) == before


def test_a_renewed_lease_holds_longer(database: Database) -> None:
    """While the work goes on, its holder keeps the row."""
    _record(database, 10.0)
    held = _taken(database, 10.0, "a")
    assert database.write_now(queue.extend_lease, held, until=70.0)
    assert _claim(database, 69.9, "b") is None
    assert _taken(database, 70.0, "b").token == 2


def test_a_released_row_says_what_came_of_it(database: Database) -> None:
    """Releasing writes the values, ends the lease and forgets earlier failures."""
    _record(database, 10.0)
    database.write_now(queue.postpone, _taken(database, 10.0), due=12.0, error="once")
    assert database.write_now(queue.release, _taken(database, 12.0), due=None, values={"outcome": "done"})
    row = _row(database)
    assert (row["outcome"], row["due"], row["attempts"], row["error"]) == ("done", None, 0, None)
    assert _claim(database, 1e9) is None


def test_a_postponed_row_remembers_its_failure(database: Database) -> None:
    """Every failure is counted, its text kept, and the row comes again at its new time."""
    _record(database, 10.0)
    for attempt, due in enumerate((12.0, 16.0), start=1):
        held = _taken(database, due - 2)
        assert database.write_now(queue.postpone, held, due=due, error=f"failure {attempt}")
        assert _claim(database, due - 0.1) is None
    row = _row(database)
    assert (row["attempts"], row["error"]) == (2, "failure 2")


def test_a_failing_row_does_not_starve_the_others(database: Database) -> None:
    """After its failure a row comes after those that are due."""
    _record(database, 10.0, 11.0)
    database.write_now(queue.postpone, _taken(database, 11.0), due=13.0, error="no")
    assert _taken(database, 13.0).row["id"] == "d1"


def test_rows_that_are_handed_back_are_free_at_once(database: Database) -> None:
    """At the end of a process its rows, and only its, need not wait for their leases."""
    _record(database, 10.0, 10.0, 10.0)
    for owner in ("a", "b", "a"):
        _taken(database, 10.0, owner)
    assert database.write_now(queue.release_all, DELIVERY, owner="a") == 2
    assert _taken(database, 10.0, "c").row["lease_owner"] == "c"
    assert _taken(database, 10.0, "c").row["lease_owner"] == "c"
    assert _claim(database, 10.0, "c") is None


def test_text_that_a_database_cannot_keep_does_not_stop_a_row(database: Database) -> None:
    """A NUL or half a character in a text from outside is replaced, and the row is written."""
    _record(database, 10.0)
    held = _taken(database, 10.0)
    assert database.write_now(queue.release, held, due=10.0, values={"outcome": "a\x00b\ud800c"})
    assert _row(database)["outcome"] == "a�b�c"
    assert database.write_now(queue.postpone, _taken(database, 10.0), due=11.0, error="x\x00\udfff")
    assert _row(database)["error"] == "x��"


def test_threads_that_claim_together_share_the_rows(database_url: str) -> None:
    """Four claimers with connections of their own take 40 rows, each row once."""
    databases = [Database(database_url) for _ in range(2)]
    _record(databases[0], *(float(n) for n in range(40)))
    start = threading.Barrier(4)

    def take(n: int) -> list[str]:
        start.wait()
        taken = []
        while (held := _claim(databases[n % 2], 50.0, f"owner {n}")) is not None:
            taken.append(held.row["id"])
        return taken

    with ThreadPoolExecutor(4) as threads:
        taken = [name for names in threads.map(take, range(4)) for name in names]
    # A claimer that meets another's row may find nothing for a moment: what is left is still there.
    while (held := _claim(databases[0], 50.0)) is not None:
        taken.append(held.row["id"])
    assert sorted(taken) == sorted(f"d{n}" for n in range(40))
    for one in databases:
        one.close()


def test_a_row_in_another_transaction_is_skipped(postgres_database: Database) -> None:
    """A claimer does not wait for a row that another claimer is about to take: it takes the next."""
    _record(postgres_database, 10.0, 11.0)
    taking, done = threading.Event(), threading.Event()

    def slowly(connection: Connection) -> Claim | None:
        held = queue.claim(connection, DELIVERY, owner="slow", now=20.0, lease=30.0)
        taking.set()
        done.wait(timeout=5)
        return held

    with ThreadPoolExecutor(1) as thread:
        slow = thread.submit(postgres_database.write_now, slowly)
        assert taking.wait(timeout=5)
        quick = _taken(postgres_database, 20.0, "quick")
        done.set()
        held = slow.result(timeout=5)
    assert held is not None
    assert (held.row["id"], quick.row["id"]) == ("d0", "d1")
