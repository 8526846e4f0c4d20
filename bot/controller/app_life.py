"""Act on what happened to the App, to its repositories, and to what it wrote.

In:  a `Life`, and the id of the delivery that told it.
Out: what is now desired, and one sentence for the log.

A button under a check asks for what a command asks for, so it is heard as one: the same permission, the same
limits, the same line in the comment. Doing anything here twice changes nothing.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from bot.controller.chores import RECONCILE
from bot.controller.hearing import Hearing
from bot.controller.suites import Suites
from bot.errors import TryLater
from bot.intake import intent as intents
from bot.intake.grammar import read_commands
from bot.intake.life import (
    BotCommentChanged,
    CheckAsked,
    Fate,
    Life,
    MergeGroupMade,
    RepositoryChanged,
    Unlocked,
    Wish,
)
from bot.intake.pull import Repository
from bot.storage import chores, mainline, merge_groups, pulls, repositories, standing
from bot.storage.database import Database
from bot.storage.merge_groups import MergeGroup

COMMANDS = {
    Wish.RERUN: "/benchmark rerun all",
    Wish.RERUN_FAILED: "/benchmark rerun failed",
    Wish.ACKNOWLEDGE: '/benchmark ack * reason="accepted on the check"',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppLife:
    """What the controller does with such a delivery."""

    database: Database
    suites: Suites
    hearing: Hearing
    now: Callable[[], float]

    async def __call__(self, life: Life, *, delivery: str) -> str:
        """Act on it."""
        match life:
            case CheckAsked():
                return await self._check(life, delivery)
            case RepositoryChanged():
                return await self._repository(life)
            case BotCommentChanged():
                return await self._comment(life)
            case Unlocked():
                await self.database.write(
                    pulls.touch, repository=life.repository.full_name, number=life.number, now=self.now()
                )
                return f"#{life.number} may be written to again"
            case MergeGroupMade():
                return await self._merge_group(life)
            case _:
                assert_never(life)

    async def resume(self, repository: Repository) -> None:
        """Work for a repository that came, or came back: what stood still with it is looked at, and what
        happened meanwhile is found by comparing."""
        await self._remember(repository)
        await self.database.write(
            repositories.revive,
            repository=repository.full_name,
            installation=repository.installation,
            now=self.now(),
        )
        await self.database.write(chores.begin, (RECONCILE,), now=self.now())

    async def _check(self, asked: CheckAsked, delivery: str) -> str:
        """Conclude what GitHub reset, whoever did that; then hear the wish as a command."""
        await self._remember(asked.repository)
        numbers: tuple[int, ...] = ()
        queued = ""
        if asked.reset:
            numbers = await self.database.write(
                standing.check_was_reset,
                repository=asked.repository.full_name,
                head_sha=asked.head_sha,
                now=self.now(),
            )
            queued = await self._queue_asks_again(asked)
        if asked.number is not None:
            numbers = (asked.number,)
        # A branch that is watched without a pull request has no conversation.
        spoken = [number for number in numbers if number > 0]
        heard = [await self.hearing.command(self._as_command(asked, number, delivery)) for number in spoken]
        said = "; ".join(filter(None, (queued, *heard)))
        return said or "no open pull request has a check of ours on that commit"

    async def _queue_asks_again(self, asked: CheckAsked) -> str:
        known = await self.database.write(
            merge_groups.ask_again,
            repository=asked.repository.full_name,
            head_sha=asked.head_sha,
            now=self.now(),
        )
        return f"{asked.head_sha[:7]} is a merge queue's, and its check is written again" if known else ""

    async def _merge_group(self, made: MergeGroupMade) -> str:
        await self._remember(made.repository)
        group = MergeGroup(
            repository=made.repository.full_name,
            head_sha=made.head_sha,
            installation=made.repository.installation,
            pull=made.pull,
            asked=self.now(),
        )
        await self.database.write(merge_groups.ask, group)
        return f"{made.head_sha[:7]} is a merge queue's, and gets a check where others do"

    def _as_command(self, asked: CheckAsked, number: int, delivery: str) -> intents.Command:
        return intents.Command(
            repository=asked.repository,
            number=number,
            comment_id=unwritten(f"{delivery} {number}"),
            author=asked.by,
            commands=read_commands(COMMANDS[asked.wish]),
            created_at=self.now(),
        )

    async def _comment(self, changed: BotCommentChanged) -> str:
        name, number, now = changed.repository.full_name, changed.number, self.now()
        # Asked first: whoever has let go of the row by then has kept the id of what it wrote.
        held = await self.database.write(standing.is_worked_on, repository=name, number=number, now=now)
        ours = await self.database.write(
            standing.comment_was_changed,
            repository=name,
            number=number,
            comment_id=changed.comment_id,
            now=now,
        )
        if ours:
            return f"#{number}: our comment is looked at"
        if held:
            raise TryLater(f"#{number}: a comment may be on its way, and its id unknown", after=1.0)
        return f"#{number}: not our comment"

    async def _repository(self, changed: RepositoryChanged) -> str:
        repository = changed.repository
        await self._remember(repository)
        await self.suites.doubt(repository)
        match changed.fate:
            case Fate.ARCHIVED | Fate.DELETED:
                await self.database.write(
                    repositories.leave_installation,
                    installation=repository.installation,
                    repositories=[repository.full_name],
                )
            case Fate.UNARCHIVED | Fate.TRANSFERRED | Fate.RENAMED:
                await self.resume(repository)
            case Fate.PRIVATIZED | Fate.PUBLICIZED | Fate.EDITED:
                name, now = repository.full_name, self.now()
                await self.database.write(pulls.touch_open, repository=name, now=now)
                # Its default branch may have another name now, under which main's history goes on.
                await self.database.write(
                    mainline.look, repository=name, installation=repository.installation, now=now
                )
            case _:
                assert_never(changed.fate)
        return f"{repository.full_name} was {changed.fate}"

    async def _remember(self, repository: Repository) -> None:
        await self.database.write(repositories.keep_repository, repositories.row_of(repository))


def unwritten(name: str) -> int:
    """A number for a command that no comment holds: below zero, and the same whenever it is told again."""
    return -int(hashlib.sha256(name.encode()).hexdigest()[:12], 16) - 1
