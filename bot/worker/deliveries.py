"""Turn a recorded delivery into work: rows that are due, commands that are carried out.

A delivery only says where to look; heads, permissions and files are read from GitHub when they are needed.
Handling a delivery twice changes nothing: every write is an upsert.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from bot.commands import intents
from bot.commands.grammar import read_commands
from bot.commands.handler import CommandHandler
from bot.commands.intents import BranchIntent
from bot.config.loader import SuiteLoader
from bot.domain.check import ButtonAction
from bot.domain.command import ButtonOrigin
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
from bot.worker.maintenance.tasks import RECONCILIATION, VISIBILITY
from bot.worker.maintenance.visibility import VisibilityGate


class PushHandler(Struct, frozen=True, kw_only=True):
    """Makes due what a push concerns: its pull requests, the watched branch, main."""

    database: Database
    suites: SuiteLoader
    now: Callable[[], float]

    async def handle(self, push: BranchIntent) -> str:
        """Handle it; what is due now, for the log."""
        if push.branch == push.repository.default_branch:
            return await self._main(push)
        touched = 0 if push.deleted else await self._pulls(push)
        watched = ", and the branch itself" if await self._watch(push) else ""
        return f"{touched} pull requests of {push.branch} are looked at{watched}"

    async def _main(self, push: BranchIntent) -> str:
        """Main is due; if the configuration has changed, so is every open pull request, with or without a
        comment."""
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
        """Whether the branch itself is due: it is watched already, or the configuration says to watch it. A
        merge queue's branch is not watched: see `bot.worker.merge_queues`."""
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


class AppEventHandler(Struct, frozen=True, kw_only=True):
    """Handles what happens to the App, to its repositories, and to what it wrote.

    A button under a check is handled as a command: the same permission, the same limits, the same line in the
    comment.
    """

    database: Database
    suites: SuiteLoader
    handler: CommandHandler
    visibility: VisibilityGate
    now: Callable[[], float]

    async def handle(self, event: AppEvent, *, delivery: str) -> str:
        """Handle it; the outcome, for the log."""
        match event:
            case CheckRequested():
                return await self._check(event, delivery)
            case RepositoryChanged():
                return await self._repository(event)
            case BotCommentChanged():
                return await self._comment(event)
            case ConversationUnlocked():
                await self.database.write(
                    pull_requests.touch,
                    repository=event.repository.full_name,
                    number=event.number,
                    now=self.now(),
                )
                return f"#{event.number} may be written to again"
            case MergeGroupCreated():
                return await self._merge_group(event)
            case _:
                assert_never(event)

    async def resume(self, repository: Repository) -> None:
        """Work for a repository that was added or is back: its open pull requests are due, and reconciliation
        finds what happened meanwhile."""
        await self._remember(repository)
        await self.database.write(
            repositories.reactivate_pulls,
            repository=repository.full_name,
            installation=repository.installation,
            now=self.now(),
        )
        await self.database.write(queue.schedule_jobs, (RECONCILIATION, VISIBILITY), now=self.now())

    async def _check(self, request: CheckRequested, delivery: str) -> str:
        """Conclude the checks that GitHub has reset; then carry out the button as a command."""
        await self._remember(request.repository)
        numbers: tuple[int, ...] = ()
        queued = ""
        if request.reset:
            numbers = await self.database.write(
                pull_requests.mark_check_reset,
                repository=request.repository.full_name,
                head_sha=request.head_sha,
                now=self.now(),
            )
            queued = await self._touch_merge_group(request)
        if request.row_number is not None:
            numbers = (request.row_number,)
        # A branch that is watched without a pull request has no conversation.
        pulls = [number for number in numbers if subject_kind(number) is SubjectKind.PULL_REQUEST]
        outcomes = [
            await self.handler.handle_command(self._as_command(request, number, delivery)) for number in pulls
        ]
        outcome = "; ".join(filter(None, (queued, *outcomes)))
        return outcome or "no open pull request has a check of ours on that commit"

    async def _touch_merge_group(self, request: CheckRequested) -> str:
        known = await self.database.write(
            main_branch.touch_merge_group,
            repository=request.repository.full_name,
            head_sha=request.head_sha,
            now=self.now(),
        )
        return f"{request.head_sha[:7]} is a merge queue's, and its check is written again" if known else ""

    async def _merge_group(self, group_event: MergeGroupCreated) -> str:
        await self._remember(group_event.repository)
        group = MergeGroup(
            repository=group_event.repository.full_name,
            head_sha=group_event.head_sha,
            installation=group_event.repository.installation,
            pull=group_event.pull,
            asked=self.now(),
        )
        await self.database.write(main_branch.enqueue_merge_group, group)
        return f"{group_event.head_sha[:7]} is a merge queue's, and gets a check where others do"

    def _as_command(self, request: CheckRequested, number: int, delivery: str) -> intents.CommandIntent:
        return intents.CommandIntent(
            repository=request.repository,
            number=number,
            origin=button_origin(f"{delivery} {number}"),
            author=request.by,
            commands=read_commands(BUTTON_COMMANDS[request.action]),
            created_at=self.now(),
        )

    async def _comment(self, changed: BotCommentChanged) -> str:
        name, number, now = changed.repository.full_name, changed.number, self.now()
        # Read first: a process that has released the row by then has stored the id of what it wrote.
        claim = await self.database.write(pull_requests.is_claimed, repository=name, number=number, now=now)
        ours = await self.database.write(
            pull_requests.mark_comment_changed,
            repository=name,
            number=number,
            comment_id=changed.comment_id,
            now=now,
        )
        if ours:
            return f"#{number}: our comment is looked at"
        if claim:
            raise TransientError(f"#{number}: a comment may be on its way, and its id unknown", after=1.0)
        return f"#{number}: not our comment"

    async def _repository(self, changed: RepositoryChanged) -> str:
        repository = changed.repository
        if changed.change is not RepositoryChange.DELETED:
            await self._remember(repository)
        await self.suites.invalidate(repository)
        match changed.change:
            case RepositoryChange.ARCHIVED | RepositoryChange.DELETED:
                await self.database.write(
                    repositories.deactivate,
                    installation=repository.installation,
                    repositories=[repository.full_name],
                    closes=changed.change is RepositoryChange.DELETED,
                )
                await self.database.write(queue.schedule_jobs, (VISIBILITY,), now=self.now())
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
        await self.visibility.remember(repository)


