"""The log of a run: a page of numbered lines, and the whole as a file.

In:  `/runs/{id}/log?from=LINE&to=LINE`, `?at=BYTE`, and `/runs/{id}/log/raw`.
Out: pages of a window each; whoever wants all of it gets a stream. No log is ever held whole.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bot.errors import Broken, Told
from bot.runs.records import RunRecord
from bot.storage import runs
from bot.web.frame.asked import asked_number
from bot.web.frame.log_away import LogAway, log_away, open_run_log
from bot.web.frame.parts import Parts
from bot.web.ground.access import Visit, visit_run
from bot.web.ground.answers import TEXT, bodiless, secured
from bot.web.ground.legible import legible
from bot.web.ground.public import for_page
from bot.web.log.marks import log_marks
from bot.web.log.redaction import Redaction
from bot.web.log.source import TooFar
from bot.web.log.window import LogMark
from bot.web.log_viewer.view import LogView, log_view

LOG = logging.getLogger(__name__)

UNREAD = "The place where this log is kept stopped answering, and its rest was not sent"

BEFORE_LINE = 1_000
"""Bytes shown before a line that was asked for, so that it does not stand at the very top."""

MOST_LISTED = 200
"""Places of a part that are listed above it; n and p lead to all of them."""


async def log_page(parts: Parts, request: Request) -> Response:
    """A window of the log: from line `?from=` on, with the lines up to `?to=` lit, or from byte `?at=` on."""
    visit, record = await visit_run(request, parts.database, parts.key)
    measured = (await parts.database.read(runs.measured, [record.id])).get(record.id)
    marks = log_marks(measured)
    try:
        shown = await run_in_threadpool(_window, parts, request, visit, record, marks)
    except LogAway as away:
        return parts.problem(request, away.status, away.what, away.why)
    values = {"run": record.id, "record": for_page(record, visit), "visit": visit, "shown": shown}
    return await parts.page(request, "log.html.j2", values, visit=visit)


async def raw_log(parts: Parts, request: Request) -> Response:
    """The whole log, inflated: to be read, or with `?download=` to be kept."""
    visit, record = await visit_run(request, parts.database, parts.key)
    kept = "attachment" if request.query_params.get("download") else "inline"
    headers = {
        "Content-Disposition": f'{kept}; filename="{file_name(record)}"',
        "Cache-Control": visit.cache,
        "Accept-Ranges": "bytes" if visit.private else "none",
    }
    try:
        source = await run_in_threadpool(open_run_log, parts.logs, record)
    except LogAway as away:
        return parts.problem(request, away.status, away.what, away.why)
    if not visit.private:
        body: Iterator[bytes] = Redaction().stream(as_far_as_readable(source.pieces(), record.id))
        return _sent(request, body, 200, headers)
    first, last, status = asked_range(request.headers.get("range", ""), source.size)
    if source.size is not None:
        headers["Content-Length"] = str(max(last - first, 0))
    if status != 200:
        headers["Content-Range"] = (
            f"bytes {first}-{last - 1}/{source.size}" if status == 206 else f"bytes */{source.size}"
        )
    body = source.pieces() if status == 200 else source.pieces_from(first, last)
    if "Content-Length" not in headers:
        body = as_far_as_readable(body, record.id)
    return _sent(request, body if status != 416 else iter(()), status, headers)


def as_far_as_readable(pieces: Iterator[bytes], run: str) -> Iterator[bytes]:
    """The text up to where it cannot be read further, then a line that says so, as the server's log does."""
    sent = 0
    try:
        for piece in pieces:
            yield piece
            sent += len(piece)
    except (Told, Broken) as problem:
        why = str(problem) if isinstance(problem, Told) else UNREAD
        LOG.warning("The log of run %s was sent as far as byte %s: %s", legible(run), sent, why)
        yield f"\n[MaxView: the text ends here. {why}.]\n".encode()


def asked_range(header: str, size: int | None) -> tuple[int, int, int]:
    """From which byte to which one, and the status: 206 for a part, 416 for one that is not there.

    Several ranges, other units and a log of unknown length are answered with the whole, as RFC 9110 allows.
    """
    found = re.fullmatch(r"bytes=(\d{0,15})-(\d{0,15})", header.strip())
    if size is None or found is None or not (found[1] or found[2]):
        return 0, size or 0, 200
    if not found[1]:
        first, last = max(size - int(found[2]), 0), size
    else:
        first, last = int(found[1]), min(int(found[2]) + 1, size) if found[2] else size
    return (first, last, 206) if first < last else (0, 0, 416)


def file_name(record: RunRecord) -> str:
    """A name for the download that every system takes."""
    words = "-".join(part for part in (record.case, record.variant, record.id) if part)
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", words).strip("-.")[:120] or "run") + ".log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a page of a log shows. `lit` are the lines that the address names, `gone` the one that is not
    there; `marks` stand on the page, `away` elsewhere; `before` and `after` are the nearest outside it."""

    view: LogView
    lit: range
    gone: int | None
    marks: tuple[LogMark, ...]
    away: tuple[LogMark, ...]
    before: LogMark | None
    after: LogMark | None
    folded: bool


def _window(
    parts: Parts, request: Request, visit: Visit, record: RunRecord, marks: tuple[LogMark, ...]
) -> Shown:
    """The window that the address asks for."""
    source = open_run_log(parts.logs, record)
    line, last = asked_number(request, "from"), asked_number(request, "to")
    try:
        place = parts.logs.place_of(source, max(line, 1)) if line is not None else None
        wanted = max(place - BEFORE_LINE, 0) if place is not None else asked_number(request, "at") or 0
        view = log_view(source, wanted=wanted, marks=marks, logs=parts.logs, redacts=not visit.private)
    except TooFar as far:
        raise LogAway(404, "This part of the log is too far in to be shown", far.text) from far
    except (Told, Broken) as problem:
        raise log_away(problem, record.log_uri or "") from problem
    lit = range(line, max(last or line, line) + 1) if line is not None and place is not None else range(0)
    return Shown(
        view=view,
        lit=lit,
        gone=line if line is not None and place is None else None,
        folded=request.query_params.get("fold") != "no",
        **_around(marks, view),
    )


def _around(marks: tuple[LogMark, ...], view: LogView) -> dict[str, Any]:
    """The marks on the page, the nearest before and behind it, and those outside that a reader looks for
    first: the error, the first and the last step."""
    end = max(view.end, view.start + 1)
    before = [mark for mark in marks if mark.offset < view.start]
    after = [mark for mark in marks if mark.offset >= end]
    errors = [mark for mark in (*before, *after) if mark.kind == "error"]
    steps = [mark for mark in (*before, *after) if mark.kind == "step"]
    return {
        "marks": tuple(mark for mark in marks if view.start <= mark.offset < end),
        "away": tuple(dict.fromkeys((*errors, *steps[:1], *steps[-1:]))),
        "before": before[-1] if before else None,
        "after": after[0] if after else None,
    }


def _sent(request: Request, body: Iterator[bytes], status: int, headers: dict[str, str]) -> Response:
    if request.method == "HEAD":
        return bodiless(TEXT, status, headers)
    return secured(StreamingResponse(body, status_code=status, media_type=TEXT, headers=headers))
