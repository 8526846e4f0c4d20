"""The page of a pull request or branch: its report, and what to know before believing that it is the newest.

In:  an address, and what is in the database. Out: HTML, and the report as JSON.
"""

from collections.abc import Mapping, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.report.footer import spent
from bot.report.headline import is_settled
from bot.report.model import Report
from bot.report.report_document import report_document
from bot.storage import landings, pulls, reports, runs
from bot.storage.landings import Landed
from bot.storage.pulls import PullRow
from bot.verdict.judgement import MeasuredRun
from bot.web.frame.parts import Parts
from bot.web.ground.access import Absent, Visit, visit
from bot.web.ground.answers import json_answer, known_already, tag_of
from bot.web.ground.assets import edition
from bot.web.ground.moments import moment
from bot.web.ground.public import document_for_reader, for_page, with_key
from bot.web.ground.visitor import account_of
from bot.web.pulls.subjects import Asked, asked_report
from bot.web.pulls.view import pull_view

LIVE_SECONDS = 15
"""How often an unfinished report is looked at again by an open page; most runs take minutes."""

MOST_DRAWN = 60
"""Cases with curves on one page; the pages of the runs draw every one."""

RUNS_OF_A_SIDE = 3
"""Looked through for one that passed; the first that did is drawn, as the loss verdict reads it."""


async def pull_page(parts: Parts, request: Request) -> Response:
    """The report of the newest head of a pull request or watched branch, or of `?head=`.

    An open page asks every few seconds whether it changed: that is told from what the page is made from, and
    nothing is rendered for it.
    """
    here = await visit(request, parts.database, parts.key)
    asked = await asked_report(request, parts.database, here)
    number, head = asked.number, asked.head
    row = await parts.database.read(pulls.find, here.repository, number)
    stamp = await parts.database.read(reports.stamp, here.repository, number, head)
    if stamp is None and (row is None or head):
        raise Absent
    landed = await _landed(parts, here, row)
    shown_of_row = (row.title, row.open, row.head_sha, row.trouble, landed) if row else None
    tag = tag_of(edition(), parts.assets.addresses, stamp, shown_of_row, asked, here, account_of(request))
    if (answer := known_already(request, tag, cache=here.cache)) is not None:
        return answer
    report = await parts.database.read(reports.newest, here.repository, number, head)
    drawn = await parts.database.read(runs.measured, drawn_runs(report)) if report else {}
    values = {
        "visit": here,
        "asked": asked,
        "live": _live_seconds(row, report, head),
        "landed": here.text(landed_words(landed)) if landed else "",
        **await run_in_threadpool(_shown, here, (row, report, asked), drawn),
    }
    return await parts.page(request, "pull.html.j2", values, visit=here, tag=tag)


async def pull_json(parts: Parts, request: Request) -> Response:
    """The report of the newest head of a pull request or watched branch, or of `?head=`."""
    here = await visit(request, parts.database, parts.key)
    asked = await asked_report(request, parts.database, here)
    report = await parts.database.read(reports.newest, here.repository, asked.number, asked.head)
    if report is None:
        raise Absent
    document = await run_in_threadpool(_report_for_reader, report, here)
    return json_answer(request, document, cache=here.cache)


def _report_for_reader(report: Report, here: Visit) -> object:
    return with_key(document_for_reader(report_document(report), here), here)


async def _landed(parts: Parts, here: Visit, row: PullRow | None) -> Landed | None:
    """What became of the newest head on main."""
    if row is None or row.head_sha is None:
        return None
    return await parts.database.read(landings.of_head, here.repository, row.head_sha)


def landed_words(landed: Landed) -> str:
    """`It landed on main as abc1234 …`, and whose its runs are."""
    where = f"{landed.head_sha[:7]} landed on {landed.branch} as {landed.main_sha[:7]}"
    if landed.same_files:
        return f"{where} with the same files: its runs count as runs of {landed.branch}."
    return f"{where} with other files beside it: its runs stay its own."


def drawn_runs(report: Report) -> tuple[str, ...]:
    """The runs whose curves the page draws: the newest of each side first, and few enough to read at once."""
    rows = [row for row in report.rows if row.comparison][:MOST_DRAWN]
    sides = [records for row in rows for records in (row.base_runs, row.head_runs)]
    return tuple(run.id for records in sides for run in records[:RUNS_OF_A_SIDE])


def _shown(
    here: Visit, found: tuple[PullRow | None, Report | None, Asked], drawn: Mapping[str, MeasuredRun]
) -> dict[str, object]:
    row, report, asked = found
    if report is None:
        return {"view": None, "title": here.text(row.title) if row else "", "notices": (), "made": None}
    shown = for_page(report, here)
    return {
        "view": pull_view(shown, here, drawn),
        "title": shown.title,
        "notices": (*_notices(row, report, asked), *_trouble(row, asked.head)),
        "made": moment(report.made_at),
        "spent": spent(report),
        "commit": here.links.commit_on_github(report.repository, report.head_sha),
        "document": asked.document(here, report.head_sha),
    }


def _notices(row: PullRow | None, report: Report, asked: Asked) -> Sequence[str]:
    """What to know before believing that this report is about the pull request as it is now."""
    said, now = report.head_sha[:7], row.head_sha if row is not None else None
    if asked.notice:
        return (asked.notice,)
    if asked.head:
        return (f"This is what was said about commit {said}; newer commits may have reports of their own.",)
    if now and now != report.head_sha:
        pushed = f"Commit {now[:7]} was pushed after this report, which speaks of {said}."
        return (f"{pushed} Its own report appears here as soon as there is something to say.",)
    return ()


def _trouble(row: PullRow | None, head: str | None) -> Sequence[str]:
    """What keeps the comment or the check from saying this."""
    return (row.trouble,) if row is not None and row.trouble and not head else ()


def _live_seconds(row: PullRow | None, report: Report | None, head: str | None) -> int | None:
    """How soon an open page looks again; None where nothing more is awaited."""
    if head or (row is not None and not row.open):
        return None
    stale = report is not None and row is not None and row.head_sha not in {None, report.head_sha}
    return LIVE_SECONDS if report is None or stale or not is_settled(report) else None