def button_origin(name: str) -> ButtonOrigin:
    """The press of a button, the same whenever its delivery comes again."""
    return ButtonOrigin(int(hashlib.sha256(name.encode()).hexdigest()[:12], 16))


RENAMES = frozenset({RepositoryChange.RENAMED, RepositoryChange.TRANSFERRED})
"""Only these deliveries change the name of a repository."""

LOG = logging.getLogger(__name__)


class DeliveryStep(Struct, frozen=True, kw_only=True):
    """The worker's step for a delivery."""

    database: Database
    forge: Forge
    suites: SuiteLoader
    handler: CommandHandler
    now: Callable[[], float]
    wake: Callable[[], None]

    async def __call__(self, claim: Claim) -> None:
        """Handle the delivery, and store the outcome."""
        try:
            state, outcome = await self._handle(claim)
        except UserError as error:
            state, outcome = DeliveryState.FAILED, error.text
        LOG.info(
            "delivery taken",
            extra={"delivery": claim.row["id"], "event": claim.row["event"], "outcome": outcome},
        )
        await self.database.write(queue.release, claim, due=None, values={"state": state, "outcome": outcome})
        self.wake()

    @property
    def _app_events(self) -> AppEventHandler:
        return AppEventHandler(
            database=self.database,
            suites=self.suites,
            handler=self.handler,
            visibility=self._visibility,
            now=self.now,
        )

    @property
    def _visibility(self) -> VisibilityGate:
        return VisibilityGate(database=self.database, forge=self.forge, now=self.now)

    async def _handle(self, claim: Claim) -> tuple[DeliveryState, str]:
        name, payload = claim.row["event"], json.loads(claim.row["payload"])
        event = read_app_event(name, payload)
        if event is not None:
            if not (isinstance(event, RepositoryChanged) and event.change in RENAMES):
                event = replace(event, repository=await self._current(event.repository))
            return DeliveryState.DONE, await self._app_events.handle(event, delivery=claim.row["id"])
        return await self._carry_out(intents.decide_intent(read_event(name, payload)))

    async def _carry_out(self, intent: intents.Intent) -> tuple[DeliveryState, str]:
        if not isinstance(intent, intents.InstallIntent | intents.IgnoreIntent):
            intent = replace(intent, repository=await self._current(intent.repository))
        match intent:
            case intents.WatchIntent() | intents.CloseIntent():
                await self._enqueue_pull(intent)
                return DeliveryState.DONE, f"{intent.repository.full_name}#{intent.number} is looked at"
            case intents.CommandIntent():
                await self._remember(intent.repository)
                return DeliveryState.DONE, await self.handler.handle_command(intent)
            case intents.LabelIntent():
                await self._remember(intent.repository)
                return DeliveryState.DONE, await self.handler.handle_label(intent)
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

    async def _enqueue_pull(self, intent: intents.WatchIntent | intents.CloseIntent) -> None:
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
        return await PushHandler(database=self.database, suites=self.suites, now=self.now).handle(intent)

    async def _install(self, intent: intents.InstallIntent) -> None:
        listed = intent.added
        if not (listed or intent.removed or intent.gone):
            listed = await self.forge.repositories(intent.installation)
        for repository in listed:
            await self._app_events.resume(repository)
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
            await self.database.write(queue.schedule_jobs, (VISIBILITY,), now=self.now())

    async def _current(self, repository: Repository) -> Repository:
        name = await self.database.read(repositories.current_name, repository.full_name, repository.id)
        return replace(repository, full_name=name)

    async def _remember(self, repository: Repository) -> None:
        await self._visibility.remember(repository)
