"""What the API answers, written down for programs: an OpenAPI 3.1 document, served at `/api/v1/openapi.json`.

In:  nothing. Out: the document.
Promises: version 1 keeps every key it has; new keys may be added. Tests hold every answer against it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from bot import __version__
from bot.web.history.view import NUMERIC
from bot.web.log_viewer.query import LONGEST_WORDS
from bot.web.schema.asked import Asked, whole
from bot.web.schema.logs import LOGS
from bot.web.schema.pages import PAGES
from bot.web.schema.reports import REPORTS
from bot.web.schema.runs import RUNS
from bot.web.schema.words import TEXT, WHOLE, Schema, either, ref, told

JSON = "application/json"
PLAIN = "text/plain; charset=utf-8"
CSV = "text/csv; charset=utf-8"

ABOUT = (
    "Every page of MaxView as JSON, under its own path below `/api/v1`. Answers carry an `ETag`: send it "
    "back as `If-None-Match`, and what did not change costs 304 and nothing else. What is not known is null, "
    "not 0. Addresses do not change. A value in a query that is not possible is answered 400. A repository "
    "that you may not see and one that does not exist are both 404."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One address: what it answers, and what may be asked of it."""

    path: str
    name: str
    what: str
    answers: Mapping[str, Schema]
    asked: tuple[Asked, ...] = ()


LARGEST = 2**53
"""Offsets, lines and sections: JSON's numbers are exact as far."""

_HEAD = Asked(
    name="head",
    what="An older head commit.",
    shape={
        "type": "string",
        "pattern": "^[0-9a-f]{4,64}$",
        "description": "the beginning of a commit, 4 to 64 hexadecimal digits in small letters",
    },
)
_CASE = Asked(name="case", what="A case by its name.")
_VARIANT = Asked(name="variant", what="A variant of it.")
_FORMAT = Asked(name="format", what="`csv` for a table.", shape={"type": "string", "enum": ["csv"]})

OPERATIONS = (
    Operation(
        path="/api/v1/",
        name="listRepositories",
        what="The public repositories.",
        answers={JSON: ref("Repositories")},
    ),
    Operation(
        path="/api/v1/{owner}/{repo}",
        name="readRepository",
        what="The pull requests of a repository, and how main stands.",
        answers={JSON: ref("Repository")},
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/pull/{number}",
        name="readReport",
        what="The report of a pull request's newest head commit.",
        answers={JSON: ref("Report")},
        asked=(_HEAD,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/branch/{branch}",
        name="readBranchReport",
        what="The report of the newest head commit of a branch that is watched without a pull request.",
        answers={JSON: ref("Report")},
        asked=(_HEAD,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/compare/{ends}",
        name="compare",
        what="Two names case by case: `main...574ad3f`, `main...pr/12`, `main:linen...main:nnx`.",
        answers={JSON: ref("Compared")},
        asked=(_CASE, _VARIANT),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/parity/{ref}",
        name="readParity",
        what="Every case in every variant at one name.",
        answers={JSON: ref("Matrix"), CSV: TEXT},
        asked=(_FORMAT,),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/history",
        name="readHistory",
        what="One metric of a case on a branch over time; without a case the newest runs of every case.",
        answers={JSON: either(ref("History"), ref("Histories")), CSV: TEXT},
        asked=(
            _CASE,
            _VARIANT,
            Asked(
                name="metric",
                what="A metric by its key; the steady step time without.",
                shape={"type": "string", "enum": [metric.key for metric in NUMERIC]},
            ),
            Asked(name="branch", what="A branch; the default branch without."),
            _FORMAT,
        ),
    ),
    Operation(
        path="/api/v1/runs/{id}",
        name="readRun",
        what="Everything known of a run.",
        answers={JSON: ref("Run")},
    ),
    Operation(
        path="/api/v1/runs/{id}/log",
        name="readLog",
        what="A part of a run's log, in whole lines; `Link` names the next part.",
        answers={PLAIN: TEXT},
        asked=(
            Asked(name="at", what="The byte to begin at.", shape=whole(0, LARGEST)),
            Asked(name="length", what="At most so many bytes.", shape=whole(1, LARGEST)),
        ),
    ),
    Operation(
        path="/api/v1/runs/{id}/log/search",
        name="searchLog",
        what="Where words stand in a run's log, as far as two seconds go; `next` goes on.",
        answers={JSON: ref("Found")},
        asked=(
            Asked(
                name="q",
                what="The words, as they are written.",
                shape={"type": "string", "maxLength": LONGEST_WORDS},
            ),
            Asked(
                name="case",
                what="`yes` where capitals count.",
                shape={"type": "string", "enum": ["yes", "no"]},
            ),
            Asked(
                name="regex",
                what="`yes` where the words are a regular expression, as RE2 reads it.",
                shape={"type": "string", "enum": ["yes", "no"]},
            ),
            Asked(name="at", what="The byte to go on at.", shape=whole(0, LARGEST)),
            Asked(name="line", what="The number of the line at that byte.", shape=whole(1, LARGEST)),
        ),
    ),
    Operation(
        path="/api/v1/{owner}/{repo}/compare-logs",
        name="compareLogs",
        what="The logs of two runs of the repository side by side.",
        answers={JSON: ref("LogsCompared")},
        asked=(
            Asked(name="base", what="A run by its id.", needed=True),
            Asked(name="head", what="Another.", needed=True),
            Asked(name="section", what="The section to go on at, from 0.", shape=whole(0, LARGEST)),
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
def openapi() -> dict[str, object]:
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
        "parameters": [_parameter(one) for one in (*_in_path(operation.path), *operation.asked)],
        "responses": {
            "200": {
                "description": operation.what,
                "headers": {
                    "ETag": {"schema": TEXT, "description": "The tag of this answer."},
                    "Cache-Control": {"schema": TEXT, "description": "Always asked again."},
                },
                "content": {kind: {"schema": shape} for kind, shape in operation.answers.items()},
            },
            **({"400": _problem("A value that is not possible.")} if operation.asked else {}),
            "304": {"description": "Nothing changed since the answer with this tag."},
            "404": _problem("What is missing."),
            "500": _problem("A fault of the program."),
            "503": _problem("What cannot be read right now."),
        },
    }


def _problem(what: str) -> dict[str, object]:
    return {"description": what, "content": {JSON: {"schema": ref("Problem")}}}


def _in_path(path: str) -> list[Asked]:
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
    shapes: dict[str, Schema] = {"number": WHOLE}
    return [Asked(name=name, what=what[name], where="path", shape=shapes.get(name)) for name in names]


def _parameter(asked: Asked) -> dict[str, object]:
    return {
        "name": asked.name,
        "in": asked.where,
        "required": asked.where == "path" or asked.needed,
        "description": asked.what,
        "schema": told(TEXT, asked.what) | (asked.shape or {}),
    }
