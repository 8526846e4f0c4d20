"""REST endpoints of comments, reactions, labels and teams. Comments created here are the App's own."""

import json
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github import payloads
from bot.demo.github.http import REPOSITORY_PATH, HttpError, RestGate
from bot.demo.github.payloads import label_json
from bot.demo.github.state import GitHubComment, GitHubState, LabelState

# GitHub's own limit.
MAX_COMMENT_LENGTH = 65536

REACTION_NAMES = {"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}


class CommentRoutes:
    """Routes over the comments of the stand-in. `announce` sends the webhook of a change."""

    def __init__(self, github: GitHubState, announce: Callable[[str, GitHubComment], None]) -> None:
        self._github = github
        self._gate = RestGate(github)
        self._announce = announce

    def all(self) -> list[Route]:
        """Every route."""
        route = self._gate.route
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
        comments = self._github.comments_of(self._pull_number(request))
        return self._gate.page(request, [payloads.comment_json(self._github, one) for one in comments])

    async def _create(self, request: Request) -> Response:
        self._refuse_locked(self._pull_number(request))
        now = self._github.now()
        comment = GitHubComment(
            id=next(self._github.ids),
            number=self._pull_number(request),
            author=self._github.bot(),
            body=_comment_body(await request.body()),
            by_app=True,
            created_at=now,
            updated_at=now,
        )
        self._github.comments[comment.id] = comment
        self._announce("created", comment)
        return JSONResponse(payloads.comment_json(self._github, comment), status_code=201)

    async def _show(self, request: Request) -> Response:
        return JSONResponse(payloads.comment_json(self._github, self._find_comment(request)))

    async def _edit(self, request: Request) -> Response:
        comment = self._find_comment(request)
        if not comment.by_app:
            raise HttpError(403, "Resource not accessible by integration")
        self._refuse_locked(comment.number)
        comment.body = _comment_body(await request.body())
        comment.updated_at = self._github.now()
        self._announce("edited", comment)
        return JSONResponse(payloads.comment_json(self._github, comment))

    async def _delete(self, request: Request) -> Response:
        comment = self._find_comment(request)
        del self._github.comments[comment.id]
        self._announce("deleted", comment)
        return Response(status_code=204)

    async def _react(self, request: Request) -> Response:
        content = _required_text(await request.body(), "content")
        if content not in REACTION_NAMES:
            raise HttpError(422, "Validation Failed")
        comment, bot = self._find_comment(request), self._github.bot()
        reacted = comment.reactions.setdefault(content, [])
        new = bot not in reacted
        reacted += [bot] if new else []
        shape = payloads.reaction_json(self._github, next(self._github.ids), bot, content)
        return JSONResponse(shape, status_code=201 if new else 200)

    def _find_comment(self, request: Request) -> GitHubComment:
        comment = self._github.comments.get(request.path_params["id"])
        if comment is None:
            raise HttpError(404, "Not Found")
        return comment

    def _pull_number(self, request: Request) -> int:
        number: int = request.path_params["number"]
        if number not in self._github.pulls:
            raise HttpError(404, "Not Found")
        return number

    def _refuse_locked(self, number: int) -> None:
        if self._github.pulls[number].locked:
            raise HttpError(403, "Unable to create comment because issue is locked.")


def _comment_body(raw: bytes) -> str:
    text = _required_text(raw, "body")
    if not text or len(text) > MAX_COMMENT_LENGTH:
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


MAX_LABEL_NAME, MAX_LABEL_DESCRIPTION = 50, 100


class LabelRoutes:
    """Routes over the labels of the stand-in, and the teams of its owner."""

    def __init__(self, github: GitHubState) -> None:
        self._github = github
        self._gate = RestGate(github)

    def all(self) -> list[Route]:
        """Every route."""
        route = self._gate.route
        team = "/orgs/{org}/teams/{slug}/memberships/{login}"
        return [
            route("GET", f"{REPOSITORY_PATH}/labels/{{name}}", self._show),
            route("POST", f"{REPOSITORY_PATH}/labels", self._create),
            route("GET", team, self._membership),
        ]

    async def _show(self, request: Request) -> Response:
        label = self._github.labels.get(request.path_params["name"].lower())
        if label is None:
            raise HttpError(404, "Not Found")
        return JSONResponse(label_json(self._github, label))

    async def _create(self, request: Request) -> Response:
        self._gate.require_write("pull_requests")
        body = json.loads(await request.body())
        label = LabelState(
            id=next(self._github.ids),
            name=body["name"],
            colour=body["color"],
            description=body.get("description", ""),
        )
        long = len(label.name) > MAX_LABEL_NAME or len(label.description) > MAX_LABEL_DESCRIPTION
        if long or label.name.lower() in self._github.labels:
            raise HttpError(422, "Validation Failed")
        self._github.labels[label.name.lower()] = label
        return JSONResponse(label_json(self._github, label), status_code=201)

    async def _membership(self, request: Request) -> Response:
        team = f"{request.path_params['org']}/{request.path_params['slug']}"
        login = request.path_params["login"]
        if login not in self._github.teams.get(team, set()):
            raise HttpError(404, "Not Found")
        url = f"{self._github.url}{request.url.path}"
        return JSONResponse({"url": url, "role": "member", "state": "active"})
