"""`/{owner}/{repo}/pull/{number}` and `/branch/{branch}`: the report of a pull request or watched branch.

Verdicts, figures and sentences are those of `bot.report`, so page and comment cannot disagree.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.domain.case_key import CaseKey
from bot.report.assess import headline, is_settled, row_words
from bot.report.cells import DetailLevel
from bot.report.comment import action_line, chip_hours_spent
from bot.report.documents import report_document
from bot.report.folds import (
    CommentFold,
    environment_fold,
    method_fold,
    parity_fold,
    plan_fold,
    raw_metrics_fold,
)
from bot.report.links import case_anchor
from bot.report.model import CaseReport, Report
from bot.report.text.pieces import Line, StyledText, plain_text, styled
from bot.storage import main_branch, pull_requests, reports, runs
from bot.storage.database import Database
from bot.storage.main_branch import LandedHead
from bot.storage.pull_requests import PullRow
from bot.verdict.judgement import MeasuredRun
from bot.web.answers import json_answer, make_etag, not_modified
from bot.web.assets import program_digest
from bot.web.auth.access import (
    Access,
    PageNotFound,
    UnknownName,
    document_for_reader,
    for_page,
)
from bot.web.auth.visitor import account_view
from bot.web.layout import WebContext
from bot.web.moments import moment
from bot.web.pages.case import FULL_DETAIL, CaseView, RowLine, case_view, row_line

MAX_PULL_NUMBER = 2**31 - 1

MAX_BRANCH_LENGTH = 255

SHA_PATTERN = re.compile(r"[0-9a-f]{4,64}")

NOT_WATCHED = (
    "Branches that triggers.branches of the configuration names have a report from their next push on; "
    "a branch with a pull request has it there."
)


class RequestedReport(Struct, frozen=True, kw_only=True):
    """The requested report.

    `number` is the key of its row, `branch` is set if it is a watched branch's, `head` is an older head
    commit if one is requested, `ref` its name in comparisons.
    """

    number: int
    head: str | None
    name: str
    words: str
    github: str
    ref: str
    branch: str | None = None
    notice: str = ""

    def document(self, access: Access, head: str | None) -> str:
        """The address of the report as JSON."""
        if self.branch is not None:
            return access.links.branch_json(access.repository, self.branch, head)
        return access.links.pull_json(access.repository, self.number, head)


async def requested_report(request: Request, database: Database, access: Access) -> RequestedReport:
    """The requested report; raises `PageNotFound` or, for an unknown branch, `UnknownName`."""
    head = request.query_params.get("head") or None
    if head and not SHA_PATTERN.fullmatch(head):
        raise PageNotFound
    if (branch := request.path_params.get("branch")) is not None:
        return await _requested_branch(database, access, branch, head)
    number = request.path_params["number"]
    if not 0 < number <= MAX_PULL_NUMBER or not access.opens(number):
        raise PageNotFound
    return RequestedReport(
        number=number,
        head=head,
        name=f"#{number}",
        words=f"Pull request #{number}",
        github=access.links.pull_on_github(access.repository, number),
        ref=f"pr/{number}",
    )


async def _requested_branch(
    database: Database, access: Access, branch: str, head: str | None
) -> RequestedReport:
    if len(branch) > MAX_BRANCH_LENGTH or "\x00" in branch:
        raise PageNotFound
    number = await database.read(pull_requests.branch_number, access.repository, branch)
    if not access.opens(number):
        raise PageNotFound
    pull = await database.read(pull_requests.pull_of_branch, access.repository, branch)
    if number is None and pull is not None:
        raise UnknownName(f"The branch {branch} has a pull request", f"Its report is that of #{pull}.")
    if number is None:
        raise UnknownName(f"The branch {branch} is not watched", NOT_WATCHED)
    return RequestedReport(
        number=number,
        head=head,
        name=access.text(branch),
        words=f"Branch {access.text(branch)}",
        github=access.links.branch_on_github(access.repository, branch),
        ref=branch,
        branch=branch,
        notice=f"Pull request #{pull} speaks for this branch now; newer reports are there." if pull else "",
    )


ALIGN = {"l": "left", "r": "right", "c": "middle"}


class SheetCell(Struct, frozen=True, kw_only=True):
    """One cell and its alignment."""

    pieces: tuple[StyledText, ...]
    align: str


class Sheet(Struct, frozen=True, kw_only=True):
    """A table with its title and notes."""

    anchor: str
    title: str
    columns: tuple[SheetCell, ...]
    rows: tuple[tuple[SheetCell, ...], ...]
    notes: tuple[tuple[StyledText, ...], ...]


def sheets(report: Report, detail: DetailLevel) -> tuple[Sheet, ...]:
    """The tables that are not empty."""
    folds = (
        ("plan", plan_fold(report, detail)),
        ("parity", parity_fold(report, detail)),
        ("environment", environment_fold(report, detail)),
        ("figures", raw_metrics_fold(report, detail)),
        ("method", method_fold(report)),
    )
    return tuple(_sheet(anchor, fold) for anchor, fold in folds if fold is not None)


def _sheet(anchor: str, fold: CommentFold) -> Sheet:
    table = fold.table
    align = [ALIGN.get(letter, "left") for letter in table.align] if table else []
    return Sheet(
        anchor=anchor,
        title=plain_text(fold.summary),
        columns=_sheet_cells(table.columns, align) if table else (),
        rows=tuple(_sheet_cells(row, align) for row in table.rows) if table else (),
        notes=tuple(styled(note) for note in (*fold.sentences, *fold.items)),
    )


def _sheet_cells(row: tuple[Line, ...], align: list[str]) -> tuple[SheetCell, ...]:
    return tuple(SheetCell(pieces=styled(text), align=side) for text, side in zip(row, align, strict=True))


class PullView(Struct, frozen=True, kw_only=True):
    """The page; once `settled` it need not be refreshed."""

    report: Report
    headline: str
    action: tuple[StyledText, ...]
    settled: bool
    rows: tuple[RowLine, ...]
    cases: tuple[CaseView, ...]
    sheets: tuple[Sheet, ...]


def pull_view(report: Report, access: Access, measured: Mapping[str, MeasuredRun] | None = None) -> PullView:
    """Build the page from the report as this visitor may read it.

    `measured` holds its runs with step lines by id, for the charts.
    """
    ordered = sorted(
        report.rows, key=lambda row: (-row_words(row, report.base_branch).rank, row.case, row.variant)
    )
    anchors = _row_anchors(ordered)
    return PullView(
        report=report,
        headline=headline(report),
        action=styled(action_line(report)),
        settled=is_settled(report),
        rows=tuple(row_line(report, row, anchors[CaseKey(row.case, row.variant)]) for row in ordered),
        cases=tuple(
            case_view(report, row, access, anchor=anchors[CaseKey(row.case, row.variant)], measured=measured)
            for row in ordered
        ),
        sheets=sheets(report, FULL_DETAIL),
    )


def _row_anchors(rows: list[CaseReport]) -> Mapping[CaseKey, str]:
    """An HTML id for every row, the comment's own; ids that collide are numbered."""
    anchors: dict[CaseKey, str] = {}
    for row in rows:
        wanted, count = case_anchor(row.key), 1
        while (anchor := wanted if count == 1 else f"{wanted}-{count}") in anchors.values():
            count += 1
        anchors[CaseKey(row.case, row.variant)] = anchor
    return anchors


