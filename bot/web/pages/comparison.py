"""`/{owner}/{repo}/compare/{base}...{head}`: two refs case by case, or one case of them in full."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.report.assess import headline, row_words
from bot.report.documents import (
    SCHEMA_VERSION,
    comparison_response,
    run_line,
    verdict_response,
)
from bot.report.links import case_anchor
from bot.report.model import CaseReport, Report, RowState
from bot.report.wording import counted
from bot.storage.database import Connection
from bot.storage.link_scope import PullScope
from bot.storage.refs import MeasuredRecord, RefKind
from bot.verdict.comparability import ComparisonAxis
from bot.verdict.judgement import MeasuredRun
from bot.web.answers import json_answer
from bot.web.api.responses import (
    ChosenCaseResponse,
    ComparedCaseResponse,
    EndResponse,
    RefComparisonResponse,
)
from bot.web.auth.access import Access, PageNotFound, UnknownName, document_for_reader, for_page
from bot.web.comparisons import (
    ComparisonCache,
    ComparisonEnd,
    PairedCase,
    Pairing,
    RequestedEnd,
    find_row,
    pair_cases,
    parse_ends,
    require_runs,
    resolve_end,
    spell_end,
)
from bot.web.layout import WebContext
from bot.web.pages.case import CaseView, RowLine, SideNames, case_view, row_line

ACROSS_VARIANTS = {
    RowState.NEW_FAILURE: "fails in {head}, passes in {base}",
    RowState.FIXED: "passes in {head}, fails in {base}",
    RowState.FAILS_ON_BOTH: "fails in both",
}
"""Words for two variants of one commit, which are not before and after."""


class EndView(Struct, frozen=True, kw_only=True):
    """One end: its name, which runs are compared, its link on GitHub."""

    name: str
    what: str
    link: str | None


class CaseLink(Struct, frozen=True, kw_only=True):
    """An overview row and the link to its case."""

    line: RowLine
    link: str
    chosen: bool


class CompareView(Struct, frozen=True, kw_only=True):
    """The page; `case` is shown in full, `place` is its number, `before` and `after` are its neighbours."""

    headline: str
    base: EndView
    head: EndView
    rows: tuple[CaseLink, ...]
    swapped: str
    overview: str
    case: CaseView | None = None
    place: int = 0
    before: CaseLink | None = None
    after: CaseLink | None = None


def compare_view(
    pairing: Pairing,
    rows: Sequence[CaseReport],
    access: Access,
    *,
    chosen: int | None = None,
    measured: Mapping[str, MeasuredRun] | None = None,
) -> CompareView:
    """Build the page; `rows` match the pairing's, and the chosen one has its whole comparison."""
    report = as_report(pairing, rows)
    order = reading_order(rows)
    lines = [
        CaseLink(
            line=_overview_row(report, rows[place], pairing, access),
            link=case_link(pairing, place, access),
            chosen=place == chosen,
        )
        for place in order
    ]
    view = CompareView(
        headline=access.text(_headline(report, pairing, [row.line for row in lines])),
        base=_end_view(pairing.base, [row.base for row in pairing.rows], access),
        head=_end_view(pairing.head, [row.head for row in pairing.rows], access),
        rows=tuple(lines),
        swapped=access.links.compare(pairing.repository, spell_end(pairing.head), spell_end(pairing.base)),
        overview=access.links.compare(pairing.repository, spell_end(pairing.base), spell_end(pairing.head)),
    )
    return (
        view if chosen is None else _with_case(view, pairing, rows, access, chosen=chosen, measured=measured)
    )


def _with_case(
    view: CompareView,
    pairing: Pairing,
    rows: Sequence[CaseReport],
    access: Access,
    *,
    chosen: int,
    measured: Mapping[str, MeasuredRun] | None,
) -> CompareView:
    """The page with one case in full."""
    one = for_page(as_report(pairing, [rows[chosen]]), access)
    case = case_view(
        one, one.rows[0], access, anchor="case", measured=measured, names=side_names(pairing, access)
    )
    words = _variant_words(pairing, rows[chosen].state)
    lines = dict(zip(reading_order(rows), view.rows, strict=True))
    before, after = _neighbours(chosen, [lines[place] for place in range(len(rows))])
    return replace(
        view,
        base=_end_view(pairing.base, [pairing.rows[chosen].base], access),
        head=_end_view(pairing.head, [pairing.rows[chosen].head], access),
        case=replace(case, word=words or case.word),
        place=chosen + 1,
        before=before,
        after=after,
    )


