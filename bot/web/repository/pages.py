"""The repositories, and one of them: its pull requests, and how main stands.

In:  what is in the database. Out: pages, and the same as JSON.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.runs.pattern import slug
from bot.storage import branches, counts, histories, pulls, reports, timelines
from bot.web.frame.parts import Parts
from bot.web.ground.access import Visit, visit
from bot.web.ground.answers import json_answer
from bot.web.ground.branches import default_branch
from bot.web.ground.links import API, Links
from bot.web.ground.public import document_for_reader
from bot.web.repository.health import OLD_SECONDS, health_document, health_lines
from bot.web.repository.lists import PullLine, pull_lines
from bot.web.repository.moves import main_document, main_lines

SCHEMA = 1


async def home(parts: Parts, request: Request) -> Response:
    """The public repositories that the App is installed on."""
    rows = await parts.database.read(pulls.repositories)
    listed = [row for row in rows if row.active and not row.private]
    known = await parts.database.read(counts.open_pulls)
    numbers = {row.full_name: known.get(row.full_name, 0) for row in listed}
    return await parts.page(request, "home.html.j2", {"repositories": listed, "open": numbers}, visit=None)


async def repository_page(parts: Parts, request: Request) -> Response:
    """The pull requests of a repository, open ones first, with their headlines; where main itself moved."""
    here = await visit(request, parts.database, parts.key)
    rows = await parts.database.read(pulls.of_repository, here.repository)
    headlines = await parts.database.read(reports.headlines, here.repository)
    lines = pull_lines(rows, headlines, here, parts.now())
    watched = await parts.database.read(branches.of_repository, here.repository)
    branch = await default_branch(parts.database, here.repository)
    strips = await parts.database.read(timelines.strips, here.repository, slug(branch))
    values = {
        "visit": here,
        "pulls": lines,
        "branches": pull_lines(watched, headlines, here, parts.now()),
        "branch": here.text(branch),
        "moved": await run_in_threadpool(main_lines, histories.all_series(strips), here),
        "health": await run_in_threadpool(health_lines, strips, branch, here, parts.now()),
        "old": round(OLD_SECONDS / 86_400),
    }
    return await parts.page(request, "repository.html.j2", values, visit=here)


async def home_json(parts: Parts, request: Request) -> Response:
    """The public repositories."""
    rows = await parts.database.read(pulls.repositories)
    listed = [
        {"repository": row.full_name, "url": parts.absolute(API + Links().repository(row.full_name))}
        for row in rows
        if row.active and not row.private
    ]
    return json_answer(request, {"schema": SCHEMA, "repositories": listed})


async def repository_json(parts: Parts, request: Request) -> Response:
    """The pull requests of a repository, open ones first, and where main itself moved."""
    here = await visit(request, parts.database, parts.key)
    rows = await parts.database.read(pulls.of_repository, here.repository)
    headlines = await parts.database.read(reports.headlines, here.repository)
    lines = pull_lines(rows, headlines, here, parts.now())
    branch = await default_branch(parts.database, here.repository)
    strips = await parts.database.read(timelines.strips, here.repository, slug(branch))
    series = histories.all_series(strips)
    watched = await parts.database.read(branches.of_repository, here.repository)
    branch_lines = pull_lines(watched, headlines, here, parts.now())
    document = {
        "schema": SCHEMA,
        "repository": here.repository,
        "pull_requests": [_pull(parts, here, line) for line in lines],
        "branches": [_branch(parts, here, line) for line in branch_lines],
        "health": document_for_reader(health_document(strips), here),
        "main": document_for_reader(await run_in_threadpool(main_document, series), here),
    }
    return json_answer(request, document, cache=here.cache)


def _pull(parts: Parts, here: Visit, line: PullLine) -> dict[str, object]:
    return {
        "number": line.number,
        "title": line.title,
        "open": line.open,
        "headline": line.headline,
        "head_sha": line.head_sha,
        "reported_sha": line.reported_sha,
        "made": line.made.machine if line.made else None,
        "url": parts.absolute(here.links.pull_json(here.repository, line.number)),
        "page": parts.absolute(line.link),
    }


def _branch(parts: Parts, here: Visit, line: PullLine) -> dict[str, object]:
    """A branch that is watched without a pull request: the same without a number."""
    document = _pull(parts, here, line)
    del document["number"]
    url = here.links.branch_json(here.repository, line.branch)
    return {"branch": line.branch, **document, "url": parts.absolute(url)}
