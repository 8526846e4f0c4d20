"""Endpoints that turn everything that can stand in a page's way into a clear answer.

In:  what serves a page or a JSON document. Out: the same, with a page or a document for every failure.
"""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from bot.report.redact import redacted
from bot.storage.database import Away
from bot.web.frame.log_away import LogAway
from bot.web.frame.parts import Parts, later
from bot.web.ground.access import Absent, Unclear
from bot.web.ground.answers import NEVER, json_answer
from bot.web.ground.legible import legible

Endpoint = Callable[[Request], Awaitable[Response]]

NOT_FOUND = "There is no such page"
NOT_FOUND_WHY = (
    "Nothing is known under this address, or it belongs to a repository that you may not see. A private "
    "repository is shown to those who can read it on GitHub and sign in here, where that is set up, and "
    "through the links in MaxView's comments on its pull requests."
)
AWAY = "The pages cannot be read right now"
AWAY_WHY = "The database does not answer. Nothing is lost; try again in a minute."


def page_endpoint(parts: Parts, serve: Endpoint) -> Endpoint:
    """`serve`, with a page for everything that can stand in its way."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except Absent:
            return parts.problem(request, 404, NOT_FOUND, NOT_FOUND_WHY)
        except Unclear as unclear:
            return parts.problem(request, 404, _said(unclear.what), _said(unclear.why))
        except Away:
            return parts.problem(request, 503, AWAY, AWAY_WHY)

    return endpoint


def json_endpoint(serve: Endpoint) -> Endpoint:
    """`serve`, with a JSON answer for everything that can stand in its way."""

    async def endpoint(request: Request) -> Response:
        try:
            return await serve(request)
        except Absent:
            return _refused(request, 404, f"{NOT_FOUND}. {NOT_FOUND_WHY}")
        except Unclear as unclear:
            return _refused(request, 404, f"{_said(unclear.what)}. {_said(unclear.why)}".rstrip(". ") + ".")
        except Away:
            return _refused(request, 503, f"{AWAY}. {AWAY_WHY}")
        except LogAway as away:
            return _refused(request, away.status, f"{away.what}. {away.why}")

    return endpoint


def _said(text: str) -> str:
    return legible(redacted(text))


def _refused(request: Request, status: int, text: str) -> Response:
    return json_answer(request, {"error": text}, cache=NEVER, status=status, headers=later(status))
