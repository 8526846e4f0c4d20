"""One report goes to every output; what keeps us from one of them does not keep us from the others."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from bot.domain.published import CommitStatus, NoCheck, PostedCheck
from bot.errors import UserError
from bot.publish.publisher import (
    REFUSED_RETRY_SECONDS,
    Content,
    HeadMoved,
    NewReport,
    NotMeasured,
    Output,
    Publication,
    Published,
    Publisher,
    PublishResult,
    PullClosed,
)
from bot.report.assess import headline
from bot.report.model import Report, RowState
from bot.storage import pull_requests, queue
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from bot.storage.tables import PULL_REQUEST
from tests.report.samples import case, same
from tests.worker.samples import ACME, HEAD, NOW, row

REPORT = Report(
    repository="acme/maxtext",
    number=7,
    title="A change",
    head_sha=HEAD,
    head_branch="feat/x",
    base_branch="main",
    merge_base=None,
    made_at=NOW,
    rows=(case("a", RowState.RUNNING),),
)


class ChatState(Struct, frozen=True, kw_only=True):
    """The message in the room, and what it says."""

    message: int
    text: str


@dataclass(slots=True)
class ChatOutput:
    """A new output, all of it: one message in a chat room for each pull request, edited in place."""

    room: dict[int, str]
    name: str = "chat message"

    async def publish(self, publication: Publication) -> Published:
        """Say the headline, unless the message says it already."""
        state = None
        if known := publication.row.outputs.get(self.name):
            state = msgspec.json.decode(known, type=ChatState)
        if not isinstance(publication.content, NewReport):
            return Published()
        text = headline(publication.content.report)
        if state is not None and state.text == text:
            return Published()
        await publication.fence()
        message = state.message if state else len(self.room) + 1
        self.room[message] = text
        return Published(state=ChatState(message=message, text=text))


@dataclass(slots=True)
class ScriptedOutput:
    """Answers what a test wants, and notes that it was asked."""

    name: str
    answer: Published | HeadMoved | UserError
    asked: int = 0

    async def publish(self, publication: Publication) -> Published | HeadMoved:
        """The answer."""
        assert publication.repository == ACME
        self.asked += 1
        if isinstance(self.answer, UserError):
            raise self.answer
        return self.answer


async def _hold() -> None:
    """The row is ours."""


def _publish(outputs: Sequence[Output], row_: PullRow, content: Content | None = None) -> PublishResult:
    publication = Publication(
        repository=ACME, row=row_, content=content or NewReport(report=REPORT), fence=_hold
    )
    return asyncio.run(Publisher(tuple(outputs)).publish(publication))


@dataclass(slots=True)
class StoredPull:
    """A pull request in a database, published to by one process after another."""

    database: Database
    publisher: Publisher
    results: list[PublishResult] = field(default_factory=list)

    def publish(self, content: Content) -> PullRow:
        """Claim the row, publish, release it; the row after."""
        self.database.write_now(
            pull_requests.enqueue, repository="acme/maxtext", number=7, installation=1, now=NOW
        )
        held = self.database.write_now(queue.claim, PULL_REQUEST, owner="me", now=NOW, lease=30.0)
        assert held is not None
        publication = Publication(
            repository=ACME, row=pull_requests.pull_row(held.row), content=content, fence=_hold
        )
        result = asyncio.run(self.publisher.publish(publication))
        self.results.append(result)
        self.database.write_now(pull_requests.release_pull, held, now=NOW, due=None, values=result.values)
        kept = self.database.write_now(pull_requests.find_pull, "acme/maxtext", 7)
        assert kept is not None
        return kept


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty database."""
    opened = Database(f"sqlite:///{tmp_path / 'x.sqlite'}")
    opened.migrate()
    yield opened
    opened.close()


def test_a_new_output_is_one_class_and_one_line(database: Database) -> None:
    """Its message is written once, found again by the state that the row keeps, and edited in place."""
    room: dict[int, str] = {}
    pull = StoredPull(
        database,
        Publisher(
            (
                ScriptedOutput("check", Published(state=NoCheck())),
                ChatOutput(room),  # the one line
            )
        ),
    )
    pull.publish(NewReport(report=REPORT))
    assert {1: headline(REPORT)} == room
    pull.publish(NewReport(report=REPORT))
    assert {} == pull.results[-1].values
    ended = replace(REPORT, rows=(same("a"),))
    kept = pull.publish(NewReport(report=ended))
    assert {1: headline(ended)} == room
    assert headline(REPORT) != headline(ended)
    assert ChatState(message=1, text=headline(ended)) == msgspec.json.decode(
        kept.outputs["chat message"], type=ChatState
    )


def test_a_refusal_of_one_output_keeps_nobody_from_the_others() -> None:
    """It is said where people look, at once, and tried again later."""
    posted = PostedCheck(head_sha=HEAD, target=CommitStatus(), digest="d")
    refused = ScriptedOutput("comment", UserError("it is locked"))
    check = ScriptedOutput("check", Published(state=posted))
    result = _publish((refused, check), row())
    trouble = "The comment cannot be written: it is locked."
    assert (trouble, HEAD) == (result.values["trouble"], result.values["check_head"])
    assert NOW == result.due(NOW, None)
    again = _publish((refused, check), row(trouble=trouble, check=posted))
    assert ({}, NOW + REFUSED_RETRY_SECONDS) == (again.values, again.due(NOW, None))


def test_trouble_that_is_over_is_forgotten() -> None:
    """The page stops saying it."""
    fine = ScriptedOutput("check", Published(state=NoCheck()))
    assert {"trouble": None} == _publish((fine,), row(trouble="It is locked.")).values


def test_a_notice_is_said_with_the_refusals() -> None:
    """It is no refusal: nothing is tried again for it."""
    told = ScriptedOutput("comment", Published(state=NoCheck(), notice="Deleted twice."))
    refused = ScriptedOutput("check", UserError("no permission"))
    result = _publish((told, refused), row())
    assert "The check cannot be written: no permission. Deleted twice." == result.values["trouble"]
    notice = _publish((told,), row(trouble="Deleted twice."))
    assert ({}, None) == (notice.values, notice.due(NOW, None))


def test_nothing_more_is_published_for_a_head_that_moved() -> None:
    """The pull request is looked at again at once."""
    check = ScriptedOutput("check", Published(state=NoCheck()))
    result = _publish((ScriptedOutput("comment", HeadMoved()), check), row(trouble="Before."))
    assert ({}, NOW, 0) == (result.values, result.due(NOW, NOW + 60), check.asked)


def test_trouble_with_a_head_that_is_not_measured_waits_for_its_time() -> None:
    """There is no comment that had to say it."""
    refused = ScriptedOutput("check", UserError("no permission"))
    result = _publish((refused,), row(), NotMeasured(head_sha=HEAD, reason="Not measured"))
    assert "The check cannot be written: no permission." == result.values["trouble"]
    assert NOW + REFUSED_RETRY_SECONDS == result.due(NOW, None)


def test_trouble_with_a_closed_pull_request_is_nobodys_any_more() -> None:
    """What could not be concluded is left."""
    refused = ScriptedOutput("check", UserError("no permission"))
    assert {} == _publish((refused,), row(), PullClosed()).values
