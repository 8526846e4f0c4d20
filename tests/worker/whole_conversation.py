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

from bot.artifacts.folder import FolderStore
from bot.commands.handler import make_command_handler
from bot.commands.labels import LabelMaker
from bot.config.loader import SuiteLoader
from bot.demo.github.git import GitHistory
from bot.demo.github.stand_in import StandInGitHub
from bot.demo.github.state import RecordedDelivery as Sent
from bot.domain.delivery import Delivery
from bot.github.client import GitHubClient
from bot.ingest.importer import RunImporter
from bot.publish.check import CheckOutput, GitHubChecks
from bot.publish.comment import CommentOutput
from bot.publish.publisher import Publisher
from bot.publish.rendering import ReportRenderer
from bot.storage import deliveries, queue
from bot.storage.database import Database
from bot.storage.tables import DELIVERY, PULL_REQUEST, RUN
from bot.templating import Renderer
from bot.web.auth.keys import LinkKey
from bot.worker.deliveries import DeliveryStep
from bot.worker.pull_loader import HeadLoader, PullLoader
from bot.worker.pull_requests import PullStep
from bot.worker.run_planner import RunPlanner
from tests.github.git_repository import GitRepository
from tests.peers.keys import private_key
from tests.policy.open_policy import OPEN

APP_ID, SECRET = 42, "a secret of these tests"

CONFIGURATION = """\
version: 1
launch: {cluster: local, local: {repository: /nowhere, timeout: 5m}}
cases: {a: {command: "true"}, b: {command: "true"}}
"""

WAIT_SECONDS = 60.0


@dataclass(slots=True, kw_only=True)
class WholeConversation:
    """One pull request from a fork; `told` are deliveries that the program has not seen yet."""

    git: GitRepository
    github: StandInGitHub
    database: Database
    delivery: DeliveryStep
    pull: PullStep
    clock: list[float]
    told: list[Sent] = field(default_factory=list)
    seen: int = 0

    def collect(self) -> None:
        """Take up what GitHub sent since."""
        sent = self.github.state.deliveries
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
            self.database.write_now(deliveries.record, arrived)
        await self._exhaust(DELIVERY)
        await self._exhaust(PULL_REQUEST)
        await self.github.settle()

    async def _exhaust(self, table: Table) -> None:
        step = self.delivery if table is DELIVERY else self.pull
        while held := self.database.write_now(
            queue.claim, table, owner="me", now=self.clock[0], lease=WAIT_SECONDS
        ):
            await step(held)

    def look_again(self) -> None:
        """Let time pass until everything is due."""
        self.clock[0] += WAIT_SECONDS
        self.database.write_now(_all_due, self.clock[0])

    def planned(self) -> set[str]:
        """The commits that runs were planned for."""
        return self.database.write_now(_planned)

    def ours(self) -> int:
        """How many comments of the App stand on pull requests."""
        return sum(one.by_app for one in self.github.state.comments.values())


@asynccontextmanager
async def whole_conversation(folder: Path, database: Database) -> AsyncIterator[WholeConversation]:
    """Open a pull request from a fork, which nobody has looked at yet."""
    clock = [1_795_240_800.0]
    git = GitRepository(folder)
    git.write("main", {".github/maxview.yml": CONFIGURATION, "src/a.py": "A = 0\n"})
    git.write("feat/x", {"src/a.py": "A = 1\n"}, git.head("main"))
    stand_in = StandInGitHub(GitHistory(git.path), "acme/maxtext", None, SECRET, APP_ID, now=lambda: clock[0])
    transport = httpx.ASGITransport(stand_in.application)
    github = GitHubClient(
        app_id=APP_ID,
        private_key=private_key(),
        api_url=stand_in.state.url,
        transport=transport,
        now=lambda: clock[0],
    )
    conversation = _joined(git, stand_in, github, database, clock)
    await stand_in.open_pull("feat/x", "A change", "mallory", fork="mallory/maxtext")
    yield conversation
    await stand_in.settle()
    await github.aclose()


def _joined(
    git: GitRepository, stand_in: StandInGitHub, github: GitHubClient, database: Database, clock: list[float]
) -> WholeConversation:
    def now() -> float:
        return clock[0]

    suites = SuiteLoader(forge=github, database=database, now=now)
    artifacts = FolderStore(git.path.parent / "artifacts")
    renderer = ReportRenderer(
        database=database,
        renderer=Renderer(),
        key_of=LinkKey(SECRET).key,
        public_url="http://maxview.test",
        now=now,
    )
    comment = CommentOutput(
        forge=github, comments=github, render=renderer.comment, database=database, now=now
    )
    check = CheckOutput(checks=GitHubChecks(github), render=renderer.comment, database=database)
    return WholeConversation(
        git=git,
        github=stand_in,
        database=database,
        clock=clock,
        delivery=DeliveryStep(
            database=database,
            forge=github,
            suites=suites,
            handler=make_command_handler(database, github, suites, now),
            now=now,
            wake=lambda: None,
        ),
        pull=PullStep(
            database=database,
            pulls=PullLoader(database=database, forge=github),
            suites=suites,
            heads=HeadLoader(forge=github),
            importer=RunImporter(database=database, permissions=OPEN, now=now, artifacts=artifacts),
            publisher=Publisher((comment, check)),
            planner=RunPlanner(database=database, now=now),
            permissions=OPEN,
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
