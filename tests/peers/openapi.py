"""GitHub's OpenAPI description (npm's `@octokit/openapi`), checked on every request and every answer.

`Contract` wraps a transport and collects in `violations` what the description does not allow. The description
is cut to the operations that we use, and kept in `.cache`.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

from tests.peers.node import CACHE, node_modules

Json = dict[str, Any]

_REPO = "/repos/{owner}/{repo}"
OPERATIONS = (
    ("GET", "/app"),
    ("GET", "/app/installations"),
    ("POST", "/app/installations/{installation_id}/access_tokens"),
    ("GET", "/app/hook/deliveries"),
    ("GET", "/app/hook/deliveries/{delivery_id}"),
    ("POST", "/app/hook/deliveries/{delivery_id}/attempts"),
    ("GET", "/installation/repositories"),
    ("GET", _REPO),
    ("GET", f"{_REPO}/pulls"),
    ("GET", f"{_REPO}/pulls/{{pull_number}}"),
    ("GET", f"{_REPO}/pulls/{{pull_number}}/files"),
    ("GET", f"{_REPO}/contents/{{path}}"),
    ("GET", f"{_REPO}/compare/{{basehead}}"),
    ("GET", f"{_REPO}/commits"),
    ("GET", f"{_REPO}/collaborators/{{username}}/permission"),
    ("GET", f"{_REPO}/labels/{{name}}"),
    ("POST", f"{_REPO}/labels"),
    ("GET", "/orgs/{org}/teams/{team_slug}/memberships/{username}"),
    ("GET", f"{_REPO}/issues/{{issue_number}}/comments"),
    ("POST", f"{_REPO}/issues/{{issue_number}}/comments"),
    ("GET", f"{_REPO}/issues/comments/{{comment_id}}"),
    ("PATCH", f"{_REPO}/issues/comments/{{comment_id}}"),
    ("DELETE", f"{_REPO}/issues/comments/{{comment_id}}"),
    ("POST", f"{_REPO}/issues/comments/{{comment_id}}/reactions"),
    ("POST", f"{_REPO}/check-runs"),
    ("PATCH", f"{_REPO}/check-runs/{{check_run_id}}"),
    ("GET", f"{_REPO}/check-runs/{{check_run_id}}/annotations"),
    ("GET", f"{_REPO}/commits/{{ref}}/check-runs"),
    ("GET", f"{_REPO}/commits/{{ref}}/statuses"),
    ("POST", f"{_REPO}/statuses/{{sha}}"),
)
# A slip of the description: the account of a listed installation is called both of these at once; the
# installation on its own is rightly called one of them.
_EITHER = ["Simple User", "Enterprise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Something that GitHub's description does not allow, in `operation` such as `GET /app`."""

    operation: str
    text: str


