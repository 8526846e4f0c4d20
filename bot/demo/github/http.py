"""What every REST endpoint shares: authentication, errors, injected faults, pagination.

An App's JWT is only checked for its form; tokens of installations and people must have been created here.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github.payloads import Json
from bot.demo.github.state import GitHubState, InjectedFault, Interruption

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
    """Wraps every endpoint: records the request, injects faults, checks the caller, turns errors to JSON."""

    def __init__(self, github: GitHubState) -> None:
        self._github = github

    def route(self, method: str, path: str, endpoint: Endpoint) -> Route:
        """The route of an endpoint for callers with a token."""

        async def checked(request: Request) -> Response:
            self._check_caller(request)
            return await endpoint(request)

        return self.public_route(method, path, checked)

    def public_route(self, method: str, path: str, endpoint: Endpoint) -> Route:
        """The route of an endpoint that checks its callers itself."""

        async def answer(request: Request) -> Response:
            self._github.requests.append(f"{request.method} {request.url.path}")
            interruption = self._next_interruption(request)
            if interruption is not None and not interruption.after:
                await interruption.act()
            response = await self._answer(request, endpoint)
            if interruption is not None and interruption.after:
                await interruption.act()
            return response

        return Route(path, answer, methods=[method])

    async def _answer(self, request: Request, endpoint: Endpoint) -> Response:
        if self._github.away:
            return _error_response(502, "Bad Gateway")
        fault = self._next_fault(request)
        if fault is not None and not fault.after:
            return _fault_response(fault)
        try:
            response = await endpoint(request)
        except HttpError as error:
            response = _error_response(error.status, error.message)
            response.headers.update(error.headers)
            return response
        return response if fault is None else _fault_response(fault)

    def require_write(self, permission: str) -> None:
        """Refuse where the App was not given this permission to write."""
        if self._github.permissions.get(permission) != "write":
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
            headers["Link"] = f'<{self._github.url}{following.path}?{following.query}>; rel="next"'
        if within is None:
            return JSONResponse(shown, headers=headers)
        return JSONResponse({"total_count": len(everything), within: shown}, headers=headers)

    def cursor_page(self, request: Request, everything: Sequence[Json]) -> Response:
        """One page of a list, newest first, read by a cursor: the id after which it continues. 304 if the
        ETag matches."""
        size = min(max(_number_parameter(request, "per_page", 30), 1), 100)
        cursor = _number_parameter(request, "cursor", 0)
        left = [one for one in everything if not cursor or int(str(one["id"])) < cursor]
        headers = {"ETag": f'W/"{hashlib.sha256(repr(left[:size]).encode()).hexdigest()}"'}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        if len(left) > size:
            following = request.url.include_query_params(cursor=left[size - 1]["id"])
            headers["Link"] = f'<{self._github.url}{following.path}?{following.query}>; rel="next"'
        return JSONResponse(left[:size], headers=headers)

    def person(self, request: Request) -> str | None:
        """Whose token the request carries; None for the App's own."""
        return self._github.user_tokens.get(_authorization(request)[1])

    def _next_interruption(self, request: Request) -> Interruption | None:
        for interruption in self._github.interruptions:
            if _matches(interruption, request):
                self._github.interruptions.remove(interruption)
                return interruption
        return None

    def _next_fault(self, request: Request) -> InjectedFault | None:
        for fault in self._github.faults:
            if _matches(fault, request):
                fault.times -= 1
                if fault.times == 0:
                    self._github.faults.remove(fault)
                return fault
        return None

    def _check_caller(self, request: Request) -> None:
        kind, token = _authorization(request)
        as_app = request.url.path == "/app" or request.url.path.startswith("/app/")
        if as_app:
            known = kind == "Bearer" and token.count(".") == 2
        else:
            known = token in self._github.tokens or token in self._github.user_tokens
        if not known:
            raise HttpError(401, "Bad credentials")
        if "repo" in request.path_params:
            self._check_repository(request)

    def _check_repository(self, request: Request) -> None:
        name, person = "{owner}/{repo}".format(**request.path_params), self.person(request)
        if person is not None:
            readable = {one.lower() for one in self._github.readable.get(person, ())}
            if name.lower() not in readable:
                raise HttpError(404, "Not Found")
        elif name != self._github.full_name:
            raise HttpError(404, "Not Found")
        elif self._github.archived and request.method != "GET":
            raise HttpError(403, "Repository was archived so is read-only.")


def _matches(one: InjectedFault | Interruption, request: Request) -> bool:
    return one.method == request.method and request.url.path.endswith(one.ending)


def _authorization(request: Request) -> tuple[str, str]:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return kind, token


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
