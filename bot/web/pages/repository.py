"""`/` and `/{owner}/{repo}`: the repositories; one repository's pull requests and the health of its main
branch."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.domain.pull_request import SubjectKind, branch_slug
from bot.report.documents import SCHEMA_VERSION, json_number, shift_response
from bot.report.wording import counted, iso_time, signed_percent
from bot.storage import histories, pull_requests, reports, repositories
from bot.storage.histories import SPARKLINE_POINTS, CaseHistory, ComparableSeries, HistoryPoint
from bot.storage.pull_requests import PullRow
from bot.storage.reports import ReportListing
from bot.verdict.noise import LevelShift, level_shifts
from bot.web.addresses import Links
from bot.web.answers import json_answer
from bot.web.api.responses import (
    BriefRunResponse,
    HealthResponse,
    ListedBranchResponse,
    ListedPullResponse,
    ListedRepositoryResponse,
    MainChangesResponse,
    RepositoriesResponse,
    RepositoryResponse,
)
from bot.web.auth.access import Access, document_for_reader
from bot.web.charts.history import Sparkline, is_failed, newest_step_time, sparkline, trend
from bot.web.layout import WebContext
from bot.web.moments import Moment, ago, moment
from bot.web.pages.case import case_title

NOT_YET = "nothing measured yet"


class PullLine(Struct, frozen=True, kw_only=True):
    """One pull request or watched branch.

    `title` is empty while it is not known; `outdated` if the head changed after the report.
    """

    number: int
    branch: str
    title: str
    open: bool
    headline: str
    head_sha: str | None
    reported_sha: str | None
    made: Moment | None
    age: str
    outdated: bool
    link: str


def pull_lines(
    rows: Iterable[PullRow], headlines: Mapping[int, ReportListing], access: Access, now: float
) -> tuple[PullLine, ...]:
    """Open ones, then closed ones; in both the newest number first."""
    ordered = sorted(rows, key=lambda row: (not row.open, -row.number))
    return tuple(_pull_line(row, headlines.get(row.number), access, now) for row in ordered)


def _pull_line(row: PullRow, report: ReportListing | None, access: Access, now: float) -> PullLine:
    return PullLine(
        number=row.number,
        branch=access.text(row.head_branch or ""),
        title=access.text(row.title),
        open=row.open,
        headline=access.text(report.headline) if report else NOT_YET,
        head_sha=row.head_sha,
        reported_sha=report.head_sha if report else None,
        made=moment(report.made) if report else None,
        age=ago(report.made, now) if report else "",
        outdated=bool(report and row.head_sha and row.head_sha != report.head_sha),
        link=_pull_link(row, access),
    )


def _pull_link(row: PullRow, access: Access) -> str:
    if row.kind is SubjectKind.BRANCH:
        return access.links.branch(row.repository, row.head_branch or "")
    return access.links.pull(row.repository, row.number)


class MainChangeLine(Struct, frozen=True, kw_only=True):
    """`04_int8 +2.1 %` at a commit; `between` links to the commits that may have caused it."""

    name: str
    change: str
    slower: bool
    commit: str
    commit_link: str | None
    between: str | None
    after: str
    started: Moment | None


def main_change_lines(series: Sequence[ComparableSeries], access: Access) -> tuple[MainChangeLine, ...]:
    """The newest change of every case and variant, the most recent first."""
    changes = [(one, found[-1]) for one in series if (found := level_shifts(one.runs))]
    changes.sort(key=lambda pair: -(pair[1].started or 0.0))
    return tuple(_main_change_line(one, shift, access) for one, shift in changes)


def main_changes_response(series: Sequence[ComparableSeries]) -> tuple[MainChangesResponse, ...]:
    """Every case with all of its changes, oldest first."""
    return tuple(
        MainChangesResponse(
            case=one.case,
            variant=one.variant,
            conditions=one.conditions,
            runs=len(one.runs),
            shifts=tuple(shift_response(shift) for shift in level_shifts(one.runs)),
        )
        for one in series
    )


def _main_change_line(series: ComparableSeries, shift: LevelShift, access: Access) -> MainChangeLine:
    name = case_title(series.case, series.variant)
    links = access.links
    has_commits = shift.before is not None and shift.at is not None and shift.before != shift.at
    return MainChangeLine(
        name=access.text(name),
        change=signed_percent(shift.change),
        slower=shift.change > 0,
        commit=shift.at[:7] if shift.at else "a commit that is not recorded",
        commit_link=links.commit_on_github(access.repository, shift.at),
        between=links.comparison_on_github(access.repository, shift.before or "", shift.at or "")
        if has_commits
        else None,
        after=f"{counted(shift.runs_after, 'run')} after",
        started=moment(shift.started),
    )


STALE_BASELINE_SECONDS = 3 * 86_400.0
"""A baseline is stale after this time: a daily run may miss a weekend, not more."""


class HealthLine(Struct, frozen=True, kw_only=True):
    """One case and variant on main; `problem` is what a person should know, else empty."""

    name: str
    link: str
    outcome: str
    failed: bool
    page: str
    commit: str
    began: Moment | None
    age: str
    newest: str
    trend: str
    spark: Sparkline
    problem: str


def health_lines(
    case_histories: Sequence[CaseHistory], branch: str, access: Access, now: float
) -> tuple[HealthLine, ...]:
    """Every case, those with a problem first, then by name."""
    lines = [_health_line(history, branch, access, now) for history in case_histories]
    return tuple(sorted(lines, key=lambda line: (not line.problem, not line.failed, line.name)))


def health_response(histories: Sequence[CaseHistory]) -> tuple[HealthResponse, ...]:
    """Every case with its newest and its last good run."""
    return tuple(
        HealthResponse(
            case=history.case,
            variant=history.variant,
            newest=_brief_run(history.points[-1]),
            last_good=_brief_run(good) if (good := last_good(history.points)) else None,
            looked_at=len(history.points),
        )
        for history in histories
    )


def last_good(points: Sequence[HistoryPoint]) -> HistoryPoint | None:
    """The newest run that ended well."""
    return next((point for point in reversed(points) if not is_failed(point)), None)


def health_problem(history: CaseHistory, branch: str, now: float) -> str:
    """`main has had no good run of 04_int8 for 9 days`; empty if its newest good run is recent."""
    good = last_good(history.points)
    name = case_title(history.case, history.variant)
    if good is None:
        some = "" if len(history.points) < SPARKLINE_POINTS else " newest"
        return f"{branch} has had no good run of {name} in its {len(history.points)}{some} runs"
    if good.started is None or now - good.started < STALE_BASELINE_SECONDS:
        return ""
    return f"{branch} has had no good run of {name} for {_days(now - good.started)}"


def _days(passed: float) -> str:
    return f"{passed / 86_400:.0f} days"


def _health_line(history: CaseHistory, branch: str, access: Access, now: float) -> HealthLine:
    newest = history.points[-1]
    name = case_title(history.case, history.variant)
    return HealthLine(
        name=access.text(name),
        link=access.links.history(access.repository, history.case, history.variant),
        outcome=(newest.outcome or "ended").replace("_", " "),
        failed=is_failed(newest),
        page=access.links.run(newest.run),
        commit=newest.sha[:7] if newest.sha else "not recorded",
        began=moment(newest.started),
        age=ago(newest.started, now),
        newest=newest_step_time(history.points),
        trend=trend(history.points),
        spark=sparkline(history.points),
        problem=access.text(health_problem(history, branch, now)),
    )


def _brief_run(point: HistoryPoint) -> BriefRunResponse:
    return BriefRunResponse(
        run=point.run,
        sha=point.sha,
        started=iso_time(point.started),
        outcome=point.outcome,
        value=json_number(point.value),
    )


async def home_page(context: WebContext, request: Request) -> Response:
    """The page of the public repositories."""
    rows = await context.database.read(repositories.list_repositories)
    listed = [row for row in rows if row.active and row.is_public(context.now())]
    open_counts = await context.database.read(pull_requests.count_open_pulls)
    numbers = {row.full_name: open_counts.get(row.full_name, 0) for row in listed}
    return await context.page(request, "home.html.j2", {"repositories": listed, "open": numbers}, access=None)


async def repository_page(context: WebContext, request: Request) -> Response:
    """The page of a repository: its pull requests, open ones first, and main's health and changes."""
    access = await context.repository_access(request)
    rows = await context.database.read(pull_requests.list_pulls, access.repository)
    headlines = await context.database.read(reports.headlines, access.repository)
    lines = pull_lines(rows, headlines, access, context.now())
    branches = await context.database.read(pull_requests.watched_branches, access.repository)
    branch = await context.default_branch(access.repository)
    case_histories = await context.database.read(
        histories.case_histories, access.repository, branch_slug(branch)
    )
    values = {
        "pulls": lines,
        "branches": pull_lines(branches, headlines, access, context.now()),
        "branch": access.text(branch),
        "moved": await run_in_threadpool(main_change_lines, histories.all_series(case_histories), access),
        "health": await run_in_threadpool(health_lines, case_histories, branch, access, context.now()),
        "old": round(STALE_BASELINE_SECONDS / 86_400),
    }
    return await context.page(request, "repository.html.j2", values, access=access)


