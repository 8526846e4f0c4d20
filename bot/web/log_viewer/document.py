"""What a search found in a log as a JSON document.

In:  the hits of a search, already as their reader may see them. Out: dictionaries. Pure.
"""

from bot.web.log.window import LogLine
from bot.web.log_viewer.overlap import Place
from bot.web.log_viewer.query import Query
from bot.web.log_viewer.search import Found, Hit

SCHEMA = 1


def found_document(
    run: str, query: Query, begin: Place, found: Found | None, size: int | None
) -> dict[str, object]:
    """The hits from one byte of a log to another; without words nothing was looked for."""
    return {
        "schema": SCHEMA,
        "run": run,
        "words": query.words,
        "cased": query.cased,
        "regular": query.regular,
        "from": begin.offset,
        "to": found.end if found else begin.offset,
        "size": size,
        "hits": [_hit(hit) for hit in found.hits] if found else [],
    }


def _hit(hit: Hit) -> dict[str, object]:
    return {
        "line": _line(hit.line),
        "before": [_line(line) for line in hit.before],
        "after": [_line(line) for line in hit.after],
    }


def _line(line: LogLine) -> dict[str, object]:
    return {"number": line.number, "offset": line.offset, "text": line.text}
