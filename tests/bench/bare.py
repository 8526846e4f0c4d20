"""The peer of the webhook: the same server and the same check of the signature, and nothing is written down.

In:  `python -m tests.bench.bare PORT SECRET`. Out: 202 to every signed request.
"""

import hashlib
import hmac
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


def application(secret: bytes) -> Starlette:
    """An application with one route."""

    async def webhook(request: Request) -> JSONResponse:
        body = await request.body()
        expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, request.headers.get("x-hub-signature-256", "")):
            return JSONResponse({"error": "signature"}, status_code=401)
        return JSONResponse({"delivery": request.headers["x-github-delivery"]}, status_code=202)

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"process": "ok"})

    return Starlette(routes=[Route("/webhook", webhook, methods=["POST"]), Route("/healthz", health)])


if __name__ == "__main__":
    uvicorn.run(
        application(sys.argv[2].encode()),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_config=None,
        access_log=False,
        server_header=False,
    )
