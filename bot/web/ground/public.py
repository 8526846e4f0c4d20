"""Values as strangers may read them: every text in them redacted by the rules for public places.

In:  a report, a measured run, or a JSON document. Out: the same kind of
value. Texts for a page are made legible besides.
"""

from typing import TypeVar

import msgspec

from bot.report.model import Report
from bot.report.redact import redacted
from bot.runs.records import RunRecord
from bot.runs.standing import RunStanding
from bot.verdict.judgement import MeasuredRun
from bot.web.ground.access import Visit
from bot.web.ground.legible import legible

LINKS = frozenset({"page", "json", "log"})
"""Names under which a report's document carries paths of this site."""

Value = TypeVar("Value", Report, MeasuredRun, RunRecord, RunStanding)

SHORTEST = 8
"""Characters: nothing shorter is long enough for any rule (the shortest is an address, 10.0.0.1)."""


def for_page(value: Value, visit: Visit) -> Value:
    """`value` as this visitor may read it, in signs that can be seen."""
    # These types are known since the start: see bot.storage.decoders.
    shown = document_for_reader(msgspec.to_builtins(value), visit)
    return msgspec.convert(_legible(shown), type=type(value))


def document_for_reader(document: object, visit: Visit) -> object:
    """A JSON document as this visitor may read it."""
    return document if visit.private else _redacted(document)


def shown_source(source: str) -> str:
    """The last two parts of a log's address: its folder and its name. What lies above is the operator's."""
    return "/".join(source.rstrip("/").split("/")[-2:])


def _redacted(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) < SHORTEST else redacted(value)
    if isinstance(value, dict):
        shown = {key: _redacted(inner) for key, inner in value.items()}
        if isinstance(source := shown.get("source"), str):
            shown["source"] = shown_source(source)
        return shown
    if isinstance(value, list | tuple):
        return [_redacted(inner) for inner in value]
    return value


def _legible(value: object) -> object:
    if isinstance(value, str):
        return legible(value)
    if isinstance(value, dict):
        return {key: _legible(inner) for key, inner in value.items()}
    return [_legible(inner) for inner in value] if isinstance(value, list | tuple) else value


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
