"""The page of parity: every case in every variant, and the same as JSON and CSV.

In:  a name of a repository, and what is in the database. Out: HTML, JSON, CSV.
"""

from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.report.numbers import number, percent_of_log
from bot.report.run_document import SCHEMA
from bot.storage import refs, reports, runs
from bot.storage.database import Connection
from bot.storage.refs import Kind, Ref, Runs
from bot.verdict.judgement import MeasuredRun
from bot.web.cases.pairing import End
from bot.web.compare.ask import Asked, known_end
from bot.web.compare.parity_view import Cell, Matrix, Sides, matrix, parity_view
from bot.web.compare.view import spelt
from bot.web.frame.parts import Parts
from bot.web.ground.access import Unclear, Visit, visit
from bot.web.ground.answers import json_answer
from bot.web.ground.branches import default_branch
from bot.web.ground.csv_answer import csv_answer, wants_csv
from bot.web.ground.public import document_for_reader

HEADER = ("case", "variant", "standing", "on_main", "transition", "steady_step_seconds", "runs", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A matrix, and the name it is of."""

    ref: Ref
    branch: str
    matrix: Matrix

    @property
    def name(self) -> str:
        """The name as an address spells it."""
        return spelt(End(ref=self.ref))


async def parity_page(parts: Parts, request: Request) -> Response:
    """Every case in every variant."""
    here = await visit(request, parts.database, parts.key)
    found = await _found(parts, request, here)
    if wants_csv(request):
        return _csv(request, found, here)
    view = await run_in_threadpool(parity_view, found.matrix, here, found.name)
    values = {
        "visit": here,
        "view": view,
        "name": here.text(found.name),
        "branch": here.text(found.branch),
        "json": here.links.parity(here.repository, found.name, above="/api/v1"),
        "csv": here.links.parity(here.repository, found.name, form="csv"),
    }
    return await parts.page(request, "parity.html.j2", values, visit=here)


async def parity_json(parts: Parts, request: Request) -> Response:
    """The same as JSON, or with `?format=csv` as CSV."""
    here = await visit(request, parts.database, parts.key)
    found = await _found(parts, request, here)
    if wants_csv(request):
        return _csv(request, found, here)
    return json_answer(request, document_for_reader(_document(found, here), here), cache=here.cache)


async def _found(parts: Parts, request: Request, here: Visit) -> Found:
    name = request.path_params["ref"]
    branch = await default_branch(parts.database, here.repository)
    return await run_in_threadpool(parts.database.look, find, here.repository, branch, name)


def find(connection: Connection, repository: str, branch: str, name: str) -> Found:
    """Read the runs of a name, and main's; `Unclear` where nothing is known by that name."""
    ref = known_end(connection, repository, Asked(name=name, variant=None)).ref
    head = _sides(connection, refs.runs_of(connection, repository, ref))
    if not head:
        raise Unclear(
            f"No measured run of {name} is known", "A run appears here as soon as its log was read."
        )
    default = refs.resolve(connection, repository, branch)
    main: Sides | None = None
    if default is not None and (ref.kind is not Kind.BRANCH or ref.branch != default.branch):
        main = _sides(connection, refs.runs_of(connection, repository, default))
    order = reports.habits(connection, repository).variants
    return Found(ref=ref, branch=branch, matrix=matrix(head, main, order=order))


def _sides(connection: Connection, known: Runs) -> dict[tuple[str, str], tuple[MeasuredRun, ...]]:
    ids = {kept.record.id for some in known.values() for kept in some}
    measured = runs.measured(connection, ids)
    return {
        key: tuple(measured[kept.record.id] for kept in some if kept.record.id in measured)
        for key, some in known.items()
    }


def _document(found: Found, here: Visit) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "repository": here.repository,
        "name": found.ref.text,
        "sha": found.ref.sha,
        "against": found.branch if found.matrix.against_main else None,
        "variants": list(found.matrix.variants),
        "rows": [
            {
                "case": case,
                "cells": [
                    {"variant": variant, **_cell(cell)}
                    for variant, cell in zip(found.matrix.variants, cells, strict=True)
                ],
            }
            for case, cells in found.matrix.cells.items()
        ],
    }


def _cell(cell: Cell) -> dict[str, object]:
    return {
        "standing": cell.standing.replace(" ", "_"),
        "on_main": cell.base.replace(" ", "_"),
        "transition": cell.transition.value,
        "steady_step_seconds": number(cell.seconds, 5),
        "change_percent": percent_of_log(cell.change),
        "runs": cell.runs,
        "error": cell.error or None,
    }


def _csv(request: Request, found: Found, here: Visit) -> Response:
    rows = [
        (
            here.text(case),
            here.text(variant),
            cell.standing,
            cell.base if found.matrix.against_main else None,
            cell.transition.value,
            number(cell.seconds, 5),
            cell.runs,
            here.text(cell.error),
        )
        for case, cells in found.matrix.cells.items()
        for variant, cell in zip(found.matrix.variants, cells, strict=True)
    ]
    return csv_answer(request, f"parity-{found.name}", HEADER, rows, cache=here.cache)
