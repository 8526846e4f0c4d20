"""The addresses of this program, joined into one application.

In:  the receiver of webhooks, the routes of the pages, and what to ask whether all is well.
Out: a Starlette application.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bot.errors import Broken, Told
from bot.intake.webhook import Receiver
from bot.web.moved import Moved, Names
from bot.web.sign_in.reception import Desk, Reception, failure

CHECK_SECONDS = 5.0

LOG = logging.getLogger(__name__)

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]
Check = Callable[[], None]


def site(
    *,
    receiver: Receiver,
    pages: Sequence[BaseRoute],
    checks: dict[str, Check],
    schema: dict[str, object],
    registry: CollectorRegistry,
    lifespan: Lifespan,
    desk: Desk,
    names: Names,
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
            Route("/webhook", _only_post),
            Route("/healthz", lambda _request: JSONResponse({"process": "ok"})),
            Route("/readyz", partial(_ready, checks)),
            Route("/metrics", metrics),
            Route("/schema/maxview.json", lambda _request: JSONResponse(schema)),
            *pages,
        ],
        middleware=[Middleware(Moved, names=names), Middleware(Reception, desk=desk)],
        exception_handlers={Exception: failure(desk)},
        lifespan=lifespan,
    )


def _only_post(_request: Request) -> Response:
    return JSONResponse({"error": "webhooks are posted here"}, status_code=405, headers={"allow": "POST"})


async def _ready(checks: dict[str, Check], _request: Request) -> Response:
    found = await asyncio.gather(*(_asked(name, check) for name, check in checks.items()))
    parts = dict(zip(checks, found, strict=True))
    return JSONResponse(parts, status_code=200 if set(parts.values()) <= {"ok"} else 503)


async def _asked(name: str, check: Check) -> str:
    """`ok` or `away`; the reason may name buckets and hosts, so it goes to the log and not to the caller."""
    try:
        await asyncio.wait_for(asyncio.to_thread(check), timeout=CHECK_SECONDS)
    except TimeoutError:
        LOG.warning("not ready: the %s gave no answer within %s s", name, CHECK_SECONDS)
    except (Told, Broken) as problem:
        LOG.warning("not ready: the %s is away: %s", name, problem)
    else:
        return "ok"
    return "away"
