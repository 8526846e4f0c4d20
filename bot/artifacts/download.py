"""Download a log from an `http(s)://` address.

A download that breaks off is resumed where it stopped, or ends with a `UserError`; a part is never passed
off as the whole. Messages show an address without its password and query: a signed address is a secret.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from bot.errors import UserError

CHUNK_BYTES = 1 << 18

# Seconds to connect, and to wait for the next byte.
TIMEOUT = httpx.Timeout(60.0, connect=10.0)

# How often in a row a download is taken up again without a byte of progress, and the pause before it.
MAX_RESUMPTIONS = 3

RESUME_PAUSE_SECONDS = 0.5

# gzip is asked for because some stores inflate a stored gzip, and drop its length, unless it is.
HEADERS = {"accept-encoding": "gzip", "user-agent": "maxview"}


@contextmanager
def open_url(address: str) -> Iterator[Iterator[bytes]]:
    """The stored bytes behind `address`."""
    with _client() as client:
        download = _Download(client, address)
        try:
            yield download.pieces()
        finally:
            download.close()


def url_size(address: str) -> int | None:
    """The length that the server announces, or None."""
    with _client() as client:
        try:
            answer = client.head(address)
        except (httpx.HTTPError, httpx.InvalidURL):
            return None
    length = answer.headers.get("content-length", "")
    return int(length) if answer.is_success and length.isdecimal() else None


def printable_url(address: str) -> str:
    """The address without user, password and query."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        return address.partition("?")[0][:200]
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _client() -> httpx.Client:
    return httpx.Client(timeout=TIMEOUT, headers=HEADERS, follow_redirects=True)


class _Download:
    """One download: `_at` bytes have been yielded; `_whole` is the length, if the server announced it."""

    def __init__(self, client: httpx.Client, address: str) -> None:
        self._client = client
        self._address = address
        self._where = printable_url(address)
        self._at = 0
        self._whole: int | None = None
        self._version: str | None = None
        self._answer = self._start()

    def _start(self) -> httpx.Response:
        answer = self._request({})
        if answer.status_code != httpx.codes.OK:
            raise UserError(f"{self._where}: {_refusal_message(answer)}")
        encoding = answer.headers.get("content-encoding", "identity").lower()
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise UserError(f"{self._where}: came as {encoding}, which was not asked for; download it first")
        length = answer.headers.get("content-length", "")
        self._whole = int(length) if length.isdecimal() else None
        self._version = _resumable_version(answer)
        return answer

    def pieces(self) -> Iterator[bytes]:
        """Every byte from the first to the last."""
        left = MAX_RESUMPTIONS
        while True:
            before = self._at
            try:
                yield from filter(None, self._rest())
            except httpx.TransportError as cut:
                left = MAX_RESUMPTIONS if self._at > before else left - 1
                self._resume(cut, left)
                continue
            if self._whole is not None and self._at != self._whole:
                raise UserError(f"{self._where}: ended after {self._at} of {self._whole} bytes; try again")
            return

    def close(self) -> None:
        """Close the connection."""
        self._answer.close()

    def _rest(self) -> Iterator[bytes]:
        held = bytearray()
        try:
            for piece in self._answer.iter_raw():
                held += piece
                if len(held) >= CHUNK_BYTES:
                    yield self._take_held(held)
        except httpx.TransportError:
            # What came before the break is good; the library's own chunks would lose it.
            yield self._take_held(held)
            raise
        yield self._take_held(held)

    def _take_held(self, held: bytearray) -> bytes:
        self._at += len(held)
        piece = bytes(held)
        held.clear()
        return piece

    def _resume(self, cut: httpx.TransportError, left: int) -> None:
        self.close()
        if not left or (self._at and self._version is None):
            whole = f" of {self._whole}" if self._whole is not None else ""
            raise UserError(f"{self._where}: broke off after {self._at}{whole} bytes; try again") from cut
        time.sleep(RESUME_PAUSE_SECONDS)
        if not self._at:
            self._answer = self._start()
            return
        # If-Range: a server whose content changed meanwhile answers 200, not the rest of another file.
        self._answer = self._request({"range": f"bytes={self._at}-", "if-range": self._version or ""})
        begins = self._answer.headers.get("content-range", "").startswith(f"bytes {self._at}-")
        if self._answer.status_code != httpx.codes.PARTIAL_CONTENT or not begins:
            raise UserError(
                f"{self._where}: broke off after {self._at} bytes and cannot be taken up; try again"
            )

    def _request(self, headers: dict[str, str]) -> httpx.Response:
        try:
            return self._client.send(
                self._client.build_request("GET", self._address, headers=headers), stream=True
            )
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as problem:
            raise UserError(f"{self._where}: not an address ({problem})") from problem
        except httpx.TimeoutException as problem:
            raise UserError(f"{self._where}: no answer in time; check the address, or try again") from problem
        except httpx.TooManyRedirects as problem:
            raise UserError(f"{self._where}: redirects in a circle; check the address") from problem
        except httpx.HTTPError as problem:
            raise UserError(
                f"{self._where}: cannot be reached ({problem}); check host and network"
            ) from problem


def _resumable_version(answer: httpx.Response) -> str | None:
    """The validator of this content for a range request; a weak ETag does not promise the same bytes."""
    if answer.headers.get("accept-ranges", "").lower() != "bytes":
        return None
    tag: str = answer.headers.get("etag", "")
    modified: str | None = answer.headers.get("last-modified")
    return tag if tag.startswith('"') else modified


def _refusal_message(answer: httpx.Response) -> str:
    reason = f"the server answered {answer.status_code} {answer.reason_phrase}".rstrip()
    match answer.status_code:
        case 404 | 410:
            return f"{reason}; check the address"
        case 401 | 403:
            return f"{reason}; this address needs a permission: download it yourself and give the file"
        case 429:
            return f"{reason}; try again later"
        case code if code >= 500:
            return f"{reason}; the fault is the server's: try again later"
        case _:
            return f"{reason}; check the address"
