"""Everything known of a run.

In:  `/runs/{id}`, what is in the database. Out: a page, and the same as JSON.
"""

from starlette.requests import Request
from starlette.responses import Response

from bot.report.numbers import iso_time
from bot.report.run_document import run_document
from bot.runs.records import RunRecord
from bot.storage import launched, runs
from bot.web.frame.parts import Parts
from bot.web.ground.access import Visit, visit_run
from bot.web.ground.answers import json_answer
from bot.web.ground.branches import default_branch
from bot.web.ground.public import document_for_reader, for_page
from bot.web.runs.life import life_view
from bot.web.runs.view import run_view

SCHEMA = 1


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


async def run_json(parts: Parts, request: Request) -> Response:
    """Everything known of a run: its record, and what was measured from its log."""
    here, record = await visit_run(request, parts.database, parts.key)
    measured = (await parts.database.read(runs.measured, [record.id])).get(record.id)
    document: dict[str, object] = {"schema": SCHEMA}
    if measured is not None:
        document = run_document(measured)
    document["record"] = _record(parts, here, record)
    return json_answer(request, document_for_reader(document, here), cache=here.cache)


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
        "page": parts.absolute(here.links.run(record.id)),
        "log": parts.absolute(here.links.raw_log(record.id)) if record.log_uri else None,
    }
