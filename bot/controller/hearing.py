"""Hear what people ask in comments and by labels.

In:  commands and changes of labels, as deliveries tell them.
Out: what is now asked, in the database; reactions under a comment; one line each in the pull request's one
     comment, a refusal too. Bots that the configuration does not list, and the App itself, are not answered.

Hearing the same twice changes nothing. A head, a permission and a file list are asked of GitHub at the moment
they are decided on, never taken from a delivery.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.config import Suite, Trusted
from bot.config.trust import DEFAULT_TRUSTED
from bot.controller import commands
from bot.controller.labelling import asked_by
from bot.controller.limits import limited
from bot.controller.ports import Forge
from bot.controller.scene import Scene, named, no_launch
from bot.controller.scenery import Scenery
from bot.controller.suites import Suites
from bot.controller.trusting import Standings, is_listed
from bot.errors import Missing, Told
from bot.intake import intent as intents
from bot.intake import trust
from bot.intake.event import LabelChange
from bot.intake.pull import Person, Repository
from bot.runs.asks import Ask, Source
from bot.storage import given, wishes
from bot.storage.command_records import CommandRecord
from bot.storage.database import Database
from bot.storage.given import Turn
from bot.storage.wishes import Wishes

SEEN, DONE, REFUSED, NOT_ALLOWED = "eyes", "rocket", "confused", "-1"

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What the controller does with commands and labels."""

    database: Database
    forge: Forge
    suites: Suites
    standings: Standings
    now: Callable[[], float]

    async def command(self, intent: intents.Command) -> str:
        """Carry out the commands of one comment; what came of it, for the log."""
        suite = (await self.suites.read(intent.repository)).suite
        if not await self._is_heard(intent.author, suite):
            return f"{intent.author.login} is a bot that is not answered"
        if not intent.on_pull and not await self._is_pull(intent):
            return f"#{intent.number} is an issue, not a pull request"
        await self._react(intent, SEEN)
        turn = await self._turn(
            intent.repository,
            intent.author,
            name=f"{intent.comment_id}",
            count=len(intent.commands),
            made=intent.created_at,
        )
        if not turn.allowed:
            return await self._limit(intent, turn)
        try:
            decided = await self._decide(intent, suite)
        except Missing as missing:
            return f"#{intent.number} is gone: {missing.text}"
        except Told as told:
            return await self._refuse(intent, f"Not carried out: {told.text}", REFUSED)
        await self._keep(intent.repository, intent.number, _wishes(decided))
        await self._react(intent, _reaction(decided))
        return "; ".join(f"{one.text} by {one.by}: {one.result}" for one in decided.records)

    async def label(self, intent: intents.Label) -> str:
        """Ask for what a label means, or stop asking, whatever it means by now; what came of it, for the
        log."""
        suite = (await self.suites.read(intent.repository)).suite
        if intent.change is LabelChange.TAKEN:
            return await self._take_back(intent, suite)
        keys = asked_by(intent.label, suite) if suite else None
        if suite is None or keys is None:
            return f"the label {intent.label} means nothing here"
        if not await self._is_heard(intent.by, suite):
            return f"{intent.by.login} is a bot that is not answered"
        return await self._labelled(intent, suite, keys)

    async def _labelled(self, intent: intents.Label, suite: Suite, keys: frozenset[str]) -> str:
        name = f"{intent.label} on #{intent.number} at {intent.at:.0f}"
        turn = await self._turn(intent.repository, intent.by, name=name, count=1, made=intent.at)
        if not turn.allowed:
            told = _record(intent, limited(intent.by.login, turn.opens), refused=True)
            if turn.first:
                await self._keep(intent.repository, intent.number, Wishes(records=(told,)))
            return f"{intent.by.login} asks too often"
        try:
            allowed = await self._trust(intent.repository, intent.by, suite.trust)
        except Told as told:
            allowed = trust.Refused(why=f"{told.text}.")
        record, ask = labelled(intent, suite, keys, allowed)
        await self._keep(
            intent.repository, intent.number, Wishes(records=(record,), asks=(ask,) if ask else ())
        )
        return f"{record.text} by {record.by}: {record.result}"

    async def _take_back(self, intent: intents.Label, suite: Suite | None) -> str:
        """Anybody who can take a label away can: it stops no more than what that label alone had started. A
        bot that is not answered is not mentioned either."""
        record = _record(intent, "what nothing else asks for is not wanted any more.", refused=False)
        taken = await self.database.write(
            wishes.take_back,
            intent.repository,
            intent.number,
            label=intent.label,
            made=intent.at,
            kept=Wishes(records=(record,) if await self._is_heard(intent.by, suite) else ()),
            now=self.now(),
        )
        if not taken:
            return f"the label {intent.label} had asked for nothing"
        return f"{record.text} by {record.by}"

    async def _decide(self, intent: intents.Command, suite: Suite | None) -> commands.Decided:
        trusted = suite.trust if suite else DEFAULT_TRUSTED
        allowed = await self._trust(intent.repository, intent.author, trusted)
        pull = await self.forge.pull(intent.repository, intent.number)
        scene = Scene(allowed=allowed, pull=pull, suite=suite)
        if isinstance(allowed, trust.Allowed):
            scenery = Scenery(database=self.database, forge=self.forge)
            scene = await scenery.set_up(scene, intent)
        return commands.decide(intent, scene)

    async def _trust(self, repository: Repository, person: Person, trusted: Trusted) -> trust.Trust:
        return trust.decide_trust(await self.standings.of(repository, person, trusted), person)

    async def _is_heard(self, person: Person, suite: Suite | None) -> bool:
        """People are; of bots those that are listed, and never the App itself."""
        if not person.is_bot:
            return True
        listed = is_listed(person, suite.trust if suite else DEFAULT_TRUSTED)
        return listed and person.login.lower() != f"{await self.forge.app_slug()}[bot]".lower()

    async def _is_pull(self, intent: intents.Command) -> bool:
        """Ask, where the delivery does not say whether the comment stands on a pull request."""
        try:
            await self.forge.pull(intent.repository, intent.number)
        except Missing:
            return False
        return True

    async def _turn(
        self, repository: Repository, person: Person, *, name: str, count: int, made: float
    ) -> Turn:
        return await self.database.write(
            given.take, repository.full_name, person.id, name=name, count=count, made=made
        )

    async def _limit(self, intent: intents.Command, turn: Turn) -> str:
        """Refuse; the first refusal says until when, those after it are a reaction alone."""
        if turn.first:
            return await self._refuse(intent, limited(intent.author.login, turn.opens), NOT_ALLOWED)
        await self._react(intent, NOT_ALLOWED)
        return f"{intent.author.login} asks too often"

    async def _refuse(self, intent: intents.Command, why: str, reaction: str) -> str:
        record = CommandRecord(
            comment_id=intent.comment_id,
            text=" · ".join(one.text for one in intent.commands),
            by=intent.author.login,
            at=intent.created_at,
            result=why,
            refused=True,
        )
        await self._keep(intent.repository, intent.number, Wishes(records=(record,)))
        await self._react(intent, reaction)
        return f"{record.text} by {record.by}: {why}"

    async def _keep(self, repository: Repository, number: int, kept: Wishes) -> None:
        await self.database.write(wishes.keep, repository, number, kept, now=self.now())

    async def _react(self, intent: intents.Command, content: str) -> None:
        """Acknowledge a command; where reactions cannot be had, the comment still says what came of it.
        What a button under a check asks for stands in no comment, and its number is below zero."""
        if intent.comment_id < 0:
            return
        try:
            await self.forge.react(intent.repository, intent.comment_id, content)
        except Told as told:
            LOG.warning("no reaction under comment %s: %s", intent.comment_id, told.text)


