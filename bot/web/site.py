"""The web server's wiring: `WebDeps` in, one Starlette application out.

`build_frontend` joins pages, JSON API and sign-in; `build_pages` puts the middleware in front of them, and
`build_site` the webhook, health checks and metrics beside them. The pages may be in another process.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache, partial

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.artifacts.store import ArtifactStore
from bot.errors import InternalError, UserError
from bot.storage.database import Database
from bot.web.addresses import GITHUB_URL
from bot.web.answers import JSON, UNLISTED_HEADERS
from bot.web.auth.access import AccessRules
from bot.web.auth.keys import CookieSeal, LinkKey
from bot.web.auth.links import LinkAccess
from bot.web.auth.middleware import AuthContext, AuthMiddleware, ProblemAnswer, internal_error_handler
from bot.web.auth.sessions import AuthCookies, Sessions
from bot.web.auth.sign_in import IdentityProvider, SignIn, sign_in_routes
from bot.web.auth.visitor import PermissionCache, PermissionSource
from bot.web.former_names import FormerNameRedirect, FormerNames
from bot.web.layout import NOT_FOUND, Render, WebContext, error_answer
from bot.web.log_viewer.source import Logs
from bot.web.metrics import MetricsAccess, metrics_answer
from bot.web.routes import api_routes, page_routes
from bot.web.shared_work import SharedWork
from bot.webhooks.receiver import WebhookReceiver


class Frontend(Struct, frozen=True, kw_only=True):
    """The routes of the pages and the API; the last of them take every other address."""

    routes: tuple[BaseRoute, ...]
    auth: AuthContext


class WebDeps(Struct, frozen=True, kw_only=True):
    """What the site is built from.

    `secret` seals cookies. Without `identity_provider` nobody can sign in; without `permission_source` no
    token opens anything. `artifacts` has the stored logs; `prepare_log` makes what is missing of a run's log,
    and without it the worker is asked to. `github_url` is GitHub's address for people.
    """

    database: Database
    render: Render
    public_url: str
    now: Callable[[], float]
    key: LinkKey
    secret: str
    artifacts: ArtifactStore
    prepare_log: Callable[[str], None] | None = None
    identity_provider: IdentityProvider | None = None
    permission_source: PermissionSource | None = None
    github_url: str = GITHUB_URL


def build_frontend(deps: WebDeps) -> Frontend:
    """Build the pages, the JSON API and sign-in."""
    links = LinkAccess(database=deps.database, key=deps.key, now=deps.now, secure=_uses_https(deps))
    context = WebContext(
        database=deps.database,
        render=deps.render,
        public_url=deps.public_url,
        now=deps.now,
        logs=Logs(deps.database, deps.artifacts, deps.prepare_log),
        rules=AccessRules(database=deps.database, links=links, now=deps.now),
    )
    provider, source = deps.identity_provider, deps.identity_provider or deps.permission_source
    permissions = PermissionCache(source, deps.now) if source else None
    sign_in = _build_sign_in(deps, provider, permissions) if provider and permissions else None
    auth = AuthContext(
        problem=_problem_answer(context),
        secure=_uses_https(deps),
        github_url=deps.github_url,
        links=links,
        sessions=sign_in.sessions if sign_in else None,
        permissions=permissions,
    )
    routes = (*sign_in_routes(context, sign_in), *api_routes(context), *page_routes(context))
    return Frontend(routes=routes, auth=auth)


def _build_sign_in(deps: WebDeps, provider: IdentityProvider, permissions: PermissionCache) -> SignIn:
    sessions = Sessions(
        database=deps.database,
        permissions=permissions,
        seal=CookieSeal(deps.secret, "session"),
        cookies=AuthCookies(secure=_uses_https(deps)),
        now=deps.now,
    )
    return SignIn(provider=provider, sessions=sessions, seal=CookieSeal(deps.secret, "sign-in"))


def _uses_https(deps: WebDeps) -> bool:
    return deps.public_url.startswith("https://")


def _problem_answer(context: WebContext) -> ProblemAnswer:
    """A problem as a page, or as JSON below `/api/`."""

    def answer(request: Request, status: int, what: str, why: str) -> Response:
        if request.url.path.startswith("/api/"):
            return error_answer(request, status, f"{what}. {why}")
        return context.problem(request, status, what, why)

    return answer


CHECK_TIMEOUT_SECONDS = 5.0

LOG = logging.getLogger(__name__)

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]

ReadinessCheck = Callable[[], None]


def build_pages(
    front: Frontend,
    names: FormerNames,
    *,
    throttle: Middleware | None = None,
    lifespan: Lifespan | None = None,
) -> Starlette:
    """The pages behind their middleware; with `throttle`, readers within their limits."""
    middleware = [Middleware(AuthMiddleware, auth=front.auth), Middleware(FormerNameRedirect, names=names)]
    if throttle is not None:
        middleware.append(throttle)
    return Starlette(
        routes=front.routes,
        middleware=middleware,
        exception_handlers={Exception: internal_error_handler(front.auth)},
        lifespan=lifespan,
    )


def build_site(
    *,
    receiver: WebhookReceiver,
    pages: ASGIApp,
    checks: dict[str, ReadinessCheck],
    schema: Callable[[], dict[str, object]],
    registry: CollectorRegistry,
    lifespan: Lifespan,
    metrics_access: MetricsAccess,
) -> Starlette:
    """The whole application; `pages` answer every other address. A check of `/readyz` raises if its part is
    down."""
    answers = Counter("maxview_webhook_answers", "Webhook requests answered", ["status"], registry=registry)

    async def webhook(request: Request) -> Response:
        try:
            answer = await receiver.receive(request.headers, request.stream())
        except ClientDisconnect:
            return Response(status_code=400)  # to nobody
        answers.labels(status=str(answer.status)).inc()
        return JSONResponse(dict(answer.body), status_code=answer.status, headers=dict(answer.headers))

    async def metrics(request: Request) -> Response:
        if not metrics_access.allows(request):
            return JSONResponse({"error": f"{NOT_FOUND}."}, status_code=404)
        return await metrics_answer(registry)

    readiness = SharedWork(partial(_run_checks, checks))
    published = cache(lambda: msgspec.json.encode(schema()))

    async def readyz(_request: Request) -> Response:
        states = await readiness.result()
        return JSONResponse(states, status_code=200 if set(states.values()) <= {"ok"} else 503)

    async def published_schema(_request: Request) -> Response:
        return Response(await asyncio.to_thread(published), media_type=JSON)

    site = Starlette(
        middleware=[Middleware(UnlistedAnswers)],
        routes=[
            Route("/webhook", webhook, methods=["POST"]),
            Route("/webhook", _webhook_needs_post),
            Route("/healthz", lambda _request: JSONResponse({"process": "ok"})),
            Route("/readyz", readyz),
            Route("/metrics", metrics),
            Route("/schema/maxview.json", published_schema),
        ],
        lifespan=lifespan,
    )
    site.router.redirect_slashes = False
    site.router.default = pages
    return site


class UnlistedAnswers:
    """ASGI middleware: no answer is found by a search engine, nor hands its address on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and its answer with these headers."""

        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in UNLISTED_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sender)


def _webhook_needs_post(_request: Request) -> Response:
    return JSONResponse({"error": "webhooks are posted here"}, status_code=405, headers={"allow": "POST"})


async def _run_checks(checks: dict[str, ReadinessCheck]) -> dict[str, str]:
    results = await asyncio.gather(*(_run_check(name, check) for name, check in checks.items()))
    return dict(zip(checks, results, strict=True))


async def _run_check(name: str, check: ReadinessCheck) -> str:
    """`ok` or `away`; the reason may name buckets and hosts, so only the server's log has it."""
    try:
        await asyncio.wait_for(asyncio.to_thread(check), timeout=CHECK_TIMEOUT_SECONDS)
    except TimeoutError:
        LOG.warning("not ready: the %s gave no answer within %s s", name, CHECK_TIMEOUT_SECONDS)
    except (UserError, InternalError) as problem:
        LOG.warning("not ready: the %s is away: %s", name, problem)
    else:
        return "ok"
    return "away"
