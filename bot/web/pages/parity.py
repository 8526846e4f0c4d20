"""`/{owner}/{repo}/parity/{ref}`: every case in every variant at one ref, and its transition since main."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import log
from statistics import median

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.logs.facts import RunLog
from bot.report.documents import SCHEMA_VERSION, json_number, percent_of_log
from bot.report.model import ParityTransition
from bot.report.wording import signed_percent, significant
from bot.storage import refs, reports, runs
from bot.storage.database import Connection
from bot.storage.link_scope import PullScope
from bot.storage.refs import Ref, RefKind, RunsByCase
from bot.verdict.comparability import OutcomeClass, side_outcome
from bot.verdict.judgement import MeasuredRun
from bot.web.addresses import API_PREFIX
from bot.web.answers import csv_answer, json_answer, wants_csv
from bot.web.api.responses import ParityCaseResponse, ParityCellResponse, ParityMatrixResponse, ParityOutcome
from bot.web.auth.access import Access, PageNotFound, UnknownName, document_for_reader
from bot.web.comparisons import ComparisonEnd, RequestedEnd, resolve_end, spell_end
from bot.web.layout import WebContext

CaseVariant = tuple[str, str]

MeasuredByCase = Mapping[CaseVariant, Sequence[MeasuredRun]]

SYMBOLS = {
    ParityOutcome.PASSES: "✅",
    ParityOutcome.FAILS: "❌",
    ParityOutcome.MIXED: "🟡",
    ParityOutcome.UNKNOWN: "⚪",
}

TONES = {ParityOutcome.PASSES: "good", ParityOutcome.FAILS: "red", ParityOutcome.MIXED: "unsettled"}

TRANSITION_WORDS = {
    ParityTransition.STILL_PASSES: "",
    ParityTransition.PASSES_NOW: "fail → pass",
    ParityTransition.FAILS_NOW: "pass → fail",
    ParityTransition.FAILS_THE_SAME: "fails the same",
    ParityTransition.FAILS_OTHERWISE: "fails otherwise",
    ParityTransition.MIXED: "some runs fail",
    ParityTransition.UNKNOWN: "",
}


class ParityCell(Struct, frozen=True, kw_only=True):
    """One case in one variant: its outcome here and on main, the transition, and its step time."""

    outcome: ParityOutcome
    on_main: ParityOutcome
    transition: ParityTransition
    error: str
    seconds: float | None
    change: float | None
    runs: int


class ParityMatrix(Struct, frozen=True, kw_only=True):
    """Cells by case, one for each variant in order."""

    variants: tuple[str, ...]
    cells: Mapping[str, tuple[ParityCell, ...]]
    against_main: bool


class ParityCellView(Struct, frozen=True, kw_only=True):
    """One cell as shown."""

    symbol: str
    word: str
    tone: str
    news: str
    figure: str
    link: str | None
    error: str


class ParityRowView(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    link: str | None
    cells: tuple[ParityCellView, ...]


class ParityView(Struct, frozen=True, kw_only=True):
    """The page."""

    tallies: tuple[str, ...]
    variants: tuple[str, ...]
    rows: tuple[ParityRowView, ...]
    against_main: bool


def parity_matrix(head: MeasuredByCase, main: MeasuredByCase | None, *, order: Sequence[str]) -> ParityMatrix:
    """Build the matrix; `main` is None if the ref is main itself, `order` the usual order of variants."""
    found = dict.fromkeys(variant for _, variant in sorted(head))
    variants = [one for one in order if one in found] + [one for one in found if one not in order]
    cases = dict.fromkeys(case for case, _ in sorted(head))
    return ParityMatrix(
        variants=tuple(variants),
        cells={case: _row_cells(case, variants, head, main or {}) for case in cases},
        against_main=main is not None,
    )


def _row_cells(
    case: str, variants: Sequence[str], head: MeasuredByCase, main: MeasuredByCase
) -> tuple[ParityCell, ...]:
    first = _median_seconds(head.get((case, variants[0]), ()))
    return tuple(
        _make_cell(head.get((case, variant), ()), main.get((case, variant), ()), first if place else None)
        for place, variant in enumerate(variants)
    )


def _make_cell(head: Sequence[MeasuredRun], main: Sequence[MeasuredRun], first: float | None) -> ParityCell:
    seconds = _median_seconds(head)
    outcome, on_main = _side_parity(head), _side_parity(main)
    failed = _failed_log(head)
    return ParityCell(
        outcome=outcome,
        on_main=on_main,
        transition=_transition(on_main, outcome, failed, _failed_log(main)),
        error=failed.outcome.failure.error if failed and failed.outcome.failure else "",
        seconds=seconds,
        change=log(seconds / first) if seconds and first else None,
        runs=len(head),
    )


def _side_parity(runs: Sequence[MeasuredRun]) -> ParityOutcome:
    side = side_outcome("", runs)
    if side.outcome not in {OutcomeClass.PASSED, OutcomeClass.FAILED}:
        return ParityOutcome.UNKNOWN
    if side.flaky:
        return ParityOutcome.MIXED
    return ParityOutcome.PASSES if side.outcome is OutcomeClass.PASSED else ParityOutcome.FAILS


def _failed_log(runs: Sequence[MeasuredRun]) -> RunLog | None:
    return next((run.log for run in runs if run.log.outcome.failure is not None), None)


def _transition(
    base: ParityOutcome, head: ParityOutcome, failed: RunLog | None, before: RunLog | None
) -> ParityTransition:
    if ParityOutcome.UNKNOWN in {base, head}:
        return ParityTransition.UNKNOWN
    if head is ParityOutcome.MIXED or (base is ParityOutcome.MIXED and head is ParityOutcome.PASSES):
        return ParityTransition.MIXED
    if head is ParityOutcome.PASSES:
        return ParityTransition.STILL_PASSES if base is ParityOutcome.PASSES else ParityTransition.PASSES_NOW
    if base is ParityOutcome.PASSES:
        return ParityTransition.FAILS_NOW
    return (
        ParityTransition.FAILS_THE_SAME
        if _fingerprint(failed) == _fingerprint(before)
        else ParityTransition.FAILS_OTHERWISE
    )


def _fingerprint(log: RunLog | None) -> str:
    return log.outcome.failure.fingerprint if log and log.outcome.failure else ""


def _median_seconds(runs: Sequence[MeasuredRun]) -> float | None:
    known = [seconds for run in runs if (seconds := run.measurements.steady.seconds)]
    return median(known) if known else None


def parity_view(matrix: ParityMatrix, access: Access, ref: str) -> ParityView:
    """Build the page."""
    return ParityView(
        tallies=tuple(_tally(matrix, place, access) for place in range(len(matrix.variants))),
        variants=tuple(access.text(variant) or "no variant" for variant in matrix.variants),
        rows=tuple(_row_view(matrix, case, access, ref) for case in matrix.cells),
        against_main=matrix.against_main,
    )


def _tally(matrix: ParityMatrix, column: int, access: Access) -> str:
    cells = [cells[column] for cells in matrix.cells.values()]
    known = [cell for cell in cells if cell.outcome is not ParityOutcome.UNKNOWN]
    passing = sum(cell.outcome is ParityOutcome.PASSES for cell in known)
    name = access.text(matrix.variants[column]) or "no variant"
    on_both = [cell for cell in known if cell.on_main is not ParityOutcome.UNKNOWN]
    before = sum(cell.on_main is ParityOutcome.PASSES for cell in on_both)
    now = sum(cell.outcome is ParityOutcome.PASSES for cell in on_both)
    since = (
        f" ({before} → {now} of the {len(on_both)} that main has too)"
        if matrix.against_main and on_both
        else ""
    )
    return f"{name}: {passing} of {len(known)} pass{since}"


def _row_view(matrix: ParityMatrix, case: str, access: Access, ref: str) -> ParityRowView:
    pair = None
    if len(matrix.variants) > 1:
        ends = [f"{ref}:{variant}" for variant in matrix.variants[:2]]
        pair = access.links.compare(access.repository, ends[0], ends[1], case)
    return ParityRowView(
        name=access.text(case),
        link=pair,
        cells=tuple(
            _cell_view(cell, access.links.history(access.repository, case, variant), access)
            for cell, variant in zip(matrix.cells[case], matrix.variants, strict=True)
        ),
    )


def _cell_view(cell: ParityCell, link: str, access: Access) -> ParityCellView:
    figure = "" if cell.seconds is None else f"{significant(cell.seconds)} s"
    return ParityCellView(
        symbol=SYMBOLS[cell.outcome] if cell.runs else "",
        word=cell.outcome.words if cell.runs else "no run",
        tone=TONES.get(cell.outcome, "quiet"),
        news=TRANSITION_WORDS[cell.transition],
        figure=figure + (f" ({signed_percent(cell.change)})" if cell.change is not None else ""),
        link=link if cell.runs else None,
        error=access.text(cell.error),
    )


CSV_HEADER = ("case", "variant", "standing", "on_main", "transition", "steady_step_seconds", "runs", "error")


class FoundParity(Struct, frozen=True, kw_only=True):
    """The requested matrix and its ref."""

    ref: Ref
    branch: str
    matrix: ParityMatrix

    @property
    def name(self) -> str:
        """The ref as addresses spell it."""
        return spell_end(ComparisonEnd(ref=self.ref))


async def parity_page(context: WebContext, request: Request) -> Response:
    """The page of every case in every variant."""
    access = await context.linked_access(request)
    found = await _requested_parity(context, request, access)
    if wants_csv(request):
        return _parity_csv(request, found, access)
    view = await run_in_threadpool(parity_view, found.matrix, access, found.name)
    values = {
        "view": view,
        "name": access.text(found.name),
        "branch": access.text(found.branch),
        "json": access.links.parity(access.repository, found.name, above=API_PREFIX),
        "csv": access.links.parity(access.repository, found.name, form="csv"),
    }
    return await context.page(request, "parity.html.j2", values, access=access)


async def parity_json(context: WebContext, request: Request) -> Response:
    """The same as JSON, or with `?format=csv` as CSV."""
    access = await context.linked_access(request)
    found = await _requested_parity(context, request, access)
    if wants_csv(request):
        return _parity_csv(request, found, access)
    return json_answer(
        request, document_for_reader(_parity_response(found, access), access), cache=access.cache
    )


async def _requested_parity(context: WebContext, request: Request, access: Access) -> FoundParity:
    name = request.path_params["ref"]
    branch = await context.default_branch(access.repository)
    read = partial(read_parity, scope=access.scope)
    return await run_in_threadpool(context.database.read_here, read, access.repository, branch, name)


def read_parity(
    connection: Connection, repository: str, branch: str, name: str, *, scope: PullScope | None = None
) -> FoundParity:
    """Read the runs of a ref and of main; raises `UnknownName` if nothing has that name. With a `scope`, of
    none but a pull request's own."""
    try:
        ref = resolve_end(connection, repository, RequestedEnd(name=name, variant=None)).ref
    except UnknownName:
        if scope is not None:
            raise PageNotFound from None
        raise
    if scope is not None and not scope.is_own(connection, ref):
        raise PageNotFound
    head = _runs_by_case(connection, refs.runs_of(connection, repository, ref))
    if not head:
        raise UnknownName(
            f"No measured run of {name} is known", "A run appears here as soon as its log was read."
        )
    default = refs.resolve(connection, repository, branch)
    main: MeasuredByCase | None = None
    if default is not None and (ref.kind is not RefKind.BRANCH or ref.branch != default.branch):
        main = _runs_by_case(connection, refs.runs_of(connection, repository, default))
    order = reports.report_defaults(connection, repository).variants
    return FoundParity(ref=ref, branch=branch, matrix=parity_matrix(head, main, order=order))


