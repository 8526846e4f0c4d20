"""The API's description: an OpenAPI 3.1 document, served at `/api/v1/openapi.json`.

Version 1 keeps every key it has; new keys may be added. Tests validate every answer against it.
"""

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from bot import __version__
from bot.web.api.page_shapes import LOGS, PAGES, RUNS
from bot.web.api.parameters import Parameter, integer_schema
from bot.web.api.report_shapes import REPORTS
from bot.web.api.shapes import INTEGER, TEXT, Schema, any_of, described, reference
from bot.web.log_viewer.search import MAX_QUERY_LENGTH
from bot.web.pages.history import NUMERIC_METRICS

JSON = "application/json"

PLAIN = "text/plain; charset=utf-8"

CSV = "text/csv; charset=utf-8"

ABOUT = (
    "Every page of MaxView as JSON, under its own path below `/api/v1`. Answers carry an `ETag`: send it "
    "back as `If-None-Match`, and what did not change costs 304 and nothing else. What is not known is null, "
    "not 0. Addresses do not change. A value in a query that is not possible is answered 400. A repository "
    "that you may not see and one that does not exist are both 404."
)


class Operation(Struct, frozen=True, kw_only=True):
    """One address: what it answers, and what may be asked of it."""

    path: str
    name: str
    what: str
    answers: Mapping[str, Schema]
    parameters: tuple[Parameter, ...] = ()


MAX_INTEGER = 2**53
"""Offsets, lines and sections: JSON's numbers are exact as far."""

_HEAD = Parameter(
    name="head",
    what="An older head commit.",
    shape={
        "type": "string",
        "pattern": "^[0-9a-f]{4,64}$",
        "description": "the beginning of a commit, 4 to 64 hexadecimal digits in small letters",
    },
)

_CASE = Parameter(name="case", what="A case by its name.")

_VARIANT = Parameter(name="variant", what="A variant of it.")

_FORMAT = Parameter(name="format", what="`csv` for a table.", shape={"type": "string", "enum": ["csv"]})

