"""Reads a job's log from Cloud Logging: the only door to it.

In:  whose log. Out: text, piece by piece, as the pod wrote it.
Promises: constant memory, one page at a time, in the order of time and insertion. Lines that the logging
agent took apart get their stamp back. A refusal is `Told`, what passes by itself `TryLater`.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from bot.errors import Broken, Told, TryLater
from bot.runs.clusters.port import Place
from bot.runs.clusters.xpk.facts import MAIN_CONTAINERS
from bot.runs.clusters.xpk.lines import marked

LOGGING = "https://logging.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/logging.read"
PAGE = 1000
ANSWER_SECONDS = 60.0

LOOK_BACK_SECONDS = 10 * 86_400.0
"""A job waits two days at most and runs for hours; without a limit a search goes through months."""

_LETTERS = {"WARNING": "W", "ERROR": "E", "CRITICAL": "F", "ALERT": "F", "EMERGENCY": "F"}

_SLICE_0 = 'labels."k8s-pod/jobset_sigs_k8s_io/job-index"="0"'

Json = Mapping[str, Any]


class Processes(StrEnum):
    """Whose lines to read."""

    FIRST = "first"
    OTHERS = "others"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudLog:
    """The log of one job; `url` is where another Cloud Logging is."""

    place: Place
    name: str
    url: str = ""

    def read(self, processes: Processes) -> Iterator[bytes]:
        """The lines of process 0, or of all others with their pods' names."""
        for entry in self._entries(processes):
            text = text_of(entry).encode("utf-8", "replace")
            if processes is Processes.FIRST:
                yield text
            else:
                labels = (entry.get("resource") or {}).get("labels") or {}
                yield from marked((text,), labels.get("pod_name", "?"), labels.get("container_name", "?"))

    def _entries(self, processes: Processes) -> Iterator[Json]:
        asked: dict[str, Any] = {
            "resourceNames": [f"projects/{self.place.project}"],
            "filter": search(self.place, self.name, processes, now=time.time()),
            "orderBy": "timestamp asc",
            "pageSize": PAGE,
        }
        session = _session()
        with session:
            while True:
                page = _page(session, f"{self.url or LOGGING}/v2/entries:list", asked)
                yield from page.get("entries") or ()
                asked["pageToken"] = page.get("nextPageToken")
                if not asked["pageToken"]:
                    return


def search(place: Place, name: str, processes: Processes, *, now: float) -> str:
    """The filter that finds the lines; place and name are of a form that needs no quoting."""
    since = datetime.fromtimestamp(now - LOOK_BACK_SECONDS, UTC).isoformat(timespec="seconds")
    containers = " OR ".join(f'"{one}"' for one in MAIN_CONTAINERS)
    process = 'labels."k8s-pod/batch_kubernetes_io/job-completion-index"="0"'
    first = f"{process} AND {_SLICE_0}"
    return "\n".join(
        (
            'resource.type="k8s_container"',
            f'resource.labels.project_id="{place.project}"',
            f'resource.labels.cluster_name="{place.cluster}"',
            'resource.labels.namespace_name="default"',
            f"resource.labels.container_name=({containers})",
            f'labels."k8s-pod/jobset_sigs_k8s_io/jobset-name"="{name}"',
            f"({first})" if processes is Processes.FIRST else f"NOT ({first})",
            f'timestamp>="{since}"',
        )
    )


def text_of(entry: Json) -> str:
    """The line as the program wrote it, with its end.

    The agent keeps a stamp (`I0421 10:17:39.824857 136682829195072 metric_logger.py:196] `) as fields.
    """
    payload = entry.get("jsonPayload")
    if payload is None:
        return _ended(str(entry.get("textPayload", "")))
    message = payload.get("message")
    if message is None:
        return _ended(json.dumps(payload))
    source = entry.get("sourceLocation") or {}
    if "pid" not in payload or "file" not in source:
        return _ended(str(message))
    at = datetime.fromisoformat(entry["timestamp"]).astimezone(UTC)
    letter = _LETTERS.get(str(entry.get("severity")), "I")
    stamp = f"{letter}{at:%m%d %H:%M:%S.%f} {payload['pid']} {source['file']}:{source.get('line', 0)}]"
    return _ended(f"{stamp} {message}")


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _session() -> Any:
    """A session that carries the machine's own credentials; they are looked for on first use."""
    from google.auth import default, exceptions  # noqa: PLC0415 - 0.2 s to import, and seldom needed
    from google.auth.transport.requests import AuthorizedSession  # noqa: PLC0415 - as above

    try:
        credentials, _ = default(scopes=[SCOPE])
    except exceptions.DefaultCredentialsError as problem:
        raise Told(f"Cloud Logging needs Google credentials where MaxView runs: {problem}") from problem
    session: Any = AuthorizedSession
    return session(credentials)  # without types


def _page(session: Any, url: str, asked: Json) -> Json:
    from google.auth.exceptions import TransportError  # noqa: PLC0415 - as above
    from requests.exceptions import RequestException  # noqa: PLC0415 - as above

    try:
        answer = session.post(url, json=asked, timeout=ANSWER_SECONDS)
    except (RequestException, TransportError) as problem:
        raise TryLater(f"Cloud Logging does not answer: {problem}", after=30.0) from problem
    match answer.status_code:
        case 200:
            page: Json = answer.json()
            return page
        case 401 | 403:
            raise Told("Cloud Logging refuses MaxView: give its account roles/logging.viewer.")
        case 429 | 500 | 502 | 503 | 504:
            # Reads are limited to 60 a minute for a project.
            raise TryLater(f"Cloud Logging is busy (HTTP {answer.status_code})", after=60.0)
        case status:
            raise Broken(f"Cloud Logging answered HTTP {status}: {answer.text[:300]}")
