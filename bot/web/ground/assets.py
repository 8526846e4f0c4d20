"""The stylesheet and the little script, each under a name that changes with its content.

In:  the files of `bot/web/static`.
Out: the addresses the pages name, and the route that serves them, cached for ever.

Only names found in that folder at the start are served, so no address leads anywhere else.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import bot
from bot.web.ground.answers import secured

FOLDER = Path(__file__).parents[1] / "static"
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Assets:
    """The files by the name they are served under, and those names by the file's own."""

    files: dict[str, bytes]
    addresses: dict[str, str]

    def route(self) -> Route:
        """Serves `/static/{name}`."""

        async def serve(request: Request) -> Response:
            name = request.path_params["name"]
            content = self.files.get(name)
            if content is None:
                return secured(Response("no such file\n", status_code=404, media_type="text/plain"))
            kind = TYPES[Path(name).suffix]
            return secured(Response(content, media_type=kind, headers={"Cache-Control": FOR_EVER}))

        return Route("/static/{name}", serve, methods=["GET"])


@lru_cache(maxsize=1)
def edition() -> str:
    """What changes with every file that a page is made from: the program's own, and its templates."""
    package = Path(bot.__file__).parent
    made_from = [*package.rglob("*.py"), *package.rglob("*.j2"), *(package.parent / "templates").glob("*.j2")]
    digest = hashlib.sha256()
    for path in sorted(made_from):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def read_assets() -> Assets:
    """Read every file once; they are small and belong to the program."""
    files, addresses = {}, {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in TYPES:
            content = path.read_bytes()
            served = f"{path.stem}.{hashlib.sha256(content).hexdigest()[:12]}{path.suffix}"
            files[served] = content
            addresses[path.name] = f"/static/{served}"
    return Assets(files, addresses)
