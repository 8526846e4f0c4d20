"""`/{owner}/{repo}/history`: one metric of a case over time, or every case in a sparkline; as JSON, CSV and
SVG."""

from collections.abc import Sequence
from difflib import get_close_matches
from html import escape

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.domain.pull_request import branch_slug
from bot.domain.run import RunOrigin
from bot.report.documents import SCHEMA_VERSION, json_number, percent_of_log
from bot.report.wording import NO_VALUE, counted, iso_time, signed_percent, significant
from bot.storage import histories, runs
from bot.storage.database import Connection
from bot.storage.histories import STEP_TIME, AcknowledgedVerdict, CaseHistory, HistoryPoint
from bot.verdict.metrics import METRICS, METRICS_BY_KEY, Metric
from bot.web.addresses import API_PREFIX
from bot.web.answers import csv_answer, etag_answer, json_answer, wants_csv
from bot.web.api.responses import (
    AcknowledgedChangeResponse,
    CaseHistoryResponse,
    ChangeResponse,
    HistoriesResponse,
    HistoryResponse,
    LevelResponse,
    MetricInfoResponse,
    PointResponse,
)
from bot.web.auth.access import Access, UnknownName, document_for_reader
from bot.web.charts.history import (
    SPARK_HEIGHT,
    SPARK_WIDTH,
    HistoryLevel,
    LevelChange,
    Sparkline,
    history_levels,
    history_plot,
    is_failed,
    level_changes,
    newest_step_time,
    sparkline,
    trend,
)
from bot.web.charts.plots import Plot
from bot.web.layout import WebContext
from bot.web.moments import Moment, moment
from bot.web.pages.case import case_title

MAX_TABLE_RUNS = 100
"""Runs in the table; the CSV has all of them."""

NUMERIC_METRICS = tuple(metric for metric in METRICS if metric.key != "jax")


class Timeline(Struct, frozen=True, kw_only=True):
    """A metric of a case and variant on a branch: its points, oldest first, and acknowledgements."""

    branch: str
    case: str
    variant: str
    metric: str
    points: tuple[HistoryPoint, ...]
    acknowledged: tuple[AcknowledgedVerdict, ...] = ()


class ChangeLine(Struct, frozen=True, kw_only=True):
    """One change: size, commits, conditions, acknowledgement."""

    change: str
    word: str
    tone: str
    commit: str
    commit_link: str | None
    between: str | None
    started: Moment | None
    runs: str
    conditions: str
    note: str
    note_link: str | None


class HistoryRunLine(Struct, frozen=True, kw_only=True):
    """One run in the table."""

    run: str
    page: str
    commit: str
    commit_link: str | None
    started: Moment | None
    value: str
    versus_median: str
    outcome: str
    failed: bool
    keeps_pace: bool


class MetricLink(Struct, frozen=True, kw_only=True):
    """A link to another metric."""

    name: str
    link: str
    chosen: bool


class HistoryView(Struct, frozen=True, kw_only=True):
    """The page; `older` counts runs that are not in the table."""

    name: str
    branch: str
    title: str
    how: str
    metrics: tuple[MetricLink, ...]
    plot: Plot | None
    changes: tuple[ChangeLine, ...]
    points: tuple[HistoryRunLine, ...]
    older: int
    count: int
    failed: int


def history_view(line: Timeline, access: Access) -> HistoryView:
    """Build the page."""
    metric = METRICS_BY_KEY[line.metric]
    changes = level_changes(line.points, line.acknowledged)
    levels = history_levels(line.points, changes)
    name = case_title(line.case, line.variant)
    title = (
        f"{metric.title}, {metric.unit}" if metric.unit and metric.unit not in metric.title else metric.title
    )
    unit = f" {metric.unit}" if metric.unit else ""
    return HistoryView(
        name=access.text(name),
        branch=access.text(line.branch),
        title=title,
        how=metric.how,
        metrics=_metric_links(line, access),
        plot=history_plot(line.points, levels, changes, title=title, unit=unit) if line.points else None,
        changes=tuple(_change_line(change, metric, access) for change in reversed(changes)),
        points=tuple(_history_run_lines(line.points, levels, metric, access)),
        older=max(len(line.points) - MAX_TABLE_RUNS, 0),
        count=len(line.points),
        failed=sum(is_failed(point) for point in line.points),
    )


def _metric_links(line: Timeline, access: Access) -> tuple[MetricLink, ...]:
    return tuple(
        MetricLink(
            name=metric.title,
            link=access.links.history(
                access.repository, line.case, line.variant, metric.key if metric.key != STEP_TIME else None
            ),
            chosen=metric.key == line.metric,
        )
        for metric in NUMERIC_METRICS
    )