def _headline(report: Report, pairing: Pairing, lines: Sequence[RowLine]) -> str:
    """The report's headline; for two variants the rows' words, since they are not before and after."""
    if pairing.across is not ComparisonAxis.VARIANTS:
        return headline(report).replace("MaxView: ", "")
    numbers = Counter(line.word for line in lines)
    return f"{lines[0].symbol} {' · '.join(f'{number} {word}' for word, number in numbers.items())}"


def _neighbours(chosen: int, by_name: Sequence[CaseLink]) -> tuple[CaseLink | None, CaseLink | None]:
    """The neighbours of a case in the order of names, which does not change with the verdicts."""
    before = by_name[chosen - 1] if chosen else None
    return before, by_name[chosen + 1] if chosen + 1 < len(by_name) else None


def as_report(pairing: Pairing, rows: Sequence[CaseReport]) -> Report:
    """The rows as a report, to use its wording."""
    return Report(
        repository=pairing.repository,
        number=pairing.head.ref.number or 0,
        title="",
        head_sha=pairing.head.ref.sha or "",
        head_branch=spell_end(pairing.head),
        base_branch=spell_end(pairing.base),
        merge_base=None,
        made_at=0.0,
        rows=tuple(rows),
        variants=pairing.defaults.variants if pairing.across is ComparisonAxis.COMMITS else (),
        practical_percent=pairing.defaults.practical_percent,
        equivalence_percent=pairing.defaults.equivalence_percent,
    )


def reading_order(rows: Sequence[CaseReport]) -> list[int]:
    """The indexes of the rows, those that need a person first."""
    return sorted(
        range(len(rows)),
        key=lambda place: (-row_words(rows[place], "").rank, rows[place].case, rows[place].variant),
    )


def side_names(pairing: Pairing, access: Access) -> SideNames:
    """The names of the sides: the variants if only those differ."""
    if pairing.across is ComparisonAxis.VARIANTS:
        return SideNames(
            base=access.text(pairing.base.variant or ""), head=access.text(pairing.head.variant or "")
        )
    return SideNames(base=access.text(spell_end(pairing.base)), head=access.text(spell_end(pairing.head)))


def case_link(pairing: Pairing, place: int, access: Access) -> str:
    """The address of one case's page."""
    row = pairing.rows[place]
    variant = row.variants[1] if row.variants[0] == row.variants[1] else None
    return access.links.compare(
        pairing.repository, spell_end(pairing.base), spell_end(pairing.head), row.case, variant
    )


def _overview_row(report: Report, row: CaseReport, pairing: Pairing, access: Access) -> RowLine:
    line = row_line(report, row, case_anchor(row.key))
    words = _variant_words(pairing, row.state)
    return replace(line, name=access.text(line.name), word=words or line.word)


def _variant_words(pairing: Pairing, state: RowState) -> str:
    if pairing.across is not ComparisonAxis.VARIANTS or state not in ACROSS_VARIANTS:
        return ""
    return ACROSS_VARIANTS[state].format(base=pairing.base.variant, head=pairing.head.variant)


def _end_view(end: ComparisonEnd, runs: Sequence[Sequence[MeasuredRecord]], access: Access) -> EndView:
    ref, count = end.ref, counted(sum(map(len, runs)), "run")
    commits = {kept.record.sha for some in runs for kept in some}
    links = access.links
    link: str | None = None
    match ref.kind:
        case RefKind.BRANCH if len(commits) == 1 and (sha := commits.pop()):
            what, link = f"{count} of {sha[:7]}", links.commit_on_github(access.repository, sha)
        case RefKind.BRANCH:
            what = f"{count}, of each case's newest commit"
        case RefKind.PULL:
            what, link = (
                f"{count} of its head commit",
                links.pull_on_github(access.repository, ref.number or 0),
            )
        case _:
            what, link = count, links.commit_on_github(access.repository, ref.sha or "")
    name = f"{spell_end(end)} ({ref.sha[:7]})" if ref.kind is RefKind.PULL and ref.sha else spell_end(end)
    return EndView(name=access.text(name), what=what, link=link)


