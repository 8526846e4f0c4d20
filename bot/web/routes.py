"""Every address of the site: pages, and the same as JSON below `/api/v1`.

The last route of each list takes every other address, so routes of others must come before these. A query
value that the API description does not allow is answered 400.
"""

import re
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.web.answers import json_answer, redirect_without_slash
from bot.web.api.openapi import OPERATIONS, openapi_document
from bot.web.api.parameters import find_problem
from bot.web.auth.access import PageNotFound
from bot.web.layout import Endpoint, WebContext, error_answer, json_endpoint, page_endpoint
from bot.web.pages.compare_logs import compare_logs_json, compare_logs_page
from bot.web.pages.comparison import compare_json, compare_page
from bot.web.pages.history import history_json, history_page, spark_image
from bot.web.pages.log import log_page, log_text, raw_log
from bot.web.pages.log_search import log_search_json, log_search_page
from bot.web.pages.parity import parity_json, parity_page
from bot.web.pages.pull_request import pull_json, pull_page
from bot.web.pages.repository import home_json, home_page, repository_json, repository_page
from bot.web.pages.run import run_json, run_page


def page_routes(context: WebContext) -> list[BaseRoute]:
    """Every page, and the static files."""
    served = (
        ("/", home_page),
        ("/runs/{id}/log/raw", raw_log),
        ("/runs/{id}/log/search", log_search_page),
        ("/runs/{id}/log", log_page),
        ("/runs/{id}", run_page),
        ("/{owner}/{repo}/compare/{ends:path}", compare_page),
        ("/{owner}/{repo}/compare-logs", compare_logs_page),
        ("/{owner}/{repo}/history/spark.svg", spark_image),
        ("/{owner}/{repo}/history", history_page),
        ("/{owner}/{repo}/parity/{ref:path}", parity_page),
        ("/{owner}/{repo}/pull/{number:int}", pull_page),
        ("/{owner}/{repo}/branch/{branch:path}", pull_page),
        ("/{owner}/{repo}", repository_page),
        ("/{path:path}", not_found),
    )
    routes = [
        Route(path, page_endpoint(context, partial(serve, context)), methods=["GET"])
        for path, serve in served
    ]
    return [context.assets.route(), *routes]


async def not_found(_: WebContext, request: Request) -> Response:
    """404, or a redirect if the address only has a slash too many at its end."""
    if (redirect := redirect_without_slash(request)) is not None:
        return redirect
    raise PageNotFound


def api_routes(context: WebContext) -> list[BaseRoute]:
    """Every JSON route; unknown addresses below `/api/` are answered in JSON too."""
    served = (
        ("/api/v1/", home_json),
        ("/api/v1/openapi.json", openapi_json),
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
        ("/api/{path:path}", not_found),
    )
    return [
        Route(path, json_endpoint(_validated(path, partial(serve, context))), methods=["GET"])
        for path, serve in served
    ]


def _validated(path: str, serve: Endpoint) -> Endpoint:
    """`serve`, after the query is checked against the API's description of this address; else 400."""
    described = re.sub(r":\w+}", "}", path)
    parameters = next((one.parameters for one in OPERATIONS if one.path == described), ())

    async def endpoint(request: Request) -> Response:
        if problem := find_problem(parameters, request.query_params.multi_items()):
            return error_answer(request, 400, problem)
        return await serve(request)

    return endpoint


async def openapi_json(_: WebContext, request: Request) -> Response:
    """The API's description."""
    return json_answer(request, openapi_document())