def _change_line(change: LevelChange, metric: Metric, access: Access) -> ChangeLine:
    shift = change.shift
    between = shift.before is not None and shift.at is not None and shift.before != shift.at
    judged = metric.key == STEP_TIME and change.conditions is None
    slower = shift.change > 0
    return ChangeLine(
        change=signed_percent(shift.change),
        word=("slower" if slower else "faster")
        if metric.key == STEP_TIME
        else ("more" if slower else "less"),
        tone=("red" if slower else "good") if judged else "quiet",
        commit=shift.at[:7] if shift.at else "a commit that is not recorded",
        commit_link=access.links.commit_on_github(access.repository, shift.at),
        between=access.links.comparison_on_github(access.repository, shift.before or "", shift.at or "")
        if between
        else None,
        started=moment(shift.started),
        runs=f"{counted(shift.runs_before, 'run')} before, {shift.runs_after} after",
        conditions=access.text(_changed_conditions(*change.conditions)) if change.conditions else "",
        note=access.text(_acknowledgement_words(change.acknowledgement, certain=change.certain))
        if change.acknowledgement
        else "",
        note_link=access.links.pull(access.repository, change.acknowledgement.number)
        if change.acknowledgement
        else None,
    )


def _changed_conditions(old: str, new: str) -> str:
    """The conditions that changed: `TPU v5 → TPU v6, 16 → 32`."""
    pairs = list(zip(old.split(" · "), new.split(" · "), strict=False))
    return ", ".join(f"{one} → {two}" for one, two in pairs if one != two) or "other devices or versions"


def _acknowledgement_words(known: AcknowledgedVerdict, *, certain: bool) -> str:
    said = f"acknowledged by {known.by} in #{known.number}: {known.reason}"
    return said if certain else f"perhaps what was {said}"


def _history_run_lines(
    points: Sequence[HistoryPoint], levels: Sequence[HistoryLevel], metric: Metric, access: Access
) -> list[HistoryRunLine]:
    lines = []
    for place in range(len(points) - 1, max(len(points) - MAX_TABLE_RUNS, 0) - 1, -1):
        point = points[place]
        level = next((one for one in reversed(levels) if one.first <= place <= one.last), None)
        lines.append(
            HistoryRunLine(
                run=access.text(point.run),
                page=access.links.run(point.run),
                commit=point.sha[:7] if point.sha else "not recorded",
                commit_link=access.links.commit_on_github(access.repository, point.sha),
                started=moment(point.started),
                value=NO_VALUE if point.value is None else f"{point.value:.{metric.digits}f}",
                versus_median=_versus_median(point, level),
                outcome=(point.outcome or "ended").replace("_", " "),
                failed=is_failed(point),
                keeps_pace=point.keeps_pace,
            )
        )
    return lines


def _versus_median(point: HistoryPoint, level: HistoryLevel | None) -> str:
    if point.value is None or level is None or not level.median:
        return NO_VALUE
    apart = (point.value / level.median - 1) * 100
    return f"{'+' if apart > 0 else ''}{significant(apart, 2)} %"


class HistoryLine(Struct, frozen=True, kw_only=True):
    """One case: its newest value, its trend, its sparkline."""

    name: str
    link: str
    newest: str
    trend: str
    spark: Sparkline
    runs: int


def history_lines(known: Sequence[CaseHistory], access: Access) -> tuple[HistoryLine, ...]:
    """One line for each case and variant, by name."""
    return tuple(_history_line(history, access) for history in known)


def _history_line(history: CaseHistory, access: Access) -> HistoryLine:
    name = case_title(history.case, history.variant)
    return HistoryLine(
        name=access.text(name),
        link=access.links.history(access.repository, history.case, history.variant),
        newest=newest_step_time(history.points),
        trend=trend(history.points),
        spark=sparkline(history.points),
        runs=len(history.points),
    )


def history_response(repository: str, line: Timeline) -> HistoryResponse:
    """Every point, level and change, oldest first."""
    changes = level_changes(line.points, line.acknowledged)
    metric = METRICS_BY_KEY[line.metric]
    return HistoryResponse(
        schema=SCHEMA_VERSION,
        repository=repository,
        branch=line.branch,
        case=line.case,
        variant=line.variant,
        metric=MetricInfoResponse(key=metric.key, title=metric.title, unit=metric.unit, how=metric.how),
        points=tuple(_point_response(point) for point in line.points),
        levels=tuple(_level_response(level, line.points) for level in history_levels(line.points, changes)),
        changes=tuple(_change_response(change) for change in changes),
    )


