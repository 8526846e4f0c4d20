"""HTTP answers: security headers, ETags, JSON and CSV.

Answers load nothing from outside, run nothing inline, and no other site may frame them or learn their
address. In CSV, a text that a spreadsheet would take for a formula gets an apostrophe; numbers stay numbers.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

UNLISTED_HEADERS = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}
"""On every answer: no address of ours is handed on to another site, nor found by a search engine."""

SECURITY_HEADERS = {
    **UNLISTED_HEADERS,
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

# Browsers revalidate every time and get 304 if nothing changed; private pages stay in the reader's browser.
CACHE_PUBLIC = "no-cache"

CACHE_PRIVATE = "private, no-cache"

NO_STORE = "no-store"

HTML = "text/html; charset=utf-8"

JSON = "application/json"

TEXT = "text/plain; charset=utf-8"


def redirect_without_slash(request: Request) -> Response | None:
    """A redirect to the address without its trailing slash; None if it has none.

    The target is always a path of this site: it starts with exactly one slash.
    """
    path = request.scope["path"]
    if not path.endswith("/") or not path.strip("/"):
        return None
    target = "/" + quote(path.strip("/"), safe="/:@!$&'()*+,;=~")
    query = f"?{request.url.query}" if request.url.query else ""
    return with_security_headers(
        RedirectResponse(target + query, status_code=308, headers={"Cache-Control": NO_STORE})
    )


def with_security_headers(response: Response) -> Response:
    """Add the security headers that every answer carries."""
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def etag_answer(
    request: Request,
    body: bytes,
    *,
    kind: str,
    cache: str = CACHE_PUBLIC,
    status: int = 200,
    headers: dict[str, str] | None = None,
    tag: str | None = None,
) -> Response:
    """`body`, or 304 if the ETag matches; pass `tag` if it is known without the body."""
    tag = tag or make_etag(body)
    shared = {"ETag": tag, "Cache-Control": cache, **(headers or {})}
    if status == 200 and _matches_etag(request.headers.get("if-none-match", ""), tag):
        return with_security_headers(Response(status_code=304, headers=shared))
    return with_security_headers(Response(body, status_code=status, media_type=kind, headers=shared))


def make_etag(*parts: object) -> str:
    """An ETag that changes with any of these parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else repr(part).encode() + b"\0")
    return f'"{digest.hexdigest()[:32]}"'


def not_modified(request: Request, tag: str, *, cache: str) -> Response | None:
    """304 if the ETag matches, headers alone for HEAD; None if the body is needed."""
    shared = {"ETag": tag, "Cache-Control": cache}
    if _matches_etag(request.headers.get("if-none-match", ""), tag):
        return with_security_headers(Response(status_code=304, headers=shared))
    if request.method == "HEAD":
        return head_answer(HTML, 200, shared)
    return None


def head_answer(kind: str, status: int, headers: dict[str, str]) -> Response:
    """The answer to HEAD without building the body; its length is left out unless it is known."""
    answer = with_security_headers(Response(status_code=status, media_type=kind, headers=headers))
    if "Content-Length" not in headers:
        del answer.headers["Content-Length"]
    return answer


def json_answer(
    request: Request,
    document: Any,
    *,
    cache: str = CACHE_PUBLIC,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    """A Struct or document as indented JSON, since people read it too."""
    body = msgspec.json.format(msgspec.json.encode(document)) + b"\n"
    return etag_answer(request, body, kind=JSON, cache=cache, status=status, headers=headers)


def _matches_etag(named: str, tag: str) -> bool:
    tags = {candidate.strip().removeprefix("W/") for candidate in named.split(",")}
    return tag in tags or "*" in tags


CSV = "text/csv; charset=utf-8"

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "＝", "＋", "－", "＠")
"""The first characters of formulas and commands in spreadsheets."""


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The table as CSV; None is an empty field."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([[csv_field(value) for value in row] for row in rows])
    return written.getvalue()


def csv_field(value: object) -> object:
    """A value that no spreadsheet runs as a formula."""
    if not isinstance(value, str):
        return value
    plain = value.replace("\x00", "")
    return (
        f"'{plain}"
        if plain.lstrip(" ").startswith(FORMULA_STARTS) or plain.startswith(FORMULA_STARTS)
        else plain
    )


def csv_answer(
    request: Request, name: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, cache: str
) -> Response:
    """The table as a CSV download."""
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    headers = {
        "Content-Disposition": f'attachment; filename="{safe.encode("ascii", "replace").decode()}.csv"'
    }
    body = csv_text(header, rows).encode()
    return etag_answer(request, body, kind=CSV, cache=cache, headers=headers)


def wants_csv(request: Request) -> bool:
    """Whether the request asks for `?format=csv`."""
    return request.query_params.get("format") == "csv"
