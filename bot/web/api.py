"""The pages as JSON, under the same paths.

In:  what is in the database, and logs where they are kept.
Out: documents with a tag, so that who asks again is told cheaply that nothing changed.
"""

from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.errors import Broken, Told
from bot.report.model import Report
from bot.report.numbers import iso_time
from bot.report.report_document import report_document
from bot.report.run_document import run_document
from bot.runs.pattern import slug
from bot.runs.records import RunRecord
from bot.storage import branches, histories, pulls, reports, runs, timelines
from bot.web.access import Absent, Visit, visit, visit_run
from bot.web.answers import TEXT, json_answer, tagged, without_slash
from bot.web.branches import default_branch
from bot.web.compare_pages import compare_json
from bot.web.health import health_document
from bot.web.history_pages import history_json
from bot.web.links import Links
from bot.web.lists import PullLine, pull_lines
from bot.web.log_compare_pages import compare_logs_json
from bot.web.log_pages import asked_number, open_run_log
from bot.web.log_redaction import Redaction
from bot.web.log_search_pages import log_search_json
from bot.web.log_source import TooFar
from bot.web.log_view import read_span
from bot.web.log_window import WINDOW, Span
from bot.web.main_view import main_document
from bot.web.openapi import openapi
from bot.web.parity_pages import parity_json
from bot.web.public import document_for_reader, with_key
from bot.web.site_parts import LogAway, Parts, json_endpoint, log_away
from bot.web.subjects import asked_report

SCHEMA = 1
LONGEST_PART = 512 << 10
"""Bytes of a log in one answer; the next part is linked."""


def api_routes(parts: Parts) -> list[BaseRoute]:
    """Every JSON route; the unknown below `/api/` is answered in JSON too."""
    served = (
        ("/api/v1/", home),
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
    return [Route(path, json_endpoint(partial(serve, parts)), methods=["GET"]) for path, serve in served]


async def home(parts: Parts, request: Request) -> Response:
    """The public repositories."""
    rows = await parts.database.read(pulls.repositories)
    listed = [
        {"repository": row.full_name, "url": _absolute(parts, "/api/v1" + Links().repository(row.full_name))}
        for row in rows
        if row.active and not row.private
    ]
    return json_answer(request, {"schema": SCHEMA, "repositories": listed})


async def repository_json(parts: Parts, request: Request) -> Response:
    """The pull requests of a repository, open ones first, and where main itself moved."""
    here = await visit(request, parts.database, parts.key)
    rows = await parts.database.read(pulls.of_repository, here.repository)
    headlines = await parts.database.read(reports.headlines, here.repository)
    lines = pull_lines(rows, headlines, here, parts.now())
    branch = await default_branch(parts.database, here.repository)
    strips = await parts.database.read(timelines.strips, here.repository, slug(branch))
    series = histories.all_series(strips)
    watched = await parts.database.read(branches.of_repository, here.repository)
    branch_lines = pull_lines(watched, headlines, here, parts.now())
    document = {
        "schema": SCHEMA,
        "repository": here.repository,
        "pull_requests": [_pull(parts, here, line) for line in lines],
        "branches": [_branch(parts, here, line) for line in branch_lines],
        "health": document_for_reader(health_document(strips), here),
        "main": document_for_reader(await run_in_threadpool(main_document, series), here),
    }
    return json_answer(request, document, cache=here.cache)


async def pull_json(parts: Parts, request: Request) -> Response:
    """The report of the newest head of a pull request or watched branch, or of `?head=`."""
    here = await visit(request, parts.database, parts.key)
    asked = await asked_report(request, parts.database, here)
    report = await parts.database.read(reports.newest, here.repository, asked.number, asked.head)
    if report is None:
        raise Absent
    document = await run_in_threadpool(_report_for_reader, report, here)
    return json_answer(request, document, cache=here.cache)


async def run_json(parts: Parts, request: Request) -> Response:
    """Everything known of a run: its record, and what was measured from its log."""
    here, record = await visit_run(request, parts.database, parts.key)
    measured = (await parts.database.read(runs.measured, [record.id])).get(record.id)
    document: dict[str, object] = {"schema": SCHEMA}
    if measured is not None:
        document = run_document(measured)
    document["record"] = _record(parts, here, record)
    return json_answer(request, document_for_reader(document, here), cache=here.cache)


async def log_text(parts: Parts, request: Request) -> Response:
    """The log's text from byte `?at=` on, at most `?length=` bytes, in whole lines where there are any."""
    here, record = await visit_run(request, parts.database, parts.key)
    span, text = await run_in_threadpool(_part, parts, request, here, record)
    headers = {"X-Log-From": str(span.at), "X-Log-To": str(span.end)}
    if not span.ends:
        following = _absolute(parts, here.links.log_json(record.id, span.end))
        headers["Link"] = f'<{following}>; rel="next"'
    return tagged(request, text, kind=TEXT, cache=here.cache, headers=headers)


async def description(_: Parts, request: Request) -> Response:
    """What all of this answers, for programs."""
    return json_answer(request, openapi())


async def absent(_: Parts, request: Request) -> Response:
    """There is nothing under this address; with a slash too many, its page is without."""
    if (aim := without_slash(request)) is not None:
        return aim
    raise Absent


def _report_for_reader(report: Report, here: Visit) -> object:
    return with_key(document_for_reader(report_document(report), here), here)


def _part(parts: Parts, request: Request, here: Visit, record: RunRecord) -> tuple[Span, bytes]:
    source = open_run_log(parts.logs, record)
    wanted, length = asked_number(request, "at") or 0, asked_number(request, "length") or WINDOW
    try:
        span, before = read_span(source, wanted, min(max(length, 1), LONGEST_PART))
    except TooFar as far:
        raise LogAway(404, "This part of the log is too far in", far.text) from far
    except (Told, Broken) as problem:
        raise log_away(problem, record.log_uri or "") from problem
    return span, span.text if here.private else Redaction(before).whole(span.text, span.after)


def _pull(parts: Parts, here: Visit, line: PullLine) -> dict[str, object]:
    return {
        "number": line.number,
        "title": line.title,
        "open": line.open,
        "headline": line.headline,
        "head_sha": line.head_sha,
        "reported_sha": line.reported_sha,
        "made": line.made.machine if line.made else None,
        "url": _absolute(parts, here.links.pull_json(here.repository, line.number)),
        "page": _absolute(parts, line.link),
    }


def _branch(parts: Parts, here: Visit, line: PullLine) -> dict[str, object]:
    """A branch that is watched without a pull request: the same without a number."""
    document = _pull(parts, here, line)
    del document["number"]
    url = here.links.branch_json(here.repository, line.branch)
    return {"branch": line.branch, **document, "url": _absolute(parts, url)}


def _record(parts: Parts, here: Visit, record: RunRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "repository": record.repository,
        "case": record.case,
        "variant": record.variant,
        "branch": record.branch,
        "sha": record.sha,
        "started": iso_time(record.started),
        "origin": record.origin.value,
        "state": record.state.value,
        "attempt": record.attempt,
        "page": _absolute(parts, here.links.run(record.id)),
        "log": _absolute(parts, here.links.raw_log(record.id)) if record.log_uri else None,
    }


def _absolute(parts: Parts, path: str) -> str:
    return parts.public_url.rstrip("/") + path