def histories_response(repository: str, branch: str, known: Sequence[CaseHistory]) -> HistoriesResponse:
    """Every case and variant with its newest runs."""
    return HistoriesResponse(
        schema=SCHEMA_VERSION,
        repository=repository,
        branch=branch,
        cases=tuple(
            CaseHistoryResponse(
                case=history.case,
                variant=history.variant,
                points=tuple(_point_response(point) for point in history.points),
            )
            for history in known
        ),
    )


def _point_response(point: HistoryPoint) -> PointResponse:
    return PointResponse(
        run=point.run,
        sha=point.sha,
        started=iso_time(point.started),
        outcome=point.outcome,
        origin=RunOrigin.FOUND if point.found else RunOrigin.LAUNCHED,
        conditions=point.conditions,
        value=json_number(point.value),
    )


def _level_response(level: HistoryLevel, points: Sequence[HistoryPoint]) -> LevelResponse:
    return LevelResponse(
        first_run=points[level.first].run,
        last_run=points[level.last].run,
        median=json_number(level.median),
        half_band=json_number(level.half_band),
    )


def _change_response(change: LevelChange) -> ChangeResponse:
    shift, known = change.shift, change.acknowledgement
    return ChangeResponse(
        change_percent=percent_of_log(shift.change),
        before=shift.before,
        at=shift.at,
        runs_before=shift.runs_before,
        runs_after=shift.runs_after,
        started=iso_time(shift.started),
        conditions=change.conditions,
        acknowledged=None
        if known is None
        else AcknowledgedChangeResponse(
            number=known.number,
            by=known.by,
            reason=known.reason,
            made=iso_time(known.made),
            certain=change.certain,
        ),
    )


CSV_HEADER = ("run", "commit", "started", "outcome", "origin", "conditions")


async def history_page(context: WebContext, request: Request) -> Response:
    """The page of one metric of one case over time, or of every case in a sparkline."""
    access = await context.repository_access(request)
    branch = await _requested_branch(context, request, access)
    line = await _requested_timeline(context, request, access, branch)
    if line is None:
        newest = await _newest_runs(context, access, branch)
        index = {
            "branch": access.text(branch),
            "lines": await run_in_threadpool(history_lines, newest, access),
        }
        return await context.page(request, "histories.html.j2", index, access=access)
    if wants_csv(request):
        return _history_csv(request, line, access)
    view = await run_in_threadpool(history_view, line, access)
    address = (access.repository, line.case, line.variant, line.metric)
    values = {
        "view": view,
        "json": access.links.history(*address, above=API_PREFIX),
        "csv": access.links.history(*address, form="csv"),
    }
    return await context.page(request, "history.html.j2", values, access=access)


async def history_json(context: WebContext, request: Request) -> Response:
    """The same as JSON, or with `?format=csv` as CSV."""
    access = await context.repository_access(request)
    branch = await _requested_branch(context, request, access)
    line = await _requested_timeline(context, request, access, branch)
    if line is not None and wants_csv(request):
        return _history_csv(request, line, access)
    if line is None:
        known = await _newest_runs(context, access, branch)
        document: object = await run_in_threadpool(histories_response, access.repository, branch, known)
    else:
        document = await run_in_threadpool(history_response, access.repository, line)
    return json_answer(request, document_for_reader(document, access), cache=access.cache)


async def _requested_branch(context: WebContext, request: Request, access: Access) -> str:
    requested = request.query_params.get("branch")
    if not requested:
        return await context.default_branch(access.repository)
    if not await context.database.read(runs.has_runs_on, access.repository, branch_slug(requested)):
        raise UnknownName(
            f"No measured run of the branch {requested} is known", "Leave ?branch= out for the default."
        )
    return requested


async def _requested_timeline(
    context: WebContext, request: Request, access: Access, branch: str
) -> Timeline | None:
    requested = {name: request.query_params.get(name) for name in ("case", "variant", "metric")}
    if not requested["case"]:
        return None
    metric = requested["metric"] or STEP_TIME
    if metric not in {one.key for one in NUMERIC_METRICS}:
        near = get_close_matches(metric, [one.key for one in NUMERIC_METRICS], cutoff=0.3)
        names = " or ".join(near or [one.key for one in NUMERIC_METRICS])
        raise UnknownName(f"There is no metric {metric}", f"Did you mean {names}?")
    return await context.database.read(
        read_timeline,
        access.repository,
        branch,
        case=requested["case"],
        variant=requested["variant"],
        metric=metric,
    )


