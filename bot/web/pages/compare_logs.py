"""`/{owner}/{repo}/compare-logs?base=RUN&head=RUN`: two logs of the repository side by side, by sections."""

from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.domain.run import RunRecord
from bot.report.documents import SCHEMA_VERSION
from bot.storage import runs
from bot.verdict.judgement import MeasuredRun
from bot.web.addresses import API_PREFIX
from bot.web.answers import json_answer
from bot.web.api.responses import (
    ComparedRunResponse,
    LineRowResponse,
    LogComparisonResponse,
    LogSectionResponse,
    SettingResponse,
    SideLineResponse,
)
from bot.web.auth.access import (
    MAX_NAME_LENGTH,
    Access,
    PageNotFound,
    UnknownName,
    for_page,
)
from bot.web.layout import WebContext, query_number
from bot.web.log_viewer.comparison import (
    SECTIONS_PER_PAGE,
    LogComparison,
    LogSide,
    SectionView,
    SideLine,
    compare_logs,
)
from bot.web.log_viewer.source import reading_logs

NOT_READ = "These logs cannot be set side by side"

NOT_READ_WHY = (
    "One of these runs has not been read yet, so its events are not known. Its log can be opened alone."
)


async def compare_logs_page(context: WebContext, request: Request) -> Response:
    """The page of sections from `?section=` on."""
    access = await context.linked_access(request)
    records, comparison = await _requested_comparison(context, request, access)
    first = comparison.first
    base, head = (for_page(record, access) for record in records)
    values = {
        "base": base,
        "head": head,
        "comparison": comparison,
        "since": time_since_start,
        "previous": max(first - SECTIONS_PER_PAGE, 0) if first else None,
        "following": _next_section(comparison),
        "json": access.links.compare_logs(access.repository, base.id, head.id, first, above=API_PREFIX),
    }
    return await context.page(request, "compare_logs.html.j2", values, access=access)


async def compare_logs_json(context: WebContext, request: Request) -> Response:
    """The same sections as JSON."""
    access = await context.linked_access(request)
    records, comparison = await _requested_comparison(context, request, access)
    base, head = (for_page(record, access) for record in records)
    after = _next_section(comparison)
    following = access.links.compare_logs(access.repository, base.id, head.id, after, above=API_PREFIX)
    response = LogComparisonResponse(
        schema=SCHEMA_VERSION,
        base=_run_response(base),
        head=_run_response(head),
        settings=tuple(
            SettingResponse(name=one.name, base=one.base, head=one.head) for one in comparison.settings
        ),
        first=comparison.first,
        count=comparison.count,
        sections=tuple(_section_response(one) for one in comparison.sections),
        next=context.absolute(following) if after is not None else None,
    )
    return json_answer(request, response, cache=access.cache)


def _run_response(record: RunRecord) -> ComparedRunResponse:
    return ComparedRunResponse(
        id=record.id, case=record.case, variant=record.variant, branch=record.branch, sha=record.sha
    )


def _section_response(section: SectionView) -> LogSectionResponse:
    return LogSectionResponse(
        name=section.words,
        only_in=section.only_in,
        apart=section.apart,
        figures=section.figures,
        same=section.same,
        cut=section.truncated,
        rows=tuple(
            LineRowResponse(
                kind=row.kind,
                base=_side_line(row.base),
                head=_side_line(row.head),
                lines_same=row.same,
            )
            for row in section.rows
        ),
    )


def _side_line(line: SideLine | None) -> SideLineResponse | None:
    if line is None:
        return None
    return SideLineResponse(number=line.number, seconds=line.seconds, text=line.text)


async def _requested_comparison(
    context: WebContext, request: Request, access: Access
) -> tuple[list[RunRecord], LogComparison]:
    """The requested runs and sections."""
    records = [
        await _read_record(context, access, request.query_params.get(name, "")) for name in ("base", "head")
    ]
    measured = await context.database.read(runs.measured, [record.id for record in records])
    if any(record.id not in measured for record in records):
        raise UnknownName(NOT_READ, NOT_READ_WHY)
    first = query_number(request, "section") or 0
    return records, await run_in_threadpool(_compare_sections, context, access, records, measured, first)


def _next_section(comparison: LogComparison) -> int | None:
    """The first section of the next page."""
    following = comparison.first + SECTIONS_PER_PAGE
    return following if following < comparison.count else None


def time_since_start(seconds: float | None) -> str:
    """Time since the start of a log: `+0:01:20.825`; empty if the line states none."""
    if seconds is None:
        return ""
    sign, whole = "-" if seconds < 0 else "+", abs(seconds)
    return f"{sign}{int(whole // 3600)}:{int(whole // 60 % 60):02}:{whole % 60:06.3f}"


async def _read_record(context: WebContext, access: Access, name: str) -> RunRecord:
    if not name or len(name) > MAX_NAME_LENGTH or "\x00" in name:
        raise PageNotFound
    record = await context.database.read(runs.by_id, name)
    if record is None or record.repository != access.repository:
        raise PageNotFound
    if not await context.rules.allows_run(access, record.id):
        raise PageNotFound
    return record


def _compare_sections(
    context: WebContext,
    access: Access,
    records: list[RunRecord],
    measured: Mapping[str, MeasuredRun],
    first: int,
) -> LogComparison:
    base, head = (_log_side(context, access, record, measured[record.id]) for record in records)
    with reading_logs(*records):
        return compare_logs(base, head, first)


def _log_side(context: WebContext, access: Access, record: RunRecord, run: MeasuredRun) -> LogSide:
    environment = run.log.environment
    names = (record.id, record.branch, record.sha, environment.run_name, environment.workload)
    archive = context.logs.open(record, redacted=not access.private)
    return LogSide(archive=archive, run=run, names=names)
