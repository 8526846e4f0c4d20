"""Turn a recorded delivery into work: rows that are due, commands that are carried out.

A delivery only says where to look; heads, permissions and files are read from GitHub when they are needed.
Handling a delivery twice changes nothing: every write is an upsert.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from msgspec.structs import replace

from bot.commands import intents
from bot.commands.grammar import read_commands
from bot.commands.handler import CommandHandler
from bot.commands.intents import BranchIntent
from bot.config.loader import SuiteLoader
from bot.domain.check import ButtonAction
from bot.domain.command_origin import ButtonOrigin
from bot.domain.forge import Forge
from bot.domain.pull_request import SubjectKind, subject_kind
from bot.domain.repository import Repository
from bot.errors import TransientError, UserError
from bot.storage import main_branch, pull_requests, queue, repositories
from bot.storage.database import Database
from bot.storage.deliveries import DeliveryState
from bot.storage.main_branch import MergeGroup
from bot.storage.queue import Claim
from bot.webhooks.app_events import (
    MERGE_QUEUE_PREFIX,
    AppEvent,
    BotCommentChanged,
    CheckRequested,
    ConversationUnlocked,
    MergeGroupCreated,
    RepositoryChange,
    RepositoryChanged,
    read_app_event,
)
from bot.webhooks.events import read_event
from bot.worker.maintenance.tasks import RECONCILIATION


@dataclass(frozen=True, slots=True, kw_only=True)
class PushHandler:
    """Writes wishes down; doing it twice changes nothing."""

    database: Database
    suites: SuiteLoader
    now: Callable[[], float]

    async def take(self, push: BranchIntent) -> str:
        """Say who is looked at because of it."""
        if push.branch == push.repository.default_branch:
            return await self._main(push)
        touched = 0 if push.deleted else await self._pulls(push)
        watched = ", and the branch itself" if await self._watch(push) else ""
        return f"{touched} pull requests of {push.branch} are looked at{watched}"

    async def _main(self, push: BranchIntent) -> str:
        """Something landed; and where the configuration has changed, every open pull request is looked at,
        also one that nothing was said on until now."""
        name, now = push.repository.full_name, self.now()
        await self.database.write(
            main_branch.enqueue_main, repository=name, installation=push.repository.installation, now=now
        )
        if not await self.suites.refresh(push.repository):
            return f"{push.branch} is looked at"
        return f"{push.branch} is looked at, and every open pull request"

    async def _pulls(self, push: BranchIntent) -> int:
        return await self.database.write(
            pull_requests.enqueue_by_branch,
            repository=push.repository.full_name,
            branch=push.branch,
            sha=push.sha,
            now=self.now(),
        )

    async def _watch(self, push: BranchIntent) -> bool:
        """Watch a branch by itself, where the configuration says so; one that we know is looked at anyway. A
        merge queue's is not: see `bot.worker.merge_queues`."""
        name, now = push.repository.full_name, self.now()
        known = await self.database.read(pull_requests.branch_number, name, push.branch)
        if known is None and (push.deleted or not await self._is_watched(push)):
            return False
        await self.database.write(
            pull_requests.watch_branch,
            repository=name,
            branch=push.branch,
            installation=push.repository.installation,
            sha=None if push.deleted else push.sha,
            now=now,
        )
        return True

    async def _is_watched(self, push: BranchIntent) -> bool:
        if push.branch.startswith(MERGE_QUEUE_PREFIX):
            return False
        suite = (await self.suites.read(push.repository)).suite
        if suite is None or not suite.triggers.watches(push.branch):
            return False
        return not await self.database.read(pull_requests.has_pull, push.repository.full_name, push.branch)


