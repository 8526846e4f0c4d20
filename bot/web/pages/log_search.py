"""`/runs/{id}/log/search?q=`: hits with the lines around them, and a link to the next ones."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.domain.run import RunRecord
from bot.report.documents import SCHEMA_VERSION
from bot.web.addresses import API_PREFIX
from bot.web.answers import json_answer
from bot.web.api.responses import HitResponse, LogLineResponse, LogSearchResponse
from bot.web.auth.access import Access, for_page
from bot.web.layout import WebContext, query_number
from bot.web.log_viewer.search import (
    MAX_QUERY_LENGTH,
    InvalidQuery,
    LogHit,
    LogPlace,
    LogQuery,
    SearchResult,
    group_hits,
    search_log,
)
from bot.web.log_viewer.source import LogUnavailable, reading_logs
from bot.web.log_viewer.window import LogLine
from bot.web.sanitize import sanitize


async def log_search_page(context: WebContext, request: Request) -> Response:
    """The page of hits from `?at=` on."""
    access, record = await context.run_access(request)
    query, begin = _requested_search(request)
    problem_words, found, size = None, None, None
    try:
        found, size = await run_in_threadpool(_run_search, context, access, record, query, begin)
    except InvalidQuery as problem:
        problem_words = sanitize(str(problem))
    values = {
        "run": record.id,
        "record": for_page(record, access),
        "query": query,
        "begin": begin,
        "found": found,
        "blocks": group_hits(found.hits) if found else (),
        "problem": problem_words,
        "share": _percent_searched(found, size),
        "further": _search_link(access, record, query, found.following if found else None),
        "json": _search_link(access, record, query, begin, above=API_PREFIX),
    }
    return await context.page(request, "log_search.html.j2", values, access=access)


async def log_search_json(context: WebContext, request: Request) -> Response:
    """The same hits as JSON."""
    access, record = await context.run_access(request)
    query, begin = _requested_search(request)
    try:
        found, size = await run_in_threadpool(_run_search, context, access, record, query, begin)
    except InvalidQuery as problem:
        raise LogUnavailable(400, "q cannot be searched for", sanitize(str(problem))) from problem
    following = _search_link(access, record, query, found.following if found else None, above=API_PREFIX)
    response = LogSearchResponse(
        schema=SCHEMA_VERSION,
        run=record.id,
        words=query.words,
        cased=query.cased,
        regular=query.regular,
        begin=begin.offset,
        end=found.end if found else begin.offset,
        size=size,
        hits=tuple(_hit_response(hit) for hit in found.hits) if found else (),
        next=context.absolute(following) if following else None,
    )
    return json_answer(request, response, cache=access.cache)


def _hit_response(hit: LogHit) -> HitResponse:
    return HitResponse(
        line=_line_response(hit.line),
        before=tuple(_line_response(line) for line in hit.before),
        after=tuple(_line_response(line) for line in hit.after),
    )


def _line_response(line: LogLine) -> LogLineResponse:
    return LogLineResponse(number=line.number, offset=line.offset, text=line.text)


def _search_link(
    access: Access, record: RunRecord, query: LogQuery, at: LogPlace | None, *, above: str = ""
) -> str | None:
    """The link that continues the search at a place; None at the end."""
    if at is None:
        return None
    return access.links.log_search(
        record.id,
        above=above,
        q=query.words,
        case="yes" if query.cased else None,
        regex="yes" if query.regular else None,
        at=str(at.offset) if at.offset else None,
        line=str(at.line) if at.offset else None,
    )


def _requested_search(request: Request) -> tuple[LogQuery, LogPlace]:
    words = request.query_params.get("q", "").replace("\x00", "")[:MAX_QUERY_LENGTH]
    flags = {name: request.query_params.get(name) == "yes" for name in ("case", "regex")}
    query = LogQuery(words=words, cased=flags["case"], regular=flags["regex"])
    place = LogPlace(offset=query_number(request, "at") or 0, line=query_number(request, "line") or 1)
    return query, place


def _run_search(
    context: WebContext, access: Access, record: RunRecord, query: LogQuery, begin: LogPlace
) -> tuple[SearchResult | None, int]:
    archive = context.logs.open(record, redacted=not access.private)
    if not query.words.strip():
        return None, archive.size
    with reading_logs(record):
        return search_log(archive, query, begin), archive.size


def _percent_searched(found: SearchResult | None, size: int | None) -> int | None:
    """Percent of the log searched so far; None if its length is unknown."""
    return None if found is None or not size else min(round(100 * found.end / size), 100)
