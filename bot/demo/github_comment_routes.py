"""The stand-in's routes about comments and reactions.

In:  requests. Out: answers in GitHub's shapes; comments written here are the App's own.
"""

import json
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo import github_pull_shapes as shapes
from bot.demo.github_http import REPO, Failing, Front
from bot.demo.github_state import CommentState, World

# GitHub's own limit.
LONGEST_BODY = 65536
REACTIONS = {"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}


class CommentRoutes:
    """Routes over the comments of one world. `announce` is told what happened to which comment."""

    def __init__(self, world: World, announce: Callable[[str, CommentState], None]) -> None:
        self._world = world
        self._front = Front(world)
        self._announce = announce

    def all(self) -> list[Route]:
        """Every route."""
        route = self._front.route
        many, one = f"{REPO}/issues/{{number:int}}/comments", f"{REPO}/issues/comments/{{id:int}}"
        return [
            route("GET", many, self._list),
            route("POST", many, self._create),
            route("GET", one, self._show),
            route("PATCH", one, self._edit),
            route("DELETE", one, self._delete),
            route("POST", f"{one}/reactions", self._react),
        ]

    async def _list(self, request: Request) -> Response:
        comments = self._world.comments_of(self._number(request))
        return self._front.page(request, [shapes.comment(self._world, one) for one in comments])

    async def _create(self, request: Request) -> Response:
        self._refuse_locked(self._number(request))
        now = self._world.now()
        state = CommentState(
            id=next(self._world.ids),
            number=self._number(request),
            author=self._world.bot(),
            body=_body(await request.body()),
            by_app=True,
            created_at=now,
            updated_at=now,
        )
        self._world.comments[state.id] = state
        self._announce("created", state)
        return JSONResponse(shapes.comment(self._world, state), status_code=201)

    async def _show(self, request: Request) -> Response:
        return JSONResponse(shapes.comment(self._world, self._named(request)))

    async def _edit(self, request: Request) -> Response:
        state = self._named(request)
        if not state.by_app:
            raise Failing(403, "Resource not accessible by integration")
        self._refuse_locked(state.number)
        state.body = _body(await request.body())
        state.updated_at = self._world.now()
        self._announce("edited", state)
        return JSONResponse(shapes.comment(self._world, state))

    async def _delete(self, request: Request) -> Response:
        state = self._named(request)
        del self._world.comments[state.id]
        self._announce("deleted", state)
        return Response(status_code=204)

    async def _react(self, request: Request) -> Response:
        content = _text(await request.body(), "content")
        if content not in REACTIONS:
            raise Failing(422, "Validation Failed")
        state, bot = self._named(request), self._world.bot()
        given = state.reactions.setdefault(content, [])
        new = bot not in given
        given += [bot] if new else []
        shape = shapes.reaction(self._world, next(self._world.ids), bot, content)
        return JSONResponse(shape, status_code=201 if new else 200)

    def _named(self, request: Request) -> CommentState:
        state = self._world.comments.get(request.path_params["id"])
        if state is None:
            raise Failing(404, "Not Found")
        return state

    def _number(self, request: Request) -> int:
        number: int = request.path_params["number"]
        if number not in self._world.pulls:
            raise Failing(404, "Not Found")
        return number

    def _refuse_locked(self, number: int) -> None:
        if self._world.pulls[number].locked:
            raise Failing(403, "Unable to create comment because issue is locked.")


def _body(raw: bytes) -> str:
    text = _text(raw, "body")
    if not text or len(text) > LONGEST_BODY:
        raise Failing(422, "Validation Failed: body is too long or empty")
    return text


def _text(raw: bytes, name: str) -> str:
    try:
        found = json.loads(raw)[name]
    except (ValueError, KeyError, TypeError):
        raise Failing(422, f"Validation Failed: {name} is missing") from None
    if not isinstance(found, str):
        raise Failing(422, f"Validation Failed: {name} is not text")
    return found
