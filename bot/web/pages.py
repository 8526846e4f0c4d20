"""The pages: repositories, pull requests, reports, runs, logs.

In:  what is in the database, and logs where they are kept.
Out: HTML, rendered on the server; every page works without script.

No page says more than its visitor may know: see `bot.web.access`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.report.headline import is_settled
from bot.report.model import Report
from bot.runs.pattern import slug
from bot.storage import histories, pulls, reports, runs, timelines
from bot.storage.pulls import PullRow
from bot.verdict.judgement import MeasuredRun
from bot.web.access import Absent, Visit, visit, visit_run
from bot.web.branches import default_branch
from bot.web.compare_pages import compare_page
from bot.web.health import OLD_SECONDS, health_lines
from bot.web.history_pages import history_page
from bot.web.links import commit_on_github, pull_on_github
from bot.web.lists import pull_lines
from bot.web.log_compare_pages import compare_logs_page
from bot.web.log_pages import log_page, raw_log
from bot.web.log_search_pages import log_search_page
from bot.web.main_view import main_lines
from bot.web.moments import moment
from bot.web.parity_pages import parity_page
from bot.web.public import for_page
from bot.web.pull_view import pull_view
from bot.web.run_view import run_view
from bot.web.site_parts import Parts, page_endpoint

LIVE_SECONDS = 15
"""How often an unfinished report is looked at again by an open page; most runs take minutes."""

MOST_DRAWN = 60
"""Cases with curves on one page; the pages of the runs draw every one."""

RUNS_OF_A_SIDE = 3
"""Looked through for one that passed; the first that did is drawn, as the loss verdict reads it."""

LARGEST_PULL = 2**31 - 1
SHA = re.compile(r"[0-9a-f]{4,64}")


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
        ("/{owner}/{repo}/history", history_page),
        ("/{owner}/{repo}/parity/{ref:path}", parity_page),
        ("/{owner}/{repo}/pull/{number:int}", pull_page),
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
    return await parts.page(request, "home.html.j2", {"repositories": listed}, visit=None)


async def repository_page(parts: Parts, request: Request) -> Response:
    """The pull requests of a repository, open ones first, with their headlines; where main itself moved."""
    here = await visit(request, parts.database, parts.key)
    rows = await parts.database.read(pulls.of_repository, here.repository)
    headlines = await parts.database.read(reports.headlines, here.repository)
    lines = pull_lines(rows, headlines, here, parts.now())
    branch = await default_branch(parts.database, here.repository)
    strips = await parts.database.read(timelines.strips, here.repository, slug(branch))
    values = {
        "visit": here,
        "pulls": lines,
        "branch": here.text(branch),
        "moved": await run_in_threadpool(main_lines, histories.all_series(strips), here),
        "health": await run_in_threadpool(health_lines, strips, branch, here, parts.now()),
        "old": round(OLD_SECONDS / 86_400),
    }
    return await parts.page(request, "repository.html.j2", values, visit=here)


async def pull_page(parts: Parts, request: Request) -> Response:
    """The report of a pull request's newest head, or of `?head=`."""
    here = await visit(request, parts.database, parts.key)
    number, head = asked_pull(request)
    row = await parts.database.read(pulls.find, here.repository, number)
    report = await parts.database.read(reports.newest, here.repository, number, head)
    if report is None and (row is None or head):
        raise Absent
    drawn = await parts.database.read(runs.measured, drawn_runs(report)) if report else {}
    values = {
        "visit": here,
        "number": number,
        "pull": row,
        "github": pull_on_github(here.repository, number),
        "live": _live_seconds(row, report, head),
        **await run_in_threadpool(_shown, here, (row, report, head), drawn),
    }
    return await parts.page(request, "pull.html.j2", values, visit=here)


def drawn_runs(report: Report) -> tuple[str, ...]:
    """The runs whose curves the page draws: the newest of each side first, and few enough to read at once."""
    rows = [row for row in report.rows if row.comparison][:MOST_DRAWN]
    sides = [records for row in rows for records in (row.base_runs, row.head_runs)]
    return tuple(run.id for records in sides for run in records[:RUNS_OF_A_SIDE])


async def run_page(parts: Parts, request: Request) -> Response:
    """Everything known of a run."""
    here, record = await visit_run(request, parts.database, parts.key)
    measured = (await parts.database.read(runs.measured, [record.id])).get(record.id)
    shown = for_page(measured, here) if measured else None
    values = {"visit": here, "run": record.id, "view": run_view(for_page(record, here), shown, here)}
    return await parts.page(request, "run.html.j2", values, visit=here)


async def absent(_: Parts, __: Request) -> Response:
    """There is nothing under this address."""
    raise Absent


def asked_pull(request: Request) -> tuple[int, str | None]:
    """The number and the head of an address; `Absent` where they can be neither."""
    number, head = request.path_params["number"], request.query_params.get("head") or None
    if not 0 < number <= LARGEST_PULL or (head and not SHA.fullmatch(head)):
        raise Absent
    return number, head


def _shown(
    here: Visit, found: tuple[PullRow | None, Report | None, str | None], drawn: Mapping[str, MeasuredRun]
) -> dict[str, object]:
    row, report, head = found
    if report is None:
        return {"view": None, "title": here.text(row.title) if row else "", "notices": (), "made": None}
    shown = for_page(report, here)
    return {
        "view": pull_view(shown, here, drawn),
        "title": shown.title,
        "notices": _notices(row, report, head),
        "made": moment(report.made_at),
        "commit": commit_on_github(report.repository, report.head_sha),
    }


def _notices(row: PullRow | None, report: Report, head: str | None) -> Sequence[str]:
    """What to know before believing that this report is about the pull request as it is now."""
    said, now = report.head_sha[:7], row.head_sha if row is not None else None
    if head:
        return (f"This is what was said about commit {said}; newer commits may have reports of their own.",)
    if now and now != report.head_sha:
        pushed = f"Commit {now[:7]} was pushed after this report, which speaks of {said}."
        return (f"{pushed} Its own report appears here as soon as there is something to say.",)
    return ()


def _live_seconds(row: PullRow | None, report: Report | None, head: str | None) -> int | None:
    """How soon an open page looks again; None where nothing more is awaited."""
    if head or (row is not None and not row.open):
        return None
    stale = report is not None and row is not None and row.head_sha not in {None, report.head_sha}
    return LIVE_SECONDS if report is None or stale or not is_settled(report) else None
