"""A whole conversation in one process: the stand-in GitHub, the steps that the program takes, a clock.

In:  what people do. Out: the App's comments, and the runs that were planned.

Nothing is executed: what is planned stays planned, so that it can be looked at.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from sqlalchemy import Connection, Table, select, update

from bot.controller.deliveries import DeliveryStep
from bot.controller.facts import HeadReader
from bot.controller.gathering import Gatherer
from bot.controller.hearing import listening
from bot.controller.label_making import LabelMaker
from bot.controller.launching import Launcher
from bot.controller.pulls import PullStep
from bot.controller.subjects import Subjects
from bot.controller.suites import Suites
from bot.controller.telling import Tell
from bot.demo.github import StandIn
from bot.demo.github_state import Delivery as Sent
from bot.github.client import GitHub
from bot.intake.delivery import Delivery
from bot.render import Renderer
from bot.speech import Speech
from bot.storage import deliveries, queue
from bot.storage.database import Database
from bot.storage.tables import DELIVERY, PULL_REQUEST, RUN
from bot.web.ground.link_key import LinkKey
from tests.github.gitting import GitRepository
from tests.peers.keys import private_key

APP_ID, SECRET = 42, "a secret of these tests"
CONFIGURATION = """\
version: 1
launch: {cluster: local, local: {repository: /nowhere, timeout: 5m}}
cases: {a: {command: "true"}, b: {command: "true"}}
"""
PATIENCE = 60.0


@dataclass(slots=True, kw_only=True)
class Parley:
    """One pull request from a fork; `told` are deliveries that the program has not seen yet."""

    git: GitRepository
    github: StandIn
    database: Database
    delivery: DeliveryStep
    pull: PullStep
    clock: list[float]
    told: list[Sent] = field(default_factory=list)
    seen: int = 0

    def collect(self) -> None:
        """Take up what GitHub sent since."""
        sent = self.github.world.deliveries
        self.told += sent[self.seen :]
        self.seen = len(sent)

    async def work(self) -> None:
        """Take the deliveries that came, in the order in which they lie there, and look at what is wanted."""
        now = self.clock[0]
        arrived = [
            Delivery(id=one.guid, event=one.event, payload=_body(one), received=now) for one in self.told
        ]
        self.told.clear()
        if arrived:
            self.database.now(deliveries.record, arrived)
        await self._exhaust(DELIVERY)
        await self._exhaust(PULL_REQUEST)
        await self.github.settle()

    async def _exhaust(self, table: Table) -> None:
        step = self.delivery if table is DELIVERY else self.pull
        while held := self.database.now(queue.claim, table, owner="me", now=self.clock[0], lease=PATIENCE):
            await step(held)

    def look_again(self) -> None:
        """Let time pass until everything is due."""
        self.clock[0] += PATIENCE
        self.database.now(_all_due, self.clock[0])

    def planned(self) -> set[str]:
        """The commits that runs were planned for."""
        return self.database.now(_planned)

    def ours(self) -> int:
        """How many comments of the App stand on pull requests."""
        return sum(one.by_app for one in self.github.world.comments.values())


@asynccontextmanager
async def parleying(folder: Path, database: Database) -> AsyncIterator[Parley]:
    """Open a pull request from a fork, which nobody has looked at yet."""
    clock = [1_795_240_800.0]
    git = GitRepository(folder)
    git.write("main", {".github/maxview.yml": CONFIGURATION, "src/a.py": "A = 0\n"})
    git.write("feat/x", {"src/a.py": "A = 1\n"}, git.head("main"))
    stand_in = StandIn(git.path, "acme/maxtext", None, SECRET, APP_ID, now=lambda: clock[0])
    transport = httpx.ASGITransport(stand_in.application)
    github = GitHub(
        app_id=APP_ID,
        private_key=private_key(),
        api_url=stand_in.world.url,
        transport=transport,
        now=lambda: clock[0],
    )
    parley = _joined(git, stand_in, github, database, clock)
    await stand_in.open_pull("feat/x", "A change", "mallory", fork="mallory/maxtext")
    yield parley
    await stand_in.settle()
    await github.aclose()


def _joined(
    git: GitRepository, stand_in: StandIn, github: GitHub, database: Database, clock: list[float]
) -> Parley:
    def now() -> float:
        return clock[0]

    suites = Suites(forge=github, database=database, now=now)
    speech = Speech(
        database=database,
        github=github,
        renderer=Renderer(),
        key=LinkKey(SECRET),
        public_url="http://maxview.test",
        now=now,
    )
    return Parley(
        git=git,
        github=stand_in,
        database=database,
        clock=clock,
        delivery=DeliveryStep(
            database=database,
            forge=github,
            suites=suites,
            hearing=listening(database, github, suites, now),
            now=now,
            wake=lambda: None,
        ),
        pull=PullStep(
            database=database,
            subjects=Subjects(database=database, forge=github),
            suites=suites,
            heads=HeadReader(forge=github),
            gatherer=Gatherer(database=database, now=now),
            tell=Tell(say=speech.speaker(), check=speech.checker()),
            launch=Launcher(database=database, now=now),
            labels=LabelMaker(database=database, forge=github),
            poll_seconds=1.0,
            now=now,
        ),
    )


def _body(sent: Sent) -> bytes:
    return json.dumps(sent.payload).encode()


def _planned(connection: Connection) -> set[str]:
    return set(connection.execute(select(RUN.c.sha).where(RUN.c.sha.is_not(None))).scalars())


def _all_due(connection: Connection, now: float) -> None:
    connection.execute(update(PULL_REQUEST).where(PULL_REQUEST.c.due.is_not(None)).values(due=now))
