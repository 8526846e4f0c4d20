"""Join the parts: the only module that knows who is who.

In:  `Settings`. Out: an application that receives, works, and shows.

At the end of its life it takes no more work, gives what runs a few seconds, and hands the rest back.
"""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from starlette.applications import Starlette

from bot.config import json_schema
from bot.controller.deliveries import DeliveryStep
from bot.controller.facts import HeadReader
from bot.controller.gathering import Gatherer
from bot.controller.hearing import listening
from bot.controller.label_making import LabelMaker
from bot.controller.launching import Launcher
from bot.controller.loop import Controller, Work
from bot.controller.mainline import MainStep
from bot.controller.merge_queues import MergeGroupStep
from bot.controller.pulls import PullStep
from bot.controller.runs import RunStep
from bot.controller.spending import Purse
from bot.controller.subjects import Subjects
from bot.controller.suites import Suites
from bot.controller.sweeping import Sweeper
from bot.controller.telling import Tell
from bot.entrance import Entrance, entrance
from bot.github.checks import CheckKeeper
from bot.github.client import GitHub
from bot.intake.delivery import Delivery
from bot.intake.webhook import Receiver, Recorder
from bot.render import Renderer
from bot.runs.clusters.everywhere import AllClusters, FarCluster
from bot.runs.clusters.local import LocalCluster
from bot.runs.clusters.port import Place
from bot.settings import Settings
from bot.speech import Speech
from bot.storage import deliveries
from bot.storage.artifacts import RunStore, own_store
from bot.storage.database import Database
from bot.storage.line_index import IndexShelf
from bot.storage.sent import Ledger
from bot.storage.tables import DELIVERY, MAINLINE, MERGE_GROUP, PULL_REQUEST, RUN
from bot.upkeep import upkeep
from bot.web.ground.link_key import LinkKey
from bot.web.measures import registry
from bot.web.moved import Names
from bot.web.site import site

PATIENCE_SECONDS = 6.0
"""What running steps are given at SIGTERM; with the rest of the shutdown it stays below 10 s."""

DELIVERIES_AT_ONCE, PULLS_AT_ONCE, RUNS_AT_ONCE = 4, 4, 8
"""Steps wait for GitHub, for clusters and for disks most of the time."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What is made once and used everywhere."""

    settings: Settings
    database: Database
    artifacts: RunStore
    github: GitHub
    renderer: Renderer
    key: LinkKey
    entrance: Entrance
    clusters: AllClusters
    owner: str


def make_app(settings: Settings) -> Starlette:
    """Open every part and join them; raises `Told` or `Broken` where one cannot be had."""
    database = Database(settings.database_url)
    database.migrate()
    owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    artifacts, renderer, key = own_store(settings.artifacts_url), Renderer(), LinkKey(settings.webhook_secret)
    parts = Parts(
        settings=settings,
        database=database,
        artifacts=artifacts,
        github=GitHub(
            app_id=settings.app_id,
            private_key=settings.private_key,
            api_url=settings.api_url,
            now=time.time,
            exchange=Ledger(database, owner),
        ),
        renderer=renderer,
        key=key,
        entrance=entrance(settings, database=database, artifacts=artifacts, renderer=renderer, key=key),
        clusters=AllClusters(
            local=LocalCluster(settings.data_dir / "cluster"), open_place=partial(_open_place, settings)
        ),
        owner=owner,
    )
    return _assemble(parts)


