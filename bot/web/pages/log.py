"""`/runs/{id}/log`: a page of numbered lines, the raw log as a stream, and parts of it as text for programs.

No log is ever held in memory as a whole.
"""

import logging
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bot.domain.run import RunRecord
from bot.errors import InternalError, UserError
from bot.storage import runs
from bot.web.answers import TEXT, etag_answer, head_answer, with_security_headers
from bot.web.auth.access import Access, for_page
from bot.web.layout import WebContext, query_number
from bot.web.log_viewer.source import reading_logs
from bot.web.log_viewer.view import LogView, log_view
from bot.web.log_viewer.window import WINDOW_BYTES, LogMark, LogMarkKind, log_marks
from bot.web.sanitize import sanitize

LOG = logging.getLogger(__name__)

STORE_STOPPED = "The place where this log is kept stopped answering, and its rest was not sent."

BYTES_BEFORE_LINE = 1_000
"""Bytes shown before a requested line, so that it is not at the very top."""


async def log_page(context: WebContext, request: Request) -> Response:
    """A window of the log: from line `?from=` (highlighted up to `?to=`) or byte `?at=` on."""
    access, record = await context.run_access(request)
    measured = (await context.database.read(runs.measured, [record.id])).get(record.id)
    marks = log_marks(measured)
    shown = await run_in_threadpool(_log_page_view, context, request, access, record, marks)
    values = {"run": record.id, "record": for_page(record, access), "shown": shown}
    return await context.page(request, "log.html.j2", values, access=access)


async def raw_log(context: WebContext, request: Request) -> Response:
    """The whole log as text, or with `?download=` as a download."""
    access, record = await context.run_access(request)
    kept = "attachment" if request.query_params.get("download") else "inline"
    headers = {
        "Content-Disposition": f'{kept}; filename="{download_name(record)}"',
        "Cache-Control": access.cache,
        "Accept-Ranges": "bytes" if access.private else "none",
    }
    archive = await run_in_threadpool(context.logs.open, record, redacted=not access.private)
    whole = until_unreadable(archive.text(), record.id, archive.note)
    if not access.private:
        return _stream_answer(request, whole, 200, headers)
    first, last, status = requested_range(request.headers.get("range", ""), archive.size)
    if status != 200:
        headers["Content-Length"] = str(last - first)
        headers["Content-Range"] = (
            f"bytes {first}-{last - 1}/{archive.size}" if status == 206 else f"bytes */{archive.size}"
        )
        return _stream_answer(request, archive.text(first, last), status, headers)
    if not archive.note:
        headers["Content-Length"] = str(archive.size)
    return _stream_answer(request, whole if archive.note else archive.text(), 200, headers)


def until_unreadable(pieces: Iterator[bytes], run: str, note: str = "") -> Iterator[bytes]:
    """The text up to where it can be read, then a line that says so; the server's log does too. `note` says
    why there is no more of it."""
    sent = 0
    try:
        for piece in pieces:
            yield piece
            sent += len(piece)
    except (UserError, InternalError) as problem:
        note = f"{problem}." if isinstance(problem, UserError) else STORE_STOPPED
        LOG.warning("The log of run %s was sent as far as byte %s: %s", sanitize(run), sent, problem)
    if note:
        yield f"\n[MaxView: the text ends here. {note}]\n".encode()


def requested_range(header: str, size: int | None) -> tuple[int, int, int]:
    """The first byte, the end, and the status: 206 for a part, 416 for one that does not exist.

    Several ranges, other units and a log of unknown length get the whole log, as RFC 9110 allows.
    """
    found = re.fullmatch(r"bytes=(\d{0,15})-(\d{0,15})", header.strip())
    if size is None or found is None or not (found[1] or found[2]):
        return 0, size or 0, 200
    if not found[1]:
        first, last = max(size - int(found[2]), 0), size
    else:
        first, last = int(found[1]), min(int(found[2]) + 1, size) if found[2] else size
    return (first, last, 206) if first < last else (0, 0, 416)


def download_name(record: RunRecord) -> str:
    """A file name for the download that is valid on every system."""
    words = "-".join(part for part in (record.case, record.variant, record.id) if part)
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", words).strip("-.")[:120] or "run") + ".log"


