"""Start the demo: a stand-in GitHub, its repository, and the real server, each on a loopback port.

Nothing keeps running after the `async with` block.
"""

import asyncio
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from msgspec import Struct

from bot.clusters.interface import Isolation
from bot.clusters.local.cluster import LocalCluster
from bot.clusters.local.sandbox import sandbox_problem
from bot.demo.github.git import GitHistory
from bot.demo.github.stand_in import StandInGitHub
from bot.demo.repository import DemoRepository, make_repository
from bot.errors import UserError
from bot.settings import SETTINGS

FULL_NAME = "demo/trainer"

APP_ID = 4242

HOST = "127.0.0.1"

START_SECONDS = 120.0

STOP_SECONDS = 12.0

POLICY = """\
version: 1
repositories:
  - match: {repository}
    launch:
      local: {isolation}   # its jobs are the demonstration's own program, started by whoever started this
"""
"""What the demonstration's operator allows: a sandbox where one works, so that nothing need be installed."""


class Stage(Struct, frozen=True, kw_only=True):
    """The running demo: the stand-in GitHub, its repository, and the server's address, process and log."""

    github: StandInGitHub
    repository: DemoRepository
    url: str
    server: subprocess.Popen[bytes]
    log: Path


@asynccontextmanager
async def running_stage(folder: Path) -> AsyncIterator[Stage]:
    """Start everything below `folder`, and stop it afterwards."""
    repository = await asyncio.to_thread(make_repository, folder / "repository.git")
    github_port, server_port = _free_port(), _free_port()
    url, secret = f"http://{HOST}:{server_port}", secrets.token_hex(16)
    github = StandInGitHub(
        GitHistory(repository.path),
        FULL_NAME,
        f"{url}/webhook",
        secret,
        APP_ID,
        url=f"http://{HOST}:{github_port}",
    )
    async with _serving_github(github, github_port):
        log, policy = folder / "server.log", folder / "policy.yml"
        isolation = Isolation.UNSANDBOXED if sandbox_problem() else Isolation.SANDBOXED
        policy.write_text(POLICY.format(repository=FULL_NAME, isolation=isolation), encoding="utf-8")
        environment = {
            "GITHUB_APP_ID": str(APP_ID),
            "GITHUB_PRIVATE_KEY": _private_key(),
            "GITHUB_WEBHOOK_SECRET": secret,
            "GITHUB_API_URL": f"http://{HOST}:{github_port}",
            "PUBLIC_URL": url,
            "DATA_DIR": str(folder / "data"),
            "POLICY": str(policy),
            "HOST": HOST,
            "PORT": str(server_port),
            "POLL_SECONDS": "2",
        }
        server = _start_server(environment, log)
        try:
            await _wait_until_ready(url, server, log)
            yield Stage(github=github, repository=repository, url=url, server=server, log=log)
        finally:
            await asyncio.to_thread(_stop_server, server)
            await _end_jobs(LocalCluster(folder / "data" / "cluster", grace_seconds=0.0))


@asynccontextmanager
async def _serving_github(github: StandInGitHub, port: int) -> AsyncIterator[None]:
    config = uvicorn.Config(github.application, host=HOST, port=port, log_config=None, lifespan="off")
    server = _ServerWithoutSignals(config)
    task = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        server.should_exit = True
        await task


class _ServerWithoutSignals(uvicorn.Server):
    """A server that leaves signals to the program around it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _start_server(environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "bot", "serve"],
            env={**_without_maxview_settings(os.environ), **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _without_maxview_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the settings of a real installation: the demo must not use its database."""
    names = {setting.name for setting in SETTINGS}
    return {name: value for name, value in environ.items() if name not in names}


async def _wait_until_ready(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    async with httpx.AsyncClient() as client:
        for _ in range(int(START_SECONDS / 0.2)):
            if server.poll() is not None:
                raise UserError(f"the server ended at once: {_last_log_line(log)}")
            try:
                if (await client.get(f"{url}/readyz")).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.2)
    raise UserError(f"the server was not ready after {START_SECONDS:.0f} s: {_last_log_line(log)}")


def _last_log_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _stop_server(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


async def _end_jobs(cluster: LocalCluster) -> None:
    """End the jobs that still run: they would outlive the server."""
    for name in sorted(await cluster.names()):
        await cluster.delete(name)


def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