def read_timeline(
    connection: Connection, repository: str, branch: str, *, case: str, variant: str | None, metric: str
) -> Timeline:
    """The history of a case; raises `UnknownName` if there is none."""
    keys = runs.case_keys(connection, repository, branch_slug(branch))
    variants = [known for name, known in keys if name == case]
    if not variants:
        near = get_close_matches(case, list(dict.fromkeys(name for name, _ in keys)), cutoff=0.4)
        raise UnknownName(
            f"No measured run of {case} on {branch} is known",
            f"Did you mean {' or '.join(near)}?" if near else "Its history begins with its first run.",
        )
    chosen = variants[0] if variant is None else variant
    if chosen not in variants:
        raise UnknownName(
            f"{case} has no run in the variant {chosen} on {branch}",
            f"Did you mean {' or '.join(variants)}?",
        )
    key = (case, chosen)
    return Timeline(
        branch=branch,
        case=case,
        variant=chosen,
        metric=metric,
        points=histories.history_points(connection, repository, branch_slug(branch), key, metric),
        acknowledged=histories.acknowledged_verdicts(connection, repository, key),
    )


async def _newest_runs(context: WebContext, access: Access, branch: str) -> tuple[CaseHistory, ...]:
    return await context.database.read(histories.case_histories, access.repository, branch_slug(branch))


def _history_csv(request: Request, line: Timeline, access: Access) -> Response:
    rows = [
        (
            access.text(point.run),
            point.sha,
            iso_time(point.started),
            point.outcome,
            "found" if point.found else "launched",
            access.text(point.conditions),
            json_number(point.value),
        )
        for point in line.points
    ]
    name = "-".join(part for part in (line.case, line.variant, line.metric) if part)
    unit = METRICS_BY_KEY[line.metric].unit
    header = (*CSV_HEADER, f"{line.metric} ({unit})" if unit else line.metric)
    return csv_answer(request, name, header, rows, cache=access.cache)


SVG_TYPE = "image/svg+xml"

CACHE_FIVE_MINUTES = "public, max-age=300"
"""An image may be five minutes old; a private one stays in its reader's browser."""

SPARK_STYLE = (
    "path{fill:none;stroke:#0b5cad;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}"
    ".n{stroke-width:5}.g{stroke:#a8330a;stroke-width:2.5}"
    "@media(prefers-color-scheme:dark){path{stroke:#7cb8f5}.g{stroke:#ff9a6b}}"
)


async def spark_image(context: WebContext, request: Request) -> Response:
    """The sparkline of `?case=` (and `?variant=`) on the default branch, as SVG."""
    access = await context.repository_access(request)
    branch = branch_slug(await context.default_branch(access.repository))
    requested = request.query_params.get("case") or "", request.query_params.get("variant")
    history = await context.database.read(_requested_points, access.repository, branch, *requested)
    spark = await run_in_threadpool(sparkline, history.points)
    name = case_title(history.case, history.variant)
    cache = access.cache if access.private else CACHE_FIVE_MINUTES
    headers = {"Cross-Origin-Resource-Policy": "cross-origin"}
    return etag_answer(
        request, _spark_svg(spark, access.text(name)).encode(), kind=SVG_TYPE, cache=cache, headers=headers
    )


def _requested_points(
    connection: Connection, repository: str, branch: str, case: str, variant: str | None
) -> CaseHistory:
    keys = [key for key in runs.case_keys(connection, repository, branch) if key[0] == case]
    key = next((key for key in keys if variant in {None, key[1]}), None)
    if key is None:
        raise UnknownName("No measured run of this case is known", "Name one as ?case=…&variant=….")
    points = histories.history_points(connection, repository, branch, key, most=histories.SPARKLINE_POINTS)
    return CaseHistory(case=key[0], variant=key[1], points=points)


def _spark_svg(spark: Sparkline, name: str) -> str:
    words = escape(f"{name}: {spark.words}")
    paths = (("", spark.path), ("g", spark.gaps), ("n", spark.newest))
    shapes = "".join(f'<path class="{style}" d="{path}"/>' for style, path in paths if path)
    width, height = f"{SPARK_WIDTH:.0f}", f"{SPARK_HEIGHT:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{words}">'
        f"<title>{words}</title><style>{SPARK_STYLE}</style>{shapes}</svg>\n"
    )
