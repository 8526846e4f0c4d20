"""REST endpoints of the App, its deliveries, the repository and permissions."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github import payloads
from bot.demo.github.http import REPOSITORY_PATH, HttpError, RestGate
from bot.demo.github.state import GitHubState

TOKEN_SECONDS = 3600


class AppRoutes:
    """Routes of the App. `redeliver` repeats a delivery by its id and returns whether it exists."""

    def __init__(self, github: GitHubState, redeliver: Callable[[int], Awaitable[bool]]) -> None:
        self._github = github
        self._gate = RestGate(github)
        self._redeliver = redeliver

    def all(self) -> list[Route]:
        """Every route."""
        route = self._gate.route
        return [
            route("GET", "/app", self._app),
            route("GET", "/app/installations", self._installations),
            route("POST", "/app/installations/{id:int}/access_tokens", self._create_token),
            route("GET", "/app/hook/deliveries", self._deliveries),
            route("GET", "/app/hook/deliveries/{id:int}", self._delivery),
            route("POST", "/app/hook/deliveries/{id:int}/attempts", self._redeliver_one),
            route("GET", "/installation/repositories", self._repositories),
            route("GET", REPOSITORY_PATH, self._repository),
            route("GET", f"{REPOSITORY_PATH}/collaborators/{{login}}/permission", self._permission),
        ]

    async def _app(self, _: Request) -> Response:
        return JSONResponse(payloads.app_json(self._github))

    async def _installations(self, request: Request) -> Response:
        installed = [payloads.installation_json(self._github)] if self._github.installed else []
        return self._gate.page(request, installed)

    async def _create_token(self, request: Request) -> Response:
        if request.path_params["id"] != self._github.installation or not self._github.installed:
            raise HttpError(404, "Not Found")
        if self._github.suspended_at is not None:
            raise HttpError(403, "This installation has been suspended")
        token = f"ghs_{self._github.app_id}_{next(self._github.ids)}"
        self._github.tokens.add(token)
        expires = payloads.timestamp(self._github.now() + TOKEN_SECONDS)
        return JSONResponse({"token": token, "expires_at": expires}, status_code=201)

    async def _deliveries(self, request: Request) -> Response:
        newest_first = reversed(self._github.deliveries)
        return self._gate.cursor_page(
            request, [payloads.delivery_json(self._github, one) for one in newest_first]
        )

    async def _delivery(self, request: Request) -> Response:
        wanted = request.path_params["id"]
        for one in self._github.deliveries:
            if one.id == wanted:
                return JSONResponse(payloads.full_delivery_json(self._github, one))
        raise HttpError(422, "No such delivery")

    async def _redeliver_one(self, request: Request) -> Response:
        if not await self._redeliver(request.path_params["id"]):
            raise HttpError(422, "No such delivery")
        return JSONResponse({}, status_code=202)

    async def _repositories(self, request: Request) -> Response:
        return self._gate.page(request, [payloads.repository_json(self._github)], within="repositories")

    async def _repository(self, request: Request) -> Response:
        """The App's repository, or any that the person may read, under its name as GitHub spells it."""
        shown = payloads.repository_json(self._github)
        person = self._gate.person(request)
        if person is not None:
            asked = "{owner}/{repo}".format(**request.path_params).lower()
            name = next(one for one in self._github.readable[person] if one.lower() == asked)
            shown |= {"full_name": name, "name": name.partition("/")[2]}
            shown |= {"id": self._github.other_ids.get(name, shown["id"])}
        return JSONResponse(shown)

    async def _permission(self, request: Request) -> Response:
        account = self._github.accounts.get(request.path_params["login"])
        if account is None:
            raise HttpError(404, "Not Found")
        return JSONResponse(payloads.permission_json(self._github, account))
