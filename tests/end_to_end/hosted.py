"""The stand-in GitHub on a loopback port, in a thread, for what emulate does not do.

In:  a git repository. Out: a `Hosted`, whose `does` runs what people do there and waits for it.
"""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import uvicorn

from bot.demo.github import StandIn
from tests.github.gitting import GitRepository
from tests.peers.ports import free_port

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """A running stand-in."""

    github: StandIn
    git: GitRepository
    url: str
    loop: asyncio.AbstractEventLoop

    def does(self, act: Coroutine[Any, Any, T]) -> T:
        """Let people do something; returns when its webhooks were delivered."""
        return asyncio.run_coroutine_threadsafe(act, self.loop).result(timeout=30)


@contextmanager
def hosting(
    git: GitRepository, *, webhook_url: str, secret: str, app_id: int, private: bool
) -> Iterator[Hosted]:
    """Serve a repository until the end of the `with` statement."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    github = StandIn(git.path, "acme/maxtext", webhook_url, secret, app_id, url=url, private=private)
    config = uvicorn.Config(
        github.application, host="127.0.0.1", port=port, log_config=None, lifespan="off", loop="asyncio"
    )
    server, loop = uvicorn.Server(config), asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(server.serve()))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Hosted(github=github, git=git, url=url, loop=loop)
    finally:
        asyncio.run_coroutine_threadsafe(github.settle(), loop).result(timeout=30)
        server.should_exit = True
        thread.join()
        loop.close()
