"""Two logs side by side: `/{owner}/{repo}/compare-logs?base=RUN&head=RUN`.

In:  two runs of the repository, and from which section on. Out: sections, as a page and as JSON.
"""

from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.errors import Broken, Told
from bot.runs.records import RunRecord
from bot.storage import runs
from bot.verdict.judgement import MeasuredRun
from bot.web.frame.asked import asked_number
from bot.web.frame.log_away import LogAway, log_away, open_run_log
from bot.web.frame.parts import Parts
from bot.web.ground.access import LONGEST_NAME, Absent, Unclear, Visit, visit
from bot.web.ground.answers import json_answer
from bot.web.ground.links import API
from bot.web.ground.public import for_page
from bot.web.log.source import TooFar
from bot.web.log_compare.comparison import SECTIONS, Comparison, Side, compare
from bot.web.log_compare.document import compared_document

NOT_READ = "These logs cannot be set side by side"
NOT_READ_WHY = (
    "One of these runs has not been read yet, so its events are not known. Its log can be opened alone."
)


async def compare_logs_page(parts: Parts, request: Request) -> Response:
    """The sections from `?section=` on."""
    here = await visit(request, parts.database, parts.key)
    try:
        records, found = await _asked(parts, request, here)
    except LogAway as away:
        return parts.problem(request, away.status, away.what, away.why)
    first = found.first
    base, head = (for_page(record, here) for record in records)
    values = {
        "visit": here,
        "base": base,
        "head": head,
        "found": found,
        "since": since,
        "previous": max(first - SECTIONS, 0) if first else None,
        "following": _following(found),
        "json": here.links.compare_logs(here.repository, base.id, head.id, first, above=API),
    }
    return await parts.page(request, "compare_logs.html.j2", values, visit=here)


async def compare_logs_json(parts: Parts, request: Request) -> Response:
    """The same sections as JSON."""
    here = await visit(request, parts.database, parts.key)
    records, found = await _asked(parts, request, here)
    base, head = (for_page(record, here) for record in records)
    document = compared_document((base, head), found)
    after = _following(found)
    following = here.links.compare_logs(here.repository, base.id, head.id, after, above=API)
    document["next"] = parts.absolute(following) if after is not None else None
    return json_answer(request, document, cache=here.cache)


async def _asked(parts: Parts, request: Request, here: Visit) -> tuple[list[RunRecord], Comparison]:
    """The runs and the sections that an address asks for."""
    records = [await _record(parts, here, request.query_params.get(name, "")) for name in ("base", "head")]
    measured = await parts.database.read(runs.measured, [record.id for record in records])
    if any(record.id not in measured for record in records):
        raise Unclear(NOT_READ, NOT_READ_WHY)
    first = asked_number(request, "section") or 0
    return records, await run_in_threadpool(_compared, parts, here, records, measured, first)


def _following(found: Comparison) -> int | None:
    """The first section of the next page."""
    following = found.first + SECTIONS
    return following if following < found.count else None


def since(seconds: float | None) -> str:
    """Time since the start of a log: `+0:01:20.825`; nothing where the line states none."""
    if seconds is None:
        return ""
    sign, whole = "-" if seconds < 0 else "+", abs(seconds)
    return f"{sign}{int(whole // 3600)}:{int(whole // 60 % 60):02}:{whole % 60:06.3f}"


async def _record(parts: Parts, here: Visit, name: str) -> RunRecord:
    if not name or len(name) > LONGEST_NAME or "\x00" in name:
        raise Absent
    record = await parts.database.read(runs.by_id, name)
    if record is None or record.repository != here.repository:
        raise Absent
    return record


def _compared(
    parts: Parts, here: Visit, records: list[RunRecord], measured: Mapping[str, MeasuredRun], first: int
) -> Comparison:
    base, head = (_side(parts, here, record, measured[record.id]) for record in records)
    try:
        return compare(base, head, parts.logs, first)
    except TooFar as far:
        raise LogAway(404, "This part of the log is too far in to be compared", far.text) from far
    except (Told, Broken) as problem:
        named = [record.log_uri for record in records if record.log_uri and record.log_uri in str(problem)]
        raise log_away(problem, named[0] if named else "") from problem


def _side(parts: Parts, here: Visit, record: RunRecord, run: MeasuredRun) -> Side:
    environment = run.log.environment
    names = (record.id, record.branch, record.sha, environment.run_name, environment.workload)
    source = open_run_log(parts.logs, record)
    return Side(source=source, run=run, names=names, redacts=not here.private)
