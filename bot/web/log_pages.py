"""The log of a run: a page of numbered lines, and the whole as a file.

In:  `/runs/{id}/log?from=BYTE`, `?line=N`, and `/runs/{id}/log/raw`.
Out: pages of a window each; whoever wants all of it gets a stream. No log is ever held whole.
"""

import re

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bot.errors import Broken, Told
from bot.runs.records import RunRecord
from bot.storage import runs
from bot.web.access import Visit, visit_run
from bot.web.answers import TEXT, secured
from bot.web.log_marks import log_marks
from bot.web.log_redaction import Redaction
from bot.web.log_source import LogSource, TooFar, open_log
from bot.web.log_view import LogView, log_view, place_of_line
from bot.web.log_window import LogMark
from bot.web.public import for_page
from bot.web.site_parts import LogAway, Parts, log_away

LARGEST_NUMBER = 2**53
"""Offsets and line numbers beyond this are nonsense in an address."""

LINES_BEFORE = 4_000
"""Bytes shown before a line that was asked for, so that it does not stand at the very top."""


async def log_page(parts: Parts, request: Request) -> Response:
    """A window of the log."""
    visit, record = await visit_run(request, parts.database, parts.key)
    measured = (await parts.database.read(runs.measured, [record.id])).get(record.id)
    marks = log_marks(measured)
    try:
        view, line_gone = await run_in_threadpool(_window, parts, request, visit, record, marks)
    except LogAway as away:
        return parts.problem(request, away.status, away.what, away.why)
    shown = [mark for mark in marks if view.start <= mark.offset < max(view.end, view.start + 1)]
    values = {
        "run": record.id,
        "record": for_page(record, visit),
        "visit": visit,
        "view": view,
        "marks": shown,
        "line_gone": line_gone,
        "away": _elsewhere(marks, view),
    }
    return await parts.page(request, "log.html.j2", values, visit=visit)


async def raw_log(parts: Parts, request: Request) -> Response:
    """The whole log, inflated, as a download."""
    visit, record = await visit_run(request, parts.database, parts.key)
    headers = {
        "Content-Disposition": f'attachment; filename="{file_name(record)}"',
        "Cache-Control": visit.cache,
    }
    try:
        source = await run_in_threadpool(open_run_log, record)
    except LogAway as away:
        return parts.problem(request, away.status, away.what, away.why)
    if request.method == "HEAD":
        return secured(Response(media_type=TEXT, headers=headers))
    pieces = source.pieces() if visit.private else Redaction().stream(source.pieces())
    return secured(StreamingResponse(pieces, media_type=TEXT, headers=headers))


def open_run_log(record: RunRecord) -> LogSource:
    """The log of a run; `LogAway` where there is none to be had."""
    if not record.log_uri:
        raise LogAway(404, "This run has no log yet", "It appears here when the run has written one.")
    try:
        return open_log(record.log_uri)
    except (Told, Broken) as problem:
        raise log_away(problem, record.log_uri) from problem


def asked_number(request: Request, name: str) -> int | None:
    """A whole number of the address; None where it is not given or is none."""
    text = request.query_params.get(name, "")
    return min(int(text), LARGEST_NUMBER) if text.isascii() and text.isdigit() and len(text) < 20 else None


def identity(record: RunRecord) -> str:
    """What names this log and its content."""
    return f"{record.log_uri} {record.generation}"


def file_name(record: RunRecord) -> str:
    """A name for the download that every system takes."""
    words = "-".join(part for part in (record.case, record.variant, record.id) if part)
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", words).strip("-.")[:120] or "run") + ".log"


def _window(
    parts: Parts, request: Request, visit: Visit, record: RunRecord, marks: tuple[LogMark, ...]
) -> tuple[LogView, int | None]:
    """The window that the address asks for, and the line it asks for that is not there."""
    source = open_run_log(record)
    line = asked_number(request, "line")
    try:
        place = (
            place_of_line(source, max(line, 1), parts.numbers, identity(record)) if line is not None else None
        )
        wanted = max(place - LINES_BEFORE, 0) if place is not None else asked_number(request, "from") or 0
        view = log_view(
            source,
            wanted=wanted,
            marks=marks,
            numbers=parts.numbers,
            identity=identity(record),
            redacts=not visit.private,
        )
    except TooFar as far:
        raise LogAway(404, "This part of the log is too far in to be shown", far.text) from far
    except (Told, Broken) as problem:
        raise log_away(problem, record.log_uri or "") from problem
    return view, line if line is not None and place is None else None


def _elsewhere(marks: tuple[LogMark, ...], view: LogView) -> tuple[LogMark, ...]:
    """The marks outside the window that a reader looks for first: the error, the first and the last step."""
    outside = [mark for mark in marks if not view.start <= mark.offset < max(view.end, view.start + 1)]
    errors = [mark for mark in outside if mark.kind == "error"]
    steps = [mark for mark in outside if mark.kind == "step"]
    return tuple(dict.fromkeys((*errors, *steps[:1], *steps[-1:])))
