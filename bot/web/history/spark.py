"""A case's newest runs as a small image of its own, for a README or a dashboard.

In:  a case and a variant of a repository. Out: SVG that needs nothing else, legible on light and dark paper.

The comment does not embed it: GitHub shows images through a cache of its own, which would show yesterday's
line beside today's verdict.
"""

from html import escape

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bot.runs.pattern import slug
from bot.storage import summaries, timelines
from bot.storage.database import Connection
from bot.storage.timelines import Strip
from bot.web.frame.parts import Parts
from bot.web.ground.access import Unclear, visit
from bot.web.ground.answers import tagged
from bot.web.ground.branches import default_branch
from bot.web.history.index import SPARK_HEIGHT, SPARK_WIDTH, Spark, spark

SVG = "image/svg+xml"
MINUTES = "public, max-age=300"
"""An image may be five minutes old; a private one is kept by its reader only."""

STYLE = (
    "path{fill:none;stroke:#0b5cad;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}"
    ".n{stroke-width:5}.g{stroke:#a8330a;stroke-width:2.5}"
    "@media(prefers-color-scheme:dark){path{stroke:#7cb8f5}.g{stroke:#ff9a6b}}"
)


async def spark_image(parts: Parts, request: Request) -> Response:
    """The newest runs of `?case=` (and `?variant=`) on the default branch."""
    here = await visit(request, parts.database, parts.key)
    branch = slug(await default_branch(parts.database, here.repository))
    asked = request.query_params.get("case") or "", request.query_params.get("variant")
    strip = await parts.database.read(_strip, here.repository, branch, *asked)
    drawn = await run_in_threadpool(spark, strip.points)
    name = f"{strip.case} · {strip.variant}" if strip.variant else strip.case
    cache = here.cache if here.private else MINUTES
    headers = {"Cross-Origin-Resource-Policy": "cross-origin"}
    return tagged(request, _image(drawn, here.text(name)).encode(), kind=SVG, cache=cache, headers=headers)


def _strip(connection: Connection, repository: str, branch: str, case: str, variant: str | None) -> Strip:
    keys = [key for key in summaries.keys(connection, repository, branch) if key[0] == case]
    key = next((key for key in keys if variant in {None, key[1]}), None)
    if key is None:
        raise Unclear("No measured run of this case is known", "Name one as ?case=…&variant=….")
    points = timelines.points(connection, repository, branch, key, most=timelines.NEWEST)
    return Strip(case=key[0], variant=key[1], points=points)


def _image(drawn: Spark, name: str) -> str:
    words = escape(f"{name}: {drawn.words}")
    paths = (("", drawn.path), ("g", drawn.gaps), ("n", drawn.newest))
    shapes = "".join(f'<path class="{style}" d="{path}"/>' for style, path in paths if path)
    width, height = f"{SPARK_WIDTH:.0f}", f"{SPARK_HEIGHT:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{words}">'
        f"<title>{words}</title><style>{STYLE}</style>{shapes}</svg>\n"
    )
