"""Carry out commands and labels: check permission, decide, store the effects, answer.

Deciding is pure (`decide_commands`, `decide_label`). Handling the same command twice changes nothing. Bots
that
the configuration does not list, and the App itself, get no answer.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from bot.commands import grammar, intents, permission, scope
from bot.commands.approval_commands import acknowledge, approve
from bot.commands.context import (
    CommandCall,
    CommandContext,
    CommandResult,
    ContextLoader,
    describe_keys,
    no_launch_reason,
    refuse,
)
from bot.commands.fork_approval import RunAllowed
from bot.commands.intents import CommandIntent
from bot.commands.labels import keys_of_label
from bot.commands.permission_lookup import PermissionLookup, is_trusted_bot
from bot.commands.run_commands import cancel_runs, request_baseline, request_runs, show_plan
from bot.config import DEFAULT_TRUSTED, Suite, TrustedAccounts
from bot.config.loader import SuiteLoader
from bot.domain.case_key import CaseKey
from bot.domain.command import CommentOrigin, LabelOrigin, origin_name
from bot.domain.forge import Forge
from bot.domain.repository import Person, Repository
from bot.domain.run_request import RequestSource, RunRequest
from bot.errors import NotFound, UserError
from bot.storage import rate_limit, requests
from bot.storage.database import Database
from bot.storage.pull_requests import CommandRecord
from bot.storage.rate_limit import MAX_COMMANDS, RateDecision
from bot.storage.requests import CommandEffects
from bot.webhooks.events import LabelChange


def rate_limit_message(login: str, opens: float) -> str:
    """The limit, and the minute in which it opens again."""
    moment = datetime.fromtimestamp(opens + 59.0, UTC)
    return (
        f"Refused: {login} gave {MAX_COMMANDS} commands within an hour, which is the most. "
        f"The next one can be given at {moment:%H:%M} UTC."
    )


NO_CONFIGURATION = "Nothing can be run: the default branch has no valid .github/maxview.yml."

LINKS_ROTATED = (
    "Every earlier link in this repository's comments is dead, and so is the access that it gave. "
    "Open pull requests get new links."
)

PULL_IS_CLOSED = "This pull request is closed: nothing is run for it, and nothing is kept."

_SuiteCommand = grammar.CaseCommand | grammar.PlanCommand | grammar.BaselineCommand | grammar.ApproveCommand


class DecidedCommands(Struct, frozen=True, kw_only=True):
    """The results of the commands of one comment, in their order."""

    records: tuple[CommandRecord, ...]
    results: tuple[CommandResult, ...]
    not_allowed: bool = False


def decide_commands(intent: CommandIntent, context: CommandContext) -> DecidedCommands:
    """Decide the commands of one comment, one after the other.

    Somebody without permission gets one refusal, however many commands there are."""
    if isinstance(context.permission, permission.Denied):
        refused = refuse(f"Refused: {context.permission.why}")
        return DecidedCommands(
            records=(_record_of_all(intent, refused.result, context.pull.head_sha),),
            results=(refused,),
            not_allowed=True,
        )
    records, results = [], []
    for position, command in enumerate(intent.commands):
        result = _decide_command(CommandCall(command, intent, position, context))
        if result.approval is not None:
            context = replace(context, fork_approval=RunAllowed(by=result.approval.by))
        results.append(result)
        records.append(
            CommandRecord(
                origin=intent.origin,
                position=position,
                text=command.text,
                verb=command.verb,
                by=intent.author.login,
                at=intent.created_at,
                result=result.result,
                refused=result.refused,
                head_sha=context.pull.head_sha,
            )
        )
    return DecidedCommands(records=tuple(records), results=tuple(results))


def _record_of_all(intent: CommandIntent, refusal: str, head_sha: str | None = None) -> CommandRecord:
    """One refusal of all commands of a comment."""
    return CommandRecord(
        origin=intent.origin,
        text=" · ".join(one.text for one in intent.commands),
        verb=intent.commands[0].verb,
        by=intent.author.login,
        at=intent.created_at,
        result=refusal,
        refused=True,
        head_sha=head_sha,
    )


def _decide_command(call: CommandCall) -> CommandResult:
    match command := call.command:
        case grammar.ParseError():
            return _not_understood(command)
        case grammar.HelpCommand():
            return CommandResult(result="The commands are listed below, under “Commands”.")
        case grammar.StatusCommand():
            return CommandResult(result="This comment was brought up to date.")
        case grammar.RotateLinksCommand():
            return _rotate_links(call)
        case _:
            return _decide_with_suite(call, command)


def _decide_with_suite(call: CommandCall, command: _SuiteCommand) -> CommandResult:
    suite = call.context.suite
    if suite is None:
        return refuse(NO_CONFIGURATION)
    if not call.context.pull.open:
        return refuse(PULL_IS_CLOSED)
    match command:
        case grammar.PlanCommand():
            return show_plan(suite)
        case grammar.BaselineCommand():
            return request_baseline(call, command, suite)
        case grammar.ApproveCommand():
            return approve(call, command, suite)
        case _:
            return _decide_for_cases(call, command, suite)


def _decide_for_cases(call: CommandCall, command: grammar.CaseCommand, suite: Suite) -> CommandResult:
    resolved = scope.resolve_scope(command, suite.case_names, suite.variant_names)
    if isinstance(resolved, grammar.ParseError):
        return _not_understood(resolved)
    match command:
        case grammar.RunCommand() | grammar.RerunCommand():
            return request_runs(call, command, resolved, suite)
        case grammar.CancelCommand():
            return cancel_runs(call, resolved, suite)
        case grammar.AcknowledgeCommand():
            return acknowledge(call, command, resolved, suite)
        case _:
            assert_never(command)


def _rotate_links(call: CommandCall) -> CommandResult:
    allowed = call.context.permission
    if isinstance(allowed, permission.Allowed) and allowed.is_admin:
        return CommandResult(result=LINKS_ROTATED, rotates_links=True)
    return refuse(f"Refused: {call.intent.author.login} has no admin permission, which rotate-links needs.")


def _not_understood(error: grammar.ParseError) -> CommandResult:
    return refuse(f"Not understood: {error.why} Did you mean “{error.nearest}”?")


SEEN_REACTION, DONE_REACTION, REFUSED_REACTION, NOT_ALLOWED_REACTION = "eyes", "rocket", "confused", "-1"

LOG = logging.getLogger(__name__)


class CommandHandler(Struct, frozen=True, kw_only=True):
    """Handles commands and labels."""

    database: Database
    forge: Forge
    suites: SuiteLoader
    permissions: PermissionLookup
    now: Callable[[], float]

    async def handle_command(self, intent: intents.CommandIntent) -> str:
        """Carry out the commands of one comment or button; the outcome, for the log."""
        suite = (await self.suites.read(intent.repository)).suite
        if not await self._is_answered(intent.author, suite):
            return f"{intent.author.login} is a bot that is not answered"
        if not intent.on_pull and not await self._is_pull(intent):
            return f"#{intent.number} is an issue, not a pull request"
        await self._react(intent, SEEN_REACTION)
        rate = await self._consume_rate(
            intent.repository,
            intent.author,
            name=origin_name(intent.origin),
            count=len(intent.commands),
            made=intent.created_at,
        )
        if not rate.allowed:
            return await self._refuse_for_rate(intent, rate)
        try:
            decided = await self._decide(intent, suite)
        except NotFound as error:
            return f"#{intent.number} is gone: {error.text}"
        except UserError as error:
            return await self._refuse(intent, f"Not carried out: {error.text}", REFUSED_REACTION)
        await self._apply(intent.repository, intent.number, _effects_of(decided))
        await self._react(intent, _reaction(decided))
        return "; ".join(f"{one.text} by {one.by}: {one.result}" for one in decided.records)

    async def handle_label(self, intent: intents.LabelIntent) -> str:
        """Request what an added label selects, or drop what a removed one requested; the outcome, for the
        log."""
        suite = (await self.suites.read(intent.repository)).suite
        if intent.change is LabelChange.TAKEN:
            return await self._remove_label(intent, suite)
        keys = keys_of_label(intent.label, suite) if suite else None
        if suite is None or keys is None:
            return f"the label {intent.label} means nothing here"
        if not await self._is_answered(intent.by, suite):
            return f"{intent.by.login} is a bot that is not answered"
        return await self._add_label(intent, suite, keys)

    async def _add_label(self, intent: intents.LabelIntent, suite: Suite, keys: frozenset[CaseKey]) -> str:
        name = f"{intent.label} on #{intent.number} at {intent.at:.0f}"
        rate = await self._consume_rate(intent.repository, intent.by, name=name, count=1, made=intent.at)
        if not rate.allowed:
            record = _label_record(intent, rate_limit_message(intent.by.login, rate.opens), refused=True)
            if rate.first:
                await self._apply(intent.repository, intent.number, CommandEffects(records=(record,)))
            return f"{intent.by.login} asks too often"
        try:
            allowed = await self._check_permission(intent.repository, intent.by, suite.trust)
        except UserError as error:
            allowed = permission.Denied(why=f"{error.text}.")
        record, request = decide_label(intent, suite, keys, allowed)
        await self._apply(
            intent.repository,
            intent.number,
            CommandEffects(records=(record,), requests=(request,) if request else ()),
        )
        return f"{record.text} by {record.by}: {record.result}"

    async def _remove_label(self, intent: intents.LabelIntent, suite: Suite | None) -> str:
        """Drop what the label requested. Anybody who can remove a label may: it stops only what that label
        alone had started. Bots that get no answer are not mentioned in the comment."""
        record = _label_record(intent, "what nothing else asks for is not wanted any more.", refused=False)
        taken = await self.database.write(
            requests.drop_label_request,
            intent.repository,
            intent.number,
            label=intent.label,
            made=intent.at,
            effects=CommandEffects(records=(record,) if await self._is_answered(intent.by, suite) else ()),
            now=self.now(),
        )
        if not taken:
            return f"the label {intent.label} had asked for nothing"
        return f"{record.text} by {record.by}"

    async def _decide(self, intent: intents.CommandIntent, suite: Suite | None) -> DecidedCommands:
        trusted = suite.trust if suite else DEFAULT_TRUSTED
        allowed = await self._check_permission(intent.repository, intent.author, trusted)
        pull = await self.forge.pull(intent.repository, intent.number)
        context = CommandContext(permission=allowed, pull=pull, suite=suite)
        if isinstance(allowed, permission.Allowed):
            loader = ContextLoader(database=self.database, forge=self.forge)
            context = await loader.load(context, intent)
        return decide_commands(intent, context)

    async def _check_permission(
        self, repository: Repository, person: Person, trusted: TrustedAccounts
    ) -> permission.PermissionDecision:
        return permission.decide_permission(
            await self.permissions.rights_of(repository, person, trusted), person
        )

    async def _is_answered(self, person: Person, suite: Suite | None) -> bool:
        """People are; bots only if they are listed, and never the App itself."""
        if not person.is_bot:
            return True
        listed = is_trusted_bot(person, suite.trust if suite else DEFAULT_TRUSTED)
        return listed and person.login.lower() != f"{await self.forge.app_slug()}[bot]".lower()

    async def _is_pull(self, intent: intents.CommandIntent) -> bool:
        """Ask GitHub, since the delivery does not say whether the comment is on a pull request."""
        try:
            await self.forge.pull(intent.repository, intent.number)
        except NotFound:
            return False
        return True

    async def _consume_rate(
        self, repository: Repository, person: Person, *, name: str, count: int, made: float
    ) -> RateDecision:
        return await self.database.write(
            rate_limit.consume, repository.full_name, person.id, name=name, count=count, made=made
        )

    async def _refuse_for_rate(self, intent: intents.CommandIntent, rate: RateDecision) -> str:
        """Refuse; the first refusal says until when, later ones are only a reaction."""
        if rate.first:
            return await self._refuse(
                intent, rate_limit_message(intent.author.login, rate.opens), NOT_ALLOWED_REACTION
            )
        await self._react(intent, NOT_ALLOWED_REACTION)
        return f"{intent.author.login} asks too often"

    async def _refuse(self, intent: intents.CommandIntent, why: str, reaction: str) -> str:
        record = _record_of_all(intent, why)
        await self._apply(intent.repository, intent.number, CommandEffects(records=(record,)))
        await self._react(intent, reaction)
        return f"{record.text} by {record.by}: {why}"

    async def _apply(self, repository: Repository, number: int, effects: CommandEffects) -> None:
        await self.database.write(requests.apply_effects, repository, number, effects, now=self.now())

    async def _react(self, intent: intents.CommandIntent, content: str) -> None:
        """React to the comment. If that fails, our comment still shows the result. A button has no
        comment."""
        if not isinstance(intent.origin, CommentOrigin):
            return
        comment_id = intent.origin.comment_id
        try:
            await self.forge.react(intent.repository, comment_id, content)
        except UserError as error:
            LOG.warning("no reaction under comment %s: %s", comment_id, error.text)


def make_command_handler(
    database: Database, forge: Forge, suites: SuiteLoader, now: Callable[[], float]
) -> CommandHandler:
    """A handler with a permission cache of its own."""
    permissions = PermissionLookup(forge=forge, now=now)
    return CommandHandler(database=database, forge=forge, suites=suites, permissions=permissions, now=now)


def decide_label(
    intent: intents.LabelIntent,
    suite: Suite,
    keys: frozenset[CaseKey],
    allowed: permission.PermissionDecision,
) -> tuple[CommandRecord, RunRequest | None]:
    """What an added label results in: its line in the comment, and the request if there is one."""
    if isinstance(allowed, permission.Denied):
        return _label_record(intent, f"Refused: {allowed.why}", refused=True), None
    if not keys:
        return _label_record(intent, "Refused: no case of this suite answers to it.", refused=True), None
    if no_launch_here := no_launch_reason(suite):
        return _label_record(
            intent, f"finished runs were looked for again. {no_launch_here}", refused=False
        ), None
    request = RunRequest(
        source=RequestSource.LABEL, name=intent.label, keys=keys, by=intent.by.login, made=intent.at
    )
    return _label_record(
        intent, f"{describe_keys(keys, suite)}: runs that are missing are started.", refused=False
    ), request


def _label_record(intent: intents.LabelIntent, result: str, *, refused: bool) -> CommandRecord:
    what = "label" if intent.change is LabelChange.PUT else "without label"
    return CommandRecord(
        origin=LabelOrigin(),
        text=f"{what} {intent.label}",
        by=intent.by.login,
        at=intent.at,
        result=result,
        refused=refused,
    )


def _effects_of(decided: DecidedCommands) -> CommandEffects:
    results = decided.results
    return CommandEffects(
        records=decided.records,
        requests=tuple(request for one in results for request in one.requests),
        approvals=tuple(one.approval for one in results if one.approval),
        baselines=tuple(one.baseline for one in results if one.baseline),
        acknowledgements=tuple(accepted for one in results for accepted in one.acknowledgements),
        rotates_links=any(one.rotates_links for one in results),
    )


def _reaction(decided: DecidedCommands) -> str:
    if decided.not_allowed:
        return NOT_ALLOWED_REACTION
    refused: Sequence[bool] = [one.refused for one in decided.results]
    return REFUSED_REACTION if any(refused) else DONE_REACTION
