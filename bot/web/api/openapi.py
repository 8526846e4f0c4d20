"""The API's description: an OpenAPI 3.1 document, served at `/api/v1/openapi.json`.

Version 1 keeps every key it has; new keys may be added. Tests validate every answer against it.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from bot import __version__
from bot.report.responses import ReportResponse
from bot.verdict.judgement import Explanation
from bot.web.api.parameters import Parameter, Schema, integer_schema
from bot.web.api.responses import (
    ErrorResponse,
    HistoriesResponse,
    HistoryResponse,
    LogComparisonResponse,
    LogSearchResponse,
    ParityMatrixResponse,
    RefComparisonResponse,
    RepositoriesResponse,
    RepositoryResponse,
    RunResponse,
    UnmeasuredRunResponse,
)
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
    """One address: the types it answers with, by media type, and its query parameters."""

    path: str
    name: str
    what: str
    answers: Mapping[str, tuple[object, ...]]
    parameters: tuple[Parameter, ...] = ()


MAX_INTEGER = 2**53
"""The largest offset, line or section: JSON numbers are exact up to it."""

_HEAD = Parameter(
    name="head",
    what="An older head commit.",
    schema={
        "type": "string",
        "pattern": "^[0-9a-f]{4,64}$",
        "description": "the beginning of a commit, 4 to 64 hexadecimal digits in small letters",
    },
)

_CASE = Parameter(name="case", what="A case by its name.")

_VARIANT = Parameter(name="variant", what="A variant of it.")

_FORMAT = Parameter(name="format", what="`csv` for a table.", schema={"type": "string", "enum": ["csv"]})

OPERATIONS = (
    Operation(
        path="/api/v1/",
        name="listRepositories",
        what="The public repositories.",
        answers={JSON: (RepositoriesResponse,)},
    ),
    Operation(
        path="/api/v1/{owner}/{repo}",
        name="readRepository",
        what="The pull requests of a repository, and how main stands.",
        answers={JSON: (RepositoryResponse,)},
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/pull/{number}",
        name="readReport",
        what="The report of a pull request's newest head commit.",
        answers={JSON: (ReportResponse,)},
        parameters=(_HEAD,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/branch/{branch}",
        name="readBranchReport",
        what="The report of the newest head commit of a branch that is watched without a pull request.",
        answers={JSON: (ReportResponse,)},
        parameters=(_HEAD,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/compare/{ends}",
        name="compare",
        what="Two names case by case: `main...574ad3f`, `main...pr/12`, `main:linen...main:nnx`.",
        answers={JSON: (RefComparisonResponse,)},
        parameters=(_CASE, _VARIANT),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/parity/{ref}",
        name="readParity",
        what="Every case in every variant at one name.",
        answers={JSON: (ParityMatrixResponse,), CSV: (str,)},
        parameters=(_FORMAT,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/history",
        name="readHistory",
        what="One metric of a case on a branch over time; without a case the newest runs of every case.",
        answers={JSON: (HistoryResponse, HistoriesResponse), CSV: (str,)},
        parameters=(
            _CASE,
            _VARIANT,
            Parameter(
                name="metric",
                what="A metric by its key; the steady step time without.",
                schema={"type": "string", "enum": [metric.key for metric in NUMERIC_METRICS]},
            ),
            Parameter(name="branch", what="A branch; the default branch without."),
            _FORMAT,
        ),
    ),
    Operation(
        path="/api/v1/runs/{id}",
        name="readRun",
        what="Everything known of a run.",
        answers={JSON: (RunResponse, UnmeasuredRunResponse)},
    ),
    Operation(
        path="/api/v1/runs/{id}/log",
        name="readLog",
        what="A part of a run's log, in whole lines; `Link` names the next part.",
        answers={PLAIN: (str,)},
        parameters=(
            Parameter(name="at", what="The byte to begin at.", schema=integer_schema(0, MAX_INTEGER)),
            Parameter(name="length", what="At most so many bytes.", schema=integer_schema(1, MAX_INTEGER)),
        ),
    ),
    Operation(
        path="/api/v1/runs/{id}/log/search",
        name="searchLog",
        what="Where words stand in a run's log, as far as two seconds go; `next` goes on.",
        answers={JSON: (LogSearchResponse,)},
        parameters=(
            Parameter(
                name="q",
                what="The words, as they are written.",
                schema={"type": "string", "maxLength": MAX_QUERY_LENGTH},
            ),
            Parameter(
                name="case",
                what="`yes` where capitals count.",
                schema={"type": "string", "enum": ["yes", "no"]},
            ),
            Parameter(
                name="regex",
                what="`yes` where the words are a regular expression, as RE2 reads it.",
                schema={"type": "string", "enum": ["yes", "no"]},
            ),
            Parameter(name="at", what="The byte to go on at.", schema=integer_schema(0, MAX_INTEGER)),
            Parameter(
                name="line",
                what="The number of the line at that byte.",
                schema=integer_schema(1, MAX_INTEGER),
            ),
        ),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/compare-logs",
        name="compareLogs",
        what="The logs of two runs of the repository side by side.",
        answers={JSON: (LogComparisonResponse,)},
        parameters=(
            Parameter(name="base", what="A run by its id.", required=True),
            Parameter(name="head", what="Another.", required=True),
            Parameter(
                name="section", what="The section to go on at, from 0.", schema=integer_schema(0, MAX_INTEGER)
            ),
        ),
    ),
    Operation(
        path="/api/v1/openapi.json",
        name="readDescription",
        what="This document.",
        answers={JSON: (dict[str, Any],)},
    ),
)


@lru_cache(maxsize=1)
def openapi_document() -> dict[str, object]:
    """The whole document."""
    answered = [kind for operation in OPERATIONS for kinds in operation.answers.values() for kind in kinds]
    types = [*dict.fromkeys(answered), ErrorResponse]
    shapes, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schemas = dict(zip(types, shapes, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {"title": "MaxView", "version": __version__, "description": ABOUT},
        "paths": {operation.path: {"get": _operation(operation, schemas)} for operation in OPERATIONS},
        "components": {"schemas": {**components, **_explanation_schemas()}},
    }


def _explanation_schemas() -> dict[str, Schema]:
    """The explanation is answered as it was computed: a figure that is no number becomes null."""
    _, components = msgspec.json.schema_components([Explanation], ref_template="#/components/schemas/{name}")
    return {name: _with_nullable_numbers(schema) for name, schema in components.items()}


def _with_nullable_numbers(schema: Schema) -> Schema:
    if schema.get("type") == "number":
        return {"type": ["number", "null"]}
    return {name: _inside(value) for name, value in schema.items() if name != "default"}


def _inside(value: object) -> object:
    if isinstance(value, dict):
        return _with_nullable_numbers(value)
    return [_inside(one) for one in value] if isinstance(value, list) else value


def _operation(operation: Operation, schemas: Mapping[object, Schema]) -> dict[str, object]:
    problem = {"content": {JSON: {"schema": schemas[ErrorResponse]}}}
    text = {"type": "string"}
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
                    "ETag": {"schema": text, "description": "The tag of this answer."},
                    "Cache-Control": {"schema": text, "description": "Always asked again."},
                },
                "content": {
                    media: {"schema": _any_of([schemas[kind] for kind in kinds])}
                    for media, kinds in operation.answers.items()
                },
            },
            **(
                {"400": {"description": "A value that is not possible.", **problem}}
                if operation.parameters
                else {}
            ),
            "304": {"description": "Nothing changed since the answer with this tag."},
            "404": {"description": "What is missing.", **problem},
            "500": {"description": "A fault of the program.", **problem},
            "503": {"description": "What cannot be read right now.", **problem},
        },
    }


def _any_of(schemas: list[Schema]) -> Schema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


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
    schemas: dict[str, Schema] = {"number": {"type": "integer"}}
    return [Parameter(name=name, what=what[name], where="path", schema=schemas.get(name)) for name in names]


def _parameter_document(parameter: Parameter) -> dict[str, object]:
    return {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.where == "path" or parameter.required,
        "description": parameter.what,
        "schema": {"type": "string", "description": parameter.what} | (parameter.schema or {}),
    }