def listening(database: Database, forge: Forge, suites: Suites, now: Callable[[], float]) -> Hearing:
    """A hearing that remembers for a minute who may."""
    standings = Standings(forge=forge, now=now)
    return Hearing(database=database, forge=forge, suites=suites, standings=standings, now=now)


def labelled(
    intent: intents.Label, suite: Suite, keys: frozenset[str], allowed: trust.Trust
) -> tuple[CommandRecord, Ask | None]:
    """What a label that was put comes to: what is said, and what is asked."""
    if isinstance(allowed, trust.Refused):
        return _record(intent, f"Refused: {allowed.why}", refused=True), None
    if not keys:
        return _record(intent, "Refused: no case of this suite answers to it.", refused=True), None
    if no_launch_here := no_launch(suite):
        return _record(intent, f"finished runs were looked for again. {no_launch_here}", refused=False), None
    ask = Ask(source=Source.LABEL, name=intent.label, keys=keys, by=intent.by.login, made=intent.at)
    return _record(intent, f"{named(keys, suite)}: runs that are missing are started.", refused=False), ask


def _record(intent: intents.Label, result: str, *, refused: bool) -> CommandRecord:
    what = "label" if intent.change is LabelChange.PUT else "without label"
    return CommandRecord(
        comment_id=0,
        text=f"{what} {intent.label}",
        by=intent.by.login,
        at=intent.at,
        result=result,
        refused=refused,
    )


def _wishes(decided: commands.Decided) -> Wishes:
    answers = decided.answers
    return Wishes(
        records=decided.records,
        asks=tuple(ask for one in answers for ask in one.asks),
        approvals=tuple(one.approval for one in answers if one.approval),
        baselines=tuple(one.baseline for one in answers if one.baseline),
        acknowledgements=tuple(kept for one in answers for kept in one.acknowledgements),
    )


def _reaction(decided: commands.Decided) -> str:
    if decided.not_allowed:
        return NOT_ALLOWED
    refused: Sequence[bool] = [one.refused for one in decided.answers]
    return REFUSED if any(refused) else DONE
