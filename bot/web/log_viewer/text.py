"""A log's text for programs: `/api/v1/runs/{id}/log?at=…&length=…`.

In:  from which byte on, and how many. Out: text in whole lines, with a link to what follows.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.errors import Broken, Told
from bot.runs.records import RunRecord
from bot.web.frame.asked import asked_number
from bot.web.frame.log_away import LogAway, log_away, open_run_log
from bot.web.frame.parts import Parts
from bot.web.ground.access import Visit, visit_run
from bot.web.ground.answers import TEXT, tagged
from bot.web.log.redaction import Redaction
from bot.web.log.source import TooFar
from bot.web.log.window import WINDOW, Span
from bot.web.log_viewer.view import read_span

LONGEST_PART = 512 << 10
"""Bytes of a log in one answer; the next part is linked."""


async def log_text(parts: Parts, request: Request) -> Response:
    """The log's text from byte `?at=` on, at most `?length=` bytes, in whole lines where there are any."""
    here, record = await visit_run(request, parts.database, parts.key)
    span, text = await run_in_threadpool(_part, parts, request, here, record)
    headers = {"X-Log-From": str(span.at), "X-Log-To": str(span.end)}
    if not span.ends:
        following = parts.absolute(here.links.log_json(record.id, span.end))
        headers["Link"] = f'<{following}>; rel="next"'
    return tagged(request, text, kind=TEXT, cache=here.cache, headers=headers)


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