async def home_json(context: WebContext, request: Request) -> Response:
    """The public repositories as JSON."""
    rows = await context.database.read(repositories.list_repositories)
    listed = tuple(
        ListedRepositoryResponse(
            repository=row.full_name, url=context.absolute(Links().repository_json(row.full_name))
        )
        for row in rows
        if row.active and row.is_public(context.now())
    )
    return json_answer(request, RepositoriesResponse(schema=SCHEMA_VERSION, repositories=listed))


async def repository_json(context: WebContext, request: Request) -> Response:
    """The same as JSON."""
    access = await context.repository_access(request)
    rows = await context.database.read(pull_requests.list_pulls, access.repository)
    branches = await context.database.read(pull_requests.watched_branches, access.repository)
    headlines = await context.database.read(reports.headlines, access.repository)
    branch = await context.default_branch(access.repository)
    case_histories = await context.database.read(
        histories.case_histories, access.repository, branch_slug(branch)
    )
    main = await run_in_threadpool(main_changes_response, histories.all_series(case_histories))
    response = RepositoryResponse(
        schema=SCHEMA_VERSION,
        repository=access.repository,
        pull_requests=tuple(
            _listed_pull(context, access, line) for line in pull_lines(rows, headlines, access, context.now())
        ),
        branches=tuple(
            _listed_branch(context, access, line)
            for line in pull_lines(branches, headlines, access, context.now())
        ),
        health=document_for_reader(health_response(case_histories), access),
        main=document_for_reader(main, access),
    )
    return json_answer(request, response, cache=access.cache)


def _listed_pull(context: WebContext, access: Access, line: PullLine) -> ListedPullResponse:
    return ListedPullResponse(
        number=line.number,
        title=line.title or f"Pull request {line.number}",
        open=line.open,
        headline=line.headline,
        head_sha=line.head_sha,
        reported_sha=line.reported_sha,
        made=line.made.machine if line.made else None,
        url=context.absolute(access.links.pull_json(access.repository, line.number)),
        page=context.absolute(line.link),
    )


def _listed_branch(context: WebContext, access: Access, line: PullLine) -> ListedBranchResponse:
    return ListedBranchResponse(
        branch=line.branch,
        title=line.title,
        open=line.open,
        headline=line.headline,
        head_sha=line.head_sha,
        reported_sha=line.reported_sha,
        made=line.made.machine if line.made else None,
        url=context.absolute(access.links.branch_json(access.repository, line.branch)),
        page=context.absolute(line.link),
    )
