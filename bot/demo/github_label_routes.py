"""The stand-in's routes about labels and teams.

In:  requests. Out: answers in GitHub's shapes.
"""

import json

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github_http import REPO, Failing, Front
from bot.demo.github_pull_shapes import label
from bot.demo.github_state import LabelState, World

LONGEST_NAME, LONGEST_DESCRIPTION = 50, 100


class LabelRoutes:
    """Routes over the labels of one world, and the teams of its owner."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._front = Front(world)

    def all(self) -> list[Route]:
        """Every route."""
        route = self._front.route
        team = "/orgs/{org}/teams/{slug}/memberships/{login}"
        return [
            route("GET", f"{REPO}/labels/{{name}}", self._show),
            route("POST", f"{REPO}/labels", self._create),
            route("GET", team, self._membership),
        ]

    async def _show(self, request: Request) -> Response:
        state = self._world.labels.get(request.path_params["name"].lower())
        if state is None:
            raise Failing(404, "Not Found")
        return JSONResponse(label(self._world, state))

    async def _create(self, request: Request) -> Response:
        self._front.need("pull_requests")
        asked = json.loads(await request.body())
        state = LabelState(
            id=next(self._world.ids),
            name=asked["name"],
            colour=asked["color"],
            description=asked.get("description", ""),
        )
        long = len(state.name) > LONGEST_NAME or len(state.description) > LONGEST_DESCRIPTION
        if long or state.name.lower() in self._world.labels:
            raise Failing(422, "Validation Failed")
        self._world.labels[state.name.lower()] = state
        return JSONResponse(label(self._world, state), status_code=201)

    async def _membership(self, request: Request) -> Response:
        team = f"{request.path_params['org']}/{request.path_params['slug']}"
        login = request.path_params["login"]
        if login not in self._world.teams.get(team, set()):
            raise Failing(404, "Not Found")
        url = f"{self._world.url}{request.url.path}"
        return JSONResponse({"url": url, "role": "member", "state": "active"})
