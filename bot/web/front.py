"""The side that people meet: every page, the JSON, signing in, and the reception in front of them.

In:  the parts the program joins. Out: `Front`: routes in their order, and the desk of the reception.
"""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from bot.storage.artifacts import RunStore
from bot.storage.database import Database
from bot.storage.line_index import IndexShelf
from bot.web.api import api_routes
from bot.web.frame.parts import Parts, Render, later
from bot.web.ground.answers import NEVER, json_answer
from bot.web.ground.link_key import LinkKey
from bot.web.ground.links import GITHUB
from bot.web.ground.visitor import Permissions, Readers
from bot.web.log.source import Logs
from bot.web.pages import page_routes
from bot.web.sign_in.flow import People, SignIn, sign_in_routes
from bot.web.sign_in.reception import Desk
from bot.web.sign_in.seal import Seal
from bot.web.sign_in.sessions import Cookies, Sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """The routes; the last of them take every other address. `desk` is the reception's."""

    routes: tuple[BaseRoute, ...]
    desk: Desk


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the front is made with. `secret` seals cookies; without `people` nobody can sign in, and without
    `readers` no token opens anything; `artifacts` keeps what is found out about logs;
    `github` is where people meet GitHub."""

    database: Database
    render: Render
    public_url: str
    now: Callable[[], float]
    key: LinkKey
    secret: str
    artifacts: RunStore | None = None
    people: People | None = None
    readers: Readers | None = None
    github: str = GITHUB


def front(means: Means) -> Front:
    """Join them."""
    logs = Logs(IndexShelf(means.artifacts))
    parts = Parts(
        database=means.database,
        render=means.render,
        public_url=means.public_url,
        now=means.now,
        key=means.key,
        logs=logs,
    )
    readers = means.people or means.readers
    permissions = Permissions(readers, means.now) if readers else None
    sign_in = _sign_in(means, means.people, permissions) if means.people and permissions else None
    routes = (
        *sign_in_routes(parts, sign_in),
        *api_routes(parts),
        *page_routes(parts),
    )
    desk = Desk(
        problem=_problem(parts),
        secure=_is_secure(means),
        github=means.github,
        sessions=sign_in.sessions if sign_in else None,
        permissions=permissions,
    )
    return Front(routes=routes, desk=desk)


def _sign_in(means: Means, people: People, permissions: Permissions) -> SignIn:
    sessions = Sessions(
        database=means.database,
        permissions=permissions,
        seal=Seal(means.secret, "session"),
        cookies=Cookies(secure=_is_secure(means)),
        now=means.now,
    )
    return SignIn(people=people, sessions=sessions, seal=Seal(means.secret, "sign-in"))


def _is_secure(means: Means) -> bool:
    return means.public_url.startswith("https://")


def _problem(parts: Parts) -> Callable[[Request, int, str, str], Response]:
    def problem(request: Request, status: int, what: str, why: str) -> Response:
        if not request.url.path.startswith("/api/"):
            return parts.problem(request, status, what, why)
        said = {"error": f"{what}. {why}"}
        return json_answer(request, said, cache=NEVER, status=status, headers=later(status))

    return problem
