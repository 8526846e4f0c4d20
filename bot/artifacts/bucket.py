"""A bucket of Google Cloud Storage as an `ArtifactStore`: the only door to google-cloud-storage.

Bytes come as they are stored (what was uploaded as gzip arrives as gzip), from one generation per read. A
download that is shorter than the object, or differs from it, is an error. The library is imported on first
use and honours `STORAGE_EMULATOR_HOST` itself.
"""

import os
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from bot.artifacts.store import CHUNK_BYTES, SMALL_FILE_BYTES, AddressGuard, inflate_small
from bot.domain.globs import glob_matches, google_glob, literal_prefix
from bot.domain.run import LogFile
from bot.errors import InternalError, NotGranted, UserError

if TYPE_CHECKING:
    from google.cloud.storage import Blob, Bucket, Client

# One ranged request each: large enough that its latency does not count, small enough to hold.
RANGE_BYTES = 8 << 20

# Seconds to connect, and to wait for the next byte.
TIMEOUT = (10, 60)

# Seconds over which the library repeats what failed in passing (429, 5xx, a cut connection).
RETRY_SECONDS = 30.0

# The library wants a project's name for calls we never make.
NO_PROJECT = "maxview"

NO_CREDENTIALS = (
    "Google wants valid credentials; set GOOGLE_APPLICATION_CREDENTIALS to a service account's key file, "
    "or run `gcloud auth application-default login`"
)

# What is asked of each object of a listing; without nextPageToken a listing ends after its first page.
LISTED_FIELDS = "items(name,size,updated,generation),nextPageToken"


@lru_cache(maxsize=4)
def _client(emulator: str | None) -> "Client":
    from google.auth import default  # noqa: PLC0415 - first use
    from google.auth.exceptions import DefaultCredentialsError  # noqa: PLC0415 - first use
    from google.cloud import storage  # noqa: PLC0415 - first use

    # Otherwise 3.17 asks for the bucket's metadata beside every call, for traces that nobody collects, and
    # with a right (storage.buckets.get) that a viewer of objects lacks.
    os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
    if emulator:
        return storage.Client(project=NO_PROJECT)
    try:
        credentials, project = default(scopes=["https://www.googleapis.com/auth/devstorage.read_write"])
    except DefaultCredentialsError:
        # A public bucket needs none; a private one answers 401, and then we say what is missing.
        return storage.Client.create_anonymous_client()
    return storage.Client(project=project or NO_PROJECT, credentials=credentials)


@contextmanager
def _translate_errors(where: str) -> Iterator[None]:
    """Translate Google's errors: `UserError` if a person can act, `InternalError` if only time helps."""
    from google.api_core.exceptions import GoogleAPIError  # noqa: PLC0415 - first use
    from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - first use
    from google.cloud.storage.exceptions import DataCorruption, InvalidResponse  # noqa: PLC0415 - first use

    try:
        yield
    except (GoogleAPIError, GoogleAuthError, InvalidResponse, DataCorruption, OSError) as problem:
        # `requests`, below the library, derives its errors from OSError.
        raise _our_error(where, problem) from problem


def _our_error(where: str, problem: Exception) -> UserError | InternalError:
    from google.api_core import exceptions as api  # noqa: PLC0415 - first use
    from google.auth.exceptions import GoogleAuthError, TransportError  # noqa: PLC0415 - first use

    match problem:
        case api.NotFound():
            reason = "no such bucket or object; check the name"
        case api.Forbidden():
            reason = "permission denied; give this account the role Storage Object Viewer"
        case api.PreconditionFailed():
            reason = "was rewritten meanwhile; read it again"
        case api.ClientError() if not isinstance(problem, api.Unauthorized | api.TooManyRequests):
            reason = f"refused by Google ({problem.message}); check the name"
        case api.Unauthorized() | GoogleAuthError() if not isinstance(problem, TransportError):
            reason = NO_CREDENTIALS
        case _:
            return InternalError(
                f"{where}: the bucket cannot be reached ({_innermost_reason(problem)}); try again"
            )
    return UserError(f"{where}: {reason}")


