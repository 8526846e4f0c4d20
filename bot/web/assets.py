"""Stylesheets, scripts and icons, each served under a name that contains a digest of its content.

Only files found in `bot/web/static` at the start are served, and browsers may cache them forever.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import bot
from bot.web.answers import with_security_headers

STATIC_FOLDER = Path(__file__).parent / "static"

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

CACHE_FOREVER = "public, max-age=31536000, immutable"


class Assets(Struct, frozen=True):
    """The files by the name they are served under, and their addresses by file name."""

    files: dict[str, bytes]
    addresses: dict[str, str]

    def route(self) -> Route:
        """The route of `/static/{name}`."""

        async def serve(request: Request) -> Response:
            name = request.path_params["name"]
            content = self.files.get(name)
            if content is None:
                return with_security_headers(
                    Response("no such file\n", status_code=404, media_type="text/plain")
                )
            kind = MEDIA_TYPES[Path(name).suffix]
            return with_security_headers(
                Response(content, media_type=kind, headers={"Cache-Control": CACHE_FOREVER})
            )

        return Route("/static/{name}", serve, methods=["GET"])


@lru_cache(maxsize=1)
def program_digest() -> str:
    """A digest of the program and its templates: it changes with everything that a page is made from."""
    package = Path(bot.__file__).parent
    sources = [*package.rglob("*.py"), *package.rglob("*.j2"), *(package.parent / "templates").glob("*.j2")]
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def read_assets() -> Assets:
    """Read every file once; they are small and part of the program."""
    files, addresses = {}, {}
    for path in sorted(STATIC_FOLDER.iterdir()):
        if path.suffix in MEDIA_TYPES:
            content = path.read_bytes()
            served = f"{path.stem}.{hashlib.sha256(content).hexdigest()[:12]}{path.suffix}"
            files[served] = content
            addresses[path.name] = f"/static/{served}"
    return Assets(files, addresses)
