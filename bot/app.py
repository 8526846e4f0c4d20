"""Wire the parts together: the only module that knows all of them.

At shutdown the worker claims no more rows, running steps get a few seconds, and the leases of the rest are
released for other processes.
"""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from msgspec import Struct, field
from starlette.applications import Starlette
from starlette.middleware import Middleware

from bot.artifacts.sources import open_own_store
from bot.artifacts.store import ArtifactStore
from bot.clusters.interface import Cluster, ClusterPlace
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.registry import ClusterRegistry
from bot.commands.handler import make_command_handler
from bot.commands.labels import LabelMaker
from bot.config import json_schema
from bot.config.loader import SuiteLoader
from bot.domain.delivery import Delivery
from bot.domain.run import RunOrigin
from bot.github.client import GitHubClient
from bot.github.deliveries import DeliveryLog
from bot.github.sign_in import SignInClient, github_site
from bot.ingest.importer import RunImporter
from bot.ingest.log_keeper import LogKeeper
from bot.ingest.turns import Turns
from bot.policy.gate import PolicyGate, last_known_guard
from bot.policy.grants import Policy
from bot.policy.loader import load_policy, own_places
from bot.policy.suggest import entry_line
from bot.policy.wanted import wanted_policy
from bot.publish.check import CheckOutput, GitHubChecks
from bot.publish.comment import CommentOutput
from bot.publish.publisher import Publisher
from bot.publish.rendering import ReportRenderer
from bot.redaction.rules import RULES_VERSION
from bot.server.page_process import PageProcess
from bot.settings import Settings
from bot.storage import deliveries, kept_logs, queue
from bot.storage.database import Database
from bot.storage.rate_limit import SharedRequestCount
from bot.storage.tables import (
    DELIVERY,
    KEPT_LOG,
    MAIN_BRANCH,
    MAINTENANCE_TASK,
    MERGE_GROUP,
    PULL_REQUEST,
    RUN,
)
from bot.templating import Renderer
from bot.web.auth.keys import LinkKey
from bot.web.former_names import FormerNames
from bot.web.metrics import MetricsAccess, metrics_registry, serve_metrics
from bot.web.site import Frontend, WebDeps, build_frontend, build_pages, build_site
from bot.web.throttle import ReaderThrottle, ThrottleMiddleware, limit_threads
from bot.webhooks.receiver import DeliveryRecorder, WebhookReceiver
from bot.worker.budget_gate import BudgetGate
from bot.worker.deliveries import DeliveryStep
from bot.worker.kept_logs import AT_ONCE, KeptLogStep
from bot.worker.loop import Worker, WorkQueue
from bot.worker.main_branch import MainBranchStep
from bot.worker.maintenance.delivery_backfill import INTERVAL_SECONDS, PULL_INTERVAL_SECONDS, DeliveryBackfill
from bot.worker.maintenance.forgetting import ForgetTask, RepositoryRemoval
from bot.worker.maintenance.orphan_cleanup import OrphanCleanup
from bot.worker.maintenance.reconciliation import Reconciliation
from bot.worker.maintenance.tasks import (
    DELIVERY_BACKFILL,
    FORGETTING,
    RECONCILIATION,
    VISIBILITY,
    Task,
    TaskStep,
)
from bot.worker.maintenance.visibility import VisibilityCheck
from bot.worker.merge_queues import MergeQueueStep
from bot.worker.pull_loader import HeadLoader, PullLoader
from bot.worker.pull_requests import PullStep
from bot.worker.run_planner import RunPlanner
from bot.worker.runs import RunStep


class WebSide(Struct, frozen=True, kw_only=True):
    """The web front end, and the client for signing in."""

    front: Frontend
    sign_in: SignInClient


def web_side(
    settings: Settings, *, database: Database, artifacts: ArtifactStore, renderer: Renderer, key: LinkKey
) -> WebSide:
    """Wire the web side. Without the App's client ID nobody can sign in, but tokens still open pages."""
    sign_in = SignInClient(
        client_id=settings.client_id,
        client_secret=settings.client_secret,
        api_url=settings.api_url,
        now=time.time,
    )
    deps = WebDeps(
        database=database,
        render=renderer.render,
        public_url=settings.public_url,
        now=time.time,
        key=key,
        secret=settings.session_secret,
        artifacts=artifacts,
        identity_provider=sign_in if settings.client_id else None,
        permission_source=sign_in,
        github_url=github_site(settings.api_url),
    )
    return WebSide(front=build_frontend(deps), sign_in=sign_in)


