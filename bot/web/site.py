"""The web server's wiring: `WebDeps` in, one Starlette application out.

`build_frontend` joins pages, JSON API and sign-in; `build_site` adds the webhook, health checks and metrics,
and puts the middleware in front.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from msgspec import Struct
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bot.artifacts.line_index import LineIndexCache
from bot.artifacts.store import ArtifactStore
from bot.errors import InternalError, UserError
from bot.storage.database import Database
from bot.web.addresses import GITHUB_URL
from bot.web.answers import NO_STORE, json_answer
from bot.web.auth.keys import CookieSeal, LinkKey
from bot.web.auth.middleware import AuthContext, AuthMiddleware, internal_error_handler
from bot.web.auth.sessions import AuthCookies, Sessions
from bot.web.auth.sign_in import IdentityProvider, SignIn, sign_in_routes
from bot.web.auth.visitor import PermissionCache, PermissionSource
from bot.web.former_names import FormerNameRedirect, FormerNames
from bot.web.layout import Render, WebContext, retry_headers
from bot.web.log_viewer.source import Logs
from bot.web.routes import api_routes, page_routes
from bot.webhooks.receiver import WebhookReceiver


class Frontend(Struct, frozen=True, kw_only=True):
    """The routes; the last of them take every other address. `desk` is the reception's."""

    routes: tuple[BaseRoute, ...]
    desk: AuthContext


class WebDeps(Struct, frozen=True, kw_only=True):
    """What the front is made with. `secret` seals cookies; without `people` nobody can sign in, and without
    `readers` no token opens anything; `artifacts` keeps what is found out about logs;
    `github` is where people meet GitHub."""

    database: Database
    render: Render
    public_url: str
    now: Callable[[], float]
    key: LinkKey
    secret: str
    artifacts: ArtifactStore | None = None
    people: IdentityProvider | None = None
    readers: PermissionSource | None = None
    github: str = GITHUB_URL


def build_frontend(means: WebDeps) -> Frontend:
    """Join them."""
    logs = Logs(LineIndexCache(means.artifacts))
    parts = WebContext(
        database=means.database,
        render=means.render,
        public_url=means.public_url,
        now=means.now,
        key=means.key,
        logs=logs,
    )
    readers = means.people or means.readers
    permissions = PermissionCache(readers, means.now) if readers else None
    sign_in = _build_sign_in(means, means.people, permissions) if means.people and permissions else None
    routes = (
        *sign_in_routes(parts, sign_in),
        *api_routes(parts),
        *page_routes(parts),
    )
    desk = AuthContext(
        problem=_problem_answer(parts),
        secure=_uses_https(means),
        github=means.github,
        sessions=sign_in.sessions if sign_in else None,
        permissions=permissions,
    )
    return Frontend(routes=routes, desk=desk)


def _build_sign_in(means: WebDeps, people: IdentityProvider, permissions: PermissionCache) -> SignIn:
    sessions = Sessions(
        database=means.database,
        permissions=permissions,
        seal=CookieSeal(means.secret, "session"),
        cookies=AuthCookies(secure=_uses_https(means)),
        now=means.now,
    )
    return SignIn(people=people, sessions=sessions, seal=CookieSeal(means.secret, "sign-in"))


def _uses_https(means: WebDeps) -> bool:
    return means.public_url.startswith("https://")


def _problem_answer(parts: WebContext) -> Callable[[Request, int, str, str], Response]:
    def problem(request: Request, status: int, what: str, why: str) -> Response:
        if not request.url.path.startswith("/api/"):
            return parts.problem(request, status, what, why)
        said = {"error": f"{what}. {why}"}
        return json_answer(request, said, cache=NO_STORE, status=status, headers=retry_headers(status))

    return problem


CHECK_TIMEOUT_SECONDS = 5.0

LOG = logging.getLogger(__name__)

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]

ReadinessCheck = Callable[[], None]


def build_site(
    *,
    receiver: WebhookReceiver,
    pages: Sequence[BaseRoute],
    checks: dict[str, ReadinessCheck],
    schema: Callable[[], dict[str, object]],
    registry: CollectorRegistry,
    lifespan: Lifespan,
    desk: AuthContext,
    names: FormerNames,
) -> Starlette:
    """Join the parts behind the reception; `/readyz` asks `checks`, each raising where its part is away."""
    answers = Counter("maxview_webhook_answers", "Webhook requests answered", ["status"], registry=registry)

    async def webhook(request: Request) -> Response:
        answer = await receiver.receive(request.headers, request.stream())
        answers.labels(status=str(answer.status)).inc()
        return JSONResponse(dict(answer.body), status_code=answer.status)

    async def metrics(_request: Request) -> Response:
        text = await asyncio.to_thread(generate_latest, registry)
        return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})

    return Starlette(
        routes=[
            Route("/webhook", webhook, methods=["POST"]),
            Route("/webhook", _webhook_needs_post),
            Route("/healthz", lambda _request: JSONResponse({"process": "ok"})),
            Route("/readyz", partial(_readiness, checks)),
            Route("/metrics", metrics),
            Route("/schema/maxview.json", lambda _request: JSONResponse(schema())),
            *pages,
        ],
        middleware=[Middleware(FormerNameRedirect, names=names), Middleware(AuthMiddleware, desk=desk)],
        exception_handlers={Exception: internal_error_handler(desk)},
        lifespan=lifespan,
    )


def _webhook_needs_post(_request: Request) -> Response:
    return JSONResponse({"error": "webhooks are posted here"}, status_code=405, headers={"allow": "POST"})


async def _readiness(checks: dict[str, ReadinessCheck], _request: Request) -> Response:
    found = await asyncio.gather(*(_run_check(name, check) for name, check in checks.items()))
    parts = dict(zip(checks, found, strict=True))
    return JSONResponse(parts, status_code=200 if set(parts.values()) <= {"ok"} else 503)


async def _run_check(name: str, check: ReadinessCheck) -> str:
    """`ok` or `away`; the reason may name buckets and hosts, so it goes to the log and not to the caller."""
    try:
        await asyncio.wait_for(asyncio.to_thread(check), timeout=CHECK_TIMEOUT_SECONDS)
    except TimeoutError:
        LOG.warning("not ready: the %s gave no answer within %s s", name, CHECK_TIMEOUT_SECONDS)
    except (UserError, InternalError) as problem:
        LOG.warning("not ready: the %s is away: %s", name, problem)
    else:
        return "ok"
    return "away"
