"""Client of a cluster's Kubernetes API: objects as JSON, watch streams, the bytes of logs.

Every call has a time limit. A refusal is `UserError`. What passes by itself is `TransientError` with the
time the server asked for. A watch whose starting version the server has forgotten raises `WatchExpired`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

from bot.errors import InternalError, NotFound, TransientError, UserError

ANSWER_SECONDS = 20.0
"""For a connection (with its access token), and between two chunks of an answer."""

WATCH_SECONDS = 60
"""The server ends a watch stream after this time and we open it again: so a dead connection is noticed
soon."""

PAGE_SIZE = 500
"""Objects per page of a listing."""

BUSY_SECONDS = 2.0
"""The delay where a server names none; callers back off by themselves."""

Json = Mapping[str, Any]


class WatchExpired(Exception):
    """The server no longer has the changes since this version: list again."""


class KubernetesApi:
    """One control plane, with the credentials of a kubeconfig's current context."""

    def __init__(self, kubeconfig: Path) -> None:
        try:
            config = KubeConfig.from_file(kubeconfig).get()
        except (ConfigError, KeyError) as problem:
            raise InternalError(f"gcloud wrote a kubeconfig that cannot be read: {problem}") from problem
        self._config = cast(SingleConfig, config)  # None is given only to who asks for it
        self._client = client_adapter.AsyncClient(self._config, _connection_params(ANSWER_SECONDS))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def get(self, path: str) -> Json | None:
        """One object, None where there is none."""
        try:
            return await self._json("GET", path)
        except NotFound:
            return None

    async def merge(self, path: str, patch: Json) -> Json:
        """Patch the named fields of an object and return it; raises `NotFound`."""
        headers = {"content-type": "application/merge-patch+json"}
        return await self._json("PATCH", path, content=json.dumps(patch).encode(), headers=headers)

    async def listing(self, path: str, **query: str) -> AsyncGenerator[Json, None]:
        """The pages of a listing; the first one's `metadata.resourceVersion` is where to watch from."""
        further = {"limit": str(PAGE_SIZE)}
        while further.get("continue", "more"):
            page = await self._json("GET", path, params={**query, **further})
            yield page
            further["continue"] = page["metadata"].get("continue") or ""

    @asynccontextmanager
    async def changes(self, path: str, *, since: str, **query: str) -> AsyncIterator[AsyncIterator[Json]]:
        """The changes after the version `since`, until the server ends the stream; raises `WatchExpired`."""
        asked = {**query, "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": since}
        asked["timeoutSeconds"] = str(WATCH_SECONDS)
        with _translate_errors():
            request = self._client.build_request("GET", path, params=asked)
            request.extensions["timeout"] = httpx2.Timeout(ANSWER_SECONDS, read=WATCH_SECONDS + 15).as_dict()
            async with asyncio.timeout(2 * ANSWER_SECONDS):
                answer = await self._client.send(request, stream=True)
            try:
                if answer.is_error:
                    await answer.aread()
                    _raise_for_status(answer.status_code, answer.headers, answer.content)
                yield _read_events(answer)
            finally:
                await answer.aclose()

    async def text(self, path: str, **query: str) -> bytes:
        """A small text, such as the end of a log; raises `NotFound`."""
        return (await self._answer("GET", path, params=query)).content

    def stream(self, path: str, **query: str) -> AbstractContextManager[Iterator[bytes]]:
        """A large text in chunks, blocking; raises `NotFound`."""
        return _open_stream(self._config, path, query)

    async def _json(self, method: str, path: str, **options: Any) -> Json:
        answer = await self._answer(method, path, **options)
        with _translate_errors():
            found: Json = answer.json()
        return found

    async def _answer(self, method: str, path: str, **options: Any) -> httpx2.Response:
        if self._client.is_closed:
            raise TransientError("The cluster is being opened anew", after=1.0)
        with _translate_errors():
            async with asyncio.timeout(2 * ANSWER_SECONDS):
                answer = await self._client.request(method, path, **options)
        if answer.is_error:
            _raise_for_status(answer.status_code, answer.headers, answer.content)
        return answer


def _connection_params(seconds: float) -> client_adapter.ConnectionParams:
    return client_adapter.ConnectionParams(timeout=httpx2.Timeout(seconds))


async def _read_events(answer: httpx2.Response) -> AsyncIterator[Json]:
    async for line in answer.aiter_lines():
        if not line:
            continue
        event: Json = json.loads(line)
        if event["type"] == "ERROR":
            status = event["object"]
            _raise_for_status(int(status.get("code") or 500), {}, json.dumps(status).encode())
        yield event


@contextmanager
def _open_stream(config: SingleConfig, path: str, query: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
    with (
        _translate_errors(),
        client_adapter.Client(config, _connection_params(3 * ANSWER_SECONDS)) as client,
        client.stream("GET", path, params=query) as answer,
    ):
        if answer.is_error:
            answer.read()
            _raise_for_status(answer.status_code, answer.headers, answer.content)
        yield answer.iter_bytes()


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Failed or silent connections are transient; so is a missing access token."""
    try:
        yield
    except (httpx2.TransportError, TimeoutError) as problem:
        said = str(problem) or type(problem).__name__
        raise TransientError(f"The cluster does not answer: {said}", after=BUSY_SECONDS) from problem
    except ValueError as problem:
        # A stream that was cut in the middle of a line, or a page of a proxy in between.
        raise TransientError("The cluster's answer cannot be read", after=BUSY_SECONDS) from problem
    except (ConfigError, FileNotFoundError) as problem:
        raise TransientError(
            f"No access token for the cluster: {problem}", after=30 * BUSY_SECONDS
        ) from problem


def _raise_for_status(status: int, headers: Mapping[str, str], content: bytes) -> None:
    """Raise the error for this status."""
    said = _error_message(content) or f"HTTP {status}"
    match status:
        case 401 | 403:
            raise UserError(
                f"The cluster refuses MaxView: {said}. Give its account roles/container.developer."
            )
        case 404:
            raise NotFound(said)
        case 400 if "container" in said:
            # container "jax-tpu" in pod "…" is waiting to start: it has no log yet.
            raise NotFound(said)
        case 410:
            raise WatchExpired(said)
        case 408 | 409 | 429 | 500 | 502 | 503 | 504:
            raise TransientError(
                f"The cluster is busy: {said}", after=_retry_seconds(headers.get("retry-after"))
            )
        case _:
            raise InternalError(f"The cluster answered HTTP {status}: {said}")


def _error_message(content: bytes) -> str:
    try:
        return str(json.loads(content).get("message", ""))
    except (ValueError, AttributeError):
        return content[:200].decode("utf-8", "replace")


def _retry_seconds(asked: str | None) -> float:
    return min(max(float(asked), 1.0), 300.0) if asked and asked.isdecimal() else BUSY_SECONDS