SHUTDOWN_SECONDS = 6.0
"""Time for running steps at SIGTERM; the whole shutdown stays below 10 s."""

DELIVERIES_AT_ONCE, PULLS_AT_ONCE, RUNS_AT_ONCE = 4, 4, 8
"""Steps wait for GitHub, for clusters and for disks most of the time."""

LOG = logging.getLogger(__name__)


class AppParts(Struct, frozen=True):
    """What is created once and used everywhere."""

    settings: Settings
    database: Database
    artifacts: ArtifactStore
    github: GitHubClient
    renderer: Renderer
    key: LinkKey
    web: WebSide
    clusters: ClusterRegistry
    policy: PolicyGate
    owner: str
    turns: Turns = field(default_factory=Turns)


def _link_key(settings: Settings) -> LinkKey:
    return LinkKey(settings.webhook_secret if settings.link_keys else None)


def make_pages(settings: Settings, stuck: Callable[[str], None]) -> Starlette:
    """The pages alone, for a process of their own, which `stuck` ends; another migrates the database."""
    database, key = Database(settings.database_url), _link_key(settings)
    web = web_side(
        settings,
        database=database,
        artifacts=open_own_store(settings.artifacts_url),
        renderer=Renderer(),
        key=key,
    )

    @asynccontextmanager
    async def lifespan(_application: Starlette) -> AsyncIterator[None]:
        limit_threads()
        yield
        await web.sign_in.aclose()
        database.close()

    names = FormerNames(database=database, now=time.time)
    problem = web.front.auth.problem
    throttle = Middleware(ThrottleMiddleware, throttle=ReaderThrottle(), problem=problem, stuck=stuck)
    return build_pages(web.front, names, throttle=throttle, lifespan=lifespan)


def make_app(settings: Settings, pages: PageProcess | None = None) -> Starlette:
    """Open every part and join them; raises `UserError` or `InternalError` if one cannot be opened.

    Without a process for the pages they are answered here.
    """
    policy = read_policy(settings)
    if settings.policy is None:
        LOG.warning(
            "POLICY is not set: no repository may have anything read or launched. The lines that the "
            "repositories served today would need follow; `maxview policy suggest` prints them too."
        )
    database = Database(settings.database_url)
    database.migrate()
    owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    artifacts, renderer, key = (
        open_own_store(settings.artifacts_url),
        Renderer(),
        _link_key(settings),
    )
    github = GitHubClient(
        app_id=settings.app_id,
        private_key=settings.private_key,
        api_url=settings.api_url,
        now=time.time,
        exchange=SharedRequestCount(database, owner),
    )
    gate = PolicyGate(policy=policy, database=database, forge=github, now=time.time)
    parts = AppParts(
        settings=settings,
        database=database,
        artifacts=artifacts,
        github=github,
        policy=gate,
        renderer=renderer,
        key=key,
        web=web_side(settings, database=database, artifacts=artifacts, renderer=renderer, key=key),
        clusters=ClusterRegistry(
            local=_local_cluster(settings),
            open_place=partial(_open_cluster, settings),
        ),
        owner=owner,
    )
    return _assemble(parts, pages)


def read_policy(settings: Settings) -> Policy:
    """The operator's policy; what this server keeps can be granted by none. Raises `UserError`."""
    places = own_places(
        data_dir=settings.data_dir,
        artifacts_url=settings.artifacts_url,
        database_url=settings.database_url,
        files=settings.secret_files,
    )
    return load_policy(settings.policy, places)


