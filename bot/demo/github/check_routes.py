"""REST endpoints of check runs and commit statuses. Every check run here is the App's own."""

import json
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github import payloads
from bot.demo.github.http import REPOSITORY_PATH, HttpError, RestGate
from bot.demo.github.state import GitHubCheck, GitHubState, StatusState

MAX_ANNOTATIONS = 50

MAX_ACTIONS = 3

STATUS_STATES = {"error", "failure", "pending", "success"}


class CheckRoutes:
    """Routes over the check runs and statuses of the stand-in."""

    def __init__(self, github: GitHubState) -> None:
        self._github = github
        self._gate = RestGate(github)

    def all(self) -> list[Route]:
        """Every route."""
        route = self._gate.route
        commit = f"{REPOSITORY_PATH}/commits/{{sha}}"
        return [
            route("POST", f"{REPOSITORY_PATH}/check-runs", self._create),
            route("PATCH", f"{REPOSITORY_PATH}/check-runs/{{id:int}}", self._update),
            route("GET", f"{REPOSITORY_PATH}/check-runs/{{id:int}}/annotations", self._list_annotations),
            route("GET", f"{commit}/check-runs", self._list_checks),
            route("GET", f"{commit}/statuses", self._list_statuses),
            route("POST", f"{REPOSITORY_PATH}/statuses/{{sha}}", self._create_status),
        ]

    async def _create(self, request: Request) -> Response:
        self._gate.require_write("checks")
        body = _json_object(await request.body())
        check = GitHubCheck(
            id=next(self._github.ids),
            head_sha=_required_text(body, "head_sha"),
            name=_required_text(body, "name"),
            status="queued",
            conclusion=None,
            external_id=str(body.get("external_id") or ""),
            details_url=None,
            title=None,
            summary=None,
            started_at=self._github.now(),
            completed_at=None,
        )
        self._apply(check, body)
        self._github.checks[check.id] = check
        return JSONResponse(payloads.check_run_json(self._github, check), status_code=201)

    async def _update(self, request: Request) -> Response:
        self._gate.require_write("checks")
        check = self._find_check(request)
        self._apply(check, _json_object(await request.body()))
        return JSONResponse(payloads.check_run_json(self._github, check))

    def _apply(self, check: GitHubCheck, body: Mapping[str, object]) -> None:
        output = body.get("output") or {}
        actions = body.get("actions") or []
        if not isinstance(output, dict) or not isinstance(actions, list):
            raise HttpError(422, "Validation Failed: output and actions")
        annotations = output.get("annotations") or []
        if len(annotations) > MAX_ANNOTATIONS or len(actions) > MAX_ACTIONS:
            raise HttpError(422, "Validation Failed: too many annotations or actions")
        conclusion = body.get("conclusion")
        check.status = "completed" if conclusion else str(body.get("status") or check.status)
        check.conclusion = str(conclusion) if conclusion else None
        check.completed_at = self._github.now() if conclusion else None
        check.details_url = str(body.get("details_url") or "") or None
        check.title, check.summary = output.get("title"), output.get("summary")
        check.annotations += annotations
        check.actions = list(actions)

    async def _list_annotations(self, request: Request) -> Response:
        check = self._find_check(request)
        annotations = [payloads.annotation_json(self._github, check, one) for one in check.annotations]
        return self._gate.page(request, annotations)

    async def _list_checks(self, request: Request) -> Response:
        name = request.query_params.get("check_name")
        found = [
            payloads.check_run_json(self._github, one)
            for one in reversed(self._github.checks.values())
            if one.head_sha == request.path_params["sha"] and name in {None, one.name}
        ]
        return self._gate.page(request, found, within="check_runs")

    async def _list_statuses(self, request: Request) -> Response:
        sha = request.path_params["sha"]
        found = [one for one in reversed(self._github.statuses) if one.sha == sha]
        return self._gate.page(request, [payloads.status_json(self._github, one) for one in found])

    async def _create_status(self, request: Request) -> Response:
        self._gate.require_write("statuses")
        body = _json_object(await request.body())
        status = StatusState(
            id=next(self._github.ids),
            sha=request.path_params["sha"],
            state=_required_text(body, "state"),
            context=str(body.get("context") or "default"),
            description=str(body.get("description") or "") or None,
            target_url=str(body.get("target_url") or "") or None,
            created_at=self._github.now(),
        )
        if (
            status.state not in STATUS_STATES
            or len(status.description or "") > payloads.MAX_DESCRIPTION_LENGTH
        ):
            raise HttpError(422, "Validation Failed: state or description")
        self._github.statuses.append(status)
        return JSONResponse(payloads.status_json(self._github, status), status_code=201)

    def _find_check(self, request: Request) -> GitHubCheck:
        check = self._github.checks.get(request.path_params["id"])
        if check is None:
            raise HttpError(404, "Not Found")
        return check


def _json_object(raw: bytes) -> dict[str, object]:
    try:
        body = json.loads(raw)
    except ValueError:
        raise HttpError(400, "Problems parsing JSON") from None
    if not isinstance(body, dict):
        raise HttpError(422, "Validation Failed: the body is no object")
    return body


def _required_text(body: Mapping[str, object], name: str) -> str:
    found = body.get(name)
    if not isinstance(found, str) or not found:
        raise HttpError(422, f"Validation Failed: {name} is missing")
    return found
