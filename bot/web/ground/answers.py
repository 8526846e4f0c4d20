"""What every answer of the pages carries: safety, and a tag that spares sending the same twice.

In:  a rendered page, a JSON document or text. Out: a Starlette response.

Nothing outside is loaded, nothing inline runs, no other site may frame the pages or learn their address.
"""

import hashlib
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

POLICY = "; ".join(
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
SAFETY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

# Always asked again, and answered 304 where nothing changed; a private page is kept by its reader only.
PUBLIC = "no-cache"
PRIVATE = "private, no-cache"
NEVER = "no-store"

HTML = "text/html; charset=utf-8"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


def without_slash(request: Request) -> Response | None:
    """An address that ends in a slash leads to the one without, which is the page's; None where it does not.

    The aim is a path of this site whatever was asked for: it begins with one slash.
    """
    path = request.scope["path"]
    if not path.endswith("/") or not path.strip("/"):
        return None
    aim = "/" + quote(path.strip("/"), safe="/:@!$&'()*+,;=~")
    query = f"?{request.url.query}" if request.url.query else ""
    return secured(RedirectResponse(aim + query, status_code=308, headers={"Cache-Control": NEVER}))


def secured(response: Response) -> Response:
    """The response with the headers that every answer carries."""
    for name, value in SAFETY.items():
        response.headers.setdefault(name, value)
    return response


def tagged(
    request: Request,
    body: bytes,
    *,
    kind: str,
    cache: str = PUBLIC,
    status: int = 200,
    headers: dict[str, str] | None = None,
    tag: str | None = None,
) -> Response:
    """`body`, or 304 where the visitor already has it; `tag` where it is known without the body."""
    tag = tag or tag_of(body)
    shared = {"ETag": tag, "Cache-Control": cache, **(headers or {})}
    if status == 200 and _has(request.headers.get("if-none-match", ""), tag):
        return secured(Response(status_code=304, headers=shared))
    return secured(Response(body, status_code=status, media_type=kind, headers=shared))


def tag_of(*parts: object) -> str:
    """A tag that changes with any of these parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else repr(part).encode() + b"\0")
    return f'"{digest.hexdigest()[:32]}"'


def known_already(request: Request, tag: str, *, cache: str) -> Response | None:
    """The answer to who has what this tag names, or asks for the tag alone; None where the body is wanted."""
    shared = {"ETag": tag, "Cache-Control": cache}
    if _has(request.headers.get("if-none-match", ""), tag):
        return secured(Response(status_code=304, headers=shared))
    if request.method == "HEAD":
        return bodiless(HTML, 200, shared)
    return None


def bodiless(kind: str, status: int, headers: dict[str, str]) -> Response:
    """The answer to HEAD where the body is not made for it: its length is not said, unless it is known."""
    answer = secured(Response(status_code=status, media_type=kind, headers=headers))
    if "Content-Length" not in headers:
        del answer.headers["Content-Length"]
    return answer


def json_answer(
    request: Request,
    document: Any,
    *,
    cache: str = PUBLIC,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    """The document as JSON, indented, because people read it too."""
    body = msgspec.json.format(msgspec.json.encode(document)) + b"\n"
    return tagged(request, body, kind=JSON, cache=cache, status=status, headers=headers)


def _has(named: str, tag: str) -> bool:
    tags = {candidate.strip().removeprefix("W/") for candidate in named.split(",")}
    return tag in tags or "*" in tags