REFRESH_SECONDS = 15
"""Seconds after which an open page of an unfinished report refreshes; most runs take minutes."""

MAX_DRAWN_CASES = 60
"""Cases with charts on one page; the pages of the runs have all of them."""

RUNS_PER_SIDE = 3
"""Runs of a side that are examined for one that passed; the first is drawn, as in the loss verdict."""


async def pull_page(context: WebContext, request: Request) -> Response:
    """The page of the report of the newest head, or of `?head=`.

    An open page asks every few seconds whether it changed: the ETag comes from the page's inputs, so
    that nothing is rendered for it.
    """
    access = await context.linked_access(request)
    requested = await requested_report(request, context.database, access)
    number, head = requested.number, requested.head
    row = await context.database.read(pull_requests.find_pull, access.repository, number)
    version = await context.database.read(reports.report_version, access.repository, number, head)
    if version is None and (row is None or head):
        raise PageNotFound
    landing = await _read_landing(context, access, row)
    row_values = (row.title, row.open, row.head_sha, row.trouble, landing) if row else None
    tag = make_etag(
        program_digest(),
        context.assets.addresses,
        version,
        row_values,
        requested,
        access,
        account_view(request),
    )
    if (answer := not_modified(request, tag, cache=access.cache)) is not None:
        return answer
    report = await context.database.read(reports.newest, access.repository, number, head)
    measured = await context.database.read(runs.measured, runs_to_draw(report)) if report else {}
    values = {
        "requested": requested,
        "live": _refresh_seconds(row, report, head),
        "landed": access.text(landing_words(landing)) if landing else "",
        **await run_in_threadpool(_page_values, access, (row, report, requested), measured),
    }
    return await context.page(request, "pull.html.j2", values, access=access, tag=tag)


