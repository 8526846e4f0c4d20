"""Who is held up while looking at a pull request, and whom another process has overtaken, changes nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bot.commands.labels import LabelMaker
from bot.config import Suite
from bot.domain.head import HeadFacts
from bot.domain.pull_request import Subject
from bot.domain.repository import Repository
from bot.domain.run_request import Approval
from bot.errors import NotFound
from bot.publish.lease_fence import LeaseLost
from bot.storage import queue, reports, requests, runs
from bot.storage.database import Database
from bot.storage.pull_requests import PullRow
from bot.storage.tables import PULL_REQUEST
from bot.worker.pull_decisions import current_approval
from bot.worker.pull_loader import HeadLoader, PullLoader
from bot.worker.pull_requests import PullStep
from bot.worker.run_planner import RunPlanner
from tests.worker.samples import FACTS, NOW, PULL
from tests.worker.whole_conversation import WAIT_SECONDS, WholeConversation, whole_conversation

NAME = "acme/maxtext"

Meanwhile = Callable[[], Awaitable[None]]


class SleepySubjects(PullLoader, frozen=True, kw_only=True):
    """Falls asleep over the news that there is nothing."""

    meanwhile: Meanwhile

    async def load(self, repository: Repository, row: PullRow) -> Subject:
        """It was gone then."""
        await self.meanwhile()
        raise NotFound(f"there is no {row.number} in {repository.full_name}")


class SleepyReader(HeadLoader, kw_only=True):
    """Falls asleep with the facts in hand."""

    meanwhile: Meanwhile

    async def load(self, repository: Repository, pull: Subject) -> HeadFacts:
        """The facts of before."""
        facts = await HeadLoader.load(self, repository, pull)
        await self.meanwhile()
        return facts


class SleepyLauncher(RunPlanner, frozen=True, kw_only=True):
    """Falls asleep before it launches."""

    meanwhile: Meanwhile

    async def supersede(self, pull: Subject, facts: HeadFacts) -> None:
        """What was stale then."""
        await RunPlanner.supersede(self, pull, facts)
        await self.meanwhile()


class SleepyLabels(LabelMaker, frozen=True, kw_only=True):
    """Falls asleep with the report in hand."""

    meanwhile: Meanwhile

    async def create(self, repository: Repository, suite: Suite) -> None:
        """Made as ever."""
        await LabelMaker.create(self, repository, suite)
        await self.meanwhile()


def _sleepy(conversation: WholeConversation, place: str, meanwhile: Meanwhile) -> PullStep:
    step = conversation.pull
    forge = step.heads.forge
    match place:
        case "subject":
            subjects = SleepySubjects(database=conversation.database, forge=forge, meanwhile=meanwhile)
            return replace(step, pulls=subjects)
        case "facts":
            return replace(step, heads=SleepyReader(forge=forge, meanwhile=meanwhile))
        case "launch":
            launcher = SleepyLauncher(database=conversation.database, now=step.now, meanwhile=meanwhile)
            return replace(step, planner=launcher)
        case _:
            labels = SleepyLabels(database=conversation.database, forge=forge, meanwhile=meanwhile)
            return replace(step, labels=labels)


async def _sleep_over(conversation: WholeConversation, place: str, meanwhile: Meanwhile) -> None:
    """Look at the pull request, asleep past the lease, during which something happens."""

    async def asleep() -> None:
        conversation.clock[0] += WAIT_SECONDS + 1
        await meanwhile()

    held = conversation.database.write_now(
        queue.claim, PULL_REQUEST, owner="it", now=conversation.clock[0], lease=WAIT_SECONDS
    )
    assert held is not None
    with pytest.raises(LeaseLost):
        await _sleepy(conversation, place, asleep)(held)


async def _push_approved(conversation: WholeConversation, text: str) -> None:
    """A commit that may run becomes the head, and somebody else looks at it."""
    head = conversation.git.write("feat/x", {"src/a.py": text})
    await conversation.github.push("feat/x", "mallory")
    await conversation.github.comment(1, "bob", f"/benchmark approve {head}\n/benchmark run")
    conversation.collect()
    await conversation.work()


@pytest.mark.parametrize("place", ["subject", "facts", "launch", "report"])
def test_who_slept_over_a_push_takes_back_nothing(database: Database, tmp_path: Path, place: str) -> None:
    """The page goes on saying what the comment says, and the runs of the head that was pushed meanwhile go
    on."""

    async def talk() -> None:
        async with whole_conversation(tmp_path / "git", database) as conversation:
            await _push_approved(conversation, "A = 2\n")
            conversation.look_again()
            await _sleep_over(conversation, place, lambda: _push_approved(conversation, "A = 3\n"))
            head = conversation.git.head("feat/x")
            kept = database.write_now(reports.newest, NAME, 1)
            assert kept is not None
            assert head == kept.head_sha
            assert {head} == {run.sha for run in database.write_now(runs.wanted_runs, NAME, 1)} - {
                conversation.git.head("main")
            }

    asyncio.run(talk())


def test_an_approval_that_arrives_while_an_older_one_is_dropped_stays(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of the files that were pushed meanwhile, which this look has not seen."""
    here, write = (NAME, 7), database.write
    old = Approval(head_sha="c" * 40, tree="3" * 40, by="bob", made=NOW - 60)
    new = Approval(head_sha="d" * 40, tree="4" * 40, by="bob", made=NOW + 1)
    database.write_now(requests.save_approval, *here, old)

    async def after_the_new_one(function: Any, *args: Any, **kwargs: Any) -> Any:
        database.write_now(requests.save_approval, *here, new)
        return await write(function, *args, **kwargs)

    monkeypatch.setattr(database, "write", after_the_new_one)
    facts = replace(FACTS, tree="1" * 40)
    asyncio.run(current_approval(database, replace(PULL, updated_at=NOW), facts))
    assert new == database.write_now(requests.newest_approval, *here)
