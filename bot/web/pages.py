"""The pages: repositories, pull requests, reports, runs, logs.

In:  what is in the database, and logs where they are kept.
Out: HTML, rendered on the server; every page works without script.

No page says more than its visitor may know: see `bot.web.access`.
"""

from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.runs.pattern import slug
from bot.storage import branches, counts, histories, launched, pulls, reports, runs, timelines
from bot.web.access import Absent, visit, visit_run
from bot.web.answers import without_slash
from bot.web.branches import default_branch
from bot.web.compare_pages import compare_page
from bot.web.health import OLD_SECONDS, health_lines
from bot.web.history_pages import history_page
from bot.web.life_view import life_view
from bot.web.lists import pull_lines
from bot.web.log_compare_pages import compare_logs_page
from bot.web.log_pages import log_page, raw_log
from bot.web.log_search_pages import log_search_page
from bot.web.main_view import main_lines
from bot.web.parity_pages import parity_page
from bot.web.public import for_page
from bot.web.pull_pages import pull_page
from bot.web.run_view import run_view
from bot.web.site_parts import Parts, page_endpoint
from bot.web.spark_pages import spark_image


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


async def home(parts: Parts, request: Request) -> Response:
    """The public repositories that the App is installed on."""
    rows = await parts.database.read(pulls.repositories)
    listed = [row for row in rows if row.active and not row.private]
    known = await parts.database.read(counts.open_pulls)
    numbers = {row.full_name: known.get(row.full_name, 0) for row in listed}
    return await parts.page(request, "home.html.j2", {"repositories": listed, "open": numbers}, visit=None)


async def repository_page(parts: Parts, request: Request) -> Response:
    """The pull requests of a repository, open ones first, with their headlines; where main itself moved."""
    here = await visit(request, parts.database, parts.key)
    rows = await parts.database.read(pulls.of_repository, here.repository)
    headlines = await parts.database.read(reports.headlines, here.repository)
    lines = pull_lines(rows, headlines, here, parts.now())
    watched = await parts.database.read(branches.of_repository, here.repository)
    branch = await default_branch(parts.database, here.repository)
    strips = await parts.database.read(timelines.strips, here.repository, slug(branch))
    values = {
        "visit": here,
        "pulls": lines,
        "branches": pull_lines(watched, headlines, here, parts.now()),
        "branch": here.text(branch),
        "moved": await run_in_threadpool(main_lines, histories.all_series(strips), here),
        "health": await run_in_threadpool(health_lines, strips, branch, here, parts.now()),
        "old": round(OLD_SECONDS / 86_400),
    }
    return await parts.page(request, "repository.html.j2", values, visit=here)


async def run_page(parts: Parts, request: Request) -> Response:
    """Everything known of a run."""
    here, record = await visit_run(request, parts.database, parts.key)
    measured = (await parts.database.read(runs.measured, [record.id])).get(record.id)
    shown = for_page(measured, here) if measured else None
    standing = (await parts.database.read(launched.standings, [record.id])).get(record.id)
    values = {
        "visit": here,
        "run": record.id,
        "main": await default_branch(parts.database, here.repository),
        "view": run_view(for_page(record, here), shown, here),
        "life": life_view(for_page(standing, here), parts.now()) if standing else None,
    }
    return await parts.page(request, "run.html.j2", values, visit=here)


async def absent(_: Parts, request: Request) -> Response:
    """There is nothing under this address; with a slash too many, its page is without."""
    if (aim := without_slash(request)) is not None:
        return aim
    raise Absent
