"""The pages of comparisons, and the same as JSON.

In:  two names of a repository, and what is in the database. Out: HTML, JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.report.model import CaseReport
from bot.storage.database import Connection
from bot.verdict.judgement import MeasuredRun
from bot.web.cases.comparisons import Comparisons
from bot.web.cases.pairing import Pairing, match
from bot.web.compare.ask import Asked, asked_ends, checked, chosen_row, known_end
from bot.web.compare.document import compare_document
from bot.web.compare.view import compare_view, spelt
from bot.web.frame.parts import Parts
from bot.web.ground.access import Visit, visit
from bot.web.ground.answers import json_answer
from bot.web.ground.branches import default_branch
from bot.web.ground.public import document_for_reader, with_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A comparison as far as it was asked for: all rows, and the runs of the one that was chosen."""

    pairing: Pairing
    rows: tuple[CaseReport, ...]
    chosen: int | None
    measured: Mapping[str, MeasuredRun]


async def compare_page(parts: Parts, request: Request) -> Response:
    """Two names case by case, or one case of them in full."""
    here = await visit(request, parts.database, parts.key)
    found = await _found(parts, request, here)
    view = await run_in_threadpool(
        compare_view, found.pairing, found.rows, here, chosen=found.chosen, measured=found.measured
    )
    values = {"visit": here, "view": view, "json": _json_link(found, here)}
    return await parts.page(request, "comparison.html.j2", values, visit=here)


async def compare_json(parts: Parts, request: Request) -> Response:
    """The same comparison as JSON."""
    here = await visit(request, parts.database, parts.key)
    found = await _found(parts, request, here)

    def document() -> object:
        made = compare_document(found.pairing, found.rows, found.chosen)
        return with_key(document_for_reader(made, here), here)

    return json_answer(request, await run_in_threadpool(document), cache=here.cache)


async def _found(parts: Parts, request: Request, here: Visit) -> Found:
    base, head = asked_ends(request.path_params["ends"])
    branch = await default_branch(parts.database, here.repository)
    asked = request.query_params.get("case"), request.query_params.get("variant")
    wanted = partial(find, ends=(base, head), asked=asked)
    return await run_in_threadpool(parts.database.look, wanted, parts.comparisons, here.repository, branch)


def find(
    connection: Connection,
    comparisons: Comparisons,
    repository: str,
    branch: str,
    *,
    ends: tuple[Asked, Asked],
    asked: tuple[str | None, str | None],
) -> Found:
    """Read and compare what an address asks for."""
    base, head = (known_end(connection, repository, end) for end in ends)
    pairing = checked(match(connection, repository, branch, base, head))
    chosen = chosen_row(pairing, *asked)
    found = comparisons.rows(connection, pairing, chosen)
    return Found(pairing=pairing, rows=found.rows, chosen=chosen, measured=found.measured)


def _json_link(found: Found, here: Visit) -> str:
    row = found.pairing.rows[found.chosen] if found.chosen is not None else None
    return here.links.compare_json(
        here.repository,
        spelt(found.pairing.base),
        spelt(found.pairing.head),
        row.case if row else None,
        row.variants[1] if row and row.variants[0] == row.variants[1] else None,
    )