def comparison_page_response(
    pairing: Pairing, rows: Sequence[CaseReport], chosen: int | None
) -> RefComparisonResponse:
    """Every case with its verdict; the chosen one's whole comparison in addition."""
    return RefComparisonResponse(
        schema=SCHEMA_VERSION,
        repository=pairing.repository,
        base=_end_response(pairing.base),
        head=_end_response(pairing.head),
        across=pairing.across,
        rows=tuple(_compared_case(row, pair) for row, pair in zip(rows, pairing.rows, strict=True)),
        chosen=_chosen_case(rows[chosen], pairing.rows[chosen]) if chosen is not None else None,
    )


def _end_response(end: ComparisonEnd) -> EndResponse:
    return EndResponse(
        name=end.ref.text,
        spelt=spell_end(end),
        kind=end.ref.kind,
        branch=end.ref.branch,
        sha=end.ref.sha,
        number=end.ref.number,
        variant=end.variant,
    )


def _compared_case(row: CaseReport, pair: PairedCase) -> ComparedCaseResponse:
    return ComparedCaseResponse(
        case=row.case,
        base_variant=pair.variants[0],
        head_variant=pair.variants[1],
        state=row.state,
        comparison=verdict_response(row.comparison) if row.comparison else None,
        base_runs=tuple(run_line(run) for run in row.base_runs),
        head_runs=tuple(run_line(run) for run in row.head_runs),
    )


def _chosen_case(row: CaseReport, pair: PairedCase) -> ChosenCaseResponse:
    return ChosenCaseResponse(
        case=row.case,
        base_variant=pair.variants[0],
        head_variant=pair.variants[1],
        comparison=comparison_response(row.comparison) if row.comparison else None,
    )


class FoundComparison(Struct, frozen=True, kw_only=True):
    """The requested comparison: all rows, and the measured runs of the chosen one."""

    pairing: Pairing
    rows: tuple[CaseReport, ...]
    chosen: int | None
    measured: Mapping[str, MeasuredRun]


async def compare_page(context: WebContext, request: Request) -> Response:
    """The page of two refs case by case, or of one case in full."""
    access = await context.linked_access(request)
    found = await _requested_comparison(context, request, access)
    view = await run_in_threadpool(
        compare_view, found.pairing, found.rows, access, chosen=found.chosen, measured=found.measured
    )
    values = {"view": view, "json": _json_link(found, access)}
    return await context.page(request, "comparison.html.j2", values, access=access)


async def compare_json(context: WebContext, request: Request) -> Response:
    """The same comparison as JSON."""
    access = await context.linked_access(request)
    found = await _requested_comparison(context, request, access)

    def document() -> object:
        response = comparison_page_response(found.pairing, found.rows, found.chosen)
        return to_builtins(document_for_reader(response, access))

    return json_answer(request, await run_in_threadpool(document), cache=access.cache)


async def _requested_comparison(context: WebContext, request: Request, access: Access) -> FoundComparison:
    base, head = parse_ends(request.path_params["ends"])
    branch = await context.default_branch(access.repository)
    row = request.query_params.get("case"), request.query_params.get("variant")
    read = partial(read_comparison, ends=(base, head), row=row, scope=access.scope)
    return await run_in_threadpool(
        context.database.read_here, read, context.comparisons, access.repository, branch
    )


def read_comparison(
    connection: Connection,
    comparisons: ComparisonCache,
    repository: str,
    branch: str,
    *,
    ends: tuple[RequestedEnd, RequestedEnd],
    row: tuple[str | None, str | None],
    scope: PullScope | None = None,
) -> FoundComparison:
    """Read and compare the requested ends; with a `scope`, none but a pull request's own and its base."""
    try:
        base, head = (resolve_end(connection, repository, end) for end in ends)
    except UnknownName:
        # What may be meant instead is none of a link's business.
        if scope is not None:
            raise PageNotFound from None
        raise
    if scope is not None and not scope.opens_comparison(connection, base.ref, head.ref):
        raise PageNotFound
    pairing = require_runs(pair_cases(connection, repository, branch, base, head))
    chosen = find_row(pairing, *row)
    found = comparisons.rows(connection, pairing, chosen)
    return FoundComparison(pairing=pairing, rows=found.rows, chosen=chosen, measured=found.measured)


def _json_link(found: FoundComparison, access: Access) -> str:
    row = found.pairing.rows[found.chosen] if found.chosen is not None else None
    return access.links.compare_json(
        access.repository,
        spell_end(found.pairing.base),
        spell_end(found.pairing.head),
        row.case if row else None,
        row.variants[1] if row and row.variants[0] == row.variants[1] else None,
    )