def _assemble(parts: AppParts, pages: PageProcess | None) -> Starlette:
    workers: list[Worker] = []

    def wake() -> None:
        for worker in workers:
            worker.wake()

    def record(received: Sequence[Delivery]) -> None:
        parts.database.write_now(deliveries.record, received)

    recorder = DeliveryRecorder(record)
    receiver = WebhookReceiver(
        secret=parts.settings.webhook_secret, recorder=recorder, now=time.time, wake=wake
    )

    @asynccontextmanager
    async def lifespan(_application: Starlette) -> AsyncIterator[None]:
        # Before the first use of a name, so that nobody takes it in between; GitHub may be away.
        tasks = [asyncio.create_task(parts.policy.resolve_names())]
        if parts.settings.policy is None:
            tasks.append(asyncio.create_task(_print_wanted_policy(parts)))
        workers.append(_worker(parts, wake))
        workers[0].start()
        cleanup = OrphanCleanup(
            database=parts.database,
            clusters=parts.clusters,
            permissions=parts.policy,
            now=time.time,
            owner=parts.owner,
        )
        tasks.append(asyncio.create_task(cleanup.run_forever()))
        if pages is not None:
            tasks.append(asyncio.create_task(pages.run_forever()))
        LOG.info("listening", extra={"url": parts.settings.public_url})
        _log_metrics(parts.settings, metrics)
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if pages is not None:
            await pages.aclose()
        await workers.pop().stop(SHUTDOWN_SECONDS)
        await asyncio.to_thread(recorder.close)
        await parts.clusters.aclose()
        await parts.web.sign_in.aclose()
        await parts.github.aclose()
        parts.database.close()
        if end_metrics is not None:
            await asyncio.to_thread(end_metrics)

    names = FormerNames(database=parts.database, now=time.time)
    registry = metrics_registry(parts.database)
    address = parts.settings.metrics_address
    end_metrics = serve_metrics(registry, address) if address else None
    metrics = MetricsAccess(
        local=address is None and parts.settings.is_local, token=parts.settings.metrics_token
    )
    return build_site(
        receiver=receiver,
        pages=pages or build_pages(parts.web.front, names),
        checks={"database": parts.database.check, "artifacts": parts.artifacts.check},
        schema=json_schema,
        registry=registry,
        metrics_access=metrics,
        lifespan=lifespan,
    )


async def _print_wanted_policy(parts: AppParts) -> None:
    """Print what an operator has to sign once, for an installation that has no policy yet."""
    wanted = await wanted_policy(parts.database, parts.github)
    for entry in wanted.entries:
        advice = "to grant %s what it asks for, add to repositories: in POLICY: %s"
        LOG.warning(advice, entry.match, entry_line(entry))


def _log_metrics(settings: Settings, metrics: MetricsAccess) -> None:
    if settings.metrics_address is not None:
        LOG.info("/metrics is served on its own address", extra={"address": settings.metrics_address})
    elif not (metrics.local or metrics.token):
        LOG.warning("/metrics is not served: set METRICS_ADDRESS or METRICS_TOKEN")


def _worker(parts: AppParts, wake: Callable[[], None]) -> Worker:
    suites = SuiteLoader(forge=parts.github, database=parts.database, now=time.time)
    delivery = DeliveryStep(
        database=parts.database,
        forge=parts.github,
        suites=suites,
        handler=make_command_handler(parts.database, parts.github, suites, time.time),
        now=time.time,
        wake=wake,
    )
    pull = _pull_step(parts, suites)
    run = RunStep(
        database=parts.database,
        clusters=parts.clusters,
        artifacts=parts.artifacts,
        permissions=parts.policy,
        admission=BudgetGate(database=parts.database, suites=suites, permissions=parts.policy, now=time.time),
        now=time.time,
        wake=wake,
        turns=parts.turns,
    )
    main = MainBranchStep(
        database=parts.database,
        forge=parts.github,
        suites=suites,
        permissions=parts.policy,
        now=time.time,
        wake=wake,
    )
    queues = (
        WorkQueue(table=DELIVERY, step=delivery, at_once=DELIVERIES_AT_ONCE),
        WorkQueue(table=PULL_REQUEST, step=pull, at_once=PULLS_AT_ONCE),
        WorkQueue(table=RUN, step=run, at_once=RUNS_AT_ONCE),
        kept_log_queue(parts),
        WorkQueue(table=MAIN_BRANCH, step=main),
        WorkQueue(table=MERGE_GROUP, step=_merge_queue_step(parts, suites)),
        maintenance_queue(parts, wake),
    )
    return Worker(parts.database, queues, owner=parts.owner, now=time.time)


