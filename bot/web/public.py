"""Values as strangers may read them: every text in them redacted by the rules for public places.

In:  a report, a measured run, or a JSON document. Out: the same kind of value.
"""

from typing import TypeVar

import msgspec

from bot.report.model import Report
from bot.report.redact import redacted
from bot.verdict.judgement import MeasuredRun
from bot.web.access import Visit

Value = TypeVar("Value", Report, MeasuredRun)

SHORTEST = 8
"""Characters: nothing shorter is long enough for any rule (the shortest is an address, 10.0.0.1)."""


def for_reader(value: Value, visit: Visit) -> Value:
    """`value` as this visitor may read it."""
    if visit.private:
        return value
    return msgspec.convert(_redacted(msgspec.to_builtins(value)), type=type(value))


def document_for_reader(document: object, visit: Visit) -> object:
    """A JSON document as this visitor may read it."""
    return document if visit.private else _redacted(document)


def _redacted(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) < SHORTEST else redacted(value)
    if isinstance(value, dict):
        return {key: _redacted(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(inner) for inner in value]
    return value
