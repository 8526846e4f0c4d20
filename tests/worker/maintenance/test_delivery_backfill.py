"""What GitHub sent and never arrived is taken from its own list, once, oldest first."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from bot.domain.delivery import Delivery, ListedDelivery
from bot.errors import NotFound, TransientError
from bot.storage import deliveries
from bot.storage.database import Database
from bot.storage.tables import DELIVERY
from bot.worker.maintenance.delivery_backfill import OVERLAP_SECONDS, DeliveryBackfill
from bot.worker.maintenance.tasks import TaskResult
from tests.worker.samples import NOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A page of the list."""

    deliveries: Sequence[ListedDelivery]
    tag: str | None


@dataclass(slots=True, kw_only=True)
class Log:
    """GitHub's list, newest last here; `lost` payloads are kept no more, `failing` ones come later."""

    sent: list[ListedDelivery] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)
    page: int = 2

    def send(self, guid: str, at: float, event: str = "push", action: str | None = None) -> None:
        """GitHub sends one."""
        self.sent.append(ListedDelivery(id=len(self.sent) + 1, guid=guid, event=event, action=action, at=at))

    async def pages(self, known: str | None) -> AsyncIterator[Part]:
        """The list by pages; its tag is its length."""
        tag = str(len(self.sent))
        if known == tag:
            self.asked.append("unchanged")
            return
        newest = self.sent[::-1]
        for at in range(0, max(len(newest), 1), self.page):
            self.asked.append("page")
            yield Part(deliveries=newest[at : at + self.page], tag=tag)

    async def payload(self, heard: ListedDelivery) -> Delivery:
        """What was sent."""
        if heard.guid in self.lost:
            raise NotFound("gone")
        if heard.guid in self.failing:
            raise TransientError("502", after=1.0)
        self.asked.append(heard.guid)
        return Delivery(id=heard.guid, event=heard.event, payload=b'{"a": 1}', received=heard.at)


@pytest.fixture(scope="module")
def module_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One database, emptied for each test."""
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('caught') / 'x.sqlite'}")
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def database(module_database: Database) -> Database:
    """An empty database."""
    _empty(module_database)
    return module_database


def _empty(database: Database) -> None:
    database.write_now(lambda connection: connection.execute(DELIVERY.delete()))


def _recorded(database: Database) -> list[str]:
    query = select(DELIVERY.c.id).order_by(DELIVERY.c.received, DELIVERY.c.id)
    return list(database.write_now(lambda connection: connection.execute(query).scalars().all()))


def _chore(database: Database, log: Log) -> DeliveryBackfill:
    return DeliveryBackfill(log=log, database=database, wake=lambda: None)


def test_what_arrived_is_left_alone_and_what_did_not_is_taken(database: Database) -> None:
    """Oldest first, each once however often GitHub tried it; kinds that ask nothing are not fetched."""
    log = Log()
    arrived = Delivery(id="b", event="push", payload=b'{"a":1}', received=NOW)
    database.write_now(deliveries.record, [arrived])
    for guid, at in (("a", NOW), ("b", NOW + 1), ("c", NOW + 2), ("a", NOW + 3)):
        log.send(guid, at)
    log.send("d", NOW + 4, event="workflow_run", action="completed")
    done = asyncio.run(_chore(database, log)(None))
    assert (["a", "c"], str(NOW + 4)) == ([one for one in log.asked if one != "page"], done.position)
    assert {"a", "b", "c"} == set(_recorded(database))


def test_a_webhook_that_comes_after_all_is_the_same_row(database: Database) -> None:
    """GitHub's list writes the JSON in its own way; the content is what tells deliveries apart."""
    log = Log()
    log.send("a", NOW)
    asyncio.run(_chore(database, log)(None))
    late = Delivery(id="a", event="push", payload=b'{ "a" : 1 }', received=NOW + 60)
    database.write_now(deliveries.record, [late])
    assert ["a"] == _recorded(database)


def test_reading_ends_where_it_ended_the_last_time(database: Database) -> None:
    """A thousand old deliveries are not gone through again; a few minutes overlap."""
    log = Log()
    for n in range(40):
        log.send(f"old {n}", NOW - 40 * OVERLAP_SECONDS + n * OVERLAP_SECONDS / 2)
    log.send("new", NOW)
    chore = _chore(database, log)
    asyncio.run(chore(repr(NOW - 1)))
    assert (2, ["new"]) == (log.asked.count("page"), _recorded(database)[-1:])


def test_an_unchanged_list_is_not_read(database: Database) -> None:
    """Its tag is enough; a new delivery changes it."""
    log = Log()
    log.send("a", NOW)
    chore = _chore(database, log)
    done = asyncio.run(chore(None))
    done = asyncio.run(chore(done.position))
    assert "unchanged" == log.asked[-1]
    log.send("b", NOW + 1)
    asyncio.run(chore(done.position))
    assert ["a", "b"] == _recorded(database)


def test_what_github_keeps_no_more_is_passed_over(database: Database) -> None:
    """The rest is taken; the comparison of pull requests is for what is lost."""
    log = Log(lost={"a"})
    log.send("a", NOW)
    log.send("b", NOW + 1)
    asyncio.run(_chore(database, log)(None))
    assert ["b"] == _recorded(database)


def test_a_failure_in_the_middle_loses_nothing(database: Database) -> None:
    """The mark is not moved and the tag is not believed: the next time goes on from there."""
    log = Log(failing={"b"})
    for guid, at in (("a", NOW), ("b", NOW + 1), ("c", NOW + 2)):
        log.send(guid, at)
    chore = _chore(database, log)
    with pytest.raises(TransientError):
        asyncio.run(chore(None))
    assert ["a"] == _recorded(database)
    log.failing = set()
    asyncio.run(chore(None))
    assert ["a", "b", "c"] == _recorded(database)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_nothing_is_ever_lost_or_taken_twice(module_database: Database, data: st.DataObject) -> None:
    """Webhooks that arrive or do not, processes that come and go, failures, any order within ten minutes."""
    _empty(module_database)
    log, chore, mark = Log(), _chore(module_database, Log()), None
    chore.log = log
    for n in range(data.draw(st.integers(0, 12))):
        log.send(f"{n}", NOW + 30 * n - data.draw(st.floats(0, OVERLAP_SECONDS - 400)))
        if data.draw(st.booleans()):
            arrived = Delivery(id=f"{n}", event="push", payload=b'{"a": 1}', received=NOW)
            module_database.write_now(deliveries.record, [arrived])
        if data.draw(st.booleans()):
            log.failing = {f"{data.draw(st.integers(0, n))}"} if data.draw(st.booleans()) else set()
            mark = _tried(chore, mark)
        if data.draw(st.booleans()):
            chore = _chore(module_database, log)
    log.failing = set()
    _tried(chore, mark)
    assert sorted(one.guid for one in log.sent) == sorted(_recorded(module_database))


def _tried(chore: DeliveryBackfill, position: str | None) -> str | None:
    try:
        done: TaskResult = asyncio.run(chore(position))
    except TransientError:
        return position
    return done.position