async def pull_json(context: WebContext, request: Request) -> Response:
    """The same report as JSON."""
    access = await context.linked_access(request)
    requested = await requested_report(request, context.database, access)
    report = await context.database.read(reports.newest, access.repository, requested.number, requested.head)
    if report is None:
        raise PageNotFound

    def document(report: Report) -> object:
        return document_for_reader(report_document(report), access)

    return json_answer(request, await run_in_threadpool(document, report), cache=access.cache)


async def _read_landing(context: WebContext, access: Access, row: PullRow | None) -> LandedHead | None:
    """What became of the newest head on main, if it landed."""
    if row is None or row.head_sha is None:
        return None
    return await context.database.read(main_branch.find_landing, access.repository, row.head_sha)


def landing_words(landing: LandedHead) -> str:
    """`abc1234 landed on main as def5678 …`, and which runs count."""
    where = f"{landing.head_sha[:7]} landed on {landing.branch} as {landing.main_sha[:7]}"
    if landing.same_files:
        return f"{where} with the same files: its runs count as runs of {landing.branch}."
    return f"{where} with other files beside it: its runs stay its own."


def runs_to_draw(report: Report) -> tuple[str, ...]:
    """The runs whose charts the page shows: the newest of each side, few enough to read at once."""
    rows = [row for row in report.rows if row.comparison][:MAX_DRAWN_CASES]
    sides = [records for row in rows for records in (row.base_runs, row.head_runs)]
    return tuple(run.id for records in sides for run in records[:RUNS_PER_SIDE])


def _page_values(
    access: Access,
    found: tuple[PullRow | None, Report | None, RequestedReport],
    measured: Mapping[str, MeasuredRun],
) -> dict[str, object]:
    row, report, requested = found
    if report is None:
        return {"view": None, "title": access.text(row.title) if row else "", "notices": (), "made": None}
    shown = for_page(report, access)
    return {
        "view": pull_view(shown, access, measured),
        "title": shown.title,
        "notices": (
            *_notices(row, report, requested),
            *_trouble_notice(row, requested.head),
            *((report.refusal,) if report.refusal else ()),
        ),
        "made": moment(report.made_at),
        "spent": chip_hours_spent(report),
        "commit": access.links.commit_on_github(report.repository, report.head_sha),
        "document": requested.document(access, report.head_sha),
    }


def _notices(row: PullRow | None, report: Report, requested: RequestedReport) -> Sequence[str]:
    """Notices that the report is not about the pull request as it is now."""
    reported, current = report.head_sha[:7], row.head_sha if row is not None else None
    if requested.notice:
        return (requested.notice,)
    if requested.head:
        return (
            f"This is what was said about commit {reported}; newer commits may have reports of their own.",
        )
    if current and current != report.head_sha:
        pushed = f"Commit {current[:7]} was pushed after this report, which speaks of {reported}."
        return (f"{pushed} Its own report appears here as soon as there is something to say.",)
    return ()


def _trouble_notice(row: PullRow | None, head: str | None) -> Sequence[str]:
    """Notice that GitHub refuses the comment or check."""
    return (row.trouble,) if row is not None and row.trouble and not head else ()


def _refresh_seconds(row: PullRow | None, report: Report | None, head: str | None) -> int | None:
    """Seconds until an open page refreshes; None once nothing more is expected."""
    if head or (row is not None and not row.open):
        return None
    stale = report is not None and row is not None and row.head_sha not in {None, report.head_sha}
    return REFRESH_SECONDS if report is None or stale or not is_settled(report) else None
