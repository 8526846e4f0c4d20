"""The log of a job on the cluster: from its pods while they exist, from Cloud Logging afterwards.

Constant memory, however long a line is. Process 0's log comes first and unchanged. Where it lacks step
lines, the other processes' logs follow, each line prefixed with its pod as `kubectl logs --prefix`
does, and without XPK's first and last lines: a second `XPK Start` would open a second run. Lines that
Cloud Logging's agent took apart get their time stamp back.
"""

import json
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import Any

from msgspec import Struct

from bot.clusters.interface import ClusterPlace
from bot.clusters.job_log import STEP_LINE, last_step
from bot.clusters.xpk import workload_status
from bot.clusters.xpk.api import KubernetesApi
from bot.clusters.xpk.watch import PODS
from bot.clusters.xpk.workload_status import MAIN_CONTAINERS, Pod, main_pod
from bot.errors import InternalError, NotFound, TransientError, UserError

TAIL_LINES = 40

TAIL_BYTES = 1 << 20

MAX_OTHER_PROCESSES = 16
"""Other processes read where the first one's log is not enough: a slice has up to thousands."""


class JobProgress(Struct, frozen=True, kw_only=True):
    """A job's newest step, and when it wrote its last line (Unix seconds)."""

    last_step: int | None = None
    at: float | None = None


async def read_progress(api: KubernetesApi, pod: Pod, before: JobProgress) -> JobProgress:
    """The progress by the end of a pod's log; what it does not say stays as `before`."""
    tail = await api.text(
        f"{PODS}/{pod.name}/log",
        container=pod.container,
        tailLines=str(TAIL_LINES),
        limitBytes=str(TAIL_BYTES),
        timestamps="true",
    )
    lines = tail.splitlines()
    if not lines:
        return before
    step = last_step(tail)
    return JobProgress(
        last_step=before.last_step if step is None else step, at=_line_time(lines[-1]) or before.at
    )


def _line_time(line: bytes) -> float | None:
    """2026-04-21T10:17:39.824857123Z completed step: 7, …"""
    try:
        return datetime.fromisoformat(line.split(b" ", 1)[0].decode("ascii")).timestamp()
    except ValueError:
        return None


Json = Mapping[str, Any]


class ProcessGroup(StrEnum):
    """Whose lines to read."""

    FIRST = "first"
    OTHERS = "others"


class CloudLog(Struct, frozen=True, kw_only=True):
    """The log of one job in Cloud Logging; `url` is another server's, for tests."""

    place: ClusterPlace
    name: str
    url: str = ""

    def read(self, processes: ProcessGroup) -> Iterator[bytes]:
        """The lines of process 0, or of all others with their pods' names."""
        for entry in self._entries(processes):
            text = entry_text(entry).encode("utf-8", "replace")
            if processes is ProcessGroup.FIRST:
                yield text
            else:
                labels = (entry.get("resource") or {}).get("labels") or {}
                yield from prefix_lines(
                    (text,), labels.get("pod_name", "?"), labels.get("container_name", "?")
                )

    def _entries(self, processes: ProcessGroup) -> Iterator[Json]:
        asked: dict[str, Any] = {
            "resourceNames": [f"projects/{self.place.project}"],
            "filter": cloud_filter(self.place, self.name, processes, now=time.time()),
            "orderBy": "timestamp asc",
            "pageSize": CLOUD_PAGE_SIZE,
        }
        session = _cloud_session()
        with session:
            while True:
                page = _cloud_page(session, f"{self.url or CLOUD_LOGGING_URL}/v2/entries:list", asked)
                yield from page.get("entries") or ()
                asked["pageToken"] = page.get("nextPageToken")
                if not asked["pageToken"]:
                    return


@contextmanager
def open_log(api: KubernetesApi, cloud: CloudLog) -> Iterator[Iterator[bytes]]:
    """The job's log, to be used in a `with` statement on a thread; raises `NotFound` where there is none."""
    pods = _list_pods(api, cloud.name)
    main = main_pod(pods)
    if main is not None and _has_beginning(api, main):
        yield _from_pods(api, main, pods)
        return
    # No pods any more, or so much output that the node dropped the beginning.
    pieces = _from_cloud(cloud)
    try:
        first = next(pieces, None)
    except UserError:
        if main is None:
            raise
        first = None
    if first is not None:
        yield chain((first,), pieces)
    elif main is not None:
        yield _from_pods(api, main, pods)
    else:
        raise NotFound(f"{cloud.name} left no log: no pods, and nothing in Cloud Logging.")


