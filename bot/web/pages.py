"""The pages: repositories, pull requests, reports, runs, logs.

In:  the parts. Out: routes of HTML, rendered on the server; every page works without script.

No page says more than its visitor may know: see `bot.web.ground.access`.
"""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.web.compare.pages import compare_page
from bot.web.compare.parity_pages import parity_page
from bot.web.frame.endpoints import page_endpoint
from bot.web.frame.parts import Parts
from bot.web.ground.access import Absent
from bot.web.ground.answers import without_slash
from bot.web.history.pages import history_page
from bot.web.history.spark import spark_image
from bot.web.log_compare.pages import compare_logs_page
from bot.web.log_viewer.pages import log_page, raw_log
from bot.web.log_viewer.search_pages import log_search_page
from bot.web.pulls.pages import pull_page
from bot.web.repository.pages import home, repository_page
from bot.web.runs.pages import run_page


def page_routes(parts: Parts) -> list[BaseRoute]:
    """Every page, and the files they need.

    The last of them take every other address, so routes of others must stand before these.
    """
    served = (
        ("/", home),
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
        ("/{path:path}", absent),
    )
    routes = [
        Route(path, page_endpoint(parts, partial(serve, parts)), methods=["GET"]) for path, serve in served
    ]
    return [parts.assets.route(), *routes]


async def absent(_: Parts, request: Request) -> Response:
    """There is nothing under this address; with a slash too many, its page is without."""
    if (aim := without_slash(request)) is not None:
        return aim
    raise Absent