def _innermost_reason(problem: BaseException) -> str:
    """The innermost cause in one short line; urllib3 has it in `args[0].reason`."""
    inner: BaseException = problem
    while True:
        first = inner.args[0] if inner.args else None
        deeper = inner.__cause__ or getattr(inner, "reason", None) or first
        if not isinstance(deeper, BaseException):
            break
        inner = deeper
    # HTTPSConnection(host='storage.googleapis.com', port=443): Failed to resolve 'storage.googleapis.com' (…)
    reason = str(inner).partition("): ")
    return " ".join((reason[2] or reason[0] or type(inner).__name__).split())[:200]


def _ignore_missing(_: "Blob") -> None:
    """Somebody else was faster."""


def _run_file(blob: "Blob", name: str) -> LogFile:
    updated = blob.updated.timestamp() if blob.updated else 0.0
    return LogFile(name=name, size=blob.size or 0, updated=updated, generation=str(blob.generation))


class BucketStore:
    """The objects below `prefix` of `bucket`, and of these only what `allows` lets through; one call is
    retried for at most `retry_seconds`."""

    def __init__(
        self,
        *,
        bucket: str,
        prefix: str = "",
        retry_seconds: float = RETRY_SECONDS,
        allows: AddressGuard | None = None,
    ) -> None:
        self._allows = allows
        self._name = bucket
        self._above = f"{prefix}/" if prefix else ""
        self._retry_seconds = retry_seconds

    def find(self, glob: str, *, start_offset: str | None = None) -> Iterator[LogFile]:
        """See `ArtifactStore.find`."""
        self._check_granted(literal_prefix(glob))
        pattern = self._above + glob
        with _translate_errors(self.uri(glob)):
            listing = self._bucket().list_blobs(
                prefix=literal_prefix(pattern),
                match_glob=google_glob(pattern),
                start_offset=self._above + start_offset if start_offset else None,
                fields=LISTED_FIELDS,
                **self._bounds(),
            )
            for blob in listing:
                if (found := self._found(blob, glob, start_offset or "")) is not None:
                    yield found

    def _found(self, blob: "Blob", glob: str, start: str) -> LogFile | None:
        name = blob.name.removeprefix(self._above)
        if name.endswith("/") or name < start or not glob_matches(glob, name) or not self._is_granted(name):
            return None
        return _run_file(blob, name)

    @contextmanager
    def open(self, name: str, generation: str | None = None) -> Iterator[Iterator[bytes]]:
        """See `ArtifactStore.open`."""
        yield self._pieces(self._describe_blob(name, generation))

    def _pieces(self, described: "Blob") -> Iterator[bytes]:
        from google_crc32c import Checksum  # noqa: PLC0415 - comes with the library

        size, seen = described.size or 0, Checksum()
        for start in range(0, size, RANGE_BYTES):
            part = self._read_part(described, start, min(start + RANGE_BYTES, size))
            seen.update(part)
            for at in range(0, len(part), CHUNK_BYTES):
                yield part[at : at + CHUNK_BYTES]
        if described.crc32c and b64encode(seen.digest()).decode() != described.crc32c:
            raise InternalError(
                f"gs://{self._name}/{described.name}: what arrived is not what is stored; try again"
            )

    def _read_part(self, described: "Blob", start: int, end: int) -> bytes:
        # A new object for each part: a download forgets the generation where the answer does not repeat it,
        # and a described one is read through its media link, whose host an emulator may make up.
        blob = self._bucket().blob(described.name, generation=described.generation)
        part = self._fetch_range(blob, start, end)
        if len(part) != end - start:
            where = f"gs://{self._name}/{blob.name}"
            raise InternalError(
                f"{where}: {len(part)} of {end - start} bytes arrived from {start}; try again"
            )
        return part

    def _fetch_range(self, blob: "Blob", start: int, end: int) -> bytes:
        with _translate_errors(f"gs://{self._name}/{blob.name}"):
            fetched: bytes = blob.download_as_bytes(
                start=start, end=end - 1, raw_download=True, checksum=None, **self._bounds()
            )
        return fetched

    def read_small(self, name: str, limit: int = SMALL_FILE_BYTES) -> bytes | None:
        """See `ArtifactStore.read_small`."""
        from google.api_core.exceptions import NotFound  # noqa: PLC0415 - first use

        try:
            return inflate_small(self.read_range(name, 0, limit), limit)
        except UserError as problem:
            if isinstance(problem.__cause__, NotFound):
                return None
            raise

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """See `ArtifactStore.read_range`."""
        from google.api_core.exceptions import RequestRangeNotSatisfiable  # noqa: PLC0415 - first use

        self._check_granted(name)
        try:
            return self._fetch_range(self._bucket().blob(self._above + name), start, start + length)
        except UserError as problem:
            if isinstance(problem.__cause__, RequestRangeNotSatisfiable):
                return b""
            raise

    def describe(self, name: str) -> LogFile:
        """See `ArtifactStore.describe`."""
        return _run_file(self._describe_blob(name, None), name)

    def write(self, name: str, chunks: Iterable[bytes], content_type: str) -> None:
        """See `ArtifactStore.write`."""
        with tempfile.SpooledTemporaryFile(max_size=RANGE_BYTES) as whole:
            whole.writelines(chunks)
            with _translate_errors(self.uri(name)):
                self._bucket().blob(self._above + name).upload_from_file(
                    whole, rewind=True, size=whole.tell(), content_type=content_type, **self._bounds()
                )

    def delete(self, name: str) -> None:
        """See `ArtifactStore.delete`."""
        from google.api_core.exceptions import NotFound  # noqa: PLC0415 - first use

        try:
            with _translate_errors(self.uri(name)):
                self._bucket().blob(self._above + name).delete(**self._bounds())
        except UserError as problem:
            if not isinstance(problem.__cause__, NotFound):
                raise

    def delete_below(self, name: str) -> int:
        """See `ArtifactStore.delete_below`."""
        whole = self._above + name
        number = 0
        with _translate_errors(self.uri(name)):
            for blob in self._bucket().list_blobs(prefix=whole, fields=LISTED_FIELDS, **self._bounds()):
                if blob.name == whole or blob.name.startswith(f"{whole}/"):
                    self._bucket().delete_blobs([blob.name], on_error=_ignore_missing, **self._bounds())
                    number += 1
        return number

    def uri(self, name: str) -> str:
        """See `ArtifactStore.uri`."""
        return f"gs://{self._name}/{self._above}{name}"

    def check(self) -> None:
        """See `ArtifactStore.check`."""
        where = f"gs://{self._name}/{self._above}"
        try:
            with _translate_errors(where):
                first = self._bucket().list_blobs(
                    prefix=self._above, max_results=1, fields=LISTED_FIELDS, **self._bounds()
                )
                next(iter(first), None)
        except InternalError as unreachable:
            raise UserError(str(unreachable)) from unreachable

    def _describe_blob(self, name: str, generation: str | None) -> "Blob":
        self._check_granted(name)
        blob = self._bucket().blob(self._above + name, generation=int(generation) if generation else None)
        with _translate_errors(self.uri(name)):
            blob.reload(**self._bounds())
        return blob

    def _is_granted(self, name: str) -> bool:
        return self._allows is None or self._allows(self.uri(name))

    def _check_granted(self, name: str) -> None:
        if not self._is_granted(name):
            raise NotGranted(f"this server may not read {self.uri(name)}: ask its operator")

    def _bucket(self) -> "Bucket":
        return _client(os.environ.get("STORAGE_EMULATOR_HOST")).bucket(self._name)

    def _bounds(self) -> dict[str, object]:
        """The timeout and retries of one call."""
        from google.cloud.storage.retry import DEFAULT_RETRY  # noqa: PLC0415 - first use

        retry = DEFAULT_RETRY.with_timeout(self._retry_seconds).with_delay(initial=self._retry_seconds / 30)
        return {"timeout": TIMEOUT, "retry": retry}
