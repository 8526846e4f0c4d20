"""Carry out commands and labels: check permission, decide, store the effects, answer.

Deciding is pure (`decide_commands`, `decide_label`). Handling the same command twice changes nothing. Bots
that
the configuration does not list, and the App itself, get no answer.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import assert_never

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
from bot.domain.command_origin import CommentOrigin, LabelOrigin, origin_name
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

PULL_IS_CLOSED = "This pull request is closed: nothing is run for it, and nothing is kept."

_SuiteCommand = grammar.CaseCommand | grammar.PlanCommand | grammar.BaselineCommand | grammar.ApproveCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedCommands:
    """What the commands of one comment come to, in their order."""

    records: tuple[CommandRecord, ...]
    answers: tuple[CommandResult, ...]
    not_allowed: bool = False


def decide_commands(intent: CommandIntent, scene: CommandContext) -> DecidedCommands:
    """Say what comes of the commands of one comment, one after the other.

    Who may not is told so once, however many commands there are."""
    if isinstance(scene.allowed, permission.Denied):
        text = " · ".join(one.text for one in intent.commands)
        refused = refuse(f"Refused: {scene.allowed.why}")
        return DecidedCommands(
            records=(_command_record(intent, scene, 0, text, refused),), answers=(refused,), not_allowed=True
        )
    records, answers = [], []
    for place, one in enumerate(intent.commands):
        answer = _decide_command(CommandCall(one, intent, place, scene))
        if answer.approval is not None:
            scene = replace(scene, vouching=RunAllowed(by=answer.approval.by))
        records.append(_command_record(intent, scene, place, one.text, answer))
        answers.append(answer)
    return DecidedCommands(records=tuple(records), answers=tuple(answers))


def _command_record(
    intent: CommandIntent, scene: CommandContext, place: int, text: str, answer: CommandResult
) -> CommandRecord:
    return CommandRecord(
        origin=intent.origin,
        position=place,
        text=text,
        by=intent.author.login,
        at=intent.created_at,
        result=answer.result,
        refused=answer.refused,
        head_sha=scene.pull.head_sha,
    )


def _decide_command(given: CommandCall) -> CommandResult:
    match one := given.one:
        case grammar.ParseError():
            return _not_understood(one)
        case grammar.HelpCommand():
            return CommandResult(result="The commands are listed below, under “Commands”.")
        case grammar.StatusCommand():
            return CommandResult(result="This comment was brought up to date.")
        case _:
            return _decide_with_suite(given, one)


def _decide_with_suite(given: CommandCall, one: _SuiteCommand) -> CommandResult:
    suite = given.scene.suite
    if suite is None:
        return refuse(NO_CONFIGURATION)
    if not given.scene.pull.open:
        return refuse(PULL_IS_CLOSED)
    match one:
        case grammar.PlanCommand():
            return show_plan(suite)
        case grammar.BaselineCommand():
            return request_baseline(given, one, suite)
        case grammar.ApproveCommand():
            return approve(given, one, suite)
        case _:
            return _decide_for_cases(given, one, suite)


def _decide_for_cases(given: CommandCall, one: grammar.CaseCommand, suite: Suite) -> CommandResult:
    meant = scope.resolve_scope(one, suite.case_names, suite.variant_names)
    if isinstance(meant, grammar.ParseError):
        return _not_understood(meant)
    match one:
        case grammar.RunCommand() | grammar.RerunCommand():
            return request_runs(given, one, meant, suite)
        case grammar.CancelCommand():
            return cancel_runs(given, meant, suite)
        case grammar.AcknowledgeCommand():
            return acknowledge(given, one, meant, suite)
        case _:
            assert_never(one)


def _not_understood(one: grammar.ParseError) -> CommandResult:
    return refuse(f"Not understood: {one.why} Did you mean “{one.nearest}”?")


SEEN_REACTION, DONE_REACTION, REFUSED_REACTION, NOT_ALLOWED_REACTION = "eyes", "rocket", "confused", "-1"

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHandler:
    """What the controller does with commands and labels."""

    database: Database
    forge: Forge
    suites: SuiteLoader
    standings: PermissionLookup
    now: Callable[[], float]

    async def command(self, intent: intents.CommandIntent) -> str:
        """Carry out the commands of one comment; what came of it, for the log."""
        suite = (await self.suites.read(intent.repository)).suite
        if not await self._is_heard(intent.author, suite):
            return f"{intent.author.login} is a bot that is not answered"
        if not intent.on_pull and not await self._is_pull(intent):
            return f"#{intent.number} is an issue, not a pull request"
        await self._react(intent, SEEN_REACTION)
        turn = await self._turn(
            intent.repository,
            intent.author,
            name=origin_name(intent.origin),
            count=len(intent.commands),
            made=intent.created_at,
        )
        if not turn.allowed:
            return await self._limit(intent, turn)
        try:
            decided = await self._decide(intent, suite)
        except NotFound as missing:
            return f"#{intent.number} is gone: {missing.text}"
        except UserError as told:
            return await self._refuse(intent, f"Not carried out: {told.text}", REFUSED_REACTION)
        await self._keep(intent.repository, intent.number, _effects_of(decided))
        await self._react(intent, _reaction(decided))
        return "; ".join(f"{one.text} by {one.by}: {one.result}" for one in decided.records)

    async def label(self, intent: intents.LabelIntent) -> str:
        """Ask for what a label means, or stop asking, whatever it means by now; what came of it, for the
        log."""
        suite = (await self.suites.read(intent.repository)).suite
        if intent.change is LabelChange.TAKEN:
            return await self._take_back(intent, suite)
        keys = keys_of_label(intent.label, suite) if suite else None
        if suite is None or keys is None:
            return f"the label {intent.label} means nothing here"
        if not await self._is_heard(intent.by, suite):
            return f"{intent.by.login} is a bot that is not answered"
        return await self._labelled(intent, suite, keys)

    async def _labelled(self, intent: intents.LabelIntent, suite: Suite, keys: frozenset[CaseKey]) -> str:
        name = f"{intent.label} on #{intent.number} at {intent.at:.0f}"
        turn = await self._turn(intent.repository, intent.by, name=name, count=1, made=intent.at)
        if not turn.allowed:
            told = _label_record(intent, rate_limit_message(intent.by.login, turn.opens), refused=True)
            if turn.first:
                await self._keep(intent.repository, intent.number, CommandEffects(records=(told,)))
            return f"{intent.by.login} asks too often"
        try:
            allowed = await self._trust(intent.repository, intent.by, suite.trust)
        except UserError as told:
            allowed = permission.Denied(why=f"{told.text}.")
        record, ask = decide_label(intent, suite, keys, allowed)
        await self._keep(
            intent.repository, intent.number, CommandEffects(records=(record,), asks=(ask,) if ask else ())
        )
        return f"{record.text} by {record.by}: {record.result}"

    async def _take_back(self, intent: intents.LabelIntent, suite: Suite | None) -> str:
        """Anybody who can take a label away can: it stops no more than what that label alone had started. A
        bot that is not answered is not mentioned either."""
        record = _label_record(intent, "what nothing else asks for is not wanted any more.", refused=False)
        taken = await self.database.write(
            requests.drop_label_request,
            intent.repository,
            intent.number,
            label=intent.label,
            made=intent.at,
            kept=CommandEffects(records=(record,) if await self._is_heard(intent.by, suite) else ()),
            now=self.now(),
        )
        if not taken:
            return f"the label {intent.label} had asked for nothing"
        return f"{record.text} by {record.by}"

    async def _decide(self, intent: intents.CommandIntent, suite: Suite | None) -> DecidedCommands:
        trusted = suite.trust if suite else DEFAULT_TRUSTED
        allowed = await self._trust(intent.repository, intent.author, trusted)
        pull = await self.forge.pull(intent.repository, intent.number)
        scene = CommandContext(allowed=allowed, pull=pull, suite=suite)
        if isinstance(allowed, permission.Allowed):
            scenery = ContextLoader(database=self.database, forge=self.forge)
            scene = await scenery.set_up(scene, intent)
        return decide_commands(intent, scene)

    async def _trust(
        self, repository: Repository, person: Person, trusted: TrustedAccounts
    ) -> permission.PermissionDecision:
        return permission.decide_permission(await self.standings.of(repository, person, trusted), person)

    async def _is_heard(self, person: Person, suite: Suite | None) -> bool:
        """People are; of bots those that are listed, and never the App itself."""
        if not person.is_bot:
            return True
        listed = is_trusted_bot(person, suite.trust if suite else DEFAULT_TRUSTED)
        return listed and person.login.lower() != f"{await self.forge.app_slug()}[bot]".lower()

    async def _is_pull(self, intent: intents.CommandIntent) -> bool:
        """Ask, where the delivery does not say whether the comment stands on a pull request."""
        try:
            await self.forge.pull(intent.repository, intent.number)
        except NotFound:
            return False
        return True

    async def _turn(
        self, repository: Repository, person: Person, *, name: str, count: int, made: float
    ) -> RateDecision:
        return await self.database.write(
            rate_limit.consume, repository.full_name, person.id, name=name, count=count, made=made
        )

    async def _limit(self, intent: intents.CommandIntent, turn: RateDecision) -> str:
        """Refuse; the first refusal says until when, those after it are a reaction alone."""
        if turn.first:
            return await self._refuse(
                intent, rate_limit_message(intent.author.login, turn.opens), NOT_ALLOWED_REACTION
            )
        await self._react(intent, NOT_ALLOWED_REACTION)
        return f"{intent.author.login} asks too often"

    async def _refuse(self, intent: intents.CommandIntent, why: str, reaction: str) -> str:
        record = CommandRecord(
            origin=intent.origin,
            text=" · ".join(one.text for one in intent.commands),
            by=intent.author.login,
            at=intent.created_at,
            result=why,
            refused=True,
        )
        await self._keep(intent.repository, intent.number, CommandEffects(records=(record,)))
        await self._react(intent, reaction)
        return f"{record.text} by {record.by}: {why}"

    async def _keep(self, repository: Repository, number: int, kept: CommandEffects) -> None:
        await self.database.write(requests.apply_effects, repository, number, kept, now=self.now())

    async def _react(self, intent: intents.CommandIntent, content: str) -> None:
        """Acknowledge a command; where reactions cannot be had, the comment still says what came of it.
        What a button asks for stands in no comment."""
        if not isinstance(intent.origin, CommentOrigin):
            return
        comment_id = intent.origin.comment_id
        try:
            await self.forge.react(intent.repository, comment_id, content)
        except UserError as told:
            LOG.warning("no reaction under comment %s: %s", comment_id, told.text)


def make_command_handler(
    database: Database, forge: Forge, suites: SuiteLoader, now: Callable[[], float]
) -> CommandHandler:
    """A hearing that remembers for a minute who may."""
    standings = PermissionLookup(forge=forge, now=now)
    return CommandHandler(database=database, forge=forge, suites=suites, standings=standings, now=now)


def decide_label(
    intent: intents.LabelIntent,
    suite: Suite,
    keys: frozenset[CaseKey],
    allowed: permission.PermissionDecision,
) -> tuple[CommandRecord, RunRequest | None]:
    """What a label that was put comes to: what is said, and what is asked."""
    if isinstance(allowed, permission.Denied):
        return _label_record(intent, f"Refused: {allowed.why}", refused=True), None
    if not keys:
        return _label_record(intent, "Refused: no case of this suite answers to it.", refused=True), None
    if no_launch_here := no_launch_reason(suite):
        return _label_record(
            intent, f"finished runs were looked for again. {no_launch_here}", refused=False
        ), None
    ask = RunRequest(
        source=RequestSource.LABEL, name=intent.label, keys=keys, by=intent.by.login, made=intent.at
    )
    return _label_record(
        intent, f"{describe_keys(keys, suite)}: runs that are missing are started.", refused=False
    ), ask


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
    answers = decided.answers
    return CommandEffects(
        records=decided.records,
        asks=tuple(ask for one in answers for ask in one.asks),
        approvals=tuple(one.approval for one in answers if one.approval),
        baselines=tuple(one.baseline for one in answers if one.baseline),
        acknowledgements=tuple(kept for one in answers for kept in one.acknowledgements),
    )


def _reaction(decided: DecidedCommands) -> str:
    if decided.not_allowed:
        return NOT_ALLOWED_REACTION
    refused: Sequence[bool] = [one.refused for one in decided.answers]
    return REFUSED_REACTION if any(refused) else DONE_REACTION
