"""The pages over a stored file, and their peer: the same server, giving the same bytes through Jinja.

In:  `python -m tests.bench.page_server PORT FOLDER` or `… PORT --bare PAGE`. Out: answers, until it is ended.
"""

import sys
import time
from pathlib import Path

import jinja2
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.artifacts.folder import FolderStore
from bot.storage.database import Database
from bot.templating import Renderer
from bot.web.auth.keys import LinkKey
from bot.web.auth.middleware import AuthMiddleware
from bot.web.site import WebDeps, build_frontend


def pages(folder: Path) -> Starlette:
    """The real pages."""
    database = Database(f"sqlite:///{folder}/maxview.sqlite")
    means = WebDeps(
        database=database,
        render=Renderer().render,
        public_url="http://127.0.0.1",
        now=time.time,
        key=LinkKey("bench"),
        secret="bench",
        artifacts=FolderStore(folder / "artifacts"),
    )
    frontend = build_frontend(means)
    return Starlette(
        routes=[*_own(), *frontend.routes], middleware=[Middleware(AuthMiddleware, auth=frontend.auth)]
    )


def bare(page: Path) -> Starlette:
    """One template of one value."""
    text = page.read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=False).from_string("{{ page }}")  # noqa: S701 - our own page

    async def serve(_request: Request) -> Response:
        return HTMLResponse(template.render(page=text))

    return Starlette(routes=[*_own(), Route("/page", serve)])


def _own() -> list[Route]:
    """Whether it is up, and the seconds of a processor that it has used."""
    return [
        Route("/healthz", lambda _request: PlainTextResponse("ok")),
        Route("/cpu", lambda _request: PlainTextResponse(str(time.process_time()))),
    ]


if __name__ == "__main__":
    application = bare(Path(sys.argv[3])) if sys.argv[2] == "--bare" else pages(Path(sys.argv[2]))
    uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]), log_config=None, access_log=False)