def _list_pods(api: KubernetesApi, name: str) -> list[Pod]:
    with api.stream(PODS, labelSelector=f"{workload_status.JOBSET_NAME_LABEL}={name}") as pieces:
        items = json.loads(b"".join(pieces))["items"]
    found = [pod for one in items if (pod := workload_status.read_pod(one))]
    return sorted(found, key=lambda pod: (pod.slice, pod.process, -(pod.created or 0.0)))


def _has_beginning(api: KubernetesApi, pod: Pod) -> bool:
    """Whether the node still has the log's beginning: it keeps about the newest 10 MB."""
    with suppress(NotFound), _pod_log(api, pod, limitBytes="4096") as pieces:
        return b"XPK Start:" in b"".join(pieces)
    return False


def _pod_log(api: KubernetesApi, pod: Pod, **query: str) -> AbstractContextManager[Iterator[bytes]]:
    return api.stream(f"{PODS}/{pod.name}/log", container=pod.container, **query)


def _from_pods(api: KubernetesApi, main: Pod, pods: list[Pod]) -> Iterator[bytes]:
    seen = LogCompleteness()
    with _pod_log(api, main) as pieces:
        yield from seen.watch(pieces)
    others = [pod for pod in pods if (pod.slice, pod.process) != (main.slice, main.process)]
    if seen.whole or (seen.stepless and not _names_steps(api, others[:1])):
        return
    for pod in others[:MAX_OTHER_PROCESSES]:
        seen = LogCompleteness()
        with suppress(NotFound), _pod_log(api, pod) as pieces:
            yield from prefix_lines(seen.watch(pieces), pod.name, pod.container)
        if seen.whole:
            return


def _names_steps(api: KubernetesApi, pods: list[Pod]) -> bool:
    seen = LogCompleteness()
    for pod in pods:
        with suppress(NotFound), _pod_log(api, pod) as pieces:
            deque(seen.watch(pieces), maxlen=0)
    return seen.names_steps


def _from_cloud(cloud: CloudLog) -> Iterator[bytes]:
    seen = LogCompleteness()
    yield from seen.watch(cloud.read(ProcessGroup.FIRST))
    if not seen.whole and not seen.stepless:
        yield from cloud.read(ProcessGroup.OTHERS)


CLOUD_LOGGING_URL = "https://logging.googleapis.com"

CLOUD_LOGGING_SCOPE = "https://www.googleapis.com/auth/logging.read"

CLOUD_PAGE_SIZE = 1000

CLOUD_TIMEOUT_SECONDS = 60.0

LOOK_BACK_SECONDS = 10 * 86_400.0
"""A job is queued two days at most and runs for hours; without a limit a search reads months."""

_SEVERITY_LETTERS = {"WARNING": "W", "ERROR": "E", "CRITICAL": "F", "ALERT": "F", "EMERGENCY": "F"}

_SLICE_0 = 'labels."k8s-pod/jobset_sigs_k8s_io/job-index"="0"'


def cloud_filter(place: ClusterPlace, name: str, processes: ProcessGroup, *, now: float) -> str:
    """The filter that finds the lines; place and name need no quoting."""
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
            f"({first})" if processes is ProcessGroup.FIRST else f"NOT ({first})",
            f'timestamp>="{since}"',
        )
    )


def entry_text(entry: Json) -> str:
    """The line as the program wrote it, with its end.

    The agent keeps a stamp (`I0421 10:17:39.824857 136682829195072 metric_logger.py:196] `) as fields.
    """
    payload = entry.get("jsonPayload")
    if payload is None:
        return _with_newline(str(entry.get("textPayload", "")))
    message = payload.get("message")
    if message is None:
        return _with_newline(json.dumps(payload))
    source = entry.get("sourceLocation") or {}
    if "pid" not in payload or "file" not in source:
        return _with_newline(str(message))
    at = datetime.fromisoformat(entry["timestamp"]).astimezone(UTC)
    letter = _SEVERITY_LETTERS.get(str(entry.get("severity")), "I")
    stamp = f"{letter}{at:%m%d %H:%M:%S.%f} {payload['pid']} {source['file']}:{source.get('line', 0)}]"
    return _with_newline(f"{stamp} {message}")


