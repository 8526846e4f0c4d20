"""REST endpoints of comments, reactions, labels and teams. Comments created here are the App's own."""

import json
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github import payloads as shapes
from bot.demo.github.http import REPOSITORY_PATH, HttpError, RestGate
from bot.demo.github.payloads import label_json
from bot.demo.github.state import GitHubComment, GitHubState, LabelState

# GitHub's own limit.
LONGEST_COMMENT = 65536

REACTION_NAMES = {"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}


class CommentRoutes:
    """Routes over the comments of one world. `announce` is told what happened to which comment."""

    def __init__(self, world: GitHubState, announce: Callable[[str, GitHubComment], None]) -> None:
        self._world = world
        self._front = RestGate(world)
        self._announce = announce

    def all(self) -> list[Route]:
        """Every route."""
        route = self._front.route
        many, one = (
            f"{REPOSITORY_PATH}/issues/{{number:int}}/comments",
            f"{REPOSITORY_PATH}/issues/comments/{{id:int}}",
        )
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
        return self._front.page(request, [shapes.comment_json(self._world, one) for one in comments])

    async def _create(self, request: Request) -> Response:
        self._refuse_locked(self._number(request))
        now = self._world.now()
        state = GitHubComment(
            id=next(self._world.ids),
            number=self._number(request),
            author=self._world.bot(),
            body=_comment_body(await request.body()),
            by_app=True,
            created_at=now,
            updated_at=now,
        )
        self._world.comments[state.id] = state
        self._announce("created", state)
        return JSONResponse(shapes.comment_json(self._world, state), status_code=201)

    async def _show(self, request: Request) -> Response:
        return JSONResponse(shapes.comment_json(self._world, self._named(request)))

    async def _edit(self, request: Request) -> Response:
        state = self._named(request)
        if not state.by_app:
            raise HttpError(403, "Resource not accessible by integration")
        self._refuse_locked(state.number)
        state.body = _comment_body(await request.body())
        state.updated_at = self._world.now()
        self._announce("edited", state)
        return JSONResponse(shapes.comment_json(self._world, state))

    async def _delete(self, request: Request) -> Response:
        state = self._named(request)
        del self._world.comments[state.id]
        self._announce("deleted", state)
        return Response(status_code=204)

    async def _react(self, request: Request) -> Response:
        content = _required_text(await request.body(), "content")
        if content not in REACTION_NAMES:
            raise HttpError(422, "Validation Failed")
        state, bot = self._named(request), self._world.bot()
        given = state.reactions.setdefault(content, [])
        new = bot not in given
        given += [bot] if new else []
        shape = shapes.reaction_json(self._world, next(self._world.ids), bot, content)
        return JSONResponse(shape, status_code=201 if new else 200)

    def _named(self, request: Request) -> GitHubComment:
        state = self._world.comments.get(request.path_params["id"])
        if state is None:
            raise HttpError(404, "Not Found")
        return state

    def _number(self, request: Request) -> int:
        number: int = request.path_params["number"]
        if number not in self._world.pulls:
            raise HttpError(404, "Not Found")
        return number

    def _refuse_locked(self, number: int) -> None:
        if self._world.pulls[number].locked:
            raise HttpError(403, "Unable to create comment because issue is locked.")


def _comment_body(raw: bytes) -> str:
    text = _required_text(raw, "body")
    if not text or len(text) > LONGEST_COMMENT:
        raise HttpError(422, "Validation Failed: body is too long or empty")
    return text


def _required_text(raw: bytes, name: str) -> str:
    try:
        found = json.loads(raw)[name]
    except (ValueError, KeyError, TypeError):
        raise HttpError(422, f"Validation Failed: {name} is missing") from None
    if not isinstance(found, str):
        raise HttpError(422, f"Validation Failed: {name} is not text")
    return found


LONGEST_LABEL_NAME, LONGEST_LABEL_DESCRIPTION = 50, 100


class LabelRoutes:
    """Routes over the labels of one world, and the teams of its owner."""

    def __init__(self, world: GitHubState) -> None:
        self._world = world
        self._front = RestGate(world)

    def all(self) -> list[Route]:
        """Every route."""
        route = self._front.route
        team = "/orgs/{org}/teams/{slug}/memberships/{login}"
        return [
            route("GET", f"{REPOSITORY_PATH}/labels/{{name}}", self._show),
            route("POST", f"{REPOSITORY_PATH}/labels", self._create),
            route("GET", team, self._membership),
        ]

    async def _show(self, request: Request) -> Response:
        state = self._world.labels.get(request.path_params["name"].lower())
        if state is None:
            raise HttpError(404, "Not Found")
        return JSONResponse(label_json(self._world, state))

    async def _create(self, request: Request) -> Response:
        self._front.need("pull_requests")
        asked = json.loads(await request.body())
        state = LabelState(
            id=next(self._world.ids),
            name=asked["name"],
            colour=asked["color"],
            description=asked.get("description", ""),
        )
        long = len(state.name) > LONGEST_LABEL_NAME or len(state.description) > LONGEST_LABEL_DESCRIPTION
        if long or state.name.lower() in self._world.labels:
            raise HttpError(422, "Validation Failed")
        self._world.labels[state.name.lower()] = state
        return JSONResponse(label_json(self._world, state), status_code=201)

    async def _membership(self, request: Request) -> Response:
        team = f"{request.path_params['org']}/{request.path_params['slug']}"
        login = request.path_params["login"]
        if login not in self._world.teams.get(team, set()):
            raise HttpError(404, "Not Found")
        url = f"{self._world.url}{request.url.path}"
        return JSONResponse({"url": url, "role": "member", "state": "active"})
