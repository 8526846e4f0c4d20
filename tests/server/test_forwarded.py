"""Whom a request comes from, where a proxy may be in front."""

import asyncio
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.cli.serve import server_config
from bot.settings import read_settings
from tests.peers.keys import private_key

SETTINGS = {"GITHUB_APP_ID": "1", "GITHUB_PRIVATE_KEY": private_key(), "GITHUB_WEBHOOK_SECRET": "a secret"}


async def _client(request: Request) -> Response:
    return PlainTextResponse(request.client.host if request.client else "")


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        ("", "198.51.100.1", "127.0.0.1"),
        ("10.0.0.0/8", "198.51.100.1", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        ("127.0.0.1, 10.0.0.0/8", "203.0.113.9, 198.51.100.1, 10.1.2.3", "198.51.100.1"),
        ("127.0.0.1", "", "127.0.0.1"),
    ],
)
def test_only_a_named_proxy_says_who_the_client_is(
    tmp_path: Path, proxies: str, forwarded: str, expected: str
) -> None:
    """The rightmost address that is no proxy counts: what is left of it, the client may have made up."""
    settings = read_settings({**SETTINGS, "DATA_DIR": str(tmp_path), "TRUSTED_PROXIES": proxies})

    async def scene() -> str:
        config = server_config(settings, Starlette(routes=[Route("/", _client)]))
        config.port, config.lifespan = 0, "off"
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"http://127.0.0.1:{port}/", headers={"x-forwarded-for": forwarded})
        await server.shutdown()
        return answer.text

    assert asyncio.run(scene()) == expected