def _assemble(parts: Parts) -> Starlette:
    controllers: list[Controller] = []

    def wake() -> None:
        for controller in controllers:
            controller.wake()

    def record(received: Sequence[Delivery]) -> None:
        parts.database.now(deliveries.record, received)

    recorder = Recorder(record)
    receiver = Receiver(secret=parts.settings.webhook_secret, recorder=recorder, now=time.time, wake=wake)

    @asynccontextmanager
    async def life(_application: Starlette) -> AsyncIterator[None]:
        controllers.append(_controller(parts, wake))
        controllers[0].start()
        sweeper = Sweeper(database=parts.database, clusters=parts.clusters, now=time.time, owner=parts.owner)
        sweeping = asyncio.create_task(sweeper.forever())
        LOG.info("listening", extra={"url": parts.settings.public_url})
        yield
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)
        await controllers.pop().stop(PATIENCE_SECONDS)
        await asyncio.to_thread(recorder.close)
        await parts.clusters.aclose()
        await parts.entrance.people.aclose()
        await parts.github.aclose()
        parts.database.close()

    return site(
        receiver=receiver,
        pages=parts.entrance.front.routes,
        desk=parts.entrance.front.desk,
        names=Names(database=parts.database, key=parts.key, now=time.time),
        checks={"database": parts.database.check, "artifacts": parts.artifacts.check},
        schema=json_schema(),
        registry=registry(parts.database),
        lifespan=life,
    )


def _controller(parts: Parts, wake: Callable[[], None]) -> Controller:
    suites = Suites(forge=parts.github, database=parts.database, now=time.time)
    delivery = DeliveryStep(
        database=parts.database,
        forge=parts.github,
        suites=suites,
        hearing=listening(parts.database, parts.github, suites, time.time),
        now=time.time,
        wake=wake,
    )
    pull = _pull_step(parts, suites)
    run = RunStep(
        database=parts.database,
        clusters=parts.clusters,
        artifacts=parts.artifacts,
        admission=Purse(database=parts.database, suites=suites, now=time.time),
        now=time.time,
        wake=wake,
    )
    main = MainStep(database=parts.database, forge=parts.github, suites=suites, now=time.time, wake=wake)
    works = (
        Work(table=DELIVERY, step=delivery, at_once=DELIVERIES_AT_ONCE),
        Work(table=PULL_REQUEST, step=pull, at_once=PULLS_AT_ONCE),
        Work(table=RUN, step=run, at_once=RUNS_AT_ONCE),
        Work(table=MAINLINE, step=main),
        Work(table=MERGE_GROUP, step=_merge_group_step(parts, suites)),
        upkeep(parts.database, parts.github, pulls_only=parts.settings.pulls_only, wake=wake),
    )
    return Controller(parts.database, works, owner=parts.owner, now=time.time)


def _speech(parts: Parts) -> Speech:
    return Speech(
        database=parts.database,
        github=parts.github,
        renderer=parts.renderer,
        key=parts.key,
        public_url=parts.settings.public_url,
        now=time.time,
    )


def _merge_group_step(parts: Parts, suites: Suites) -> MergeGroupStep:
    return MergeGroupStep(
        database=parts.database,
        suites=suites,
        keep=CheckKeeper(parts.github),
        page=_speech(parts).page,
        now=time.time,
    )


def _pull_step(parts: Parts, suites: Suites) -> PullStep:
    speech = _speech(parts)
    return PullStep(
        database=parts.database,
        subjects=Subjects(database=parts.database, forge=parts.github),
        suites=suites,
        heads=HeadReader(forge=parts.github),
        gatherer=Gatherer(database=parts.database, now=time.time, shelf=IndexShelf(parts.artifacts)),
        tell=Tell(say=speech.speaker(), check=speech.checker()),
        launch=Launcher(database=parts.database, now=time.time),
        labels=LabelMaker(database=parts.database, forge=parts.github),
        poll_seconds=parts.settings.poll_seconds,
        now=time.time,
    )


def _open_place(settings: Settings, place: Place) -> FarCluster:
    from bot.runs.clusters.xpk.cluster import XpkCluster  # noqa: PLC0415 - 0.15 s to import, and not everywhere
    from bot.runs.clusters.xpk.tool import Tool  # noqa: PLC0415 - as above

    tool = Tool(xpk=settings.xpk_command, folder=settings.data_dir / "xpk")
    return XpkCluster(place, tool=tool, app=str(settings.app_id))
