"""Turn one recorded delivery into what is now desired.

In:  a claimed row of `delivery`.
Out: wishes on pull requests and repositories, a reaction under a command.

Doing it twice changes nothing: wishes are upserts, reactions are sets.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from bot.controller.app_life import AppLife
from bot.controller.hearing import Hearing
from bot.controller.ports import Forge
from bot.controller.pushes import Pushes
from bot.controller.suites import Suites
from bot.errors import Told
from bot.intake import intent as intents
from bot.intake.event import read_event
from bot.intake.life import Fate, RepositoryChanged, read_life
from bot.intake.pull import Repository
from bot.storage import mainline, pulls, queue, repositories
from bot.storage.database import Database
from bot.storage.deliveries import DeliveryState
from bot.storage.queue import Claim

NAMED_ANEW = frozenset({Fate.RENAMED, Fate.TRANSFERRED})
"""Of these a delivery's name for the repository is believed: nothing else tells it."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStep:
    """What the controller does with a delivery."""

    database: Database
    forge: Forge
    suites: Suites
    hearing: Hearing
    now: Callable[[], float]
    wake: Callable[[], None]

    async def __call__(self, held: Claim) -> None:
        """Read the delivery, write down what it asks, and say what came of it."""
        try:
            state, outcome = await self._hear(held)
        except Told as told:
            state, outcome = DeliveryState.FAILED, told.text
        LOG.info(
            "delivery taken",
            extra={"delivery": held.row["id"], "event": held.row["event"], "outcome": outcome},
        )
        await self.database.write(queue.release, held, due=None, values={"state": state, "outcome": outcome})
        self.wake()

    @property
    def _life(self) -> AppLife:
        return AppLife(database=self.database, suites=self.suites, hearing=self.hearing, now=self.now)

    async def _hear(self, held: Claim) -> tuple[DeliveryState, str]:
        event, payload = held.row["event"], json.loads(held.row["payload"])
        life = read_life(event, payload)
        if life is not None:
            if not (isinstance(life, RepositoryChanged) and life.fate in NAMED_ANEW):
                life = replace(life, repository=await self._current(life.repository))
            return DeliveryState.DONE, await self._life(life, delivery=held.row["id"])
        return await self._take(intents.decide_intent(read_event(event, payload)))

    async def _take(self, intent: intents.Intent) -> tuple[DeliveryState, str]:
        if not isinstance(intent, intents.Install | intents.Ignore):
            intent = replace(intent, repository=await self._current(intent.repository))
        match intent:
            case intents.Watch() | intents.Close():
                await self._want(intent)
                return DeliveryState.DONE, f"{intent.repository.full_name}#{intent.number} is looked at"
            case intents.Command():
                await self._remember(intent.repository)
                return DeliveryState.DONE, await self.hearing.command(intent)
            case intents.Label():
                await self._remember(intent.repository)
                return DeliveryState.DONE, await self.hearing.label(intent)
            case intents.Branch():
                outcome = await self._branch(intent)
                return DeliveryState.DONE, outcome
            case intents.Install():
                await self._install(intent)
                return DeliveryState.DONE, f"installation {intent.installation} is as it says"
            case intents.Ignore():
                return DeliveryState.IGNORED, intent.why
            case _:
                assert_never(intent)

    async def _want(self, intent: intents.Watch | intents.Close) -> None:
        await self._remember(intent.repository)
        await self.database.write(
            pulls.want,
            repository=intent.repository.full_name,
            number=intent.number,
            installation=intent.repository.installation,
            now=self.now(),
            head_sha=intent.head_sha if isinstance(intent, intents.Watch) else None,
        )

    async def _branch(self, intent: intents.Branch) -> str:
        await self._remember(intent.repository)
        return await Pushes(database=self.database, suites=self.suites, now=self.now).take(intent)

    async def _install(self, intent: intents.Install) -> None:
        listed = intent.added
        if not (listed or intent.removed or intent.gone):
            listed = await self.forge.repositories(intent.installation)
        for repository in listed:
            await self._life.resume(repository)
            await self.database.write(
                mainline.look,
                repository=repository.full_name,
                installation=repository.installation,
                now=self.now(),
            )
        if intent.gone or intent.removed:
            names = None if intent.gone else [repository.full_name for repository in intent.removed]
            await self.database.write(
                pulls.leave_installation, installation=intent.installation, repositories=names
            )

    async def _current(self, repository: Repository) -> Repository:
        name = await self.database.read(repositories.current_name, repository.full_name, repository.id)
        return replace(repository, full_name=name)

    async def _remember(self, repository: Repository) -> None:
        await self.database.write(repositories.keep_repository, repositories.row_of(repository))