def _runs_by_case(
    connection: Connection, runs_by_case: RunsByCase
) -> dict[tuple[str, str], tuple[MeasuredRun, ...]]:
    ids = {entry.record.id for entries in runs_by_case.values() for entry in entries}
    measured = runs.measured(connection, ids)
    return {
        key: tuple(measured[entry.record.id] for entry in entries if entry.record.id in measured)
        for key, entries in runs_by_case.items()
    }


def _parity_response(found: FoundParity, access: Access) -> ParityMatrixResponse:
    matrix = found.matrix
    return ParityMatrixResponse(
        schema=SCHEMA_VERSION,
        repository=access.repository,
        name=found.ref.text,
        sha=found.ref.sha,
        against=found.branch if matrix.against_main else None,
        variants=matrix.variants,
        rows=tuple(
            ParityCaseResponse(
                case=case,
                cells=tuple(
                    _cell_response(variant, cell)
                    for variant, cell in zip(matrix.variants, cells, strict=True)
                ),
            )
            for case, cells in matrix.cells.items()
        ),
    )


def _cell_response(variant: str, cell: ParityCell) -> ParityCellResponse:
    return ParityCellResponse(
        variant=variant,
        standing=cell.outcome,
        on_main=cell.on_main,
        transition=cell.transition,
        steady_step_seconds=json_number(cell.seconds, 5),
        change_percent=percent_of_log(cell.change),
        runs=cell.runs,
        error=cell.error or None,
    )


def _parity_csv(request: Request, found: FoundParity, access: Access) -> Response:
    rows = [
        (
            access.text(case),
            access.text(variant),
            cell.outcome.words,
            cell.on_main.words if found.matrix.against_main else None,
            cell.transition.value,
            json_number(cell.seconds, 5),
            cell.runs,
            access.text(cell.error),
        )
        for case, cells in found.matrix.cells.items()
        for variant, cell in zip(found.matrix.variants, cells, strict=True)
    ]
    return csv_answer(request, f"parity-{found.name}", CSV_HEADER, rows, cache=access.cache)