OPERATIONS = (
    Operation(
        path="/api/v1/",
        name="listRepositories",
        what="The public repositories.",
        answers={JSON: reference("Repositories")},
    ),
    Operation(
        path="/api/v1/{owner}/{repo}",
        name="readRepository",
        what="The pull requests of a repository, and how main stands.",
        answers={JSON: reference("Repository")},
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/pull/{number}",
        name="readReport",
        what="The report of a pull request's newest head commit.",
        answers={JSON: reference("Report")},
        parameters=(_HEAD,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/branch/{branch}",
        name="readBranchReport",
        what="The report of the newest head commit of a branch that is watched without a pull request.",
        answers={JSON: reference("Report")},
        parameters=(_HEAD,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/compare/{ends}",
        name="compare",
        what="Two names case by case: `main...574ad3f`, `main...pr/12`, `main:linen...main:nnx`.",
        answers={JSON: reference("Compared")},
        parameters=(_CASE, _VARIANT),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/parity/{ref}",
        name="readParity",
        what="Every case in every variant at one name.",
        answers={JSON: reference("Matrix"), CSV: TEXT},
        parameters=(_FORMAT,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/history",
        name="readHistory",
        what="One metric of a case on a branch over time; without a case the newest runs of every case.",
        answers={JSON: any_of(reference("History"), reference("Histories")), CSV: TEXT},
        parameters=(
            _CASE,
            _VARIANT,
            Parameter(
                name="metric",
                what="A metric by its key; the steady step time without.",
                shape={"type": "string", "enum": [metric.key for metric in NUMERIC_METRICS]},
            ),
            Parameter(name="branch", what="A branch; the default branch without."),
            _FORMAT,
        ),
    ),
    Operation(
        path="/api/v1/runs/{id}",
        name="readRun",
        what="Everything known of a run.",
        answers={JSON: reference("Run")},
    ),
    Operation(
        path="/api/v1/runs/{id}/log",
        name="readLog",
        what="A part of a run's log, in whole lines; `Link` names the next part.",
        answers={PLAIN: TEXT},
        parameters=(
            Parameter(name="at", what="The byte to begin at.", shape=integer_schema(0, MAX_INTEGER)),
            Parameter(name="length", what="At most so many bytes.", shape=integer_schema(1, MAX_INTEGER)),
        ),
    ),
    Operation(
        path="/api/v1/runs/{id}/log/search",
        name="searchLog",
        what="Where words stand in a run's log, as far as two seconds go; `next` goes on.",
        answers={JSON: reference("Found")},
        parameters=(
            Parameter(
                name="q",
                what="The words, as they are written.",
                shape={"type": "string", "maxLength": MAX_QUERY_LENGTH},
            ),
            Parameter(
                name="case",
                what="`yes` where capitals count.",
                shape={"type": "string", "enum": ["yes", "no"]},
            ),
            Parameter(
                name="regex",
                what="`yes` where the words are a regular expression, as RE2 reads it.",
                shape={"type": "string", "enum": ["yes", "no"]},
            ),
            Parameter(name="at", what="The byte to go on at.", shape=integer_schema(0, MAX_INTEGER)),
            Parameter(
                name="line", what="The number of the line at that byte.", shape=integer_schema(1, MAX_INTEGER)
            ),
        ),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/compare-logs",
        name="compareLogs",
        what="The logs of two runs of the repository side by side.",
        answers={JSON: reference("LogsCompared")},
        parameters=(
            Parameter(name="base", what="A run by its id.", needed=True),
            Parameter(name="head", what="Another.", needed=True),
            Parameter(
                name="section", what="The section to go on at, from 0.", shape=integer_schema(0, MAX_INTEGER)
            ),
        ),
    ),
    Operation(
        path="/api/v1/openapi.json",
        name="readDescription",
        what="This document.",
        answers={JSON: {"type": "object"}},
    ),
)


@lru_cache(maxsize=1)
def openapi_document() -> dict[str, object]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "MaxView", "version": __version__, "description": ABOUT},
        "paths": {operation.path: {"get": _operation(operation)} for operation in OPERATIONS},
        "components": {"schemas": {**RUNS, **REPORTS, **PAGES, **LOGS}},
    }


def _operation(operation: Operation) -> dict[str, object]:
    return {
        "operationId": operation.name,
        "summary": operation.what,
        "parameters": [
            _parameter_document(one) for one in (*_path_parameters(operation.path), *operation.parameters)
        ],
        "responses": {
            "200": {
                "description": operation.what,
                "headers": {
                    "ETag": {"schema": TEXT, "description": "The tag of this answer."},
                    "Cache-Control": {"schema": TEXT, "description": "Always asked again."},
                },
                "content": {kind: {"schema": shape} for kind, shape in operation.answers.items()},
            },
            **({"400": _error_response("A value that is not possible.")} if operation.parameters else {}),
            "304": {"description": "Nothing changed since the answer with this tag."},
            "404": _error_response("What is missing."),
            "500": _error_response("A fault of the program."),
            "503": _error_response("What cannot be read right now."),
        },
    }


def _error_response(what: str) -> dict[str, object]:
    return {"description": what, "content": {JSON: {"schema": reference("Problem")}}}


def _path_parameters(path: str) -> list[Parameter]:
    names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
    what = {
        "owner": "Who the repository belongs to.",
        "repo": "Its name.",
        "number": "The pull request's number.",
        "branch": "A branch without a pull request that the configuration watches.",
        "ends": "Two names joined by three dots.",
        "ref": "A branch, a commit of at least 7 digits, or a pull request as `pr/12`.",
        "id": "The run's id.",
    }
    shapes: dict[str, Schema] = {"number": INTEGER}
    return [Parameter(name=name, what=what[name], where="path", shape=shapes.get(name)) for name in names]


def _parameter_document(asked: Parameter) -> dict[str, object]:
    return {
        "name": asked.name,
        "in": asked.where,
        "required": asked.where == "path" or asked.needed,
        "description": asked.what,
        "schema": described(TEXT, asked.what) | (asked.shape or {}),
    }
