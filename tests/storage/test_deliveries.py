"""A delivery is recorded once, whatever comes again and however many come at once."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, select

from bot.domain.delivery import Delivery
from bot.storage import deliveries, queue
from bot.storage.database import Database
from bot.storage.deliveries import DeliveryState
from bot.storage.queue import count_rows
from bot.storage.tables import DELIVERY
from bot.webhooks.receiver import DeliveryRecorder


def _delivery(name: str, received: float = 1.0, payload: bytes = b"{}") -> Delivery:
    return Delivery(id=name, event="push", payload=payload, received=received)


def _kept(connection: Connection) -> dict[str, tuple[bytes, float]]:
    rows = connection.execute(select(DELIVERY))
    return {row.id: (row.payload, row.received) for row in rows}


def _clear(connection: Connection) -> None:
    connection.execute(delete(DELIVERY))


def test_a_delivery_waits_to_be_worked_on(database: Database) -> None:
    """What was recorded is due at once, with the bytes as they came."""
    payload = bytes(range(256))
    database.write_now(deliveries.record, [_delivery("a", 5.0, payload)])
    held = database.write_now(queue.claim, DELIVERY, owner="x", now=5.0, lease=30.0)
    assert held is not None
    assert (held.row["id"], held.row["payload"], held.row["state"]) == ("a", payload, "received")


def test_a_second_delivery_of_an_id_changes_nothing(database: Database) -> None:
    """GitHub keeps the id when it delivers again: what was done stays done."""
    database.write_now(deliveries.record, [_delivery("a", 5.0, b"first")])
    held = database.write_now(queue.claim, DELIVERY, owner="x", now=5.0, lease=30.0)
    assert held is not None
    database.write_now(queue.release, held, due=None, values={"state": DeliveryState.DONE})
    database.write_now(deliveries.record, [_delivery("a", 6.0, b"first")])
    assert database.write_now(_kept) == {"a": (b"first", 5.0)}
    assert database.write_now(queue.claim, DELIVERY, owner="x", now=1e9, lease=30.0) is None
    assert database.write_now(count_rows).deliveries == {"done": 1}


def test_two_deliveries_that_were_given_one_id_are_both_kept(database: Database) -> None:
    """Some servers count deliveries by the millisecond: an id alone does not say which one it is."""
    database.write_now(deliveries.record, [_delivery("a", 5.0, b"first"), _delivery("a", 5.0, b"other")])
    assert database.write_now(count_rows).deliveries == {"received": 2}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), max_size=5))
def test_every_id_is_kept_once_as_it_came_first(database: Database, batches: Sequence[Sequence[str]]) -> None:
    """Whatever repeats within a batch or later, the first of each id is what is kept."""
    database.write_now(_clear)
    first: dict[str, tuple[bytes, float]] = {}
    moment = 0.0
    for batch in batches:
        made = []
        for name in batch:
            moment += 1.0
            made.append(_delivery(name, moment, name.encode()))
            first.setdefault(name, (made[-1].payload, moment))
        database.write_now(deliveries.record, made)
    assert database.write_now(_kept) == first


def test_processes_that_record_the_same_id_keep_one(database_url: str) -> None:
    """Two connections that insert one id at the same moment leave one row and no error."""
    opened = [Database(database_url), Database(database_url)]
    start = threading.Barrier(2)

    def write(one: Database) -> None:
        start.wait()
        for n in range(20):
            one.write_now(deliveries.record, [_delivery(f"d{n}")])

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, opened))
    assert len(opened[0].write_now(_kept)) == 20
    for one in opened:
        one.close()


def test_deliveries_that_come_together_share_commits(database: Database) -> None:
    """While one batch is written the next gathers: 200 at once take few commits, and all are kept."""
    commits = []

    def write(batch: Sequence[Delivery]) -> None:
        commits.append(len(batch))
        database.write_now(deliveries.record, batch)

    async def scene() -> None:
        recorder = DeliveryRecorder(write)
        await asyncio.gather(*(recorder.record(_delivery(f"d{n}")) for n in range(200)))
        await asyncio.to_thread(recorder.close)

    asyncio.run(scene())
    assert len(database.write_now(_kept)) == sum(commits) == 200
    assert len(commits) <= 20
