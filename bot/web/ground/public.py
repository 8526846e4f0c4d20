"""Values as strangers may read them: every text in them redacted by the rules for public places.

In:  a report, a measured run, or a JSON document. Out: the same kind of
value. Texts for a page are made legible besides.
"""

from typing import TypeVar

from bot.report.model import Report
from bot.report.redact import redacted
from bot.runs.records import RunRecord
from bot.runs.standing import RunStanding
from bot.verdict.judgement import MeasuredRun
from bot.web.ground.access import Visit
from bot.web.ground.legible import legible
from bot.web.ground.texts import each_text

LINKS = frozenset({"page", "json", "log"})
"""Names under which a report's document carries paths of this site."""

Value = TypeVar("Value", Report, MeasuredRun, RunRecord, RunStanding)
Document = TypeVar("Document")

SHORTEST = 8
"""Characters: nothing shorter is long enough for any rule (the shortest is an address, 10.0.0.1)."""


def for_page(value: Value, visit: Visit) -> Value:
    """`value` as this visitor may read it, in signs that can be seen."""
    if visit.private:
        return each_text(value, legible)
    return each_text(value, lambda text: legible(_redacted(text)), {"source": shown_source})


def document_for_reader(document: Document, visit: Visit) -> Document:
    """A JSON document as this visitor may read it."""
    return document if visit.private else each_text(document, _redacted, {"source": shown_source})


def shown_source(source: str) -> str:
    """The last two parts of a log's address: its folder and its name. What lies above is the operator's."""
    return "/".join(source.rstrip("/").split("/")[-2:])


def _redacted(text: str) -> str:
    return text if len(text) < SHORTEST else redacted(text)


def with_key(document: object, visit: Visit) -> object:
    """A JSON document whose links inside the site open for this visitor."""
    if visit.links.key is None:
        return document
    if isinstance(document, dict):
        return {
            name: visit.links.keyed(inner)
            if name in LINKS and isinstance(inner, str) and inner.startswith("/")
            else with_key(inner, visit)
            for name, inner in document.items()
        }
    if isinstance(document, list):
        return [with_key(inner, visit) for inner in document]
    return document