def _with_newline(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _cloud_session() -> Any:
    """A session with the machine's own credentials, which are looked up on first use."""
    from google.auth import default, exceptions  # noqa: PLC0415 - 0.2 s to import, and seldom needed
    from google.auth.transport.requests import AuthorizedSession  # noqa: PLC0415 - as above

    try:
        credentials, _ = default(scopes=[CLOUD_LOGGING_SCOPE])
    except exceptions.DefaultCredentialsError as problem:
        raise UserError(f"Cloud Logging needs Google credentials where MaxView runs: {problem}") from problem
    session: Any = AuthorizedSession
    return session(credentials)  # without types


def _cloud_page(session: Any, url: str, asked: Json) -> Json:
    from google.auth.exceptions import TransportError  # noqa: PLC0415 - as above
    from requests.exceptions import RequestException  # noqa: PLC0415 - as above

    try:
        answer = session.post(url, json=asked, timeout=CLOUD_TIMEOUT_SECONDS)
    except (RequestException, TransportError) as problem:
        raise TransientError(f"Cloud Logging does not answer: {problem}", after=30.0) from problem
    match answer.status_code:
        case 200:
            page: Json = answer.json()
            return page
        case 401 | 403:
            raise UserError("Cloud Logging refuses MaxView: give its account roles/logging.viewer.")
        case 429 | 500 | 502 | 503 | 504:
            # Reads are limited to 60 a minute per project.
            raise TransientError(f"Cloud Logging is busy (HTTP {answer.status_code})", after=60.0)
        case status:
            raise InternalError(f"Cloud Logging answered HTTP {status}: {answer.text[:300]}")


_FRAME_LINES = (b"XPK Start:", b"XPK End:", b"EXIT_CODE=", b"BENCH_META ")

# What a process prints that ended because another one did: the cause is in another log.
_PEER_FAILURE = b"JAX distributed service detected fatal errors"

_SUCCESS = b"EXIT_CODE=0"

_CARRY_BYTES = 200

_MAX_PART_BYTES = 1 << 16


class LogCompleteness:
    """Watches a log while it is read: does it have every step, and did another process end it?"""

    def __init__(self) -> None:
        self._carry = b""
        self._last: int | None = None
        self._gap = False
        self._victim = False
        self._succeeded = False

    @property
    def stepless(self) -> bool:
        """Whether it succeeded without a step line: the program may print none."""
        return self._last is None and self._succeeded

    @property
    def names_steps(self) -> bool:
        """Whether it has a step line."""
        return self._last is not None

    @property
    def whole(self) -> bool:
        """Whether the log has every step and the cause of its end."""
        return self._last is not None and not self._gap and not self._victim

    def watch(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces unchanged."""
        for piece in pieces:
            self._see(self._carry + piece)
            yield piece

    def _see(self, window: bytes) -> None:
        self._victim = self._victim or _PEER_FAILURE in window
        self._succeeded = self._succeeded or _SUCCESS in window
        done = 0
        for found in STEP_LINE.finditer(window):
            step, done = int(found["step"]), found.end()
            # A step that comes again is a restart of the program, which the log reader handles.
            self._gap = self._gap or (step > self._last + 1 if self._last is not None else False)
            self._last = step
        self._carry = window[max(done, len(window) - _CARRY_BYTES) :]


def prefix_lines(pieces: Iterable[bytes], pod: str, container: str) -> Iterator[bytes]:
    """Another process's lines with its prefix, as `kubectl logs --prefix` writes it."""
    mark = f"[pod/{pod}/{container}] ".encode()
    for begins, part in _line_parts(pieces):
        if begins and not part.startswith(_FRAME_LINES):
            yield mark + part
        elif not begins:
            yield part


def _line_parts(pieces: Iterable[bytes]) -> Iterator[tuple[bool, bytes]]:
    """Lines with their ends; a very long line in parts. Whether a part begins a line, and its bytes."""
    rest, begins = b"", True
    for piece in pieces:
        rest += piece
        *lines, rest = rest.split(b"\n")
        for line in lines:
            yield begins, line + b"\n"
            begins = True
        if len(rest) > _MAX_PART_BYTES:
            yield begins, rest
            rest, begins = b"", False
    if rest or not begins:
        yield begins, rest + b"\n"