def maintenance_queue(parts: AppParts, wake: Callable[[], None]) -> WorkQueue:
    """Run every periodic task now, and then at its interval; where nobody can reach us, fetch deliveries all
    the time."""
    database, github = parts.database, parts.github
    backfill = DeliveryBackfill(
        log=DeliveryLog(github),
        database=database,
        wake=wake,
        every=PULL_INTERVAL_SECONDS if parts.settings.pulls_only else INTERVAL_SECONDS,
    )
    reconciliation = Reconciliation(listing=github, database=database, now=time.time, wake=wake)
    visibility = VisibilityCheck(listing=github, database=database, now=time.time, wake=wake)
    tasks: dict[str, Task] = {
        DELIVERY_BACKFILL: backfill,
        RECONCILIATION: reconciliation,
        VISIBILITY: visibility,
        FORGETTING: _forget_task(parts, visibility),
    }
    database.write_now(queue.schedule_jobs, tuple(tasks), now=time.time())
    step = TaskStep(database=database, tasks=tasks, now=time.time)
    return WorkQueue(table=MAINTENANCE_TASK, step=step, at_once=3)


def _forget_task(parts: AppParts, visibility: VisibilityCheck) -> ForgetTask:
    removal = RepositoryRemoval(
        database=parts.database,
        artifacts=parts.artifacts,
        jobs=_local_cluster(parts.settings),
        now=time.time,
    )
    return ForgetTask(
        removal=removal,
        clusters=parts.clusters,
        permissions=parts.policy,
        visibility=visibility,
        retention_seconds=parts.settings.retention_days * 86_400.0,
    )


def _local_cluster(settings: Settings) -> LocalCluster:
    return LocalCluster(settings.data_dir / "cluster", limits=settings.job_limits, view=settings.job_view)


def kept_log_queue(parts: AppParts) -> WorkQueue:
    """Store logs of older versions, and make redacted forms: what is due now, and what becomes due."""
    due = parts.database.write_now(kept_logs.schedule, rules=RULES_VERSION, now=time.time())
    LOG.info("%s stored logs are to be looked after", due)
    guard_of = last_known_guard(parts.policy.policy, parts.database)
    keeper = LogKeeper(
        database=parts.database,
        artifacts=parts.artifacts,
        now=time.time,
        turns=parts.turns,
        guard=lambda record: None if record.origin is RunOrigin.LAUNCHED else guard_of(record.repository),
    )
    step = KeptLogStep(database=parts.database, keeper=keeper, now=time.time)
    return WorkQueue(table=KEPT_LOG, step=step, at_once=AT_ONCE)


def _renderer(parts: AppParts) -> ReportRenderer:
    return ReportRenderer(
        database=parts.database,
        renderer=parts.renderer,
        key_of=parts.key.key,
        public_url=parts.settings.public_url,
        now=time.time,
    )


def _publisher(parts: AppParts) -> Publisher:
    """Every output, in the order of publishing; a new one is one more line here."""
    github, database, render = parts.github, parts.database, _renderer(parts).comment
    return Publisher(
        (
            CommentOutput(
                forge=github,
                comments=github,
                render=render,
                database=database,
                now=time.time,
                busy=lambda repository: github.api.rate_limiter.used_share(repository.installation),
            ),
            CheckOutput(checks=GitHubChecks(github), render=render, database=database),
        )
    )


def _merge_queue_step(parts: AppParts, suites: SuiteLoader) -> MergeQueueStep:
    return MergeQueueStep(
        database=parts.database,
        suites=suites,
        checks=GitHubChecks(parts.github),
        page_url=_renderer(parts).page_url,
        now=time.time,
    )


def _pull_step(parts: AppParts, suites: SuiteLoader) -> PullStep:
    return PullStep(
        database=parts.database,
        pulls=PullLoader(database=parts.database, forge=parts.github),
        heads=HeadLoader(forge=parts.github),
        suites=suites,
        importer=RunImporter(
            database=parts.database,
            permissions=parts.policy,
            now=time.time,
            artifacts=parts.artifacts,
            turns=parts.turns,
        ),
        planner=RunPlanner(database=parts.database, now=time.time),
        permissions=parts.policy,
        labels=LabelMaker(database=parts.database, forge=parts.github),
        publisher=_publisher(parts),
        poll_seconds=parts.settings.poll_seconds,
        now=time.time,
    )


def _open_cluster(settings: Settings, place: ClusterPlace) -> Cluster:
    from bot.clusters.xpk.cli import XpkCli  # noqa: PLC0415 - 0.15 s to import, and not everywhere
    from bot.clusters.xpk.cluster import XpkCluster  # noqa: PLC0415 - as above

    tool = XpkCli(xpk=settings.xpk_command, folder=settings.data_dir / "xpk")
    return XpkCluster(place, programs=tool, app=str(settings.app_id))
