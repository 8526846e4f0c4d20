"""A stand-in for a cluster's Kubernetes API: real paths and shapes, and the faults of a real one.

It serves list, watch, get, create, patch, delete and pod logs of any resource by its path, so `xpk`,
`kubectl` and Kubernetes' own client can use it. A JobSet gets its Kueue workload, as on a cluster, and a
`Kubelet` moves it.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.peers.loopback import asgi_server

Json = dict[str, Any]

KUEUE = "v1beta1"

_GROUPS = {"kueue.x-k8s.io": KUEUE, "jobset.x-k8s.io": "v1alpha2"}


@dataclass(frozen=True, slots=True)
class ResourcePath:
    """What a path names: `/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/PART`."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    part: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """What is stored together, whatever the version."""
        return self.group, self.plural


@dataclass(slots=True, kw_only=True)
class ApiFault:
    """An answer that is given instead of the right one, `times` times, to requests that match."""

    status: int
    match: Callable[[str], bool] = lambda _: True
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(slots=True)
class Cluster:
    """What a control plane knows. All of it may be used from any thread."""

    objects: dict[tuple[str, str], dict[str, Json]] = field(default_factory=dict)
    logs: dict[str, bytes] = field(default_factory=dict)
    troubles: list[ApiFault] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    version: int = 100
    forgotten: int = 0
    generation: int = 0
    page: int | None = None
    _changes: list[tuple[int, tuple[str, str], str, Json]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def put(self, where: ResourcePath, found: Json) -> Json:
        """Store an object, new or changed, and tell the watchers."""
        with self.lock:
            self.version += 1
            kept = self.objects.setdefault(where.kind, {})
            name = found["metadata"]["name"]
            meta = found["metadata"]
            meta.setdefault("uid", f"uid-{self.version}")
            meta.setdefault("creationTimestamp", stamp())
            if where.namespace:
                meta.setdefault("namespace", where.namespace)
            meta["resourceVersion"] = str(self.version)
            kind = "MODIFIED" if name in kept else "ADDED"
            kept[name] = deepcopy(found)
            self._changes.append((self.version, where.kind, kind, deepcopy(found)))
            return deepcopy(found)

    def change(self, where: ResourcePath, name: str, edit: Callable[[Json], None]) -> Json:
        """Edit a stored object."""
        with self.lock:
            found = deepcopy(self.objects[where.kind][name])
            edit(found)
            return self.put(where, found)

    def remove(self, where: ResourcePath, name: str) -> Json | None:
        """Delete an object, and with it what it owns."""
        with self.lock:
            found = self.objects.get(where.kind, {}).pop(name, None)
            if found is None:
                return None
            self.version += 1
            gone = deepcopy(found) | {"metadata": found["metadata"] | {"resourceVersion": str(self.version)}}
            self._changes.append((self.version, where.kind, "DELETED", gone))
            for kind, kept in list(self.objects.items()):
                for other in [one for one in kept.values() if _owned(one, found["metadata"]["uid"])]:
                    self.remove(ResourcePath(kind[0], "", kind[1]), other["metadata"]["name"])
            return gone

    def named(self, where: ResourcePath) -> dict[str, Json]:
        """Copies of all objects of a kind."""
        with self.lock:
            return deepcopy(self.objects.get(where.kind, {}))

    def since(self, version: int, kind: tuple[str, str]) -> list[tuple[int, str, Json]]:
        """What changed after a version."""
        with self.lock:
            return [(at, how, one) for at, of, how, one in self._changes if at > version and of == kind]

    def forget(self) -> None:
        """Compact the history: who watches from before now is told 410."""
        with self.lock:
            self.version += 1
            self.forgotten = self.version
            self._changes.clear()

    def restart(self) -> None:
        """Break every open watch, as a restarted API server does."""
        with self.lock:
            self.generation += 1

    def trouble(self, status: int, part: str = "", *, times: int = 1, headers: dict[str, str] | None = None,
                body: bytes | None = None) -> None:  # fmt: skip
        """Answer the next `times` requests whose line holds `part` with this status."""
        with self.lock:
            self.troubles.append(
                ApiFault(
                    status=status,
                    match=lambda line: part in line,
                    times=times,
                    headers=headers or {},
                    body=body,
                )
            )

    def next_trouble(self, line: str) -> ApiFault | None:
        """Note the request; the trouble that waits for it."""
        with self.lock:
            self.asked.append(line)
            for trouble in self.troubles:
                if trouble.times > 0 and trouble.match(line):
                    trouble.times -= 1
                    return trouble
            return None


JOBSETS = ResourcePath("jobset.x-k8s.io", "v1alpha2", "jobsets", "default")

WORKLOADS = ResourcePath("kueue.x-k8s.io", KUEUE, "workloads", "default")

PODS = ResourcePath("", "v1", "pods", "default")


def stamp(seconds: float | None = None) -> str:
    """A moment as the API writes it."""
    at = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def kubernetes(cluster: Cluster) -> Iterator[str]:
    """The address of an API server for this cluster."""

    async def answer(request: Request) -> Response:
        return await _answer(cluster, request)

    methods = ["GET", "POST", "PATCH", "PUT", "DELETE"]
    with asgi_server(Starlette(routes=[Route("/{path:path}", answer, methods=methods)])) as address:
        try:
            yield address
        finally:
            cluster.restart()


def _owned(found: Json, uid: str) -> bool:
    return any(owner.get("uid") == uid for owner in found["metadata"].get("ownerReferences") or ())


async def _answer(cluster: Cluster, request: Request) -> Response:
    line = f"{request.method} {request.url.path}?{request.url.query}"
    trouble = cluster.next_trouble(line)
    if trouble is not None:
        body = trouble.body or json.dumps(_status(trouble.status, "trouble of the test")).encode()
        kind = "application/json" if trouble.body is None else "text/plain"
        return Response(body, trouble.status, trouble.headers, kind)
    where = _where(request.url.path)
    if where is None:
        return _discovery(request.url.path)
    if request.method == "GET":
        return _read(cluster, where, request)
    if request.method == "DELETE":
        gone = cluster.remove(where, where.name)
        return JSONResponse(gone) if gone else _refused(404, f'{where.plural} "{where.name}" not found')
    return _write(cluster, where, request.method, json.loads(await request.body()))


def _read(cluster: Cluster, where: ResourcePath, request: Request) -> Response:
    if where.part == "log":
        return _log(cluster, where, request)
    if where.name:
        found = cluster.named(where).get(where.name)
        return JSONResponse(found) if found else _refused(404, f'{where.plural} "{where.name}" not found')
    watches = request.query_params.get("watch") == "true"
    return _watch(cluster, where, request) if watches else _list(cluster, where, request)


def _write(cluster: Cluster, where: ResourcePath, method: str, body: Json) -> Response:
    name = where.name or body["metadata"]["name"]
    there = name in cluster.named(where)
    if method == "POST":
        if there:
            return _refused(409, f'{where.plural} "{name}" already exists')
        made = cluster.put(where, body)
        if where.kind == JOBSETS.kind:
            cluster.put(WORKLOADS, workload_of(made))
        return JSONResponse(made, 201)
    if not there:
        return _refused(404, f'{where.plural} "{name}" not found')
    return JSONResponse(cluster.change(where, name, lambda found: _merge(found, body)))


def _merge(into: Json, patch: Json) -> None:
    for name, value in patch.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value


def workload_of(jobset: Json) -> Json:
    """The workload that Kueue's controller makes of a JobSet."""
    meta, spec = jobset["metadata"], jobset["spec"]
    template = spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    priorities = {"very-low": 100, "low": 250, "medium": 500, "high": 750, "very-high": 1000}
    wanted = template.get("priorityClassName", "medium")
    owner = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "name": meta["name"],
        "uid": meta["uid"],
    }
    waits = {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "Pending",
        "message": "couldn't assign flavors to pod set slice-job: insufficient unused quota "
        "for google.com/tpu in flavor 1xv6e-32, 32 more needed",
        "lastTransitionTime": stamp(),
    }
    return {
        "apiVersion": f"kueue.x-k8s.io/{KUEUE}",
        "kind": "Workload",
        "metadata": {
            "name": f"jobset-{meta['name']}-{meta['uid'][-5:].strip('-')}",
            "namespace": meta["namespace"],
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {
            "active": True,
            "queueName": meta["labels"]["kueue.x-k8s.io/queue-name"],
            "priority": priorities[wanted],
            "priorityClassName": wanted,
        },
        "status": {"conditions": [waits]},
    }


def _where(path: str) -> ResourcePath | None:
    parts = path.strip("/").split("/")
    group, version = "", ""
    if parts[:1] == ["api"] and len(parts) > 2:
        version, parts = parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    plural, name, part = (*parts, "", "")[:3]
    return ResourcePath(group, version, plural, namespace, name, part)


def _discovery(path: str) -> Response:
    parts = path.strip("/").split("/")
    if parts == ["version"]:
        return JSONResponse({"major": "1", "minor": "33", "gitVersion": "v1.33.5-gke.1080000"})
    if parts[:1] == ["apis"] and len(parts) > 1 and parts[1] in _GROUPS:
        group, version = parts[1], _GROUPS[parts[1]]
        preferred = {"groupVersion": f"{group}/{version}", "version": version}
        if len(parts) == 3 and parts[2] == version:
            return JSONResponse({"kind": "APIResourceList", "groupVersion": f"{group}/{version}"})
        if len(parts) == 2:
            return JSONResponse({"kind": "APIGroup", "name": group, "preferredVersion": preferred})
    return PlainTextResponse("404 page not found\n", 404)


def _list(cluster: Cluster, where: ResourcePath, request: Request) -> Response:
    with cluster.lock:
        version = str(cluster.version)
        found = sorted(cluster.named(where).items())
    chosen = [one for _, one in found if _chosen(one, request.query_params.get("labelSelector", ""))]
    limit = min(int(request.query_params.get("limit") or len(chosen) or 1), cluster.page or 10**9)
    start = int(request.query_params.get("continue") or 0)
    meta = {"resourceVersion": version}
    if start + limit < len(chosen):
        meta["continue"] = str(start + limit)
    return JSONResponse({"kind": "List", "metadata": meta, "items": chosen[start : start + limit]})


def _chosen(found: Json, selector: str) -> bool:
    labels = found["metadata"].get("labels") or {}
    for term in filter(None, selector.split(",")):
        name, equal, value = term.partition("=")
        if name not in labels or (equal and labels[name] != value):
            return False
    return True


def _watch(cluster: Cluster, where: ResourcePath, request: Request) -> Response:
    since = int(request.query_params.get("resourceVersion") or 0)
    selector = request.query_params.get("labelSelector", "")
    seconds = float(request.query_params.get("timeoutSeconds") or 300)
    return StreamingResponse(_events(cluster, where, since, selector, seconds), media_type="application/json")


async def _events(
    cluster: Cluster, where: ResourcePath, since: int, selector: str, seconds: float
) -> AsyncIterator[str]:
    generation, end = cluster.generation, asyncio.get_running_loop().time() + seconds
    if since < cluster.forgotten:
        gone = _status(410, f"too old resource version: {since} ({cluster.forgotten})", "Expired")
        yield json.dumps({"type": "ERROR", "object": gone}) + "\n"
        return
    yield _event("BOOKMARK", {"metadata": {"resourceVersion": str(since)}})
    while asyncio.get_running_loop().time() < end:
        if cluster.generation != generation:
            yield '{"type": "MODIFIED", "obj'
            return
        for at, how, found in cluster.since(since, where.kind):
            since = at
            if _chosen(found, selector):
                yield _event(how, found)
        await asyncio.sleep(0.01)


def _event(how: str, found: Json) -> str:
    return json.dumps({"type": how, "object": found}) + "\n"


def _log(cluster: Cluster, where: ResourcePath, request: Request) -> Response:
    pod = cluster.named(PODS).get(where.name)
    if pod is None:
        return _refused(404, f'pods "{where.name}" not found')
    if where.name not in cluster.logs:
        container = request.query_params.get("container")
        return _refused(400, f'container "{container}" in pod "{where.name}" is waiting to start')
    lines = cluster.logs[where.name].splitlines(keepends=True)
    if tail := request.query_params.get("tailLines"):
        lines = lines[-int(tail) :]
    if request.query_params.get("timestamps") == "true":
        lines = [f"{stamp()} ".encode() + line for line in lines]
    body = b"".join(lines)
    return Response(body[: int(request.query_params.get("limitBytes") or len(body))], media_type="text/plain")


def _refused(status: int, message: str) -> Response:
    return JSONResponse(_status(status, message), status)


def _status(code: int, message: str, reason: str = "") -> Json:
    said = reason or HTTPStatus(code).phrase.replace(" ", "")
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**status, "message": message, "reason": said, "code": code}