class LogPageView(Struct, frozen=True, kw_only=True):
    """What a page of a log shows.

    `highlighted` are the lines that the address names, `missing_line` one that does not exist. `marks`
    are on the page, `elsewhere` are notable ones outside it, `before` and `after` the nearest outside
    it.
    """

    view: LogView
    highlighted: range
    missing_line: int | None
    marks: tuple[LogMark, ...]
    elsewhere: tuple[LogMark, ...]
    before: LogMark | None
    after: LogMark | None
    folded: bool


def _log_page_view(
    context: WebContext, request: Request, access: Access, record: RunRecord, marks: tuple[LogMark, ...]
) -> LogPageView:
    """The requested window."""
    archive = context.logs.open(record, redacted=not access.private)
    line, last = query_number(request, "from"), query_number(request, "to")
    with reading_logs(record):
        place = archive.place_of(max(line, 1)) if line is not None else None
        wanted = max(place - BYTES_BEFORE_LINE, 0) if place is not None else query_number(request, "at") or 0
        view = log_view(archive, wanted=wanted, marks=marks)
    highlighted = (
        range(line, max(last or line, line) + 1) if line is not None and place is not None else range(0)
    )
    return LogPageView(
        view=view,
        highlighted=highlighted,
        missing_line=line if line is not None and place is None else None,
        folded=request.query_params.get("fold") != "no",
        **_marks_around(marks, view),
    )


def _marks_around(marks: tuple[LogMark, ...], view: LogView) -> dict[str, Any]:
    """The marks on the page, the nearest outside it, and the error and first and last step if they are
    outside."""
    end = max(view.end, view.start + 1)
    before = [mark for mark in marks if mark.offset < view.start]
    after = [mark for mark in marks if mark.offset >= end]
    errors = [mark for mark in (*before, *after) if mark.kind is LogMarkKind.ERROR]
    steps = [mark for mark in (*before, *after) if mark.kind is LogMarkKind.STEP]
    return {
        "marks": tuple(mark for mark in marks if view.start <= mark.offset < end),
        "elsewhere": tuple(dict.fromkeys((*errors, *steps[:1], *steps[-1:]))),
        "before": before[-1] if before else None,
        "after": after[0] if after else None,
    }


def _stream_answer(request: Request, body: Iterator[bytes], status: int, headers: dict[str, str]) -> Response:
    if request.method == "HEAD":
        return head_answer(TEXT, status, headers)
    return with_security_headers(
        StreamingResponse(body, status_code=status, media_type=TEXT, headers=headers)
    )


MAX_PART_BYTES = 512 << 10
"""Bytes of a log in one answer; it links to the next part."""


async def log_text(context: WebContext, request: Request) -> Response:
    """At most `?length=` bytes of the log's text from byte `?at=`, in whole lines if there are any."""
    access, record = await context.run_access(request)
    part = await run_in_threadpool(_read_part, context, request, access, record)
    headers = {"X-Log-From": str(part.at), "X-Log-To": str(part.end)}
    if not part.ends:
        following = context.absolute(access.links.log_json(record.id, part.end))
        headers["Link"] = f'<{following}>; rel="next"'
    return etag_answer(request, part.text, kind=TEXT, cache=access.cache, headers=headers)


class LogPart(Struct, frozen=True, kw_only=True):
    """The text from byte `at` of a log to byte `end`; `ends` if the log does."""

    at: int
    end: int
    ends: bool
    text: bytes


def _read_part(context: WebContext, request: Request, access: Access, record: RunRecord) -> LogPart:
    archive = context.logs.open(record, redacted=not access.private)
    wanted, length = query_number(request, "at") or 0, query_number(request, "length") or WINDOW_BYTES
    most = min(max(length, 1), MAX_PART_BYTES)
    parts: list[bytes] = []
    at = end = 0
    with reading_logs(record):
        for line in archive.lines_from(min(wanted, max(archive.size - 1, 0))):
            at = at if parts else line.offset
            if parts and line.offset + line.length - at > most:
                break
            parts += [line.text, b"\n" * line.ends]
            end = line.offset + line.length
    ends = end >= archive.size
    return LogPart(at=at, end=end, ends=ends, text=b"".join(parts))
