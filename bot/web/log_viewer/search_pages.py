"""What is found in a whole log: `/runs/{id}/log/search?q=…`.

In:  the words, whether their case counts, and where to go on.
Out: hits with the lines around them, as a page and as JSON.
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
from bot.web.ground.answers import json_answer
from bot.web.ground.legible import legible
from bot.web.ground.links import API
from bot.web.ground.public import for_page
from bot.web.log.source import TooFar
from bot.web.log_viewer.blocks import blocks
from bot.web.log_viewer.document import found_document
from bot.web.log_viewer.overlap import Place
from bot.web.log_viewer.query import LONGEST_WORDS, NotSearchable, Query
from bot.web.log_viewer.search import Found, search


async def log_search_page(parts: Parts, request: Request) -> Response:
    """The next hits, from `?at=` on."""
    here, record = await visit_run(request, parts.database, parts.key)
    query, begin = _asked(request)
    unclear, found, size = None, None, None
    try:
        found, size = await run_in_threadpool(_search, parts, here, record, query, begin)
    except NotSearchable as problem:
        unclear = legible(str(problem))
    except LogAway as away:
        return parts.problem(request, away.status, away.what, away.why)
    values = {
        "run": record.id,
        "record": for_page(record, here),
        "visit": here,
        "query": query,
        "begin": begin,
        "found": found,
        "blocks": blocks(found.hits) if found else (),
        "unclear": unclear,
        "share": _share(found, size),
        "further": _link(here, record, query, found.following if found else None),
        "json": _link(here, record, query, begin, above=API),
    }
    return await parts.page(request, "log_search.html.j2", values, visit=here)


async def log_search_json(parts: Parts, request: Request) -> Response:
    """The same hits as JSON."""
    here, record = await visit_run(request, parts.database, parts.key)
    query, begin = _asked(request)
    try:
        found, size = await run_in_threadpool(_search, parts, here, record, query, begin)
    except NotSearchable as problem:
        raise LogAway(400, "q cannot be searched for", legible(str(problem))) from problem
    document = found_document(record.id, query, begin, found, size)
    further = _link(here, record, query, found.following if found else None, above=API)
    document["next"] = parts.absolute(further) if further else None
    return json_answer(request, document, cache=here.cache)


def _link(here: Visit, record: RunRecord, query: Query, at: Place | None, *, above: str = "") -> str | None:
    """The search from a place on; None where there is nothing to go on to."""
    if at is None:
        return None
    return here.links.log_search(
        record.id,
        above=above,
        q=query.words,
        case="yes" if query.cased else None,
        regex="yes" if query.regular else None,
        at=str(at.offset) if at.offset else None,
        line=str(at.line) if at.offset else None,
    )


def _asked(request: Request) -> tuple[Query, Place]:
    words = request.query_params.get("q", "").replace("\x00", "")[:LONGEST_WORDS]
    said = {name: request.query_params.get(name) == "yes" for name in ("case", "regex")}
    query = Query(words=words, cased=said["case"], regular=said["regex"])
    place = Place(offset=asked_number(request, "at") or 0, line=asked_number(request, "line") or 1)
    return query, place


def _search(
    parts: Parts, here: Visit, record: RunRecord, query: Query, begin: Place
) -> tuple[Found | None, int | None]:
    source = open_run_log(parts.logs, record)
    if not query.words.strip():
        return None, source.size
    try:
        return search(source, query, begin, redacts=not here.private), source.size
    except NotSearchable:
        raise
    except TooFar as far:
        raise LogAway(404, "This part of the log is too far in to be searched", far.text) from far
    except (Told, Broken) as problem:
        raise log_away(problem, record.log_uri or "") from problem


def _share(found: Found | None, size: int | None) -> int | None:
    """How much of the log has been looked at, in percent; None where its length is not known."""
    return None if found is None or not size else min(round(100 * found.end / size), 100)