class Contract(httpx.AsyncBaseTransport):
    """Passes requests on to another transport and checks them and their answers."""

    def __init__(self, transport: httpx.AsyncBaseTransport, prefix: str = "") -> None:
        """`prefix` is the path under which the API stands."""
        self._transport = transport
        self._prefix = prefix
        self.violations: list[Violation] = []
        self.operations: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request on, and check both sides."""
        response = await self._transport.handle_async_request(request)
        await response.aread()
        self._check(request, response)
        return response

    async def aclose(self) -> None:
        """Close the transport behind."""
        await self._transport.aclose()

    def _check(self, request: httpx.Request, response: httpx.Response) -> None:
        path = request.url.raw_path.decode("ascii").partition("?")[0].removeprefix(self._prefix)
        operation = _find_operation(request.method, path)
        if operation is None:
            self.violations.append(
                Violation(
                    operation=f"{request.method} {path}",
                    text="GitHub has no such operation, or we do not list it",
                )
            )
            return
        self.operations.append(operation.name)
        found = [*operation.request_problems(request), *operation.response_problems(response)]
        self.violations += [Violation(operation=operation.name, text=text) for text in found]


class Operation:
    """One operation of the description, ready to check."""

    def __init__(self, method: str, path: str, description: Json, components: Json) -> None:
        self.name = f"{method} {path}"
        self.method = method
        # A path may hold slashes; every other name may not.
        parts = re.split(r"(\{\w+\})", path)
        self.pattern = re.compile("".join(_part_pattern(part) for part in parts))
        self._description = description
        self._components = components
        self._validators: dict[str, jsonschema_rs.Validator] = {}

    def request_problems(self, request: httpx.Request) -> Iterator[str]:
        """What is wrong with the request's headers, query and body."""
        if not request.headers.get("X-GitHub-Api-Version"):
            yield "the request names no API version"
        if not request.headers.get("Authorization"):
            yield "the request has no Authorization"
        known = {one["name"]: one["schema"] for one in self._parameters() if one["in"] == "query"}
        for name, value in request.url.params.items():
            if name not in known:
                yield f"the query {name} is not known"
            else:
                typed = int(value) if known[name].get("type") == "integer" and value.isdigit() else value
                yield from self._problems(f"query {name}", known[name], typed)
        yield from self._body_problems(request)

    def response_problems(self, response: httpx.Response) -> Iterator[str]:
        """What is wrong with the answer's status and body."""
        described = self._description["responses"].get(str(response.status_code))
        if described is None:
            yield f"the status {response.status_code} is not described"
            return
        described = self._follow(described)
        schema = described.get("content", {}).get("application/json", {}).get("schema")
        if schema is None and response.content and response.status_code == 204:
            yield "the answer has a body and may not"
        if schema is not None:
            yield from self._problems(f"answer {response.status_code}", schema, response.json())

    def _body_problems(self, request: httpx.Request) -> Iterator[str]:
        described = self._description.get("requestBody")
        if described is None:
            if request.content:
                yield "the request has a body and may not"
            return
        schema = described["content"]["application/json"]["schema"]
        if not request.content:
            if described.get("required"):
                yield "the request has no body"
            return
        body = json.loads(request.content)
        yield from (
            f"the body's {name} is not known" for name in set(body) - set(schema.get("properties", body))
        )
        yield from self._problems("body", schema, body)

    def _problems(self, what: str, schema: Json, value: object) -> Iterator[str]:
        if what not in self._validators:
            whole = {**_as_json_schema(schema), "components": self._components}
            self._validators[what] = jsonschema_rs.Draft7Validator(whole, validate_formats=True)
        for error in self._validators[what].iter_errors(value):
            where = ".".join("[]" if isinstance(step, int) else str(step) for step in error.instance_path)
            yield f"{what} {where}: {error.message[:200]}"

    def _parameters(self) -> list[Json]:
        return [self._follow(one) for one in self._description.get("parameters", [])]

    def _follow(self, described: Json) -> Json:
        reference = described.get("$ref")
        if reference is None:
            return described
        _, _, kind, name = reference.split("/")
        found: Json = self._components[kind][name]
        return found


@cache
def operations() -> tuple[Operation, ...]:
    """Every operation that we use."""
    cut = _cut_description()
    return tuple(
        Operation(method, path, cut["paths"][path][method.lower()], cut["components"])
        for method, path in OPERATIONS
    )


def _find_operation(method: str, path: str) -> Operation | None:
    matching = (one for one in operations() if one.method == method and one.pattern.fullmatch(path))
    return next(matching, None)


def _part_pattern(part: str) -> str:
    if part == "{path}":
        return ".+"
    return "[^/]+" if part.startswith("{") else re.escape(part)


def _cut_description() -> Json:
    source = node_modules() / "@octokit" / "openapi" / "generated" / "api.github.com.json"
    version = json.loads((source.parents[1] / "package.json").read_text())["version"]
    key = hashlib.sha256(repr((version, OPERATIONS)).encode()).hexdigest()[:12]
    kept = CACHE / f"openapi-{key}.json"
    if not kept.is_file():
        cut = _cut(json.loads(source.read_text()))
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(cut))
        fresh.replace(kept)
    found: Json = json.loads(kept.read_text())
    return found


def _cut(whole: Json) -> Json:
    """The operations that we use, and the components they lead to."""
    paths: dict[str, Json] = {}
    for method, path in OPERATIONS:
        described = whole["paths"][path][method.lower()]
        paths.setdefault(path, {})[method.lower()] = {
            name: described[name] for name in ("parameters", "requestBody", "responses") if name in described
        }
    components: dict[str, Json] = {}
    left = list(_references(paths))
    while left:
        _, _, kind, name = left.pop().split("/")
        if name not in components.setdefault(kind, {}):
            components[kind][name] = _as_json_schema(whole["components"][kind][name])
            left += _references(components[kind][name])
    components.pop("examples", None)
    return {"paths": paths, "components": components}


def _references(value: object) -> Iterator[str]:
    match value:
        case {"$ref": str(reference)}:
            yield reference
        case Mapping():
            for inner in value.values():
                yield from _references(inner)
        case list():
            for inner in value:
                yield from _references(inner)


def _as_json_schema(value: Any) -> Any:
    """OpenAPI 3.0 in JSON Schema's words: the same but for `nullable`; examples are left out."""
    if isinstance(value, list):
        return [_as_json_schema(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if [one.get("title") for one in value.get("allOf", [])] == _EITHER:
        value = {("anyOf" if name == "allOf" else name): one for name, one in value.items()}
    inner = {
        name: _as_json_schema(one)
        for name, one in value.items()
        if name not in {"example", "examples", "nullable", "description"} or isinstance(one, dict)
    }
    return {"anyOf": [inner, {"type": "null"}]} if value.get("nullable") is True else inner
