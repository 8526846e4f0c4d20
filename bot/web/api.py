"""The pages as JSON, under the same paths.

In:  the parts.
Out: routes of documents with a tag, so that who asks again is told cheaply that nothing changed; a value in a
query that is not possible is answered 400.
"""

import re
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.web.compare.pages import compare_json
from bot.web.compare.parity_pages import parity_json
from bot.web.frame.endpoints import Endpoint, json_endpoint
from bot.web.frame.parts import Parts
from bot.web.ground.access import Absent
from bot.web.ground.answers import NEVER, json_answer, without_slash
from bot.web.history.pages import history_json
from bot.web.log_compare.pages import compare_logs_json
from bot.web.log_viewer.search_pages import log_search_json
from bot.web.log_viewer.text import log_text
from bot.web.pulls.pages import pull_json
from bot.web.repository.pages import home_json, repository_json
from bot.web.runs.pages import run_json
from bot.web.schema.asked import impossible
from bot.web.schema.openapi import OPERATIONS, openapi


def api_routes(parts: Parts) -> list[BaseRoute]:
    """Every JSON route; the unknown below `/api/` is answered in JSON too."""
    served = (
        ("/api/v1/", home_json),
        ("/api/v1/openapi.json", description),
        ("/api/v1/runs/{id}/log/search", log_search_json),
        ("/api/v1/runs/{id}/log", log_text),
        ("/api/v1/runs/{id}", run_json),
        ("/api/v1/{owner}/{repo}/compare/{ends:path}", compare_json),
        ("/api/v1/{owner}/{repo}/compare-logs", compare_logs_json),
        ("/api/v1/{owner}/{repo}/history", history_json),
        ("/api/v1/{owner}/{repo}/parity/{ref:path}", parity_json),
        ("/api/v1/{owner}/{repo}/pull/{number:int}", pull_json),
        ("/api/v1/{owner}/{repo}/branch/{branch:path}", pull_json),
        ("/api/v1/{owner}/{repo}", repository_json),
        ("/api/{path:path}", absent),
    )
    return [
        Route(path, json_endpoint(checked(path, partial(serve, parts))), methods=["GET"])
        for path, serve in served
    ]


def checked(path: str, serve: Endpoint) -> Endpoint:
    """`serve`, where the query's values are possible by the description of this address; else 400."""
    described = re.sub(r":\w+}", "}", path)
    asked = next((one.asked for one in OPERATIONS if one.path == described), ())

    async def endpoint(request: Request) -> Response:
        if said := impossible(asked, request.query_params.multi_items()):
            return json_answer(request, {"error": said}, cache=NEVER, status=400)
        return await serve(request)

    return endpoint


async def description(_: Parts, request: Request) -> Response:
    """What all of this answers, for programs."""
    return json_answer(request, openapi())


async def absent(_: Parts, request: Request) -> Response:
    """There is nothing under this address; with a slash too many, its page is without."""
    if (aim := without_slash(request)) is not None:
        return aim
    raise Absent
