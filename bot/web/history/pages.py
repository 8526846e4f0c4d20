"""The pages of histories, and the same as JSON and CSV.

In:  a case, a variant and a metric of a repository. Out: HTML, JSON, CSV.
"""

from difflib import get_close_matches

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.report.numbers import iso_time, number
from bot.runs.pattern import slug
from bot.storage import summaries, timelines
from bot.storage.database import Connection
from bot.storage.timelines import STEADY, Strip
from bot.verdict.metrics import BY_KEY
from bot.web.frame.parts import Parts
from bot.web.ground.access import Unclear, Visit, visit
from bot.web.ground.answers import json_answer
from bot.web.ground.branches import default_branch
from bot.web.ground.csv_answer import csv_answer, wants_csv
from bot.web.ground.public import document_for_reader
from bot.web.history.document import history_document, index_document
from bot.web.history.index import history_index
from bot.web.history.view import NUMERIC, Timeline, history_view

HEADER = ("run", "commit", "started", "outcome", "origin", "conditions")


async def history_page(parts: Parts, request: Request) -> Response:
    """One metric of one case over time; without a case every case in a small drawing."""
    here = await visit(request, parts.database, parts.key)
    branch = await _branch(parts, request, here)
    line = await _timeline(parts, request, here, branch)
    if line is None:
        known = await _strips(parts, here, branch)
        index = await run_in_threadpool(history_index, known, here)
        values = {"visit": here, "branch": here.text(branch), "lines": index}
        return await parts.page(request, "histories.html.j2", values, visit=here)
    if wants_csv(request):
        return _csv(request, line, here)
    view = await run_in_threadpool(history_view, line, here)
    values = {
        "visit": here,
        "view": view,
        "json": here.links.history(here.repository, line.case, line.variant, line.metric, above="/api/v1"),
        "csv": here.links.history(here.repository, line.case, line.variant, line.metric, form="csv"),
    }
    return await parts.page(request, "history.html.j2", values, visit=here)


async def history_json(parts: Parts, request: Request) -> Response:
    """The same as JSON, or with `?format=csv` as CSV."""
    here = await visit(request, parts.database, parts.key)
    branch = await _branch(parts, request, here)
    line = await _timeline(parts, request, here, branch)
    if line is not None and wants_csv(request):
        return _csv(request, line, here)
    if line is None:
        known = await _strips(parts, here, branch)
        document: object = await run_in_threadpool(index_document, here.repository, branch, known)
    else:
        document = await run_in_threadpool(history_document, here.repository, line)
    return json_answer(request, document_for_reader(document, here), cache=here.cache)


async def _branch(parts: Parts, request: Request, here: Visit) -> str:
    asked = request.query_params.get("branch")
    if not asked:
        return await default_branch(parts.database, here.repository)
    if not await parts.database.read(summaries.has_branch, here.repository, slug(asked)):
        raise Unclear(
            f"No measured run of the branch {asked} is known", "Leave ?branch= out for the default."
        )
    return asked


async def _timeline(parts: Parts, request: Request, here: Visit, branch: str) -> Timeline | None:
    asked = {name: request.query_params.get(name) for name in ("case", "variant", "metric")}
    if not asked["case"]:
        return None
    metric = asked["metric"] or STEADY
    if metric not in {one.key for one in NUMERIC}:
        near = get_close_matches(metric, [one.key for one in NUMERIC], cutoff=0.3)
        names = " or ".join(near or [one.key for one in NUMERIC])
        raise Unclear(f"There is no metric {metric}", f"Did you mean {names}?")
    return await parts.database.read(
        read_timeline, here.repository, branch, case=asked["case"], variant=asked["variant"], metric=metric
    )


def read_timeline(
    connection: Connection, repository: str, branch: str, *, case: str, variant: str | None, metric: str
) -> Timeline:
    """The history of a case; `Unclear` where there is none."""
    keys = summaries.keys(connection, repository, slug(branch))
    variants = [known for name, known in keys if name == case]
    if not variants:
        near = get_close_matches(case, list(dict.fromkeys(name for name, _ in keys)), cutoff=0.4)
        raise Unclear(
            f"No measured run of {case} on {branch} is known",
            f"Did you mean {' or '.join(near)}?" if near else "Its history begins with its first run.",
        )
    chosen = variants[0] if variant is None else variant
    if chosen not in variants:
        raise Unclear(
            f"{case} has no run in the variant {chosen} on {branch}",
            f"Did you mean {' or '.join(variants)}?",
        )
    key = (case, chosen)
    return Timeline(
        branch=branch,
        case=case,
        variant=chosen,
        metric=metric,
        points=timelines.points(connection, repository, slug(branch), key, metric),
        acknowledged=timelines.acknowledged(connection, repository, key),
    )


async def _strips(parts: Parts, here: Visit, branch: str) -> tuple[Strip, ...]:
    return await parts.database.read(timelines.strips, here.repository, slug(branch))


def _csv(request: Request, line: Timeline, here: Visit) -> Response:
    rows = [
        (
            here.text(point.run),
            point.sha,
            iso_time(point.started),
            point.outcome,
            "found" if point.found else "launched",
            here.text(point.conditions),
            number(point.value),
        )
        for point in line.points
    ]
    name = "-".join(part for part in (line.case, line.variant, line.metric) if part)
    unit = BY_KEY[line.metric].unit
    header = (*HEADER, f"{line.metric} ({unit})" if unit else line.metric)
    return csv_answer(request, name, header, rows, cache=here.cache)