BUTTON_COMMANDS = {
    ButtonAction.RERUN: "/benchmark rerun all",
    ButtonAction.RERUN_FAILED: "/benchmark rerun failed",
    ButtonAction.ACKNOWLEDGE: '/benchmark ack * reason="accepted on the check"',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppEventHandler:
    """What the controller does with such a delivery."""

    database: Database
    suites: SuiteLoader
    hearing: CommandHandler
    now: Callable[[], float]

    async def __call__(self, life: AppEvent, *, delivery: str) -> str:
        """Act on it."""
        match life:
            case CheckRequested():
                return await self._check(life, delivery)
            case RepositoryChanged():
                return await self._repository(life)
            case BotCommentChanged():
                return await self._comment(life)
            case ConversationUnlocked():
                await self.database.write(
                    pull_requests.touch,
                    repository=life.repository.full_name,
                    number=life.number,
                    now=self.now(),
                )
                return f"#{life.number} may be written to again"
            case MergeGroupCreated():
                return await self._merge_group(life)
            case _:
                assert_never(life)

    async def resume(self, repository: Repository) -> None:
        """Work for a repository that came, or came back: what stood still with it is looked at, and what
        happened meanwhile is found by comparing."""
        await self._remember(repository)
        await self.database.write(
            repositories.reactivate_pulls,
            repository=repository.full_name,
            installation=repository.installation,
            now=self.now(),
        )
        await self.database.write(queue.schedule_jobs, (RECONCILIATION,), now=self.now())

    async def _check(self, asked: CheckRequested, delivery: str) -> str:
        """Conclude what GitHub reset, whoever did that; then hear the wish as a command."""
        await self._remember(asked.repository)
        numbers: tuple[int, ...] = ()
        queued = ""
        if asked.reset:
            numbers = await self.database.write(
                pull_requests.mark_check_reset,
                repository=asked.repository.full_name,
                head_sha=asked.head_sha,
                now=self.now(),
            )
            queued = await self._queue_asks_again(asked)
        if asked.row_number is not None:
            numbers = (asked.row_number,)
        # A branch that is watched without a pull request has no conversation.
        spoken = [number for number in numbers if subject_kind(number) is SubjectKind.PULL_REQUEST]
        heard = [await self.hearing.command(self._as_command(asked, number, delivery)) for number in spoken]
        said = "; ".join(filter(None, (queued, *heard)))
        return said or "no open pull request has a check of ours on that commit"

    async def _queue_asks_again(self, asked: CheckRequested) -> str:
        known = await self.database.write(
            main_branch.touch_merge_group,
            repository=asked.repository.full_name,
            head_sha=asked.head_sha,
            now=self.now(),
        )
        return f"{asked.head_sha[:7]} is a merge queue's, and its check is written again" if known else ""

    async def _merge_group(self, made: MergeGroupCreated) -> str:
        await self._remember(made.repository)
        group = MergeGroup(
            repository=made.repository.full_name,
            head_sha=made.head_sha,
            installation=made.repository.installation,
            pull=made.pull,
            asked=self.now(),
        )
        await self.database.write(main_branch.enqueue_merge_group, group)
        return f"{made.head_sha[:7]} is a merge queue's, and gets a check where others do"

    def _as_command(self, asked: CheckRequested, number: int, delivery: str) -> intents.CommandIntent:
        return intents.CommandIntent(
            repository=asked.repository,
            number=number,
            origin=button_origin(f"{delivery} {number}"),
            author=asked.by,
            commands=read_commands(BUTTON_COMMANDS[asked.action]),
            created_at=self.now(),
        )

    async def _comment(self, changed: BotCommentChanged) -> str:
        name, number, now = changed.repository.full_name, changed.number, self.now()
        # Asked first: whoever has let go of the row by then has kept the id of what it wrote.
        held = await self.database.write(pull_requests.is_claimed, repository=name, number=number, now=now)
        ours = await self.database.write(
            pull_requests.mark_comment_changed,
            repository=name,
            number=number,
            comment_id=changed.comment_id,
            now=now,
        )
        if ours:
            return f"#{number}: our comment is looked at"
        if held:
            raise TransientError(f"#{number}: a comment may be on its way, and its id unknown", after=1.0)
        return f"#{number}: not our comment"

    async def _repository(self, changed: RepositoryChanged) -> str:
        repository = changed.repository
        await self._remember(repository)
        await self.suites.invalidate(repository)
        match changed.change:
            case RepositoryChange.ARCHIVED | RepositoryChange.DELETED:
                await self.database.write(
                    repositories.deactivate,
                    installation=repository.installation,
                    repositories=[repository.full_name],
                )
            case RepositoryChange.UNARCHIVED | RepositoryChange.TRANSFERRED | RepositoryChange.RENAMED:
                await self.resume(repository)
            case RepositoryChange.PRIVATIZED | RepositoryChange.PUBLICIZED | RepositoryChange.EDITED:
                name, now = repository.full_name, self.now()
                await self.database.write(pull_requests.touch_open, repository=name, now=now)
                # Its default branch may have another name now, under which main's history goes on.
                await self.database.write(
                    main_branch.enqueue_main, repository=name, installation=repository.installation, now=now
                )
            case _:
                assert_never(changed.change)
        return f"{repository.full_name} was {changed.change}"

    async def _remember(self, repository: Repository) -> None:
        await self.database.write(repositories.save_repository, repositories.repository_row(repository))


def button_origin(name: str) -> ButtonOrigin:
    """The press of a button that this delivery tells of, the same whenever it is told again."""
    return ButtonOrigin(int(hashlib.sha256(name.encode()).hexdigest()[:12], 16))


RENAMES = frozenset({RepositoryChange.RENAMED, RepositoryChange.TRANSFERRED})
"""Of these a delivery's name for the repository is believed: nothing else tells it."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStep:
    """What the controller does with a delivery."""

    database: Database
    forge: Forge
    suites: SuiteLoader
    hearing: CommandHandler
    now: Callable[[], float]
    wake: Callable[[], None]

    async def __call__(self, held: Claim) -> None:
        """Read the delivery, write down what it asks, and say what came of it."""
        try:
            state, outcome = await self._hear(held)
        except UserError as told:
            state, outcome = DeliveryState.FAILED, told.text
        LOG.info(
            "delivery taken",
            extra={"delivery": held.row["id"], "event": held.row["event"], "outcome": outcome},
        )
        await self.database.write(queue.release, held, due=None, values={"state": state, "outcome": outcome})
        self.wake()

    @property
    def _life(self) -> AppEventHandler:
        return AppEventHandler(database=self.database, suites=self.suites, hearing=self.hearing, now=self.now)

    async def _hear(self, held: Claim) -> tuple[DeliveryState, str]:
        event, payload = held.row["event"], json.loads(held.row["payload"])
        life = read_app_event(event, payload)
        if life is not None:
            if not (isinstance(life, RepositoryChanged) and life.change in RENAMES):
                life = replace(life, repository=await self._current(life.repository))
            return DeliveryState.DONE, await self._life(life, delivery=held.row["id"])
        return await self._take(intents.decide_intent(read_event(event, payload)))

    async def _take(self, intent: intents.Intent) -> tuple[DeliveryState, str]:
        if not isinstance(intent, intents.InstallIntent | intents.IgnoreIntent):
            intent = replace(intent, repository=await self._current(intent.repository))
        match intent:
            case intents.WatchIntent() | intents.CloseIntent():
                await self._want(intent)
                return DeliveryState.DONE, f"{intent.repository.full_name}#{intent.number} is looked at"
            case intents.CommandIntent():
                await self._remember(intent.repository)
                return DeliveryState.DONE, await self.hearing.command(intent)
            case intents.LabelIntent():
                await self._remember(intent.repository)
                return DeliveryState.DONE, await self.hearing.label(intent)
            case intents.BranchIntent():
                outcome = await self._branch(intent)
                return DeliveryState.DONE, outcome
            case intents.InstallIntent():
                await self._install(intent)
                return DeliveryState.DONE, f"installation {intent.installation} is as it says"
            case intents.IgnoreIntent():
                return DeliveryState.IGNORED, intent.why
            case _:
                assert_never(intent)

    async def _want(self, intent: intents.WatchIntent | intents.CloseIntent) -> None:
        await self._remember(intent.repository)
        await self.database.write(
            pull_requests.enqueue,
            repository=intent.repository.full_name,
            number=intent.number,
            installation=intent.repository.installation,
            now=self.now(),
            head_sha=intent.head_sha if isinstance(intent, intents.WatchIntent) else None,
        )

    async def _branch(self, intent: intents.BranchIntent) -> str:
        await self._remember(intent.repository)
        return await PushHandler(database=self.database, suites=self.suites, now=self.now).take(intent)

    async def _install(self, intent: intents.InstallIntent) -> None:
        listed = intent.added
        if not (listed or intent.removed or intent.gone):
            listed = await self.forge.repositories(intent.installation)
        for repository in listed:
            await self._life.resume(repository)
            await self.database.write(
                main_branch.enqueue_main,
                repository=repository.full_name,
                installation=repository.installation,
                now=self.now(),
            )
        if intent.gone or intent.removed:
            names = None if intent.gone else [repository.full_name for repository in intent.removed]
            await self.database.write(
                repositories.deactivate, installation=intent.installation, repositories=names
            )

    async def _current(self, repository: Repository) -> Repository:
        name = await self.database.read(repositories.current_name, repository.full_name, repository.id)
        return replace(repository, full_name=name)

    async def _remember(self, repository: Repository) -> None:
        await self.database.write(repositories.save_repository, repositories.repository_row(repository))
