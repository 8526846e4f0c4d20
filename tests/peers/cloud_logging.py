"""A stand-in for Cloud Logging's `entries.list`: pages, order, refusals.

It serves entries in the shape of a real export.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.peers.loopback import asgi_server

Json = dict[str, Any]


@dataclass(slots=True)
class CloudLogging:
    """What was logged; `statuses` are answered first, `page` entries at a time."""

    entries: list[Json] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    page: int = 3
    asked: list[Json] = field(default_factory=list)

    def log(self, job: str, process: int, at: str, **payload: Any) -> None:
        """One entry of a pod's container."""
        labels = {
            "k8s-pod/jobset_sigs_k8s_io/jobset-name": job,
            "k8s-pod/jobset_sigs_k8s_io/job-index": "0",
            "k8s-pod/batch_kubernetes_io/job-completion-index": str(process),
        }
        resource = {
            "type": "k8s_container",
            "labels": {"pod_name": f"{job}-slice-job-0-{process}-abcde", "container_name": "jax-tpu"},
        }
        entry = {
            "insertId": f"{len(self.entries):06}",
            "timestamp": at,
            "labels": labels,
            "resource": resource,
        }
        self.entries.append(entry | payload)

    def answer(self, asked: Json) -> Response:
        """One page of what the filter means."""
        self.asked.append(asked)
        if self.statuses:
            return JSONResponse({"error": {"message": "refused"}}, self.statuses.pop(0))
        found = re.search(r'jobset-name"="([^"]+)"', asked["filter"])
        assert found is not None
        first = "NOT (" not in asked["filter"]
        chosen = [entry for entry in self.entries if _chosen(entry, found[1], first=first)]
        chosen.sort(key=lambda entry: (entry["timestamp"], entry["insertId"]))
        start = int(asked.get("pageToken") or 0)
        page: Json = {"entries": chosen[start : start + self.page]}
        if start + self.page < len(chosen):
            page["nextPageToken"] = str(start + self.page)
        return JSONResponse(page)


def _chosen(entry: Json, job: str, *, first: bool) -> bool:
    labels = entry["labels"]
    same = labels["k8s-pod/jobset_sigs_k8s_io/jobset-name"] == job
    return same and (labels["k8s-pod/batch_kubernetes_io/job-completion-index"] == "0") is first


@contextmanager
def cloud_logging(logging: CloudLogging) -> Iterator[str]:
    """The address of a Cloud Logging that holds these entries."""

    async def answer(request: Request) -> Response:
        return logging.answer(await request.json())

    with asgi_server(Starlette(routes=[Route("/v2/entries:list", answer, methods=["POST"])])) as address:
        yield address
