"""What every REST endpoint shares: authentication, errors, injected faults, pagination.

An App's JWT is only checked for its form; an installation token must have been created here.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github.payloads import Json
from bot.demo.github.state import GitHubState, InjectedFault

REPOSITORY_PATH = "/repos/{owner}/{repo}"

DOCUMENTATION_URL = "https://docs.github.com/rest"

Endpoint = Callable[[Request], Awaitable[Response]]


class HttpError(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


class RestGate:
    """What stands before every endpoint of one world."""

    def __init__(self, world: GitHubState) -> None:
        self._world = world

    def route(self, method: str, path: str, endpoint: Endpoint) -> Route:
        """The route of an endpoint, behind the checks."""

        async def answer(request: Request) -> Response:
            self._world.requests.append(f"{request.method} {request.url.path}")
            if self._world.away:
                return _error_response(502, "Bad Gateway")
            fault = self._fault(request)
            if fault is not None and not fault.after:
                return _fault_response(fault)
            try:
                self._check_caller(request)
                response = await endpoint(request)
            except HttpError as failing:
                response = _error_response(failing.status, failing.message)
                response.headers.update(failing.headers)
                return response
            return response if fault is None else _fault_response(fault)

        return Route(path, answer, methods=[method])

    def need(self, permission: str) -> None:
        """Refuse where the App was not given this permission to write."""
        if self._world.permissions.get(permission) != "write":
            headers = {"X-Accepted-GitHub-Permissions": f"{permission}=write"}
            raise HttpError(403, "Resource not accessible by integration", headers)

    def page(self, request: Request, everything: Sequence[Json], within: str | None = None) -> Response:
        """One page of a list, with the address of the next; `within` names the list in an object."""
        size = min(max(_number_parameter(request, "per_page", 30), 1), 100)
        page = max(_number_parameter(request, "page", 1), 1)
        shown = list(everything[(page - 1) * size : page * size])
        headers = {}
        if page * size < len(everything):
            following = request.url.include_query_params(page=page + 1)
            headers["Link"] = f'<{self._world.url}{following.path}?{following.query}>; rel="next"'
        if within is None:
            return JSONResponse(shown, headers=headers)
        return JSONResponse({"total_count": len(everything), within: shown}, headers=headers)

    def tail(self, request: Request, everything: Sequence[Json]) -> Response:
        """One part of a list that is read by a cursor: the id behind which it goes on, newest first. Where it
        is still what the caller knows, it says so."""
        size = min(max(_number_parameter(request, "per_page", 30), 1), 100)
        cursor = _number_parameter(request, "cursor", 0)
        left = [one for one in everything if not cursor or int(str(one["id"])) < cursor]
        headers = {"ETag": f'W/"{hashlib.sha256(repr(left[:size]).encode()).hexdigest()}"'}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        if len(left) > size:
            following = request.url.include_query_params(cursor=left[size - 1]["id"])
            headers["Link"] = f'<{self._world.url}{following.path}?{following.query}>; rel="next"'
        return JSONResponse(left[:size], headers=headers)

    def _fault(self, request: Request) -> InjectedFault | None:
        for fault in self._world.faults:
            if fault.method == request.method and request.url.path.endswith(fault.ending):
                self._world.faults.remove(fault)
                return fault
        return None

    def _check_caller(self, request: Request) -> None:
        kind, _, secret = request.headers.get("Authorization", "").partition(" ")
        as_app = request.url.path == "/app" or request.url.path.startswith("/app/")
        good = kind == "Bearer" and secret.count(".") == 2 if as_app else secret in self._world.tokens
        if not good:
            raise HttpError(401, "Bad credentials")
        owner, name = request.path_params.get("owner"), request.path_params.get("repo")
        if name is not None and f"{owner}/{name}" != self._world.full_name:
            raise HttpError(404, "Not Found")
        if name is not None and self._world.archived and request.method != "GET":
            raise HttpError(403, "Repository was archived so is read-only.")


def _number_parameter(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else default


def _error_response(status: int, message: str) -> Response:
    return JSONResponse(
        {"message": message, "documentation_url": DOCUMENTATION_URL, "status": str(status)},
        status_code=status,
    )


def _fault_response(fault: InjectedFault) -> Response:
    response = _error_response(fault.status, fault.message)
    response.headers.update(fault.headers)
    return response
