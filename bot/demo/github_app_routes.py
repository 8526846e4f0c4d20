"""The stand-in's routes about the App, its deliveries and the repository as a whole.

In:  requests. Out: answers in GitHub's shapes.
"""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo import github_shapes as shapes
from bot.demo.github_http import REPO, Failing, Front
from bot.demo.github_state import World

TOKEN_SECONDS = 3600


class AppRoutes:
    """Routes of the App. `redeliver` repeats a delivery by its id and says whether there is one."""

    def __init__(self, world: World, redeliver: Callable[[int], Awaitable[bool]]) -> None:
        self._world = world
        self._front = Front(world)
        self._redeliver = redeliver

    def all(self) -> list[Route]:
        """Every route."""
        route = self._front.route
        return [
            route("GET", "/app", self._app),
            route("GET", "/app/installations", self._installations),
            route("POST", "/app/installations/{id:int}/access_tokens", self._mint),
            route("GET", "/app/hook/deliveries", self._deliveries),
            route("GET", "/app/hook/deliveries/{id:int}", self._delivery),
            route("POST", "/app/hook/deliveries/{id:int}/attempts", self._attempt),
            route("GET", "/installation/repositories", self._repositories),
            route("GET", REPO, self._repository),
            route("GET", f"{REPO}/collaborators/{{login}}/permission", self._permission),
        ]

    async def _app(self, _: Request) -> Response:
        return JSONResponse(shapes.app(self._world))

    async def _installations(self, request: Request) -> Response:
        return self._front.page(request, [shapes.installation(self._world)])

    async def _mint(self, request: Request) -> Response:
        if request.path_params["id"] != self._world.installation:
            raise Failing(404, "Not Found")
        if self._world.suspended_at is not None:
            raise Failing(403, "This installation has been suspended")
        token = f"ghs_{self._world.app_id}_{next(self._world.ids)}"
        self._world.tokens.add(token)
        expires = shapes.at(self._world.now() + TOKEN_SECONDS)
        return JSONResponse({"token": token, "expires_at": expires}, status_code=201)

    async def _deliveries(self, request: Request) -> Response:
        newest_first = reversed(self._world.deliveries)
        return self._front.tail(request, [shapes.delivery(self._world, one) for one in newest_first])

    async def _delivery(self, request: Request) -> Response:
        wanted = request.path_params["id"]
        for one in self._world.deliveries:
            if one.id == wanted:
                return JSONResponse(shapes.whole_delivery(self._world, one))
        raise Failing(422, "No such delivery")

    async def _attempt(self, request: Request) -> Response:
        if not await self._redeliver(request.path_params["id"]):
            raise Failing(422, "No such delivery")
        return JSONResponse({}, status_code=202)

    async def _repositories(self, request: Request) -> Response:
        return self._front.page(request, [shapes.repository(self._world)], within="repositories")

    async def _repository(self, _: Request) -> Response:
        return JSONResponse(shapes.repository(self._world))

    async def _permission(self, request: Request) -> Response:
        account = self._world.accounts.get(request.path_params["login"])
        if account is None:
            raise Failing(404, "Not Found")
        return JSONResponse(shapes.permission(self._world, account))
